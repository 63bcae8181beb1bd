"""Which server an address belongs to. Pure."""

from urllib.parse import urljoin, urlsplit

# Scheme, host, port: what was configured, and the only one that headers, forms and trust are for.
Origin = tuple[str, str, int | None]
PORTS = {"http": 80, "https": 443}
MOST_REDIRECTS = 3
REDIRECTS = frozenset({301, 302, 303, 307, 308})


def origin_of(url: str) -> Origin:
    """Raises ValueError for what is no address."""
    parts = urlsplit(url)
    return parts.scheme, (parts.hostname or "").casefold(), parts.port or PORTS.get(parts.scheme)


def redirected(url: str, location: str, origin: Origin) -> str | None:
    """Where a redirect leads; None where that is another server, or no address."""
    try:
        target = urljoin(url, location)
        return target if origin_of(target) == origin else None
    except ValueError:
        return None
