"""`/api/stream`: who hears what, how often, and what happens to those who come back, lag or lose their token."""

import asyncio
import socket
import time
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack
from typing import Any

import pytest

from penstock import EnqueueOptions
from penstock.console.live import live
from penstock.console.live.stream import BURST, Hub, StreamClient
from penstock.observe.changes import payload
from penstock.storage import changes
from tests.console.conftest import Service
from tests.console.listening import SECONDS, Running, running


@pytest.fixture
async def server(service: Service) -> AsyncIterator[Running]:
    async with running(service, grace_seconds=3600) as made:
        yield made


@pytest.fixture
def heartbeat_seconds(monkeypatch: pytest.MonkeyPatch) -> float:
    """What it is; here the server does not beat by itself, however long the test takes. Before the server starts."""
    seconds = live.HEARTBEAT_SECONDS
    monkeypatch.setattr(live, "HEARTBEAT_SECONDS", 3600.0)
    return seconds


async def submit(service: Service, owner: str) -> int:
    """A job of that user; the service itself tells that it is there."""
    job = await service.app.store_many(
        service.app.pipelines["add"],
        [{"left": 1, "right": 2}],
        EnqueueOptions(owner=owner),
        name=None,
        metadata={},
    )
    return job.id


async def tell(service: Service, stages: dict[str, dict[str, int]], jobs: set[int]) -> None:
    """As a worker does."""
    async with service.app.connection() as connection:
        await changes.tell(connection, payload(stages, jobs))


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(SECONDS):
        while not condition():
            await asyncio.sleep(0.01)


# ---------------------------------------------------------------- who hears what


async def test_a_job_is_told_to_its_owner_and_to_nobody_else(server: Running) -> None:
    async with server.listening("ann") as ann, server.listening("bob") as bob, server.listening("root") as root:
        anns = await submit(server.service, "ann")
        await ann.until("job", jobId=anns)
        bobs = await submit(server.service, "bob")
        heard = await bob.until("job", jobId=bobs)
        await tell(server.service, {"the end": {"done": 1}}, set())
        by_root = await root.until("stage", stage="the end")
    assert [event.data["jobId"] for event in heard if event.kind == "job"] == [bobs]
    # An admin who did not ask for everybody's objects hears of their own only.
    assert [event for event in by_root if event.kind == "job"] == []


async def test_stages_are_told_to_everybody_with_what_moved(server: Running) -> None:
    async with server.listening("eve") as eve:
        await submit(server.service, "ann")
        event = (await eve.until("stage", stage="add"))[-1]
    assert event.data == {"stage": "add", "moves": {"enqueued": 1}}


async def test_an_admin_hears_everybody_who_asks_for_all_and_that_is_audited(server: Running) -> None:
    async with server.listening("root", query="?userId=all") as root:
        job = await submit(server.service, "ann")
        event = (await root.until("job", jobId=job))[-1]
    assert event.data["owner"] == "ann"
    entries = await server.service.fetch("select actor, ip from penstock.audit where action = 'stream.all'")
    assert [tuple(entry) for entry in entries] == [("root", "127.0.0.1")]


@pytest.mark.parametrize(
    ("name", "query", "status"), [(None, "", 401), ("ann", "?userId=all", 403), ("ann", "?userId=bob", 422)]
)
async def test_who_may_not_listen_is_refused(server: Running, name: str | None, query: str, status: int) -> None:
    async with server.client(name) as client:
        assert (await client.get(f"/api/stream{query}")).status_code == status


# ---------------------------------------------------------------- coming back


async def test_a_client_that_comes_back_gets_what_it_missed(server: Running) -> None:
    async with server.listening("root", query="?userId=all") as witness:
        async with server.listening("ann") as ann:
            first = await submit(server.service, "ann")
            await ann.until("job", jobId=first)
        missed = await submit(server.service, "ann")
        others = await submit(server.service, "bob")
        await witness.until("job", jobId=missed)
        await witness.until("job", jobId=others)
        async with server.listening("ann", last_id=ann.last_id) as again:
            seen = await again.until("live")
    assert [event.data["jobId"] for event in seen if event.kind == "job"] == [missed]
    assert "reset" not in [event.kind for event in seen]


async def test_a_stream_that_begins_where_me_says_misses_nothing_that_came_after(server: Running) -> None:
    """Between a page's first request and its live connection anything may happen."""
    ann = await server.service.client("ann")
    begin = (await ann.get("/api/me")).json()["lastEventId"]
    async with server.listening("ann") as witness:
        between = await submit(server.service, "ann")
        await witness.until("job", jobId=between)
    async with server.listening("ann", last_id=begin) as late:
        seen = await late.until("live")
    assert [event.data["jobId"] for event in seen if event.kind == "job"] == [between]
    assert "reset" not in [event.kind for event in seen]


@pytest.mark.parametrize("last_id", ["", "00000000-1", "nonsense", "-", "1-99999999999999999999"])
async def test_an_id_that_nobody_knows_makes_the_client_fetch_again(server: Running, last_id: str) -> None:
    async with server.listening("ann", last_id=last_id) as ann:
        assert [event.kind for event in await ann.until("live")] == ["reset", "live"]


async def test_what_has_left_the_ring_is_a_reset_and_what_is_still_there_is_not() -> None:
    hub = Hub(ring=3)
    for number in range(5):
        hub.publish("job", {"jobId": number}, owner="ann")
    process = hub._process
    assert await _received(hub, f"{process}-1") == ["reset", "live"]
    assert await _received(hub, f"{process}-2") == ["job", "job", "job", "live"]
    assert await _received(hub, f"{process}-5") == ["live"]
    assert await _received(hub, f"{process}-6") == ["reset", "live"]


async def _received(hub: Hub, last_id: str | None) -> list[str]:
    connection = StreamClient(user="ann", sees_all=False, still_allowed=allowed)
    hub.join(connection, last_id)
    hub.leave(connection)
    lines = (await connection.take()).decode().splitlines()
    return [line.removeprefix("event: ") for line in lines if line.startswith("event: ")]


async def allowed() -> bool:
    return True


async def test_a_heartbeat_moves_the_id_on_for_those_who_heard_nothing() -> None:
    hub = Hub(ring=3)
    bob = StreamClient(user="bob", sees_all=False, still_allowed=allowed)
    hub.join(bob, None)
    for number in range(9):
        hub.publish("job", {"jobId": number}, owner="ann")
    hub.beat()
    last_id = (await bob.take()).decode().rpartition("id: ")[2].splitlines()[0]
    assert await _received(hub, last_id) == ["live"]


async def test_a_heartbeat_comes_every_fifteen_seconds_and_names_nothing(
    heartbeat_seconds: float, server: Running
) -> None:
    async with server.listening("bob") as bob:
        server.live.hub.beat()
        server.live.hub.publish("stage", {"stage": "x", "moves": {}}, public=True)
        await bob.until("stage", stage="x")
    assert bob.beats == 1
    assert heartbeat_seconds == 15


# ---------------------------------------------------------------- how much


async def test_an_object_that_changes_all_the_time_is_told_ten_times_a_second(server: Running) -> None:
    async with server.listening("ann") as ann:
        begun = time.monotonic()
        for _ in range(60):
            await tell(server.service, {"busy": {"done": 1}}, set())
        counted = events = 0
        while counted < 60:
            event = (await ann.until("stage", stage="busy"))[-1]
            counted += event.data["moves"]["done"]
            events += 1
        took = time.monotonic() - begun
    assert counted == 60
    assert events <= took / live.EVERY_SECONDS + 2
    assert live.EVERY_SECONDS == 0.1


async def test_more_changes_than_can_be_told_are_one_reset(server: Running) -> None:
    async with server.listening("ann") as ann:
        await tell(server.service, {}, set(range(1, BURST + 3)))
        seen = await ann.until("reset")
    assert [event.kind for event in seen] == ["reset"]


async def test_what_anybody_may_send_on_the_channel_does_no_harm(server: Running) -> None:
    async with server.listening("ann") as ann:
        async with server.service.app.connection() as connection:
            for text in ("", "null", "[]", "{", '{"stages": 1, "jobs": 2}', '{"stages": {"a": 1}, "jobs": []}'):
                await changes.tell(connection, text)
            await changes.tell(connection, '{"stages": {}, "jobs": [99999999999999999999, -1], "complete": true}')
        job = await submit(server.service, "ann")
        seen = await ann.until("job", jobId=job)
    assert {event.kind for event in seen} <= {"job", "stage"}


@pytest.mark.usefixtures("heartbeat_seconds")
async def test_two_hundred_streams_share_one_listener(server: Running) -> None:
    async with AsyncExitStack() as stack:
        names = ("ann", "bob", "eve", "root")
        listeners = [await stack.enter_async_context(server.listening(names[n % 4])) for n in range(200)]
        assert server.live.hub.connections == 200
        encoded: list[str] = []
        encode = server.live.hub._encoded

        def noted(kind: str, data: dict[str, Any]) -> bytes:
            encoded.append(kind)
            return encode(kind, data)

        with pytest.MonkeyPatch.context() as patched:
            patched.setattr(server.live.hub, "_encoded", noted)
            server.live.hub.beat()
            server.live.hub.publish("stage", {"stage": "x", "moves": {}}, public=True)
        for listener in listeners:
            await listener.until("stage", stage="x")
        rows = await server.service.fetch(
            "select count(*) from pg_stat_activity where application_name = 'penstock stream'"
            " and datname = current_database()"
        )
        # Nothing is kept for a client that reads: what was told is gone.
        assert all(one._size == 0 for one in server.live.hub._connections)
    assert rows[0][0] == 1
    assert encoded == ["beat", "stage"], "once for all of them"
    await until(lambda: server.live.hub.connections == 0)


async def test_one_user_cannot_take_all_the_room(server: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("penstock.console.http.routes.stream.MOST_OF_ONE_USER", 1)
    async with server.listening("ann"), server.client("ann") as client:
        refused = await client.get("/api/stream")
        async with server.listening("bob"):
            pass
    assert refused.status_code == 429
    assert int(refused.headers["retry-after"]) > 0


async def test_a_client_that_does_not_read_is_cut_and_others_are_served(server: Running) -> None:
    host, port = server.address.removeprefix("http://").split(":")
    hub = server.live.hub
    with socket.socket() as lazy:
        lazy.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        lazy.connect((host, int(port)))
        token = server.service.tokens["ann"]
        lazy.sendall(f"GET /api/stream HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {token}\r\n\r\n".encode())
        await until(lambda: hub.connections == 1)
        async with server.listening("ann") as reader:
            async with asyncio.timeout(SECONDS):
                published = 0
                while hub.connections > 1:
                    hub.publish("job", {"jobId": published, "text": "x" * 16_000}, owner="ann")
                    published += 1
                    await reader.until("job", jobId=published - 1)
            # The line itself is gone, with all that the client did not read.
            await until(lambda: len(server.server.server_state.connections) == 1)
        lazy.settimeout(SECONDS)
        received = b"".join(iter(lambda: lazy.recv(1 << 20), b""))
    assert f'"jobId":{published - 1},'.encode() not in received
    assert not received.endswith(b"\r\n0\r\n\r\n")


# ---------------------------------------------------------------- ends and faults


async def test_a_revoked_token_ends_its_streams_and_no_other(server: Running) -> None:
    async with server.listening("ann") as ann, server.listening("bob") as bob:
        await server.service.fetch(
            "update penstock.tokens t set revoked_at = now() from penstock.users u"
            " where u.id = t.user_id and u.name = 'ann'"
        )
        assert await server.live.hub.check() == 1
        assert await ann.end() == []
        server.live.hub.publish("stage", {"stage": "x", "moves": {}}, public=True)
        await bob.until("stage", stage="x")
    # Asked again so often that it takes less than half a minute.
    assert live.CHECK_SECONDS <= 25


async def test_who_is_no_admin_any_more_does_not_hear_everybody(server: Running) -> None:
    async with server.listening("root", query="?userId=all") as everybodys, server.listening("root") as own:
        await server.service.fetch("update penstock.users set role = 'operator' where name = 'root'")
        assert await server.live.hub.check() == 1
        assert await everybodys.end() == []
        server.live.hub.publish("stage", {"stage": "x", "moves": {}}, public=True)
        await own.until("stage", stage="x")


async def test_a_stop_ends_the_streams_at_once_whatever_the_grace(server: Running) -> None:
    async with server.listening("ann") as ann:
        server.server.stop()
        assert await ann.end() == []
        await asyncio.wait_for(server.serving, SECONDS)


async def test_while_the_database_is_away_the_stream_stays_and_says_so(server: Running) -> None:
    async with server.listening("ann") as ann:
        await server.service.fetch(
            "select pg_terminate_backend(pid) from pg_stat_activity"
            " where application_name = 'penstock stream' and datname = current_database()"
        )
        assert [event.kind for event in await ann.until("reset")] == ["stale", "live", "reset"]
        job = await submit(server.service, "ann")
        await ann.until("job", jobId=job)


async def test_a_client_that_leaves_is_forgotten(server: Running) -> None:
    async with server.listening("ann"):
        assert server.live.hub.connections == 1
    await until(lambda: server.live.hub.connections == 0)


# ---------------------------------------------------------------- what has no job


async def test_limits_schedules_and_stages_are_told_when_somebody_steers_them(server: Running) -> None:
    await server.service.fetch(
        """insert into penstock.schedules (name, cron, pipeline, next_fire_at)
           values ('nightly', '0 3 * * *', 'add', now() + interval '1 hour')"""
    )
    async with server.listening("eve") as eve, server.client("ann") as ann:
        assert (await ann.put("/api/limits", json={"key": "shop", "rate": 5})).status_code == 200
        await eve.until("object", type="limit", id="shop")
        assert (await ann.post("/api/schedules/nightly/pause")).status_code == 200
        await eve.until("object", type="schedule", id="nightly")
        assert (await ann.post("/api/stages/add/add/pause")).status_code == 200
        event = (await eve.until("stage", stage="add/add"))[-1]
    assert event.data["moves"] == {"steered": 1}


async def test_what_belongs_to_somebody_is_told_without_its_name(server: Running) -> None:
    async with server.listening("bob") as bob:
        server.service.app.events.emit("articles.saved", article=7, slug="secret-plans", by="ann", tasks=[])
        event = (await bob.until("object"))[-1]
    assert event.data == {"type": "article", "id": ""}
