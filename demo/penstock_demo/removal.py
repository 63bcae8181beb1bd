"""`penstock demo --remove`: takes the world of the demonstration away again, and its shop where nobody serves it."""

from collections.abc import Collection, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from penstock.terminal.session import Session
from penstock_demo.ground import everything
from penstock_demo.ledger import Ledger
from penstock_demo.world import GUEST, JOB_PREFIX, OWNER, PROJECT_NOTED

if TYPE_CHECKING:
    from penstock.application import Penstock

_PAGE = 200


async def remove(session: Session, shop: "Penstock") -> int:
    """What belongs to the user of the demonstration goes at once for everybody who looks, and little by little in the
    tables. The stages and the schedule of the shop are declared by whoever serves them: they go when nobody does."""
    async with session.connection() as connection:
        served_by = {name for names in (await serving(connection, shop.pipelines)).values() for name in names}
        there = await _is_there(session)
    removed: dict[str, Any] = {"jobs": 0, "tasks": 0, "articles": 0, "projects": 0, "products": 0}
    if there:
        async with everything(session) as app:
            removed |= await _remove_world(app)
    if served_by:
        removed |= {"schedules": [], "pipelines": [], "kept": sorted(shop.pipelines)}
    else:
        async with session.connection() as connection, connection.transaction():
            removed |= await _remove_shop(connection, shop, removed["jobs"])
    session.out.show(removed, _sentence(removed))
    if served_by:
        session.out.say(
            f"The stages and the schedule of its shop stay while {', '.join(sorted(served_by))} serves them. To be rid "
            "of those as well, stop that (Ctrl-C in the terminal of `penstock up`) and run this again."
        )
    elif removed["kept"]:
        session.out.say(
            f"Kept, because they hold tasks that are not the demonstration's: {', '.join(removed['kept'])}."
        )
    return 0


def _sentence(removed: dict[str, Any]) -> str:
    parts = [f"{name}: {removed[name]:,}" for name in ("jobs", "articles", "projects", "products")]
    lists = [f"{name}: {len(removed[name])}" for name in ("schedules", "pipelines")]
    return f"The demonstration is removed: {', '.join([*parts, *lists])}."


async def _is_there(session: Session) -> bool:
    from penstock.console.people import accounts
    from penstock.errors import NotKnown

    try:
        await accounts.require_user(await session.app(), OWNER)
    except NotKnown:
        return False
    return True


async def _remove_world(app: "Penstock") -> dict[str, Any]:
    from penstock.console.people import accounts
    from penstock.control.acting import By
    from penstock.extensions.catalogue import products, sample

    noted = await Ledger(app).read()
    projects = await _remove_project(app, noted.pop(PROJECT_NOTED, None))
    articles, jobs = await _remove_articles(app), await _remove_jobs(app, list(noted.values()))
    async with app.connection() as connection:
        gone = await products.remove(connection, [one.gtin for one in sample.products() if one.gtin])
    await _undo_steering(app)
    await Ledger(app).close()
    for name in (OWNER, GUEST):
        # Names are never given twice, so that the audit log stays true: a user can be disabled, not taken away.
        await accounts.change_user(app, name, disabled=True, by=By.command_line())
    return {"jobs": jobs, "articles": articles, "projects": projects, "products": gone}


async def _remove_project(app: "Penstock", number: int | None) -> int:
    from penstock.extensions.linking import projects, saving
    from penstock.extensions.linking.shared import RecordLinking

    if number is None:
        return 0
    linking = RecordLinking(app)
    try:
        with suppress(projects.ProjectNotFound):  # somebody deleted it already
            await saving.delete(linking, number, OWNER)
            return 1
        return 0
    finally:
        await linking.close()


async def _remove_articles(app: "Penstock") -> int:
    from penstock.extensions.articles import articles, writing
    from penstock.extensions.articles.shared import ArticleSearch

    search, count = ArticleSearch(app), 0
    try:
        while True:
            async with app.connection() as connection:
                found = await articles.page(connection, viewer=None, owner=OWNER, limit=_PAGE)
            for one in found:
                await writing.delete(search, one.slug, by=OWNER)
            count += len(found)
            if not found:
                return count
    finally:
        await search.close()


async def _remove_jobs(app: "Penstock", noted: Sequence[int]) -> int:
    """Those it made, and imports of its articles."""
    from penstock.control import jobs
    from penstock.insight import job_views

    async with app.connection() as connection:
        there = await job_views.these(connection, noted)
    for view in there:
        await jobs.delete(app, view.id, by=OWNER)
    count = len(there)
    while True:
        async with app.connection() as connection:
            found = await job_views.page(connection, before=None, owner=OWNER, limit=_PAGE)
        for view in found:
            await jobs.delete(app, view.id, by=OWNER)
        count += len(found)
        if not found:
            return count


async def _undo_steering(app: "Penstock") -> None:
    from penstock.control import limits, stages
    from penstock.errors import PenstockError
    from penstock_demo import businesses
    from penstock_demo.shop import SUPPLIER

    hosts = {f"host:{slug}.localhost" for slug in businesses.businesses()}
    for view in await limits.listing(app):
        # The shop's key holds the port that `penstock up` had.
        shop = view.key.startswith("catalogue.http 127.0.0.1:")
        if shop or view.key in {SUPPLIER, "linking:sample", *hosts}:
            with suppress(PenstockError):  # somebody did it already
                await limits.remove(app, view.key, by=OWNER)
    with suppress(PenstockError):
        await stages.resume(app, "print_label", by=OWNER)


async def _remove_shop(connection: Any, shop: "Penstock", jobs: int) -> dict[str, Any]:
    """Only what is the demonstration's own: a pipeline of the same name that holds other tasks stays."""
    from penstock_demo import showcase as applications
    from penstock_demo import statements as demo

    pipelines = list(shop.pipelines)
    await demo.bound(connection)
    await demo.lock(connection)
    # Declared by whoever was started last: the demonstration alone, or as a part of `penstock up`, which earlier
    # releases called "penstock".
    schedules = [
        name
        for source in (shop.name, applications.app.name, "penstock")
        for name in await demo.delete_schedules(connection, source, pipelines)
    ]
    tasks = 0
    for name in shop.schedules:
        tasks += await demo.delete_tasks(connection, pipelines, JOB_PREFIX, f"schedule:{name}:")
    empty = await demo.delete_jobs(connection, pipelines, JOB_PREFIX)
    gone = await demo.delete_stages(connection, pipelines)
    kept = await demo.kept(connection, pipelines)
    return {"schedules": schedules, "tasks": tasks, "jobs": jobs or empty, "pipelines": gone, "kept": kept}


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
