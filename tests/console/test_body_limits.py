"""How much of a body is read: little before it is known who sends it, then as much as the route takes."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import asyncpg
import pytest
from starlette.types import Message, Receive, Scope, Send

from penstock.config import Settings
from penstock.console.http import server as serving
from penstock.console.http.actor import COOKIE
from penstock.console.http.bodies import ANONYMOUS_BYTES, JSON_BYTES, BodyLimits
from penstock.console.http.problems import Problem
from tests.console.conftest import Service
from tests.console.listening import SECONDS, running
from tests.console.test_every_route import routes_with_a_body

JSON = {"Content-Type": "application/json"}
CHUNK = 16 * 1024
# More than any stranger may send, and little enough to be read whole by a service that does not look.
CHUNKS = 16 * ANONYMOUS_BYTES // CHUNK
STRANGERS: tuple[dict[str, str], ...] = (
    {},
    {"Authorization": "Bearer pst_made-up"},
    {"Cookie": f"{COOKIE}=made-up", "Origin": "http://service"},
    {"Authorization": "Basic YW5uOmFubg=="},
)


class Sending:
    """A body that counts how much of it was asked for."""

    def __init__(self) -> None:
        self.sent_bytes = 0

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for _ in range(CHUNKS):
            self.sent_bytes += CHUNK
            yield b" " * CHUNK


async def test_a_stranger_may_send_little_and_is_told_the_limit(service: Service) -> None:
    client = await service.client(None)
    for length in ({"Content-Length": str(CHUNKS * CHUNK)}, {}):
        for headers in STRANGERS:
            sending = Sending()
            answer = await client.post("/api/selections", content=sending, headers=JSON | length | headers)
            assert (answer.status_code, answer.headers["content-type"]) == (413, "application/problem+json"), (
                answer.text
            )
            assert (answer.json()["limitBytes"], answer.json()["title"]) == (ANONYMOUS_BYTES, "Too large")
            assert f"{ANONYMOUS_BYTES:,} bytes" in answer.json()["detail"]
            assert sending.sent_bytes <= (0 if length else ANONYMOUS_BYTES + CHUNK)


async def test_no_route_reads_more_than_the_small_limit_of_a_stranger(service: Service) -> None:
    client = await service.client(None)
    await service.add_user("former", "operator")
    await service.fetch("update penstock.tokens set revoked_at = now() where name = 'test'")
    wrong = []
    for method, path in sorted({*routes_with_a_body(), ("POST", "/login"), ("POST", "/nowhere")}):
        sending = Sending()
        headers = JSON | {"Authorization": f"Bearer {service.tokens['former']}"}
        answer = await client.request(method, path.format_map(_Ones()), content=sending, headers=headers)
        if sending.sent_bytes > ANONYMOUS_BYTES + CHUNK or answer.status_code not in (400, 401, 405, 413):
            wrong.append(f"{method} {path}: {answer.status_code} after {sending.sent_bytes:,} bytes")
    assert wrong == []


class _Ones(dict[str, str]):
    def __missing__(self, key: str) -> str:
        return "1"


async def test_whoever_is_known_may_send_what_the_route_takes(service: Service) -> None:
    fits = b'{"itemIds": [999999999]}'.ljust(JSON_BYTES)
    rows = b"name\n" + b"a lamp with a long name\n" * 40_000
    for client in (await service.client("ann"), await service.signed_in("ann")):
        answer = await client.post("/api/selections", content=fits, headers=JSON)
        assert (answer.status_code, answer.json()["detail"]) == (404, "There is no item 999999999.")
        answer = await client.post("/api/selections", content=fits + b" ", headers=JSON)
        assert (answer.status_code, answer.json()["limitBytes"]) == (413, JSON_BYTES)
        assert f"{JSON_BYTES:,} bytes" in answer.json()["detail"]
        answer = await client.post("/api/jobs", files={"file": ("list.csv", rows)}, data={"pipeline": "look_up"})
        assert answer.status_code == 202, answer.text


async def test_credentials_that_cannot_be_checked_now_are_a_503(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def away(*_: Any) -> Any:
        raise asyncpg.ConnectionDoesNotExistError("connection was closed in the middle of operation")

    monkeypatch.setattr("penstock.console.http.actor.tokens.holder", away)
    answer = await (await service.client("ann")).post("/api/selections", content=Sending(), headers=JSON)
    assert (answer.status_code, answer.headers["retry-after"]) == (503, "2"), answer.text


async def test_a_connection_ends_when_its_body_goes_on_after_the_answer(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(serving, "_AFTER_ANSWER_BYTES", 1024 * 1024)
    async with running(service) as server:
        host, port = server.address.removeprefix("http://").split(":")
        reader, writer = await asyncio.open_connection(host, int(port))
        writer.write(
            b"POST /api/selections HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
            b"Transfer-Encoding: chunked\r\n\r\n"
        )
        chunk = b"%x\r\n%s\r\n" % (CHUNK, b" " * CHUNK)
        writer.write(chunk * (ANONYMOUS_BYTES // CHUNK + 1))
        status = await asyncio.wait_for(reader.readline(), SECONDS)
        assert status.split()[1] == b"413"
        with pytest.raises(ConnectionError):
            for _ in range(64 * 1024 * 1024 // CHUNK):
                writer.write(chunk)
                await asyncio.wait_for(writer.drain(), SECONDS)
        writer.close()


async def test_a_connection_ends_when_its_body_trickles_on_after_the_answer(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(serving, "_AFTER_ANSWER_SECONDS", 0.05)
    monkeypatch.setattr(serving, "_LOOK_SECONDS", 0.05)
    async with running(service) as server:
        host, port = server.address.removeprefix("http://").split(":")
        reader, writer = await asyncio.open_connection(host, int(port))
        writer.write(b"POST /api/jobs HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000\r\n\r\n x")
        assert (await asyncio.wait_for(reader.readline(), SECONDS)).split()[1] == b"401"
        ended = asyncio.create_task(reader.read())
        async with asyncio.timeout(SECONDS):
            while not ended.done():
                writer.write(b"x")
                await asyncio.wait({ended}, timeout=0.01)
        assert ended.exception() is None or isinstance(ended.exception(), ConnectionError)
        writer.close()


class Slow:
    """An ASGI application that reads its body, below the limits; the body stops in the middle."""

    def __init__(self, *, known: bool) -> None:
        self.asked = 0
        self.known = known
        self.read: list[bytes] = []
        self.more = asyncio.Event()
        self.waits = 0
        self.limited = BodyLimits(self._app, settings=Settings, is_known=self._is_known, anonymous_seconds=0.01)

    async def _app(self, scope: Scope, receive: Receive, send: Send) -> None:
        while True:
            message = await receive()
            self.read.append(message["body"])
            if not message["more_body"]:
                return

    async def _is_known(self, request: Any) -> bool:
        self.asked += 1
        self.more.set()
        return self.known

    async def _receive(self) -> Message:
        self.waits += 1
        if self.waits == 1:
            return {"type": "http.request", "body": b"{", "more_body": True}
        await self.more.wait()
        return {"type": "http.request", "body": b"}", "more_body": False}

    async def run(self) -> None:
        scope = {"type": "http", "method": "POST", "path": "/", "headers": [], "state": {}}
        await asyncio.wait_for(self.limited(scope, self._receive, _send_nothing), SECONDS)


async def _send_nothing(message: Message) -> None:
    raise AssertionError(message)


async def test_a_slow_body_of_a_stranger_is_refused_in_time() -> None:
    slow = Slow(known=False)
    with pytest.raises(Problem, match=r"within 0\.01 s") as refused:
        await slow.run()
    assert (refused.value.status, slow.asked) == (408, 1)


async def test_a_slow_body_of_somebody_known_is_waited_for() -> None:
    slow = Slow(known=True)
    await slow.run()
    assert (b"".join(slow.read), slow.asked) == (b"{}", 1)
