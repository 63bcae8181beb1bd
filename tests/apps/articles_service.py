"""The service with the routes of article search, over the built-in model."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from penstock import Penstock
from penstock.apps import article_search
from penstock.config import Settings
from penstock.service.app import create
from tests.service.conftest import Service

ROLES = (("ann", "operator"), ("bob", "operator"), ("eve", "viewer"), ("root", "admin"))


@asynccontextmanager
async def serving(database_url: str, **more: Any) -> AsyncIterator[Service]:
    app = Penstock("articles-tests", settings=Settings(database_url=database_url, log_level="warning", **more))
    installed = article_search.install(app)
    api = create(app, further=article_search.routers())
    try:
        async with api.router.lifespan_context(api):
            service = Service(app, api)
            for name, role in ROLES:
                await service.add_user(name, role)
            async with service._open:
                yield service
    finally:
        await installed.close()
