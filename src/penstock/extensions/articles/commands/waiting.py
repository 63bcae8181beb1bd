"""What a command says while it waits for embeddings and nothing moves: no worker is there, or what holds them up."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress

from penstock.application import Penstock
from penstock.errors import PenstockError
from penstock.insight.task_views import TaskFilter, page
from penstock.insight.why import Reason, Why, explain
from penstock.lifecycle import State
from penstock.terminal.readable import clean
from penstock.terminal.served import BUILT_IN
from penstock.terminal.session import Session

# Most embeddings are through by then; whoever waits longer wants to know why.
PATIENCE_SECONDS = 3.0
_LOOK_SECONDS = 2.0
# Those that a person may want to do something about. That others are before it is told by the progress.
_TOLD = frozenset(
    {
        "worker_lost",
        "stage_paused",
        "job_paused",
        "lane_paused",
        "retry",
        "throttled",
        "no_worker",
        "limiter",
        "not_announced",
        "overlooked",
    }
)


@asynccontextmanager
async def explained(
    session: Session,
    app: Penstock,
    unfinished: Callable[[], Awaitable[int | None]],
    *,
    stopped: str | None = None,
    before: Callable[[], object] = lambda: None,
) -> AsyncIterator[None]:
    """While the body waits. ``unfinished``: a task that it waits for; ``stopped``: the remark of Ctrl-C, which ends the
    waiting alone; ``before`` is called before each remark, to leave a line that moves."""
    telling = asyncio.create_task(_tell(session, app, unfinished, before))
    try:
        yield
    except asyncio.CancelledError:
        before()
        if stopped is not None:
            session.out.say(stopped)
        raise
    finally:
        telling.cancel()
        await asyncio.gather(telling, return_exceptions=True)


async def pending_of_job(app: Penstock, job_id: int | None) -> int | None:
    """One of its tasks that waits; the one that is due first."""
    if job_id is None:
        return None
    rows = (await page(app, TaskFilter(job_id=job_id, state=State.PENDING), limit=1)).rows
    return next((row.task_id for row in rows), None)


async def _tell(
    session: Session,
    app: Penstock,
    unfinished: Callable[[], Awaitable[int | None]],
    before: Callable[[], object],
) -> None:
    """Each reason once."""
    told: set[str] = set()
    await asyncio.sleep(PATIENCE_SECONDS)
    while True:
        with suppress(PenstockError):  # it is gone, or the database is: the wait itself says so
            task_id = await unfinished()
            if task_id is not None:
                async with app.connection() as connection:
                    why = await explain(connection, task_id)
                if why.reason.value in _TOLD and why.reason.value not in told:
                    told.add(why.reason.value)
                    before()
                    session.out.say(_sentence(session, why))
        await asyncio.sleep(_LOOK_SECONDS)


def _sentence(session: Session, why: Why) -> str:
    if why.reason is Reason.NO_WORKER:
        return (
            "Still waiting: no live worker embeds articles. Start one in another terminal: `penstock up`, or "
            f"`penstock worker --app {session.app_reference or BUILT_IN}`."
        )
    return clean(" ".join(part for part in (f"Still waiting: {why.sentence}", why.next_step) if part))
