"""Puts the service together: one FastAPI application over one Penstock application."""

import re
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from typing import Any

from fastapi import APIRouter, Depends, FastAPI
from fastapi.routing import APIRoute

from penstock.application import Penstock
from penstock.console import pages
from penstock.console.files import importing
from penstock.console.grids import selection_actions
from penstock.console.http import problems
from penstock.console.http.actor import is_known, viewer
from penstock.console.http.bodies import BodyLimits
from penstock.console.http.cursors import Cursors
from penstock.console.http.ground import Ground
from penstock.console.http.requests import Requests
from penstock.console.http.routes import routers
from penstock.console.live.live import Live
from penstock.console.storage import secrets
from penstock.version import VERSION
from penstock.workers.slice import Slices

_PARAMETER = re.compile(r"\{[^}]*\}")


def create(app: Penstock, *, live: Live | None = None) -> FastAPI:
    """``live`` is given where the service was started by somebody it has to talk to."""
    beside = live or Live(app)
    importing.install(app)
    selection_actions.install(app)

    @asynccontextmanager
    async def lifespan(api: FastAPI) -> AsyncIterator[None]:
        async with app:
            api.state.ground = ground = await lay_ground(app)
            ground.touched = beside.changes.touched
            async with beside.running():
                yield

    api = FastAPI(
        title="Penstock",
        version=VERSION,
        description="Work is stored first, then processed; every answer comes from what is stored.",
        lifespan=lifespan,
        openapi_url="/api/openapi.json",
        docs_url=None,
        redoc_url=None,
    )
    problems.install(api)
    for router in routers():
        api.include_router(router)
    for router, dependencies in extension_routers(app):
        api.include_router(router, dependencies=dependencies)
    api.include_router(pages.router())
    api.state.live = beside
    api.add_middleware(BodyLimits, settings=lambda: app.settings, is_known=is_known)
    # Outside of the limits, so that a refused body has an id and a line in the log as well.
    api.add_middleware(Requests, counted=beside.metrics.request)
    return api


def extension_routers(app: Penstock) -> list[tuple[APIRouter, list[Any]]]:
    """Of what the application has installed, with what is asked before each of its routes. Raises
    :class:`InvalidExtension` where two answer the same address or lead to the same screen."""
    taken = {address: "Penstock itself" for router in routers() for address in addresses_of(router)}
    found: list[tuple[APIRouter, list[Any]]] = []
    for extension in app.extensions.values():
        for name in sorted(extension.screens.keys() & pages.SCREENS):
            raise extension.refused(f"its screen {name!r} belongs to Penstock itself")
        for brought, dependencies in ((extension.router, [Depends(viewer)]), (extension.public_router, [])):
            router = extension.find(brought)
            if router is None:
                continue
            if not isinstance(router, APIRouter):
                raise extension.refused(f"its router is a {type(router).__name__}, not an APIRouter of FastAPI")
            for address in addresses_of(router):
                if (owner := taken.get(address)) is not None:
                    raise extension.refused(f"its route {address} belongs to {owner} already")
            taken |= dict.fromkeys(addresses_of(router), f"the extension {extension.name!r}")
            found.append((router, dependencies))
    return found


def addresses_of(router: APIRouter, prefix: str = "") -> Iterator[str]:
    """Method and path, with all parameters alike."""
    route: Any  # FastAPI keeps what it makes of an included router to itself
    for route in router.routes:
        if isinstance(route, APIRoute):
            path = _PARAMETER.sub("{}", prefix + route.path)
            yield from (f"{method} {path}" for method in route.methods or ())
        elif hasattr(route, "original_router"):
            yield from addresses_of(route.original_router, prefix + route.include_context.prefix)


async def lay_ground(app: Penstock) -> Ground:
    async with app.connection() as connection:
        key = await secrets.get_or_create(connection, "cursors")
    kinds = {"source": "source"}
    for extension in app.extensions.values():
        kinds |= extension.touches
    return Ground(app=app, settings=app.settings, cursors=Cursors(key), slices=Slices(app), kinds=kinds)
