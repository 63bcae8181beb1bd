"""Isolated handlers with real processes: what they return, what they raise, and how they die."""

import asyncio
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import orjson
import pytest

from penstock.config import load
from penstock.core.define import define_stage
from penstock.core.enqueue import EnqueueOptions
from penstock.core.run import DeadlinePassed, HandBack, ProcessDied, StopAsked, run
from penstock.embedded.processes import is_alive
from penstock.errors import InvalidDefinition, PermanentError, ThrottledError, TransientError
from penstock.events import Events
from penstock.failpoints import Failpoints
from penstock.fleet.isolated.calls import Children
from penstock.lifecycle import State
from penstock.model import Claimed, Earlier, Finish, NotFound, Release, Settlement, Skip, Snooze
from penstock.workers.inprocess import worker
from penstock.workers.pool import Pool
from penstock.workers.slots import Slots
from tests.crash.isolated_app import app
from tests.crash.isolated_calls import APP, Told, claimed_of, context_of, definition_of, running_stage, stored

PATIENCE_SECONDS = 60
LIMIT_BYTES = 10_000
ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
async def children() -> AsyncIterator[Children]:
    made = Children(APP, max_result_bytes=LIMIT_BYTES)
    yield made
    made.close()
    await until(lambda: not made.pids)


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(PATIENCE_SECONDS):
        while not condition():
            await asyncio.sleep(0.01)


async def pid_in(path: Path) -> int:
    await until(lambda: path.exists() and bool(path.read_text()))
    return int(path.read_text())


async def call(children: Children, name: str, **values: Any) -> Any:
    return await children.call(definition_of(name), context_of(stored(values)), values)


async def settled(children: Children, name: str, *, attempt: int = 0, **values: Any) -> tuple[Settlement, Any]:
    """One run as a pool makes it: the settlement, and its error decoded."""
    claimed = claimed_of(stored(values), attempt=attempt)
    stage = running_stage(children, definition_of(name), max_result_bytes=LIMIT_BYTES)
    settlement = await run(claimed, stage, context_of(stored(values)))
    assert isinstance(settlement, Finish | Release)
    return settlement, None if settlement.error is None else orjson.loads(settlement.error)


class OnePool:
    """A pool with one processor and one task, as far as a runner would drive it."""

    def __init__(self, children: Children, name: str, **values: Any) -> None:
        self.claimed: list[Claimed] = [claimed_of(stored(values))]
        self.ended: asyncio.Future[Settlement | None] = asyncio.get_running_loop().create_future()
        self._slots = Slots.create(1)
        self.pool = Pool(
            running=running_stage(children, definition_of(name)),
            first_slot=0,
            slots=self._slots,
            failpoints=Failpoints(),
        )
        self._moments: Any = SimpleNamespace(
            coordinator=SimpleNamespace(next_for=lambda pool: self.claimed.pop() if self.claimed else None),
            ended=lambda claimed, settlement, took: self.ended.set_result(settlement),
        )

    async def __aenter__(self) -> "OnePool":
        self.pool.start(self._moments)
        return self

    async def __aexit__(self, *error: object) -> None:
        await self.pool.stop()
        self._slots.close(remove=True)

    async def interrupted(self, why: DeadlinePassed | StopAsked | HandBack) -> Settlement | None:
        self.pool.interrupt(self.pool.busy[0], why)
        async with asyncio.timeout(PATIENCE_SECONDS):
            return await self.ended


# ---------------------------------------------------------------- values


async def test_a_handler_runs_in_another_process_and_its_value_comes_back(children):
    assert await call(children, "double", number=21) == {"doubled": 42}
    assert await call(children, "pid") not in (os.getpid(), None)


async def test_typed_arguments_are_made_from_the_stored_values_in_the_child(children):
    settlement, _ = await settled(children, "area", size={"width": 2, "height": 3}, day="2026-02-28")
    assert isinstance(settlement, Finish)
    assert orjson.loads(settlement.result or "") == {
        "area": 6,
        "types": ["Size", "date"],
        "day": "2026-02-28",
    }


async def test_a_later_stage_gets_the_result_of_the_stage_before(children):
    context = context_of()
    context._claimed.earlier = Earlier(previous='{"title": "Ada"}', previous_run=1)
    value = await children.call(definition_of("two", "second"), context, {"found": {"title": "Ada"}})
    assert value == {"found": {"title": "Ada"}, "previous": {"title": "Ada"}}


async def test_the_context_of_an_isolated_handler_says_what_the_runner_knows(children):
    context = context_of()
    assert await children.call(definition_of("told"), context, {}) == {
        "task_id": 41,
        "job_id": 9,
        "attempt": 1,
        "max_attempts": 5,
        "run": 2,
        "lease": 1_000_007,
        "idempotency_key": context.idempotency_key,
        "trace": "00-abc-def-01",
        "previous": None,
        "cancelled": False,
    }


async def test_progress_reaches_the_runner(children):
    told = Told()
    await children.call(definition_of("reports"), context_of("{}", told), {})
    assert told.progress_told == [(1.0, 3.0, "one \\0 third"), (2.0, 3.0, "")]


async def test_every_ending_comes_back_as_itself(children):
    assert await call(children, "ends", how="done") == {"a": 1}
    assert await call(children, "ends", how="none") is None
    assert await call(children, "ends", how="not found") == NotFound("no such page")
    assert await call(children, "ends", how="not found yet") == NotFound("no such page", 30.0)
    assert await call(children, "ends", how="skip") == Skip("nothing \\0 new")
    assert await call(children, "ends", how="snooze") == Snooze(90.0, "later")
    settlement, error = await settled(children, "ends", how="cancel")
    assert isinstance(settlement, Finish)
    assert settlement.status is State.CANCELLED
    assert error == {"message": "not wanted"}


async def test_a_result_that_cannot_be_stored_is_a_permanent_error_with_its_reason(children):
    for what, kind, said in (
        ("object", "NotStorable", "object is not JSON serializable"),
        ("nul", "NotStorable", "NUL character"),
        ("nan", "NotStorable", "NaN or infinite"),
        ("surrogate", "NotStorable", "surrogates"),
        ("large", "PayloadTooLarge", "at most 10,000"),
    ):
        settlement, error = await settled(children, "returns", what=what)
        assert isinstance(settlement, Finish)
        assert (settlement.status, error["class"], error["type"]) == (State.ERROR, "permanent", kind)
        assert said in error["message"]


async def test_a_snooze_for_no_number_is_refused(children):
    with pytest.raises(PermanentError, match="NaN or infinite"):
        await call(children, "ends", how="snooze for nan")


# ---------------------------------------------------------------- errors


async def test_an_exception_is_stored_with_the_type_place_and_traceback_of_the_child(children):
    settlement, error = await settled(children, "raises", what="value")
    assert isinstance(settlement, Release)
    assert (settlement.cause, settlement.burned, settlement.crashed) == ("retry", True, False)
    assert (error["class"], error["type"], error["message"]) == ("transient", "ValueError", "odd value")
    assert error["where"].startswith("isolated_app.py:")
    assert error["where"].endswith(" raises")
    assert "raise kinds[what]" in error["traceback"]


@pytest.mark.parametrize("reference", [APP, None])
async def test_the_policy_of_the_stage_judges_the_exception_in_the_child(reference):
    children = Children(reference)
    kinds = {
        "value": TransientError,
        "bad row": PermanentError,
        "key": PermanentError,
        "index": TransientError,
        "permanent": PermanentError,
        "throttled": ThrottledError,
        "unprintable": TransientError,
    }
    for what, raised in kinds.items():
        with pytest.raises(raised):
            await call(children, "raises", what=what)
    children.close()


async def test_the_verdict_of_the_child_is_not_judged_again(children):
    """A policy that gives up on every class but one would else give up on ours."""
    settlement, error = await settled(children, "gives_up_on_most", what="index")
    assert isinstance(settlement, Release)
    assert (error["class"], error["type"]) == ("transient", "IndexError")
    settlement, error = await settled(children, "gives_up_on_most", what="key")
    assert isinstance(settlement, Finish)
    assert (error["class"], error["type"]) == ("permanent", "KeyError")


async def test_a_throttled_handler_keeps_its_wait_and_its_key(children):
    with pytest.raises(ThrottledError) as caught:
        await call(children, "raises", what="throttled")
    assert (caught.value.retry_after, caught.value.key) == (17.0, "wikidata")
    settlement, _ = await settled(children, "raises", what="throttled")
    assert isinstance(settlement, Release)
    assert (settlement.cause, settlement.delay_seconds, settlement.burned) == ("throttled", 17.0, False)


async def test_sys_exit_ends_the_handler_as_an_error_and_its_process_is_not_used_again(children):
    before = await call(children, "pid")
    _, error = await settled(children, "raises", what="exit")
    assert (error["class"], error["type"], error["message"]) == ("transient", "SystemExit", "3")
    assert await call(children, "pid") != before


async def test_an_error_text_that_cannot_be_stored_is_made_storable(children):
    _, error = await settled(children, "raises", what="text")
    assert error["message"].startswith("a \\0 and a \\ud800 and x")


@pytest.mark.parametrize("what", ["limiter", "transaction"])
async def test_what_needs_the_worker_is_refused_in_a_sentence(children, what):
    with pytest.raises(PermanentError, match=rf"ctx\.{what}\(.* is not available in an isolated handler"):
        await call(children, "asks_for", what=what)


async def test_prints_do_not_break_the_protocol(children, capfd):
    assert await call(children, "prints") == "printed"
    assert await call(children, "double", number=1) == {"doubled": 2}
    out, err = capfd.readouterr()
    assert out == ""
    assert "a print of the handler\nmore\n" in err


# ---------------------------------------------------------------- death


@pytest.mark.parametrize(
    ("how", "said"),
    [
        ("segfault", "it was killed by SIGSEGV"),
        ("abort", "it was killed by SIGABRT"),
        ("exit", "it ended with exit code 7"),
        ("kill", "it was killed by SIGKILL"),
    ],
)
async def test_the_death_of_its_process_is_a_crash_of_the_task_and_says_how(children, how, said):
    settlement, error = await settled(children, "dies", how=how)
    assert isinstance(settlement, Release)
    assert (settlement.cause, settlement.crashed, settlement.burned) == ("crash", True, True)
    assert (error["class"], error["type"]) == ("crash", "ProcessDied")
    assert said in error["message"]
    assert "before the handler started" not in error["message"]


async def test_a_crash_concerns_its_own_task_only(children):
    answers = await asyncio.gather(
        *(call(children, "double", number=number) for number in range(3)),
        call(children, "dies", how="segfault"),
        return_exceptions=True,
    )
    assert answers[:3] == [{"doubled": 0}, {"doubled": 2}, {"doubled": 4}]
    assert isinstance(answers[3], ProcessDied)
    assert await call(children, "double", number=5) == {"doubled": 10}


async def test_a_child_killed_from_outside_while_it_works_is_a_crash(children, tmp_path):
    calling = asyncio.create_task(call(children, "waits", path=str(tmp_path / "pid")))
    os.kill(await pid_in(tmp_path / "pid"), signal.SIGKILL)
    with pytest.raises(ProcessDied, match="SIGKILL"):
        await asyncio.wait_for(calling, PATIENCE_SECONDS)


async def test_a_child_killed_while_idle_costs_no_task_a_crash(children):
    """Without a turn of the loop in between: the runner cannot have noticed."""
    for _ in range(5):
        pid = await call(children, "pid")
        os.kill(pid, signal.SIGKILL)
        assert await call(children, "pid") != pid


async def test_nonsense_on_the_link_is_a_crash_of_that_task(children):
    with pytest.raises(ProcessDied, match="it sent what is no message"):
        await call(children, "speaks_into_the_link")
    assert await call(children, "double", number=2) == {"doubled": 4}


async def test_three_crashes_make_a_dead_letter(database_url):
    app.use(load(database_url=database_url), Events())
    async with app:
        dies = app.pipelines["dies"]
        async with worker(app, only=["dies"]):
            task = await app.store(dies, {"how": "segfault"}, EnqueueOptions())
            status, _, error = await task.wait(timeout=60)
        details = await task.details()
    assert status is State.ERROR
    assert error is not None
    assert (error["class"], error["type"]) == ("crash", "ProcessDied")
    assert [(one["cause"], one["burned"]) for one in details["history"]] == [("crash", True)] * 3


# ---------------------------------------------------------------- deadline and cancel


@pytest.mark.parametrize("name", ["waits", "holds_the_gil"])
async def test_a_handler_past_its_deadline_is_killed_and_the_next_one_runs(children, tmp_path, name):
    async with OnePool(children, name, path=str(tmp_path / "pid")) as one:
        pid = await pid_in(tmp_path / "pid")
        settlement = await one.interrupted(DeadlinePassed(5))
        assert not is_alive(pid)
    assert isinstance(settlement, Release)
    assert (settlement.cause, settlement.burned, settlement.crashed) == ("timeout", True, False)
    assert await call(children, "double", number=2) == {"doubled": 4}


async def test_a_handler_that_looks_at_cancelled_may_end_by_itself_and_its_value_counts(children, tmp_path):
    async with OnePool(children, "looks_at_cancelled", path=str(tmp_path / "pid"), then="return") as one:
        pid = await pid_in(tmp_path / "pid")
        settlement = await one.interrupted(StopAsked())
    assert isinstance(settlement, Finish)
    assert (settlement.status, settlement.result) == (State.DONE, '"stopped cleanly"')
    assert await call(children, "pid") == pid


async def test_an_error_after_a_cancel_is_the_cancel(children, tmp_path):
    async with OnePool(children, "looks_at_cancelled", path=str(tmp_path / "pid"), then="raise") as one:
        await pid_in(tmp_path / "pid")
        settlement = await one.interrupted(StopAsked())
    assert isinstance(settlement, Finish)
    assert settlement.status is State.CANCELLED


async def test_a_handler_that_is_handed_back_burns_no_attempt_and_is_dead_before(children, tmp_path):
    async with OnePool(children, "waits", path=str(tmp_path / "pid")) as one:
        pid = await pid_in(tmp_path / "pid")
        settlement = await one.interrupted(HandBack())
        assert not is_alive(pid)
    assert isinstance(settlement, Release)
    assert (settlement.cause, settlement.burned) == ("hand back", False)


async def test_a_second_interruption_does_not_wait_for_the_grace(tmp_path):
    children = Children(APP, cancel_grace_seconds=600)
    calling = asyncio.create_task(call(children, "waits", path=str(tmp_path / "pid")))
    pid = await pid_in(tmp_path / "pid")
    calling.cancel()
    await asyncio.sleep(0)
    calling.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asyncio.wait_for(calling, PATIENCE_SECONDS)
    await until(lambda: not is_alive(pid))
    children.close()


async def test_a_call_interrupted_while_its_child_starts_leaves_nothing_behind(children, tmp_path):
    # One that does not end by itself: what a handler finishes within the grace counts.
    calling = asyncio.create_task(call(children, "waits", path=str(tmp_path / "pid")))
    await until(lambda: bool(children.pids))
    (pid,) = children.pids
    calling.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asyncio.wait_for(calling, PATIENCE_SECONDS)
    await until(lambda: not is_alive(pid))


async def test_what_a_killed_handler_started_is_killed_with_it(children, tmp_path):
    calling = asyncio.create_task(call(children, "starts_a_program", path=str(tmp_path / "pid")))
    program = await pid_in(tmp_path / "pid")
    calling.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asyncio.wait_for(calling, PATIENCE_SECONDS)
    await until(lambda: not is_alive(program))


# ---------------------------------------------------------------- life of a child


async def test_a_child_serves_one_call_after_the_other(children):
    assert len({await call(children, "pid") for _ in range(5)}) == 1


async def test_a_child_is_replaced_after_so_many_calls():
    children = Children(APP, calls_per_child=2)
    pids = [await call(children, "pid") for _ in range(4)]
    assert pids[0] == pids[1] != pids[2] == pids[3]
    await until(lambda: not is_alive(pids[0]))
    children.close()


async def test_a_child_with_a_thread_that_does_not_end_is_killed_when_it_is_retired(children):
    pid = await call(children, "leaves_a_thread")
    children.close()
    await until(lambda: not is_alive(pid))


async def test_a_child_that_does_not_hear_that_it_should_leave_is_killed(children):
    pid = await call(children, "pid")
    os.kill(pid, signal.SIGSTOP)
    children.close()
    await until(lambda: not is_alive(pid))


async def test_closing_ends_busy_and_idle_children(children, tmp_path):
    calling = asyncio.create_task(call(children, "waits", path=str(tmp_path / "pid")))
    await pid_in(tmp_path / "pid")
    await call(children, "pid")
    pids = children.pids
    assert len(pids) == 2
    children.close()
    await until(lambda: not any(map(is_alive, pids)))
    with pytest.raises(ProcessDied):
        await calling


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
async def test_signals_for_the_group_do_not_reach_the_handler(children, tmp_path):
    """Ctrl-C and systemd's SIGTERM: the runner decides what happens to its handlers."""
    path = tmp_path / "pid"
    calling = asyncio.create_task(call(children, "looks_at_cancelled", path=str(path), then="return"))
    pid = await pid_in(path)
    assert os.getsid(pid) == pid
    os.kill(pid, signal.SIGINT)
    os.kill(pid, signal.SIGTERM)
    await until(lambda: not _pending_signals(pid))
    calling.cancel()
    assert await asyncio.wait_for(calling, PATIENCE_SECONDS) == "stopped cleanly"


def _pending_signals(pid: int) -> int:
    """Those that were sent to the process and that it has neither taken nor ignored yet."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return sum(int(line.split()[1], 16) for line in lines if line.startswith(("SigPnd:", "ShdPnd:")))


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
async def test_a_child_inherits_nothing_but_its_link(children, tmp_path):
    with (tmp_path / "secret").open("w") as secret, socket.socket() as listening:
        os.set_inheritable(secret.fileno(), True)
        os.set_inheritable(listening.fileno(), True)
        files = await call(children, "open_files")
    assert [name for name in files if "secret" in name] == []
    assert len([name for name in files if name.startswith("socket:")]) == 1


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="only Linux ends a child that holds the GIL")
@pytest.mark.parametrize("name", ["waits", "holds_the_gil"])
def test_no_child_survives_a_runner_that_was_killed(tmp_path, name):
    path = tmp_path / "pid"
    command = [sys.executable, "-m", "tests.crash.isolated_runner", name, str(path)]
    with subprocess.Popen(command, cwd=ROOT) as runner:
        end = time.monotonic() + PATIENCE_SECONDS
        while not (path.exists() and path.read_text()) and time.monotonic() < end:
            time.sleep(0.01)
        pid = int(path.read_text())
        assert is_alive(pid)
        runner.kill()
    end = time.monotonic() + PATIENCE_SECONDS
    while is_alive(pid) and time.monotonic() < end:
        time.sleep(0.01)
    assert not is_alive(pid)


async def test_a_child_whose_link_ends_while_it_works_ends_itself(children, tmp_path):
    calling = asyncio.create_task(call(children, "starts_a_program", path=str(tmp_path / "pid")))
    program = await pid_in(tmp_path / "pid")
    (child,) = children._all
    child._channel.shutdown(socket.SHUT_WR)
    with pytest.raises(ProcessDied, match="SIGKILL"):
        await asyncio.wait_for(calling, PATIENCE_SECONDS)
    await until(lambda: not is_alive(program))


# ---------------------------------------------------------------- finding the handler


async def test_without_a_reference_the_function_is_found_by_its_module():
    children = Children(None)
    assert await call(children, "double", number=4) == {"doubled": 8}
    given = {"size": {"width": 2, "height": 3}, "day": "2026-02-28"}
    assert (await call(children, "area", **given))["types"] == ["Size", "date"]
    children.close()


async def test_a_handler_inside_a_function_is_refused_without_a_reference():
    def inner() -> None: ...

    definition = define_stage(inner, pipeline="inner", name="inner", position=0, isolated=True)
    with pytest.raises(InvalidDefinition, match=r"inner has no name there; define it at the top of a module"):
        await Children(None).call(definition, context_of(), {})


@pytest.mark.parametrize("reference", [None, "__main__:app"])
async def test_a_handler_of_the_started_program_is_refused(reference):
    def handler() -> None: ...

    handler.__module__, handler.__qualname__ = "__main__", "handler"
    definition = define_stage(handler, pipeline="p", name="p", position=0, isolated=True)
    children = Children(reference)
    with pytest.raises(InvalidDefinition, match=r"handler belongs to the program that was started"):
        await children.call(definition, context_of(), {})
    assert children.pids == []


@pytest.mark.parametrize(
    ("reference", "said"),
    [
        ("tests.crash.isolated_app:nothing", "there is no 'nothing' in tests.crash.isolated_app"),
        ("tests.no_such_module:app", "there is no module 'tests.no_such_module'"),
        ("tests.crash.isolated_app:double", "it is BackgroundTask, not an application"),
    ],
)
async def test_an_application_that_a_child_cannot_find_is_a_permanent_error(reference, said):
    children = Children(reference)
    with pytest.raises(PermanentError, match=said):
        await call(children, "double", number=1)
    children.close()


async def test_a_stage_that_a_fresh_process_does_not_know_is_a_permanent_error(children):
    definition = define_stage(lambda: None, pipeline="late", name="late", position=0, isolated=True)
    with pytest.raises(PermanentError, match="Stage late/late is declared wrongly"):
        await children.call(definition, context_of(), {})
