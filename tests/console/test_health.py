"""`/healthz`, `/readyz` and `/metrics` of the service: what is missing, and what was counted."""

import asyncio
import socket
from pathlib import Path
from typing import Any

import pytest

from penstock.console.http.metrics import METRICS
from penstock.workers.inprocess import worker
from tests.console.conftest import Service
from tests.console.listening import SECONDS, running

DOCUMENT = Path(__file__).resolve().parents[2] / "docs" / "service.md"


async def get(service: Service, path: str) -> Any:
    """Without a token: whoever asks these has none."""
    return await (await service.client(None)).get(path)


def samples(text: str) -> dict[str, float]:
    return {
        line.rpartition(" ")[0]: float(line.rpartition(" ")[2])
        for line in text.splitlines()
        if not line.startswith("#")
    }


async def test_healthz_asks_nobody(service: Service) -> None:
    await service.app.close()
    answer = await get(service, "/healthz")
    assert (answer.status_code, answer.json()) == (200, {"status": "ok"})


async def test_without_a_worker_the_service_is_ready_and_says_who_is_missing(service: Service) -> None:
    answer = await get(service, "/readyz")
    assert answer.status_code == 200
    assert answer.json()["status"] == "ready"
    assert "no live worker" in answer.json()["missing"][0]


async def test_where_workers_belong_to_it_their_absence_is_not_ready(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(service.api.state.live, "needs_workers", True)
    answer = await get(service, "/readyz")
    assert (answer.status_code, answer.json()["status"]) == (503, "not ready")
    assert "no live worker" in answer.json()["reason"]
    async with worker(service.app):
        answer = await get(service, "/readyz")
    assert (answer.status_code, answer.json()) == (200, {"status": "ready"})


async def test_a_schema_that_is_too_old_is_named(service: Service) -> None:
    await service.fetch("delete from penstock.migrations where version > 1")
    answer = await get(service, "/readyz")
    assert answer.status_code == 503
    assert answer.json()["reason"].startswith("schema: ")
    assert "penstock migrate" in answer.json()["reason"]


async def test_a_database_that_is_away_is_named_and_a_time_to_ask_again(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Away:
        def acquire(self) -> Any:
            raise ConnectionRefusedError(111, "Connection refused")

    monkeypatch.setattr(service.app._here(), "pool", Away())
    answer = await get(service, "/readyz")
    assert answer.status_code == 503
    assert answer.json()["missing"][0].startswith("database: ")
    assert int(answer.headers["retry-after"]) > 0
    text = (await get(service, "/metrics")).text
    assert "penstock_database_up 0.0" in text
    assert "penstock_pending_count" not in samples(text)


async def test_requests_are_counted_by_route_and_status(service: Service) -> None:
    ann = await service.client("ann")
    for job in (10**6, 10**6 + 1):
        assert (await ann.get(f"/api/tasks/{job}")).status_code == 404
    assert (await ann.get("/nothing/here")).status_code == 404
    assert (await get(service, "/api/me")).status_code == 401
    found = samples((await get(service, "/metrics")).text)
    assert found['penstock_http_requests_total{method="GET",route="/api/tasks/{taskId}",status="404"}'] == 2
    assert found['penstock_http_requests_total{method="GET",route="/{path:path}",status="404"}'] == 1
    assert found['penstock_http_requests_total{method="GET",route="/api/me",status="401"}'] == 1
    assert found['penstock_http_request_seconds_count{route="/api/tasks/{taskId}"}'] == 2
    assert found['penstock_http_request_seconds_sum{route="/api/tasks/{taskId}"}'] > 0


async def test_what_waits_and_what_was_stored_are_metrics(service: Service) -> None:
    for number in range(3):
        await service.app.enqueue("add", {"left": number, "right": 1})
    found = samples((await get(service, "/metrics")).text)
    assert found["penstock_pending_count"] == 3
    assert found["penstock_items_stored_total"] == 3
    assert found['penstock_tasks_enqueued_total{stage="add"}'] == 3
    assert found['penstock_stage_waiting{stage="add"}'] == 3
    assert found["penstock_workers_live"] == 0
    assert found["penstock_streams"] == 0
    assert "penstock_supervisor_up" not in found


async def test_a_supervisor_that_does_not_answer_costs_its_part_only(service: Service) -> None:
    metrics = service.api.state.live.metrics
    given: list[Any] = []

    async def silent(counted: list[Any]) -> bytes | None:
        given.extend(counted)
        return None

    metrics._supervisor = silent
    await service.app.enqueue("add", {"left": 1, "right": 1})
    found = samples((await get(service, "/metrics")).text)
    assert found["penstock_supervisor_up"] == 0
    assert found["penstock_pending_count"] == 1
    # What was counted here is the supervisor's to show.
    assert given == [["penstock_tasks_enqueued_total", {"stage": "add"}, 1]]


def test_every_metric_of_the_service_is_documented() -> None:
    text = DOCUMENT.read_text()
    assert [name for name in METRICS if f"`{name}`" not in text] == []


# ---------------------------------------------------------------- the server around it


async def test_a_head_that_never_ends_is_cut(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("penstock.console.http.server._HEAD_SECONDS", 0.2)
    monkeypatch.setattr("penstock.console.http.server._LOOK_SECONDS", 0.05)
    async with running(service) as server:
        host, port = server.address.removeprefix("http://").split(":")
        reader, writer = await asyncio.open_connection(host, int(port))
        writer.write(b"GET /healthz HTTP/1.1\r\nHost:")
        with pytest.raises(ConnectionResetError):
            if not await asyncio.wait_for(reader.read(), SECONDS):
                raise ConnectionResetError
        writer.close()
        async with server.client(None) as client:
            assert (await client.get("/healthz")).status_code == 200


@pytest.mark.parametrize("sent_bytes", [40_000, 200_000], ids=["incomplete", "in one piece"])
async def test_a_head_that_is_too_long_is_refused(service: Service, sent_bytes: int) -> None:
    head = b"GET /healthz HTTP/1.1\r\nHost: x\r\nX-Long: " + b"x" * 100_000 + b"\r\n\r\n"
    async with running(service) as server:
        host, port = server.address.removeprefix("http://").split(":")
        reader, writer = await asyncio.open_connection(host, int(port))
        writer.write(head[:sent_bytes])
        assert (await asyncio.wait_for(reader.readline(), SECONDS)).split()[1] == b"400"
        writer.close()


async def test_forwarded_addresses_count_only_from_proxies_that_are_named(service: Service) -> None:
    told = {"X-Forwarded-For": "203.0.113.9", "X-Forwarded-Proto": "https"}
    cases = (("", "127.0.0.1"), ("192.0.2.1", "127.0.0.1"), ("192.0.2.1, 127.0.0.1", "203.0.113.9"))
    for trusted, seen in cases:
        async with running(service, forwarded_allow_ips=trusted) as server, server.client("root") as client:
            async with client.stream("GET", "/api/stream?userId=all", headers=told) as answer:
                assert answer.status_code == 200
        rows = await service.fetch("select ip from penstock.audit where action = 'stream.all' order by id desc limit 1")
        assert rows[0]["ip"] == seen


async def test_a_name_that_cannot_be_bound_is_an_operating_system_error() -> None:
    from penstock.console.http.listening import bind

    with bind("127.0.0.1", 0) as taken, pytest.raises(OSError, match="in use"):
        bind("127.0.0.1", taken.getsockname()[1])
    with pytest.raises(socket.gaierror):
        bind("no such host.invalid", 0)
