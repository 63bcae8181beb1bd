"""Which site a browser's request comes from: the guard against forged requests (CSRF)."""

from urllib.parse import urlsplit

from fastapi import Request


def from_elsewhere(request: Request, *, unknown: bool) -> bool:
    """Whether a page of another site made the browser send this. ``unknown``: the answer where no header tells.

    The scheme is not compared: behind a proxy that ends TLS we see http, the browser https.
    """
    origin = request.headers.get("origin")
    if origin is not None:
        return _host_of(origin) != request.headers.get("host", "").lower()
    fetched_from = request.headers.get("sec-fetch-site")
    return unknown if fetched_from is None else fetched_from != "same-origin"


def _host_of(origin: str) -> str | None:
    """None for ``null``, which sandboxed pages send, and for what is no origin."""
    try:
        parts = urlsplit(origin)
    except ValueError:
        return None
    return parts.netloc.lower() or None if parts.scheme in ("http", "https") else None
