"""HTTP connections that are closed even if the request that closes them is cancelled."""

import asyncio

import httpcore2
import httpx2


class HttpTransport(httpx2.AsyncHTTPTransport):
    """What an ``AsyncClient`` with ``trust_env=False`` uses by default, with a pool that loses no connection."""

    def __init__(self) -> None:
        context = httpx2.create_ssl_context(trust_env=False)
        super().__init__(verify=context, trust_env=False)
        self._pool = _Pool(ssl_context=context, max_connections=100, max_keepalive_connections=20, keepalive_expiry=5.0)


class _Pool(httpcore2.AsyncConnectionPool):
    """The pool of the library forgets expired and surplus connections, then closes them one after another. A task that
    is cancelled in between leaves the rest open until they are collected as garbage."""

    async def _close_connections(self, closing: list[httpcore2.AsyncConnectionInterface]) -> None:
        if closing:
            await asyncio.shield(asyncio.gather(*(connection.aclose() for connection in closing)))
