"""`penstock worker` and `penstock up` as processes: what they serve, and that nothing is left of them."""

import socket
import time
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import urlopen

import asyncpg
import orjson
import psutil
import pytest

from penstock import Penstock, State
from penstock.config import load
from penstock.core.handles import Task
from penstock.fleet.fleet import Fleet
from tests.cli.conftest import Background, Call
from tests.cli.waiting import wait_until

APP = "tests.cli.serving_app:app"
Start = Callable[..., Background]


@pytest.fixture
async def enqueuer(database_url: str) -> AsyncIterator[Penstock]:
    """By name only, as another program would."""
    async with Penstock("enqueuer", settings=load(database_url=database_url)) as app:
        yield app


def get(address: str, path: str) -> tuple[int, str, dict[str, str]]:
    try:
        with urlopen(address + path, timeout=60) as answer:
            return answer.status, answer.read().decode(), dict(answer.headers)
    except HTTPError as refused:
        with refused:
            return refused.code, refused.read().decode(), dict(refused.headers)


def command_line(process: psutil.Process) -> list[str]:
    """Empty where it has ended since it was found."""
    with suppress(psutil.NoSuchProcess):
        return process.cmdline()
    return []


def using(home: Path) -> list[psutil.Process]:
    """Processes that have the folder in their command line: the embedded server and whoever belongs to it."""
    found = []
    for process in psutil.process_iter():
        try:
            if str(home) in " ".join(process.cmdline()) and process.status() != psutil.STATUS_ZOMBIE:
                found.append(process)
        except (psutil.NoSuchProcess, psutil.AccessDenied):
            continue
    return found


def started(process: Background) -> dict[str, str]:
    return process.announced()


async def test_up_starts_everything_and_ctrl_c_leaves_no_process(start: Start, home: Path):
    up = start("up", "-o", "json", "--app", APP, "--port", "0", cold=True, home=str(home))
    told = started(up)
    assert told["database"] == f"embedded PostgreSQL in {home}"
    assert "Next, in another terminal" in up.stderr
    async with Penstock("enqueuer", settings=load(home=home)) as app:
        assert await (await app.enqueue("add", {"a": 2, "b": 3})).result(60) == 5
    assert get(told["http"], "/healthz")[0] == 200
    assert get(told["http"], "/readyz")[:2] == (200, '{"status":"ready"}')
    tree = up.tree()
    servers = using(home)
    assert any("penstock.fleet.nursery" in command_line(one) for one in tree)
    assert servers
    up.interrupt()
    assert up.ended() == 0, up.stderr
    _gone, alive = psutil.wait_procs([*tree, *servers], timeout=60)
    assert alive == []
    assert using(home) == []
    assert "Traceback" not in up.stderr


async def test_up_without_an_application_runs_what_ships_with_penstock(
    start: Start, database_url: str, enqueuer: Penstock
):
    up = start("up", "-o", "json", "--port", "0", database_url=database_url)
    assert started(up)["app"] == "penstock_demo.showcase:app"
    task = await enqueuer.enqueue("import_order", {"line": "oak-table x 2"})
    assert await task.result(60) == {"sku": "oak-table", "amount": 2, "total": 840}
    missing = await enqueuer.enqueue("import_order", {"line": "moon x 1"})
    assert (await missing.wait(60))[0] is State.NOT_FOUND


def test_a_port_in_use_is_refused_with_a_sentence(call: Call, database_url: str):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        refused = call("up", "--app", APP, database_url=database_url, port=port)
    assert refused.returncode == 4
    assert f"cannot listen on 127.0.0.1:{port}" in refused.stderr
    assert "uses the port" in refused.stderr
    assert "Traceback" not in refused.stderr


async def test_metrics_count_what_the_runners_did(start: Start, database_url: str, enqueuer: Penstock):
    worker = start("worker", "--app", APP, "--port", "0", "-o", "json", database_url=database_url)
    address = started(worker)["http"]
    begun = time.monotonic()
    tasks = [await enqueuer.enqueue("add", {"a": number, "b": 1}) for number in range(5)]
    for task in tasks:
        await task.result(60)
    took = time.monotonic() - begun
    samples: dict[str, float] = {}

    def counted() -> bool:
        text = get(address, "/metrics")[1]
        samples.update(
            {line.rpartition(" ")[0]: float(line.rpartition(" ")[2]) for line in text.splitlines() if line[0] != "#"}
        )
        # Runs and endings come in reports of their own, up to a second apart.
        names = ('penstock_run_seconds_count{stage="add"}', 'penstock_tasks_finished_total{stage="add",state="DONE"}')
        return all(samples.get(name, 0) >= 5 for name in names)

    wait_until(counted, what="the count of five runs", log=lambda: str(samples))
    assert samples['penstock_tasks_claimed_total{stage="add"}'] == 5
    assert samples['penstock_tasks_finished_total{stage="add",state="DONE"}'] == 5
    assert 0 < samples['penstock_run_seconds_sum{stage="add"}'] <= 5 * took
    assert samples['penstock_wait_seconds_count{stage="add"}'] >= 1
    assert samples['penstock_wait_seconds_sum{stage="add"}'] >= 0
    assert samples['penstock_stage_waiting{stage="add"}'] == 0
    assert samples['penstock_processors{stage="add",state="idle"}'] == 10
    assert samples["penstock_workers_live"] == 1
    assert samples["penstock_database_up"] == 1
    assert samples['penstock_stale_settles_total{stage="add"}'] == 0
    assert any(name.startswith("penstock_seconds_since_poll") for name in samples)


async def test_the_depth_and_the_oldest_wait_of_a_stage_are_gauges(start: Start, database_url: str, enqueuer: Penstock):
    worker = start("worker", "--app", APP, "--only", "add", "--port", "0", "-o", "json", database_url=database_url)
    address = started(worker)["http"]
    for _ in range(3):
        await enqueuer.enqueue("linger", {"seconds": 0})
    wait_until(
        lambda: 'penstock_stage_waiting{stage="linger"} 3.0' in get(address, "/metrics")[1], what="three waiting"
    )

    def oldest() -> float:
        lines = get(address, "/metrics")[1].splitlines()
        return next(
            float(line.rpartition(" ")[2])
            for line in lines
            if line.startswith('penstock_stage_oldest_wait_seconds{stage="linger"}')
        )

    before = oldest()
    wait_until(lambda: oldest() > before + 0.5, what="a longer wait")


async def test_sigterm_ends_within_the_grace_and_hands_back_what_runs(
    start: Start, database_url: str, enqueuer: Penstock
):
    worker = start("worker", "--app", APP, "-o", "json", cold=True, database_url=database_url, grace_seconds="2")
    started(worker)
    task = await enqueuer.enqueue("linger", {"seconds": 3600})
    await running(task)
    tree = worker.tree()
    worker.process.terminate()
    assert worker.ended() == 0, worker.stderr
    assert psutil.wait_procs(tree, timeout=60)[1] == []
    assert await task.state() is State.PENDING
    assert (await task.details())["attempts"] == 0


async def test_a_second_ctrl_c_ends_it_at_once_and_burns_nothing(start: Start, database_url: str, enqueuer: Penstock):
    worker = start("worker", "--app", APP, "-o", "json", database_url=database_url, grace_seconds="3600")
    started(worker)
    task = await enqueuer.enqueue("linger", {"seconds": 3600})
    await running(task)
    worker.interrupt()
    wait_until(lambda: "Stopping" in worker.stderr, what="the first answer")
    worker.interrupt()
    assert worker.ended() == 130, worker.stderr
    assert (await task.details())["attempts"] == 0


async def test_the_embedded_server_is_started_again_when_it_dies(start: Start, home: Path):
    worker = start("worker", "--app", APP, "-o", "json", home=str(home))
    started(worker)
    killed = using(home)
    for process in killed:
        process.kill()
    # Nobody else uses this server yet, so it is the worker that brings it back.
    wait_until(lambda: any(one not in killed for one in using(home)), what="a new server", log=lambda: worker.stderr)
    async with Penstock("enqueuer", settings=load(home=home)) as app:
        assert await (await app.enqueue("add", {"a": 1, "b": 1})).result(60) == 2
    worker.process.terminate()
    assert worker.ended() == 0, worker.stderr
    wait_until(lambda: using(home) == [], what="the end of the server")


def test_an_application_that_cannot_be_found_or_imported_is_exit_code_2(call: Call, database_url: str):
    for reference, cause in {
        "tests.cli.serving_app": "names no object",
        "tests.cli.nowhere:app": "there is no module 'tests.cli.nowhere'",
        "tests.cli.serving_app:nothing": "there is no 'nothing'",
        "tests.cli.serving_app:add": "not a Penstock application",
        "tests.cli.broken_app:app": "the configuration file is missing",
    }.items():
        ended_at = call("worker", "--app", reference, database_url=database_url)
        assert ended_at.returncode == 2, (reference, ended_at.stderr)
        assert cause in ended_at.stderr
    unknown = call("worker", "--app", APP, "--only", "nonsense", database_url=database_url)
    assert unknown.returncode == 2
    assert "'nonsense'" in unknown.stderr
    assert call("worker", database_url=database_url).returncode == 2


async def test_other_users_of_the_machine_cannot_read_the_database_url(start: Start, database_url: str):
    worker = start("worker", "--app", APP, "-o", "json", database_url=database_url)
    started(worker)
    for process in worker.tree():
        assert "postgresql://" not in " ".join(command_line(process))


async def running(task: "Task[object]") -> None:
    deadline = time.monotonic() + 60
    while await task.state() is not State.PROCESSING:
        assert time.monotonic() < deadline, "the task was never claimed"


async def test_a_fleet_without_its_database_is_not_ready_and_says_so_in_its_metrics():
    settings = load(database_url="postgresql://somebody@127.0.0.1:1/nowhere")
    fleet = Fleet(settings=settings, url="postgresql://somebody@127.0.0.1:1/nowhere", app=APP)
    assert "no answer at 127.0.0.1:1/nowhere" in (await fleet.unready() or "")
    text = (await fleet.exposition.render()).decode()
    assert "penstock_database_up 0.0" in text
    assert "penstock_workers_live 1" not in text


@pytest.mark.parametrize("asked", ["", "&target_session_attrs=any"], ids=["usual", "any server"])
async def test_a_fleet_whose_database_only_takes_reads_is_not_ready_and_says_so(
    asked: str, database_url: str, connection: asyncpg.Connection
):
    url = f"{database_url}{asked}"
    fleet = Fleet(settings=load(database_url=url), url=url, app=APP)
    assert await fleet.unready() == "not all runners have started yet"
    assert "penstock_database_up 1.0" in (await fleet.exposition.render()).decode()
    name = await connection.fetchval("select current_database()")
    await connection.execute(f'alter database "{name}" set default_transaction_read_only = on')
    assert (await fleet.unready() or "").startswith("The database is read-only")
    assert "penstock_database_up 0.0" in (await fleet.exposition.render()).decode()


def test_a_document_is_one_line_of_json(start: Start, database_url: str):
    worker = start("worker", "--app", APP, "-o", "json", database_url=database_url)
    started(worker)
    assert orjson.loads(worker.stdout)["runners"] == 1
    assert worker.stdout.count("\n") == 1


def test_a_worker_of_another_application_with_a_task_of_the_same_name_is_refused_until_it_is_transferred(
    start: Start, call: Call, database_url: str
):
    start("worker", "--app", APP, "-o", "json", database_url=database_url).announced()
    namesake = ("worker", "--app", "tests.cli.namesake_app:app", "-o", "json")
    refused = call(*namesake, database_url=database_url)
    assert refused.returncode == 2
    assert "declares 'add', which belongs to the application 'serving'" in refused.stderr
    assert "penstock stages transfer serving namesake" in refused.stderr
    moved = call("stages", "transfer", "serving", "namesake", "--only", "add", database_url=database_url)
    assert moved.stdout == "Transferred from serving to namesake: add.\n", moved.stderr
    start(*namesake, database_url=database_url).announced()
    assert "application  namesake" in call("stages", "show", "add", database_url=database_url).stdout
    wrong = call("stages", "transfer", "nobody", "namesake", database_url=database_url)
    assert wrong.returncode == 3
    assert "There is no application 'nobody'." in wrong.stderr
    assert "Known: namesake, serving." in wrong.stderr
