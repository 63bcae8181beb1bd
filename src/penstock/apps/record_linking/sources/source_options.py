"""What the client of a source has to know, checked before anything is asked."""

from dataclasses import dataclass
from urllib.parse import urlsplit

from penstock.app_settings import RecordLinkingSettings
from penstock.apps.record_linking.sources.source import SourceMisconfigured
from penstock.providers.own_network import is_own_network

_USER_AGENT = "PENSTOCK_LINKING_USER_AGENT"
_EXAMPLE = "library-matching/1.0 (https://example.org/matching; data@example.org)"
_PORTS = {"http": 80, "https": 443}
_MOST_BYTES = 64 * 1024 * 1024

Origin = tuple[str, str, int | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceOptions:
    """``setting``: the name of what holds the address, for sentences. ``most_bytes``: of one answer, unpacked."""

    key: str
    url: str
    setting: str
    user_agent: str
    timeout_seconds: float
    concurrency: int
    most_bytes: int = _MOST_BYTES

    @property
    def host(self) -> str:
        """For sentences: with its port, unless that is the usual one."""
        scheme, host, port = self.origin
        return host if port == _PORTS.get(scheme) else f"{host}:{port}"

    @property
    def origin(self) -> Origin:
        return origin_of(self.url)


def origin_of(url: str) -> Origin:
    """Raises ValueError for what is no address."""
    parts = urlsplit(url)
    return parts.scheme, (parts.hostname or "").casefold(), parts.port or _PORTS.get(parts.scheme)


def options_of(settings: RecordLinkingSettings, *, key: str, url: str, setting: str) -> SourceOptions:
    """Raises SourceMisconfigured. Also a server on loopback wants to know who asks: so nobody forgets it later."""
    _check_address(url, setting)
    agent = (settings.linking_user_agent or "").strip()
    if not agent:
        raise SourceMisconfigured(
            f"{_USER_AGENT} is not set, and {urlsplit(url).hostname} wants to know who asks. Set it to a name and an"
            f" address where you can be reached, such as {_EXAMPLE!r}, for the service and all workers."
        )
    if not agent.isascii() or not agent.isprintable():
        raise SourceMisconfigured(f"{_USER_AGENT} may hold printable ASCII characters only, such as {_EXAMPLE!r}.")
    return SourceOptions(
        key=key,
        url=url,
        setting=setting,
        user_agent=agent,
        timeout_seconds=settings.linking_timeout_seconds,
        concurrency=settings.linking_concurrency,
    )


def _check_address(url: str, setting: str) -> None:
    try:
        scheme, host, _ = origin_of(url)
        parts = urlsplit(url)
    except ValueError:
        raise SourceMisconfigured(f"{setting} is no address. Correct it.") from None
    if scheme not in _PORTS or not host:
        raise SourceMisconfigured(f"{setting} has to begin with https:// or http:// and a host. Correct it.")
    if "@" in parts.netloc or parts.fragment:
        raise SourceMisconfigured(f"{setting} may hold neither a login nor a #. Leave them out.")
    if scheme == "http" and not is_own_network(host):
        raise SourceMisconfigured(
            f"{setting} asks {host} over http, and names of records go over http only to this machine or your own"
            " network. Use https."
        )
