"""A source of any kind with its ledger, for the tests of intake from folders, buckets and FTP servers."""

from dataclasses import dataclass
from typing import Any

from penstock import Penstock
from penstock.config import Settings
from penstock.console.files import importing
from penstock.console.files.sources import registry
from penstock.console.files.sources.scan import Report, preview, scan
from penstock.console.files.sources.source import Place
from penstock.console.storage import users
from penstock.console.storage.sources import NewSource, Source
from penstock.control.acting import By

BY = By(actor="root")


@dataclass
class World:
    app: Penstock
    source: Source

    async def scan(self) -> Report:
        return await scan(self.app, self.source)

    async def preview(self) -> Report:
        return await preview(self.app, self.source)

    async def fetch(self, statement: str, *values: Any) -> list[Any]:
        async with self.app.connection() as connection:
            rows: list[Any] = await connection.fetch(statement, *values)
            return rows

    async def jobs(self) -> list[str]:
        """The paths that became jobs, in their order."""
        rows = await self.fetch("select metadata->'options'->>'path' as path from penstock.jobs order by id")
        return [row["path"] for row in rows]

    async def states(self) -> dict[str, list[str]]:
        rows = await self.fetch("select path, state from penstock.sightings order by id")
        found: dict[str, list[str]] = {}
        for row in rows:
            found.setdefault(row["path"], []).append(row["state"])
        return found

    async def problem_of(self, path: str) -> str:
        rows = await self.fetch("select problem from penstock.sightings where path = $1 order by id desc", path)
        return str(rows[0]["problem"])

    async def let_settle(self) -> None:
        """As if everything had been seen an hour ago, and whoever held a file had let go."""
        await self.fetch(
            "update penstock.sightings set first_seen_at = now() - interval '1 hour', taken_until = null "
            "where state in ('seen', 'submitting')"
        )

    async def scan_settled(self) -> Report:
        """See, let it settle, and submit: what two scans with a pause between them do."""
        await self.scan()
        await self.let_settle()
        return await self.scan()


def make_app(database_url: str, **settings: Any) -> Penstock:
    app = Penstock("sources", settings=Settings(database_url=database_url, **settings))

    @app.task()
    async def look_up(row: int, cells: list[str]) -> None:
        """Only has to take rows."""

    importing.install(app)
    return app


async def make_world(app: Penstock, **parts: Any) -> World:
    async with app.connection() as connection:
        await users.create(connection, name="ann", role="operator")
    given = {"name": "drop", "owner": "ann", "pipeline": "look_up", "created_by": "root", "pattern": "*.csv"} | parts
    return World(app, await registry.add(app, NewSource(**given), by=BY))


class Meddled:
    """A place whose reading is disturbed: ``act`` is called before the first piece of each file is handed out."""

    def __init__(self, place: Place, act: Any) -> None:
        self._place = place
        self._act = act

    def __getattr__(self, name: str) -> Any:
        return getattr(self._place, name)

    async def read(self, path: str, version: str) -> Any:
        first = True
        async for chunk in self._place.read(path, version):
            if first:
                self._act(path)
            first = False
            yield chunk
