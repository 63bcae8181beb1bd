"""The service with the routes of record linking, beside a made-up Wikidata on loopback."""

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

from penstock import Penstock
from penstock.config import Settings
from penstock.console.http.app import create
from penstock.extensions import linking
from penstock.testing import drain
from tests.console.conftest import Service
from tests.extensions.linking_world import AGENT
from tests.extensions.wikidata_server import WikidataServer
from tests.extensions.wikidata_world import HUMAN, SHIP, World, item, time

ROLES = (("ann", "operator"), ("bob", "operator"), ("eve", "viewer"), ("root", "admin"))
ROWS = (
    {"name": "Ada Quillfeather", "born": "1815-12-10"},
    {"name": "Bruno Ashdown", "born": "1850"},
    {"name": "Elva Saltmere", "born": ""},
    {"name": "Nobody Here", "born": ""},
)


def people() -> World:
    """Ada is clear, Bruno has a namesake, of Elva two are equal, and nobody knows the last one."""
    world = World()
    human = [item(HUMAN)]
    world.add("Q101", {"en": "Ada Quillfeather"}, claims={"P31": human, "P569": [time("+1815-12-10")]}, links=9)
    world.add("Q102", {"en": "Bruno Ashdown"}, claims={"P31": human, "P569": [time("+1850-02-01")]})
    world.add("Q103", {"en": "Bruno Ashdown"}, claims={"P31": [item(SHIP)], "P569": [time("+1850-05-01")]})
    world.add("Q104", {"en": "Elva Saltmere"}, descriptions={"en": "a painter that never was"}, links=3)
    world.add("Q105", {"en": "Elva Saltmere"}, descriptions={"en": "a baker that never was"})
    return world


@dataclass(repr=False)
class Linking:
    service: Service
    server: WikidataServer

    async def call(self, method: str, path: str, *, name: str | None = "ann", **more: Any) -> Any:
        client = await self.service.client(name)
        return await client.request(method, f"/api/projects{path}", **more)

    async def ok(self, method: str, path: str, *, name: str | None = "ann", **more: Any) -> Any:
        answer = await self.call(method, path, name=name, **more)
        assert answer.status_code in (200, 201, 202), answer.text
        return answer.json()

    async def project(self, rows: Sequence[Mapping[str, Any]] = ROWS, *, name: str = "ann", **more: Any) -> int:
        made = await self.ok("POST", "", name=name, json={"name": "People", "rows": list(rows), **more})
        number: int = made["projectId"]
        return number

    async def matched(self, rows: Sequence[Mapping[str, Any]] = ROWS, **more: Any) -> int:
        """A project whose records have ended."""
        number = await self.project(rows, **more)
        await self.ok("POST", f"/{number}/match", json={"scope": "all"})
        await drain(self.service.app, advance=True)
        return number


@asynccontextmanager
async def serving(database_url: str, **more: Any) -> AsyncIterator[Linking]:
    async with WikidataServer(people()) as server:
        given = {"linking_endpoint": server.url, "linking_user_agent": AGENT, "linking_per_second": 2000.0, **more}
        settings = Settings(database_url=database_url, log_level="warning", **given)
        app = Penstock("linking-tests", settings=settings)
        installed = linking.install(app)
        api = create(app)
        try:
            async with api.router.lifespan_context(api):
                service = Service(app, api)
                for name, role in ROLES:
                    await service.add_user(name, role)
                async with service._open:
                    yield Linking(service, server)
        finally:
            await installed.close()
