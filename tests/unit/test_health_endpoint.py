"""The small HTTP endpoint: what it answers, and to whom it does not."""

import asyncio
from collections.abc import AsyncIterator

import orjson
import pytest

from penstock.console.http.health import Endpoint


class Watched:
    def __init__(self) -> None:
        self.reason: str | None = None
        self.broken = False

    async def unready(self) -> str | None:
        if self.broken:
            raise RuntimeError("a bug")
        return self.reason


async def metrics() -> bytes:
    return b"penstock_runners 1.0\n"


@pytest.fixture
def watched() -> Watched:
    return Watched()


@pytest.fixture
async def address(watched: Watched) -> AsyncIterator[tuple[str, int]]:
    endpoint = Endpoint(watched=watched, metrics=metrics)
    url = await endpoint.start("127.0.0.1", 0)
    host, _, port = url.removeprefix("http://").partition(":")
    yield host, int(port)
    await endpoint.close()


async def ask(address: tuple[str, int], request: str) -> tuple[int, dict[str, str], bytes]:
    reader, writer = await asyncio.open_connection(*address)
    writer.write(request.replace("\n", "\r\n").encode())
    answer = await asyncio.wait_for(reader.read(), 60)
    writer.close()
    await writer.wait_closed()
    head, _, body = answer.partition(b"\r\n\r\n")
    lines = head.decode().split("\r\n")
    return int(lines[0].split()[1]), dict(line.split(": ", 1) for line in lines[1:]), body


async def get(address: tuple[str, int], path: str) -> tuple[int, dict[str, str], bytes]:
    return await ask(address, f"GET {path} HTTP/1.1\nHost: x\n\n")


async def test_healthz_is_ok_even_when_nothing_is_ready(address: tuple[str, int], watched: Watched):
    watched.reason = "the database is away"
    status, _, body = await get(address, "/healthz")
    assert (status, orjson.loads(body)) == (200, {"status": "ok"})


async def test_readyz_says_why_not_and_when_to_ask_again(address: tuple[str, int], watched: Watched):
    assert (await get(address, "/readyz"))[0] == 200
    watched.reason = "the database is away"
    status, headers, body = await get(address, "/readyz")
    assert status == 503
    assert int(headers["Retry-After"]) > 0
    assert orjson.loads(body) == {"status": "not ready", "reason": "the database is away"}


async def test_metrics_are_text_for_prometheus(address: tuple[str, int]):
    status, headers, body = await get(address, "/metrics?name[]=x")
    assert (status, body) == (200, b"penstock_runners 1.0\n")
    assert headers["Content-Type"].startswith("text/plain; version=0.0.4")


async def test_head_has_the_length_and_no_body(address: tuple[str, int]):
    status, headers, body = await ask(address, "HEAD /healthz HTTP/1.1\nHost: x\n\n")
    assert (status, body) == (200, b"")
    assert int(headers["Content-Length"]) > 0


@pytest.mark.parametrize(
    ("request_text", "expected"),
    [
        ("GET /other HTTP/1.1\n\n", 404),
        ("POST /healthz HTTP/1.1\n\n", 405),
        ("GET /../../etc/passwd HTTP/1.1\n\n", 404),
    ],
)
async def test_what_is_not_there_is_not_answered(address: tuple[str, int], request_text: str, expected: int):
    assert (await ask(address, request_text))[0] == expected


async def test_a_fault_of_ours_is_a_500_with_its_name(address: tuple[str, int], watched: Watched):
    watched.broken = True
    status, _, body = await get(address, "/readyz")
    assert status == 500
    assert b"RuntimeError" in body


async def test_a_client_that_speaks_no_http_is_dropped_and_others_are_served(address: tuple[str, int]):
    reader, writer = await asyncio.open_connection(*address)
    writer.write(b"x" * 20_000)
    assert await asyncio.wait_for(reader.read(), 60) == b""
    writer.close()
    assert (await get(address, "/healthz"))[0] == 200


async def test_close_drops_a_client_that_never_asks(watched: Watched):
    endpoint = Endpoint(watched=watched, metrics=metrics)
    url = await endpoint.start("127.0.0.1", 0)
    port = int(url.rpartition(":")[2])
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    await asyncio.wait_for(endpoint.close(), 60)
    assert await asyncio.wait_for(reader.read(), 60) == b""
    writer.close()
