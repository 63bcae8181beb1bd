"""What the commands of `penstock link` stand on: the parts of the application, who acts, and the audit log."""

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import TYPE_CHECKING, Annotated, Any

import typer

from penstock.cli.session import Session
from penstock.errors import UsageError

if TYPE_CHECKING:
    from penstock.apps.record_linking.project import Project
    from penstock.apps.record_linking.shared import RecordLinking

ProjectArgument = Annotated[
    int, typer.Argument(metavar="PROJECT", min=1, help="Its number, as `penstock link list` shows it.")
]


@asynccontextmanager
async def opened(session: Session) -> "AsyncIterator[RecordLinking]":
    """Over the user's own application, or over all that ships with Penstock."""
    from penstock.apps.record_linking.names import SEARCH
    from penstock.apps.record_linking.shared import RecordLinking

    app = await session.serving_app()
    if SEARCH not in app.pipelines:
        raise UsageError(
            f"The application {app.name!r} has no record linking. Install it there with "
            "`penstock.apps.record_linking.install(app)`, or leave --app and PENSTOCK_APP out."
        )
    linking = RecordLinking(app)
    try:
        yield linking
    finally:
        await linking.close()


async def project_of(linking: "RecordLinking", number: int) -> "Project":
    """Whoever may use the database sees every project."""
    from penstock.apps.record_linking import projects

    async with linking.app.connection() as connection:
        return await projects.require(connection, number)


async def noted(linking: "RecordLinking", act: str, project: "Project", **details: Any) -> None:
    """What is done here belongs into the audit log as what is done over HTTP does."""
    from penstock.engine import acting
    from penstock.engine.events import Event

    event = Event(f"projects.{act}", {"project": project.id, **details})
    await acting.note_events(linking.app, acting.By.command_line(), [event])


def actor() -> str:
    from penstock.engine.acting import By

    return By.command_line().actor


@contextmanager
def source_ready() -> Iterator[None]:
    """A source that cannot be asked is refused with what to set."""
    from penstock.apps.record_linking.sources.source import SourceMisconfigured
    from penstock.cli.errors import Refused

    try:
        yield
    except SourceMisconfigured as error:
        raise Refused(str(error), next_command="penstock link sample-source --help") from None
