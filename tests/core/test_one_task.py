"""One task, from the call to the stored outcome, passes through the files that ARCHITECTURE.md names, in its order."""

import asyncio
import re
import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import penstock
from penstock import Penstock

_SOURCE = Path(penstock.__file__).parent
_ROOT = Path(__file__).resolve().parents[2]

# What else is on the way. The list only shrinks: who adds a file to the way of a task takes another one away.
_BESIDE = {
    # stored
    "application.py",
    "core/arguments.py",
    "core/background.py",
    "core/define.py",
    "core/payload.py",
    "core/registering.py",
    "core/tracing.py",
    "events.py",
    "loops.py",
    "storage/database.py",
    "storage/queries.py",
    "storage/tasks.py",
    # claimed
    "adaptation/claims.py",
    "core/outage.py",
    "core/stage.py",
    "core/turns.py",
    "failpoints.py",
    "observe/times_spread.py",
    "storage/queue.py",
    "workers/adaptation.py",
    "workers/coordinator.py",
    "workers/discovery.py",
    "workers/inbox.py",
    "workers/listener.py",
    "workers/pool.py",
    "workers/runner.py",
    "workers/slots.py",
    # run and settled
    "observe/changes.py",
    # the caller, who waits for the result
    "core/handles.py",
}
# What a worker does now and then, by the clock.
_NOW_AND_THEN = {
    "storage/changes.py",
    "storage/lanes.py",
    "storage/statistics.py",
    "workers/beat.py",
    "workers/measuring.py",
}


async def test_a_task_passes_through_the_files_of_the_architecture_in_their_order(
    app: Penstock, working: Callable[..., Any]
) -> None:
    @app.task()
    async def double(n: int) -> int:
        return 2 * n

    entered: dict[str, None] = {}

    def note(frame: FrameType, event: str, argument: object) -> None:
        file = Path(frame.f_code.co_filename)
        if event == "call" and file.is_relative_to(_SOURCE):
            entered.setdefault(file.relative_to(_SOURCE).as_posix())

    async with working(upkeep=False) as inside:
        assert await (await double.enqueue(1)).result(60) == 2
        sys.setprofile(note)
        try:
            task = await double.enqueue(21)
            assert await task.result(60) == 42
            assert (await task.state()).finished
            while len(inside.runner.held):
                await asyncio.sleep(0)
        finally:
            sys.setprofile(None)

    told = (_ROOT / "ARCHITECTURE.md").read_text("utf-8").partition("Six files tell it")[2].partition("**")[0]
    six = re.findall(r"`([\w/]+\.py)`", told)
    verbs = [file for file in six if file.startswith("core/")]
    assert len(six) == 6 and len(verbs) == 4
    assert [file for file in entered if file in verbs] == verbs
    assert set(six) <= set(entered)
    beside = set(entered) - set(six) - _NOW_AND_THEN
    assert beside <= _BESIDE, "further files are on the way of a task"
    assert beside >= _BESIDE, "they are not on the way any more: take them off the list"
