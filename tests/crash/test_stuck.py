"""A thread that does not react: the supervisor kills its runner, and the task is released with the cause timeout."""

from penstock import Penstock, State
from tests.crash.conftest import StartWorker
from tests.crash.crash_app import endless


async def test_a_handler_that_holds_on_past_deadline_and_grace_is_released_as_a_timeout(
    app: Penstock, start_worker: StartWorker
) -> None:
    start_worker()
    task = await endless.enqueue()
    state, _, error = await task.wait(60)
    assert state is State.ERROR
    assert error is not None
    assert (error["class"], error["type"]) == ("timeout", "ProcessKilled")
    history = (await task.details())["history"]
    assert [(one["cause"], one["burned"]) for one in history] == [("timeout", True)] * 3
