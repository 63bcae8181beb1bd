"""Record linking on a real database against a made-up Wikidata on loopback.

async with linking_world(database_url, world) as there:
    project = await there.project([{"name": "Ada Quillfeather"}])
    await there.match(project.id)       # starts a run and works until nothing is due
    there.server.counts()
"""

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

from penstock import Penstock
from penstock.config import load
from penstock.extensions import linking as record_linking
from penstock.extensions.linking import dataset, matching, projects, records, saving
from penstock.extensions.linking.matching import Scope, Started
from penstock.extensions.linking.project import Project
from penstock.extensions.linking.record import Record, RecordState
from penstock.extensions.linking.shared import RecordLinking
from penstock.testing import Drained, drain
from tests.extensions.wikidata_server import WikidataServer
from tests.extensions.wikidata_world import World

OWNER = "ada"
AGENT = "penstock tests (https://example.org/contact)"


@dataclass(repr=False)
class LinkingWorld:
    app: Penstock
    linking: RecordLinking
    server: WikidataServer

    async def project(self, rows: Sequence[Mapping[str, Any]], **more: Any) -> Project:
        given = {"name": "People", "owner": OWNER, **more}
        return await saving.create(self.linking, dataset.read_objects(rows), **given)

    async def start(self, project_id: int, scope: Scope = "all") -> Started:
        return await matching.start(self.linking, project_id, scope, OWNER)

    async def match(self, project_id: int, scope: Scope = "all") -> Started:
        started = await self.start(project_id, scope)
        await self.drain()
        return started

    async def drain(self, **more: Any) -> Drained:
        return await drain(self.app, advance=True, **more)

    async def read(self, project_id: int) -> Project | None:
        async with self.app.connection() as connection:
            return await projects.get(connection, project_id)

    async def records(self, project_id: int) -> list[Record]:
        async with self.app.connection() as connection:
            return await records.page(connection, project_id, limit=100_000)

    async def counts(self, project_id: int) -> dict[str, int]:
        """The states that there are."""
        async with self.app.connection() as connection:
            found = await records.counts(connection, project_id)
        return {RecordState(state).name: n for state, n in found.items() if n}

    def asked(self) -> dict[str, int]:
        """Requests so far, by kind."""
        counts = self.server.counts()
        kinds = {kind: sum(sum(one.values()) for one in counts[kind].values()) for kind in ("search", "entities")}
        return {kind: n for kind, n in kinds.items() if n}

    async def value(self, query: str, *values: Any) -> Any:
        async with self.app.connection() as connection:
            return await connection.fetchval(query, *values)


@asynccontextmanager
async def linking_world(
    database_url: str, world: World, *, server: Mapping[str, Any] | None = None, **settings: Any
) -> AsyncIterator[LinkingWorld]:
    async with WikidataServer(world, **(server or {})) as running:
        given = {"linking_endpoint": running.url, "linking_user_agent": AGENT, "linking_per_second": 2000.0}
        app = Penstock("linking", settings=load(database_url=database_url, **{**given, **settings}))
        linking = record_linking.install(app)
        async with app:
            try:
                yield LinkingWorld(app, linking, running)
            finally:
                await linking.close()
