"""A browser as the service sees one: it keeps the cookie and says where its requests come from."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import httpx2

from penstock.console.people import accounts
from tests.console.conftest import Service

ORIGIN = "http://service"


@asynccontextmanager
async def browser(
    service: Service, *, address: str = "203.0.113.7", base_url: str = ORIGIN
) -> AsyncIterator[httpx2.AsyncClient]:
    transport = httpx2.ASGITransport(app=service.api, client=(address, 4711))
    headers = {"Origin": base_url, "User-Agent": "Firefox"}
    async with httpx2.AsyncClient(transport=transport, base_url=base_url, headers=headers, timeout=60) as made:
        yield made


async def log_in(service: Service, client: httpx2.AsyncClient, name: str) -> None:
    code = await accounts.login_code(service.app, name)
    answer = await client.post("/login", data={"code": code})
    assert (answer.status_code, answer.headers["location"]) == (303, "/")
