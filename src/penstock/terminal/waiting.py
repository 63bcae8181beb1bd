"""What a command waits for: a job, with a progress line, or Ctrl-C."""

import asyncio
import signal
from dataclasses import asdict
from typing import Any

from penstock.core.job_counts import JobCounts
from penstock.insight import job_views
from penstock.insight.job_views import JobView
from penstock.terminal.session import Session


def as_row(view: JobView) -> dict[str, Any]:
    return {**asdict(view), "state": view.state.name}


async def wait_for(session: Session, job_id: int, timeout: float | None) -> int:
    """With a progress line; Ctrl-C leaves the job alone."""
    app = await session.app()
    async with session.connection() as connection:
        view = (await job_views.show(connection, job_id)).job
    progress = session.out.progress(view.counts.total)

    def tell(counts: JobCounts) -> None:
        progress.update(counts.finished, failed=counts.error, total=counts.total)

    try:
        counts = await app.job_by_id(job_id).wait(timeout, tell)
    except asyncio.CancelledError:
        progress.detach()
        session.out.say(f"Not waiting any more; job {job_id} goes on. `penstock jobs wait {job_id}` waits again.")
        raise
    progress.end(counts.finished, failed=counts.error)
    async with session.connection() as connection:
        view = (await job_views.show(connection, job_id)).job
    session.out.show(as_row(view), f"Job {job_id} is {view.state.name}: {counts.done:,} done, {counts.error:,} failed.")
    return 0 if view.state.name == "DONE" else 1


async def until_stopped() -> None:
    stopped = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, stopped.set)
    await stopped.wait()
