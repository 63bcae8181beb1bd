"""The service with the routes of article search, over the built-in model."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from penstock import Penstock
from penstock.config import Settings
from penstock.console.http.app import create
from penstock.extensions import articles
from tests.console.conftest import Service
from tests.extensions.article_world import always_counted

ROLES = (("ann", "operator"), ("bob", "operator"), ("eve", "viewer"), ("root", "admin"))


@asynccontextmanager
async def serving(database_url: str, **more: Any) -> AsyncIterator[Service]:
    given = {"database_url": database_url, "log_level": "warning", "articles_query_timeout_seconds": 60.0} | more
    app = Penstock("articles-tests", settings=Settings(**given))
    installed = articles.install(app)
    installed.counted = always_counted(app)
    api = create(app)
    try:
        async with api.router.lifespan_context(api):
            service = Service(app, api)
            for name, role in ROLES:
                await service.add_user(name, role)
            async with service._open:
                yield service
    finally:
        await installed.close()
