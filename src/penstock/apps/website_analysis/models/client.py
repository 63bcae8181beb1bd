"""The HTTP side of an endpoint: the address that was checked, a deadline, and no more bytes than we want to hold."""

import asyncio

import httpx2

from penstock.apps.website_analysis.models.endpoint import Endpoint
from penstock.apps.website_analysis.models.trouble import AnswerLost, ModelRefused
from penstock.errors import TransientError
from penstock.intake.sources.guard import HostRefused, checked_host
from penstock.providers.answer import AnswerTooLarge, Received, read_answer
from penstock.providers.json_client import json_client

MOST_BYTES = 1024 * 1024


class ChatClient:
    """Follows no redirect: key and trust are for the configured host."""

    def __init__(self, endpoint: Endpoint) -> None:
        self._endpoint = endpoint
        self._client: httpx2.AsyncClient | None = None

    async def close(self) -> None:
        client, self._client = self._client, None
        if client is not None:
            await client.aclose()

    async def post(self, body: bytes) -> Received:
        """Tells a question that never went out, which costs nothing, from an answer that got lost."""
        host, limit = self._endpoint.host, self._endpoint.timeout_seconds
        try:
            async with asyncio.timeout(limit):
                address = await self._address()
                return await self._post(address, body)
        except (httpx2.ConnectError, httpx2.ConnectTimeout) as error:
            raise TransientError(f"{host} cannot be reached ({type(error).__name__}).") from None
        except (TimeoutError, httpx2.TimeoutException):
            raise AnswerLost(f"{host} took longer than {limit:g} s to answer.") from None
        except AnswerTooLarge:
            raise AnswerLost(f"The answer of {host} is larger than {MOST_BYTES:,} bytes.") from None
        except httpx2.HTTPError as error:
            raise AnswerLost(f"The connection to {host} broke ({type(error).__name__}).") from None

    async def _address(self) -> str:
        host = self._endpoint.host
        try:
            return await checked_host(host, self._endpoint.private)
        except HostRefused:
            await self._resolvable(host)
            raise ModelRefused(
                f"The endpoint of model {self._endpoint.name!r} is not asked: {host} is an address of a private, local"
                " or reserved network. List it in PENSTOCK_SITES_ALLOWED_HOSTS (host or host:port), or set"
                " PENSTOCK_PRIVATE_NETWORKS=true."
            ) from None

    async def _resolvable(self, host: str) -> None:
        """A name server may be away for a moment; an address of our own network stays one."""
        try:
            await checked_host(host, True)
        except HostRefused:
            raise TransientError(f"The name {host} of model {self._endpoint.name!r} cannot be resolved.") from None

    async def _post(self, address: str, body: bytes) -> Received:
        """Connects to the very address that was checked; the name goes along for the certificate."""
        host, port = self._endpoint.host, self._endpoint.port
        target = httpx2.URL(f"{self._endpoint.url}/chat/completions").copy_with(host=address)
        named = f"[{host}]" if ":" in host else host
        headers = {"Host": named if port is None else f"{named}:{port}"}
        extensions = {"sni_hostname": host}
        async with self._opened().stream(
            "POST", target, content=body, headers=headers, extensions=extensions
        ) as answer:
            return await read_answer(answer, MOST_BYTES)

    def _opened(self) -> httpx2.AsyncClient:
        if self._client is None:
            self._client = json_client(self._endpoint.key, self._endpoint.timeout_seconds)
        return self._client
