"""What people do with stages: pause, resume, limit, transfer. A pipeline's name alone means all of its stages."""

from collections.abc import Awaitable, Callable, Collection
from typing import Any

from penstock.core.app import App
from penstock.errors import InvalidSetting, NotKnown
from penstock.observe.changes import tell_steered
from penstock.observe.wording import stage_label
from penstock.storage import schedules, stages

LARGEST_LIMIT = 2**31 - 1


async def pause(app: App, stage: str, *, by: str, reason: str | None = None) -> None:
    """Nothing more of it is started; what runs goes on to its end."""
    await _decide(
        app,
        stage,
        "pause",
        lambda link, pipeline, name: stages.pause(link, pipeline, name, by, reason),
        by=by,
        reason=reason,
    )


async def resume(app: App, stage: str, *, by: str) -> None:
    """Go on after a pause."""
    await _decide(app, stage, "resume", stages.resume, by=by)
    await app.wake_all()


async def limit(app: App, stage: str, max_running: int | None, *, by: str) -> None:
    """An exact fleet-wide limit; None takes it away. The code's own one comes back when it registers again."""
    checked_limit(max_running)
    await _decide(
        app,
        stage,
        "limit",
        lambda link, pipeline, name: stages.limit(link, pipeline, name, max_running),
        by=by,
        max_running=max_running,
    )
    await app.wake_all()


async def transfer(app: App, application: str, to: str, *, by: str, only: Collection[str] = ()) -> list[str]:
    """Stages and schedules of an application that is called ``to`` from now on; returns the pipelines. Workers that run
    go on; one of the old name is refused at its next start. ``only``: these pipelines, without schedules."""
    async with app.connection() as connection, connection.transaction():
        owned = await stages.applications(connection)
        if application not in owned:
            raise NotKnown(kind="application", name=application, known=owned)
        if unknown := sorted(set(only) - set(owned[application])):
            raise NotKnown(kind=f"pipeline of {application!r}", name=unknown[0], known=owned[application])
        moved = await stages.transfer(connection, application, to, list(only) or owned[application])
        if not only:
            await schedules.transfer(connection, application, to)
    app.events.emit("stages.transferred", application=application, to=to, pipelines=len(moved), by=by)
    return moved


def checked_limit(max_running: int | None) -> None:
    if max_running is not None and not 1 <= max_running <= LARGEST_LIMIT:
        raise InvalidSetting("limit", max_running, "use a whole number from 1, or none")


async def _decide(
    app: App, stage: str, move: str, change: Callable[[Any, str, str | None], Awaitable[int]], *, by: str, **more: Any
) -> None:
    async with app.connection() as connection:
        pipeline, name = await _known(connection, stage)
        await change(connection, pipeline, name)
        await tell_steered(connection, stage=stage)
    app.events.emit("stages.steered", stage=stage, move=move, by=by, **more)


async def _known(connection: Any, given: str) -> tuple[str, str | None]:
    """(pipeline, stage or None for all of its stages); an unknown name lists the known ones."""
    rows = await stages.listing(connection)
    for row in rows:
        if given == f"{row['pipeline']}/{row['name']}":
            return row["pipeline"], row["name"]
    if any(row["pipeline"] == given for row in rows):
        return given, None
    raise NotKnown(kind="stage", name=given, known=[stage_label(row["pipeline"], row["name"]) for row in rows])
