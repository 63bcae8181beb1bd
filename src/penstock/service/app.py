"""Puts the service together: one FastAPI application over one Penstock application."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

from fastapi import APIRouter, FastAPI

from penstock.engine import selection_actions
from penstock.engine.app import Penstock
from penstock.engine.worker.slice import Slices
from penstock.intake import importing
from penstock.service import pages, problems
from penstock.service.actor import is_known
from penstock.service.api import routers
from penstock.service.body_limits import BodyLimits
from penstock.service.cursors import Cursors
from penstock.service.ground import Ground
from penstock.service.live import Live
from penstock.service.requests import Requests
from penstock.storage import secrets
from penstock.version import VERSION


def create(app: Penstock, *, further: Sequence[APIRouter] = (), live: Live | None = None) -> FastAPI:
    """``further``: routers of applications, which the command line brings along; so is ``live``, where the service was
    started by somebody it has to talk to."""
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
    for router in (*routers(), *further, pages.router()):
        api.include_router(router)
    api.state.live = beside
    api.add_middleware(BodyLimits, settings=lambda: app.settings, is_known=is_known)
    # Outside of the limits, so that a refused body has an id and a line in the log as well.
    api.add_middleware(Requests, counted=beside.metrics.request)
    return api


async def lay_ground(app: Penstock) -> Ground:
    async with app.connection() as connection:
        key = await secrets.get_or_create(connection, "cursors")
    return Ground(app=app, settings=app.settings, cursors=Cursors(key), slices=Slices(app))
