"""The service with the routes of website analysis, over stages that need neither network nor models."""

import secrets
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from penstock import Penstock
from penstock.config import Settings
from penstock.console.http.app import create
from tests.console.conftest import Service
from tests.extensions import sites_stages

ROLES = (("ann", "operator"), ("bob", "operator"), ("eve", "viewer"), ("root", "admin"))


@asynccontextmanager
async def serving(database_url: str, **more: Any) -> AsyncIterator[Service]:
    app = Penstock("sites-tests", settings=Settings(database_url=database_url, log_level="warning", **more))
    app.install(sites_stages.extension)
    api = create(app)
    async with api.router.lifespan_context(api):
        service = Service(app, api)
        for name, role in ROLES:
            await service.add_user(name, role)
        async with service._open:
            yield service


def new_key() -> str:
    return secrets.token_hex(8)
