"""Sends one JSON message to an address of the operator's own, and says why it was not taken."""

import asyncio
from collections.abc import Mapping
from typing import Any

import httpx2
import orjson

TIMEOUT_SECONDS = 5.0
_HEADERS = {"content-type": "application/json"}


async def post(address: str, message: Mapping[str, Any]) -> str | None:
    """None: it was taken. Whatever is wrong with the address or with who answers there is returned, never raised.

    Redirects are not followed, and the answer is not read: its status says enough.
    """
    try:
        async with (
            asyncio.timeout(TIMEOUT_SECONDS),
            httpx2.AsyncClient(timeout=TIMEOUT_SECONDS) as client,
            client.stream("POST", address, content=orjson.dumps(message), headers=_HEADERS) as answer,
        ):
            status = answer.status_code
    except TimeoutError:
        return f"The webhook did not answer within {TIMEOUT_SECONDS:g} s; it is tried again."
    except Exception as error:
        # A misspelt address fails in many ways. The error's text may hold the address, which is a secret.
        return f"The webhook cannot be reached ({type(error).__name__}). Check PENSTOCK_ARTICLES_ALERT_WEBHOOK."
    return None if 200 <= status < 300 else f"The webhook answered with status {status}; it is tried again."
