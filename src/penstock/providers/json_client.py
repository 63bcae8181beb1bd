"""A client for endpoints that take and give JSON behind a key."""

import httpx2

from penstock.providers.http_transport import HttpTransport

_CONNECT_SECONDS = 5.0


def json_client(key: str | None, timeout_seconds: float) -> httpx2.AsyncClient:
    """Follows no redirect: key and trust are for the configured host. Nothing packed: sizes are as they are sent."""
    sent = {
        "Accept": "application/json",
        "Accept-Encoding": "identity",
        "Content-Type": "application/json",
        "User-Agent": "penstock",
    }
    if key is not None:
        sent["Authorization"] = f"Bearer {key}"
    timeout = httpx2.Timeout(timeout_seconds, connect=_CONNECT_SECONDS)
    return httpx2.AsyncClient(
        transport=HttpTransport(), headers=sent, follow_redirects=False, trust_env=False, timeout=timeout
    )
