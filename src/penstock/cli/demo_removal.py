"""`penstock demo --remove`: takes the demonstration's schedule, tasks and stages out of the database again."""

from collections.abc import Collection
from typing import TYPE_CHECKING, Any

from penstock.cli.errors import Refused
from penstock.cli.session import Session

if TYPE_CHECKING:
    from penstock.engine.app import Penstock

# How the demonstration names its jobs; tasks of other jobs are somebody else's.
JOB_PREFIX = "demo: "


async def remove(session: Session, shop: "Penstock") -> int:
    """Only what is the demonstration's own: a pipeline of the same name that holds other tasks stays.

    Not through the application itself, because opening that would declare everything again.
    """
    async with session.connection() as connection:
        await _not_served(connection, shop.pipelines)
        async with connection.transaction():
            removed = await _remove(connection, shop)
    kept = removed["kept"]
    session.out.show(
        removed,
        f"The demonstration is removed: schedules: {len(removed['schedules'])}, "
        f"pipelines: {len(removed['pipelines'])}, jobs: {removed['jobs']:,}, tasks: {removed['tasks']:,}.",
    )
    if kept:
        session.out.say(f"Kept, because they hold tasks that are not the demonstration's: {', '.join(kept)}.")
    return 0


async def _remove(connection: Any, shop: "Penstock") -> dict[str, Any]:
    from penstock.storage import demo

    pipelines = list(shop.pipelines)
    await demo.bound(connection)
    await demo.lock(connection)
    # Declared by whoever was started last: the demonstration alone, or as a part of `penstock up`.
    schedules = [
        name
        for source in (shop.name, "penstock")
        for name in await demo.delete_schedules(connection, source, pipelines)
    ]
    tasks = 0
    for name in shop.schedules:
        tasks += await demo.delete_tasks(connection, pipelines, JOB_PREFIX, f"schedule:{name}:")
    jobs = await demo.delete_jobs(connection, pipelines, JOB_PREFIX)
    gone = await demo.delete_stages(connection, pipelines)
    kept = await demo.kept(connection, pipelines)
    return {"schedules": schedules, "tasks": tasks, "jobs": jobs, "pipelines": gone, "kept": kept}


async def _not_served(connection: Any, pipelines: Collection[str]) -> None:
    """A worker of the demonstration would fire its schedule and declare its stages again."""
    names = {name for workers in (await serving(connection, pipelines)).values() for name in workers}
    if names:
        raise Refused(
            f"The demonstration is being served by {', '.join(sorted(names))}. "
            "Stop that worker (Ctrl-C in the terminal of `penstock up`), then run this again."
        )


async def serving(connection: Any, pipelines: Collection[str]) -> dict[str, set[str]]:
    """By pipeline, the names of the live workers that serve all its stages; asked without declaring anything."""
    from penstock.storage import stages, workers

    live = [one for one in await workers.listing(connection) if one["live"]]
    found: dict[str, set[str]] = {}
    for row in await stages.listing(connection):
        if row["pipeline"] in pipelines:
            names = {one["name"] for one in live if row["id"] in one["stages"]}
            found[row["pipeline"]] = found.get(row["pipeline"], names) & names
    return {pipeline: names for pipeline, names in found.items() if names}
