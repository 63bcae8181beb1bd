"""An application with a task per kind of ending, for the tests of the service."""

import asyncio
import time
from typing import Any

from penstock import Context, NotFound, Penstock, PermanentError
from penstock.config import Settings
from penstock.console.files.files import read_all
from penstock.console.files.refused import FileRefused
from penstock.extensions import articles, catalogue, linking
from tests.extensions import sites_stages


def make(settings: Settings | None = None) -> Penstock:
    app = Penstock("service-tests", settings=settings)

    @app.task()
    async def look_up(row: int, cells: list[str]) -> Any:
        """Says what to do by its first cell, as rows of a file do."""
        match cells[0]:
            case "missing":
                return NotFound("nobody sells it")
            case "bad":
                raise PermanentError("it cannot be looked up")
            case name:
                return {"columns": {"Found": name.upper()}, "normalized": {"name": name.strip().lower()}}

    @app.task()
    async def add(left: int, right: int) -> int:
        return left + right

    @app.task()
    async def look_up_any(row: int, cells: list[str] | None = None, image: dict[str, Any] | None = None) -> None:
        """Takes rows and images, and finds nothing out about either."""

    @app.task()
    async def show(ctx: Context, row: int, image: dict[str, Any]) -> str:
        """The bytes of a file, as text; takes images and no rows."""
        if image["name"] == "bad.png":
            raise PermanentError("it cannot be shown")
        try:
            return (await read_all(app, image["file_id"], 1024, job_id=ctx.job_id)).decode(errors="replace")
        except FileRefused as error:
            raise PermanentError(str(error)) from None

    @app.task()
    async def slow(row: int, cells: list[str]) -> float:
        """When it started, by the clock of this machine."""
        started = time.time()
        await asyncio.sleep(0.05)
        return started

    for extension in (catalogue.extension, sites_stages.extension, articles.extension, linking.extension):
        app.install(extension)
    return app


app = make()
