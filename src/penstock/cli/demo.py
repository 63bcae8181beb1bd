"""`penstock demo`: a believable mix of work on the demo application, watched for a bounded time."""

import asyncio
import time
from typing import TYPE_CHECKING, Annotated, Any

import typer

from penstock.cli.command import command
from penstock.cli.errors import Refused
from penstock.cli.session import Session

if TYPE_CHECKING:
    from penstock.engine.app import Penstock
    from penstock.engine.job_views import JobView

SecondsOption = Annotated[float, typer.Option("--seconds", min=1, max=600, help="Watch at most so long.")]
SizeOption = Annotated[int, typer.Option("--size", min=1, max=10_000, help="How many receipts to send.")]

RemoveOption = Annotated[bool, typer.Option("--remove", help="Take the demonstration out of the database again.")]


def register(app: typer.Typer) -> None:
    @command(app)
    async def demo(
        session: Session, seconds: SecondsOption = 30.0, size: SizeOption = 200, remove: RemoveOption = False
    ) -> int:
        """Enqueue a little work and watch it being done. Needs `penstock up`, or a worker of the demo.

        --remove takes its schedule, its tasks and the stages that then hold nothing away again.
        """
        from penstock.cli import demo_removal
        from penstock.cli.demo_app import app as shop
        from penstock.engine.events import Events

        if remove:
            return await demo_removal.remove(session, shop)
        await _served(session, shop)
        shop.use(session.settings, Events())
        await shop.open()
        try:
            jobs = await _enqueue(shop, size)
            views = await _watch(session, shop, jobs, seconds)
        finally:
            await shop.close()
        return _tell(session, views)


async def _served(session: Session, shop: "Penstock") -> None:
    """Work that nobody would do shows nothing, so nothing is stored: not even the stages."""
    from penstock.cli.demo_removal import serving

    async with session.connection() as connection:
        served = await serving(connection, shop.pipelines)
    if set(served) != set(shop.pipelines):
        raise Refused(
            "No live worker serves the demo application. Start one in another terminal, then run this again.",
            next_command="penstock up",
        )


async def _enqueue(shop: "Penstock", size: int) -> list[int]:
    """Quick work, slow work, work that fails and heals, work that does not, and a pipeline."""
    from penstock.cli import demo_app
    from penstock.cli.demo_removal import JOB_PREFIX

    stock = [{"sku": sku} for sku in ("oak-table", "pine-chair", "wool-rug", "unknown-vase", "broken-clock") * 4]
    orders = [
        {"line": line} for line in ("oak-table x 2", "brass-lamp x 1", "wool-rug x 3", "glass-eye x 1", "nonsense")
    ]
    batches: list[tuple[Any, list[dict[str, Any]], str]] = [
        (demo_app.send_receipt, [{"order": 1000 + n} for n in range(size)], "receipts"),
        (demo_app.build_report, [{"pages": 10}, {"pages": 15}, {"pages": 20}], "reports"),
        (demo_app.check_stock, stock, "stock checks"),
        (demo_app.import_order, orders, "order import"),
    ]
    return [(await task.enqueue_many(rows, name=f"{JOB_PREFIX}{name}")).id for task, rows, name in batches]


async def _watch(session: Session, shop: "Penstock", jobs: list[int], seconds: float) -> "list[JobView]":
    end = time.monotonic() + seconds
    progress = session.out.progress(None)
    while True:
        views = await _views(shop, jobs)
        total = sum(view.counts.total for view in views)
        finished, failed = sum(view.counts.finished for view in views), sum(view.counts.error for view in views)
        progress.update(finished, failed=failed, total=total)
        if finished >= total or time.monotonic() >= end:
            progress.end(finished, failed=failed)
            return views
        await asyncio.sleep(0.25)


async def _views(shop: "Penstock", jobs: list[int]) -> "list[JobView]":
    from penstock.engine import job_views

    async with shop.connection() as connection:
        return [(await job_views.show(connection, job)).job for job in jobs]


def _tell(session: Session, views: "list[JobView]") -> int:
    """The failures are part of the show: they leave exit code 0."""
    from penstock.cli.jobs import as_row

    rows = [{**as_row(view), **_cells(view)} for view in views]
    session.out.table(rows, ("name", "state", "progress", "done", "failed", "not found"))
    if any(view.counts.finished < view.counts.total for view in views):
        session.out.say("The rest goes on without this command: `penstock jobs list`, `penstock top`.")
    session.out.say("Some failed on purpose: `penstock dead-letters list`, then `penstock dead-letters replay --all`.")
    session.out.say(
        "When you have seen enough: stop `penstock up`, then `penstock demo --remove` leaves nothing behind."
    )
    return 0


def _cells(view: "JobView") -> dict[str, Any]:
    counts = view.counts
    return {
        "progress": f"{counts.finished:,}/{counts.total:,}",
        "done": counts.done,
        "failed": counts.error,
        "not found": counts.not_found,
    }
