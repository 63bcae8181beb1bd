"""`penstock serve`, and the service inside `penstock up`: as processes, with what is killed and what is left."""

import asyncio
import re
import signal
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from urllib.request import Request, urlopen

import psutil
import pytest

from penstock import Penstock
from penstock.config import load
from penstock.core.loading import load_app
from penstock.errors import UsageError
from penstock.fleet.fleet import Fleet
from tests.cli.conftest import Background, Call
from tests.cli.test_serving import command_line, get
from tests.cli.waiting import wait_until

APP = "tests.cli.serving_app:app"
EXTENSION = "tests.cli.serving_extension:install"
Start = Callable[..., Background]


def services(up: Background) -> list[psutil.Process]:
    return [one for one in up.tree() if "penstock.cli.service_main" in command_line(one)]


def answers(address: str, path: str = "/healthz") -> bool:
    try:
        return get(address, path)[0] == 200
    except OSError:
        return False


def stream(address: str, token: str) -> socket.socket:
    """A connection that listens to events; its first have come."""
    host, port = address.removeprefix("http://").split(":")
    opened = socket.create_connection((host, int(port)), timeout=60)
    opened.sendall(f"GET /api/stream HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {token}\r\n\r\n".encode())
    received = b""
    while b"event: live" not in received:
        chunk = opened.recv(65536)
        assert chunk, received
        received += chunk
    return opened


# ---------------------------------------------------------------- penstock serve


def test_serve_answers_and_ends_within_a_moment_of_sigterm_also_with_a_stream_open(
    start: Start, call: Call, database_url: str
) -> None:
    serve = start("serve", "--app", APP, "--port", "0", "-o", "json", database_url=database_url, grace_seconds="3600")
    address = serve.announced()["http"]
    assert get(address, "/readyz")[0] == 200
    assert get(address, "/api/me")[0] == 401
    assert call("users", "create", "ann", database_url=database_url).returncode == 0
    token = call("tokens", "create", "ann", database_url=database_url).stdout.strip()
    request = Request(f"{address}/api/me", headers={"Authorization": f"Bearer {token}"})
    with urlopen(request, timeout=60) as answer:
        assert b'"ann"' in answer.read()
    with stream(address, token):
        serve.process.terminate()
        assert serve.ended() == 0, serve.stderr
    assert "Traceback" not in serve.stderr
    assert serve.stdout.count("\n") == 1


def test_serve_wants_a_migrated_database_and_a_free_port(call: Call, server_url: str, database_url: str) -> None:
    from tests.databases import with_database

    unmigrated = call("serve", "--port", "0", "--app", APP, database_url=with_database(server_url, "postgres"))
    assert unmigrated.returncode == 4
    assert "penstock migrate" in unmigrated.stderr
    with socket.create_server(("127.0.0.1", 0)) as taken:
        refused = call("serve", "--app", APP, database_url=database_url, port=str(taken.getsockname()[1]))
    assert refused.returncode == 4
    assert "uses the port" in refused.stderr
    wrong = call("serve", "--app", "tests.cli.nowhere:app", "--port", "0", database_url=database_url)
    assert wrong.returncode == 2


async def test_serve_without_an_application_registers_nothing_on_a_given_server_but_what_it_stores(
    start: Start, call: Call, database_url: str
) -> None:
    async def registered() -> tuple[set[str], set[str]]:
        async with Penstock("reader", settings=load(database_url=database_url)) as app, app.connection() as connection:
            return (
                {row["pipeline"] for row in await connection.fetch("select pipeline from penstock.stages")},
                {row["name"] for row in await connection.fetch("select name from penstock.schedules")},
            )

    serve = start("serve", "--port", "0", "-o", "json", cold=True, database_url=database_url)
    address = serve.announced()["http"]
    assert await registered() == (set(), set())
    assert call("users", "create", "ann", database_url=database_url).returncode == 0
    token = call("tokens", "create", "ann", database_url=database_url).stdout.strip()
    headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
    body = b'{"pipeline": "catalogue", "items": [{"name": "oak table"}]}'
    with urlopen(Request(f"{address}/api/jobs", data=body, headers=headers), timeout=60) as answer:
        assert answer.status == 202
    assert await registered() == ({"catalogue"}, set())


# ---------------------------------------------------------------- penstock up


async def test_up_lets_the_admin_in_and_shows_one_picture_of_the_machine(start: Start, database_url: str) -> None:
    up = start("up", "--app", APP, "--port", "0", "-o", "json", database_url=database_url)
    told = up.announced()
    assert re.fullmatch(re.escape(told["http"]) + r"/login\?code=\S{20,}", told["login"])
    assert told["login"] in up.stderr
    assert "penstock tokens create admin" in up.stderr
    assert get(told["http"], told["login"].removeprefix(told["http"]))[0] == 200
    async with Penstock("enqueuer", settings=load(database_url=database_url)) as app:
        assert await (await app.enqueue("add", {"a": 2, "b": 3})).result(60) == 5
    finished = 'penstock_tasks_finished_total{stage="add",state="DONE"} 1.0'
    wait_until(lambda: finished in get(told["http"], "/metrics")[1], what="the count of the runner")
    text = get(told["http"], "/metrics")[1]
    assert "penstock_supervisor_up 1.0" in text
    assert "penstock_runners_ready 1.0" in text
    assert 'penstock_http_requests_total{method="GET",route="/login",status="200"} 1.0' in text
    # Each family once: a page with two of a name is refused by Prometheus.
    names = [line.split()[2] for line in text.splitlines() if line.startswith("# TYPE")]
    assert len(names) == len(set(names))
    for process in up.tree():
        assert "postgresql://" not in " ".join(command_line(process))


def test_a_service_that_dies_is_started_again_on_the_same_port(start: Start, database_url: str) -> None:
    up = start("up", "--app", APP, "--port", "0", "-o", "json", database_url=database_url)
    address = up.announced()["http"]
    (first,) = services(up)
    first.kill()
    wait_until(lambda: bool(services(up)) and first not in services(up), what="another service", log=lambda: up.stderr)
    # The socket was never closed: whoever comes meanwhile waits instead of being refused.
    assert answers(address)
    assert "signal SIGKILL" in up.stderr
    up.process.terminate()
    assert up.ended() == 0, up.stderr


def test_nothing_of_up_outlives_its_sudden_death(start: Start, database_url: str) -> None:
    up = start("up", "--app", APP, "--port", "0", "-o", "json", database_url=database_url)
    address = up.announced()["http"]
    tree = up.tree()
    assert services(up)
    up.process.kill()
    _gone, alive = psutil.wait_procs(tree, timeout=60)
    assert alive == []
    assert not answers(address)


def test_a_frozen_service_does_not_keep_up_from_ending(start: Start, database_url: str) -> None:
    up = start("up", "--app", APP, "--port", "0", "-o", "json", database_url=database_url, grace_seconds="1")
    up.announced()
    (service,) = services(up)
    service.send_signal(signal.SIGSTOP)
    up.process.terminate()
    assert up.ended() == 0, up.stderr
    assert not service.is_running() or service.status() == psutil.STATUS_ZOMBIE


# ---------------------------------------------------------------- extensions


@asynccontextmanager
async def fleet(database_url: str, *extensions: str) -> AsyncIterator[Fleet]:
    settings = load(database_url=database_url, log_level="error")
    made = Fleet(settings=settings, url=database_url, app=APP, extensions=extensions)
    running = asyncio.create_task(made.run())
    try:
        yield made
    finally:
        made.stop()
        await asyncio.wait_for(running, 60)


async def test_runners_serve_what_an_extension_declares_in_the_application(database_url: str) -> None:
    async with (
        fleet(database_url, EXTENSION) as running,
        Penstock("by name", settings=load(database_url=database_url)) as app,
    ):
        async with asyncio.timeout(60):
            while not running.supervisor.ready:
                await asyncio.sleep(0.02)
        assert await (await app.enqueue("extended")).result(60) == "serving"
        assert await (await app.enqueue("extended.isolated")).result(60) > 0
        assert await (await app.enqueue("add", {"a": 1, "b": 1})).result(60) == 2


def test_an_extension_that_is_no_function_is_refused_with_a_sentence() -> None:
    with pytest.raises(UsageError, match="NOT_A_FUNCTION is a int, not a function"):
        load_app(APP, ["tests.cli.serving_extension:NOT_A_FUNCTION"])
