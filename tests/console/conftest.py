"""The service in this process, on a database of its own, with users of every role."""

import secrets
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx2
import pytest
from fastapi import FastAPI

from penstock.application import Penstock
from penstock.config import Settings
from penstock.console.http.actor import COOKIE, hashed
from penstock.console.http.app import create
from penstock.console.storage import tokens, users
from tests.console import service_app


@dataclass
class Service:
    """``client(name)`` speaks as that user: ann and bob are operators, eve is a viewer, root is an admin."""

    app: Penstock
    api: FastAPI
    tokens: dict[str, str] = field(default_factory=dict)
    _open: AsyncExitStack = field(default_factory=AsyncExitStack)
    _clients: dict[str | None, httpx2.AsyncClient] = field(default_factory=dict)

    async def client(self, name: str | None = "ann") -> httpx2.AsyncClient:
        """Without a name: anonymous."""
        if name not in self._clients:
            headers = {"Authorization": f"Bearer {self.tokens[name]}"} if name is not None else {}
            made = httpx2.AsyncClient(
                transport=httpx2.ASGITransport(app=self.api), base_url="http://service", headers=headers, timeout=60
            )
            self._clients[name] = await self._open.enter_async_context(made)
        return self._clients[name]

    async def signed_in(self, name: str = "ann", *, lasts: timedelta = timedelta(hours=1)) -> httpx2.AsyncClient:
        """A browser of that user, with a session that ends after ``lasts``."""
        secret = secrets.token_urlsafe(32)
        await self.fetch(
            """insert into penstock.sessions (user_id, hash, expires_at)
               select id, $1, $2 from penstock.users where name = $3""",
            hashed(secret),
            datetime.now(UTC) + lasts,
            name,
        )
        client = httpx2.AsyncClient(
            transport=httpx2.ASGITransport(app=self.api),
            base_url="http://service",
            headers={"Cookie": f"{COOKIE}={secret}", "Origin": "http://service"},
            timeout=60,
        )
        return await self._open.enter_async_context(client)

    async def add_user(self, name: str, role: str, *, expired: bool = False) -> str:
        token = secrets.token_urlsafe(32)
        async with self.app.connection() as connection:
            user = await users.create(connection, name=name, role=role)
            assert user is not None
            expires_at = datetime.now(UTC) - timedelta(seconds=1) if expired else None
            await tokens.create(
                connection, user_id=user.id, name="test", hash=hashed(token), hint=token[:6], expires_at=expires_at
            )
        self.tokens[name] = token
        return token

    async def fetch(self, statement: str, *values: Any) -> list[Any]:
        async with self.app.connection() as connection:
            rows: list[Any] = await connection.fetch(statement, *values)
            return rows


@pytest.fixture
async def service(database_url: str) -> AsyncIterator[Service]:
    app = service_app.make(Settings(database_url=database_url, log_level="warning"))
    api = create(app)
    async with api.router.lifespan_context(api):
        made = Service(app, api)
        for name, role in (("ann", "operator"), ("bob", "operator"), ("eve", "viewer"), ("root", "admin")):
            await made.add_user(name, role)
        async with made._open:
            yield made
