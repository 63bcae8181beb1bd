"""The application that the demonstration works through: all that ships with Penstock, open for as long as a block."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from penstock.terminal.session import Session

if TYPE_CHECKING:
    from penstock.application import Penstock


@asynccontextmanager
async def everything(session: Session, *, sample_url: str | None = None) -> "AsyncIterator[Penstock]":
    """Beside the session's own, which has no tasks; the workers have registered the stages of this one.
    ``sample_url``: as the workers have it."""
    from penstock.console.files import importing
    from penstock.events import Events
    from penstock_demo.showcase import app

    importing.install(app)
    app.use(session.settings.model_copy(update={"sample_url": sample_url}), Events(), registers=False)
    session.note_decisions_of(app)
    await app.open()
    try:
        yield app
    finally:
        await app.close()
