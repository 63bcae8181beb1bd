"""OpenAI-compatible endpoints, and the TOML file in which somebody configured them."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from urllib.parse import urlsplit

from penstock.config import PREFIX, Settings
from penstock.extensions.sites.fetch.request import is_allowed
from penstock.extensions.sites.models.model import OFFLINE
from penstock.extensions.sites.settings import SitesSettings
from penstock.providers.toml_tables import Table, key_of, tables

_LARGEST_BURST = 1_000_000
# Permits that come together: a few seconds' worth of requests, a quarter of a minute's tokens.
_REQUESTS_BURST_SECONDS, _TOKENS_BURST_SECONDS = 5.0, 15.0
_MILLION = 1_000_000
_SETTING = f"{PREFIX}SITES_MODELS_FILE"
_ALLOWED_HOSTS = f"{PREFIX}SITES_ALLOWED_HOSTS"
_TEXTS = {"name": True, "url": True, "model": True, "key_variable": False, "provider": False, "tokens_parameter": False}
_TOKENS_PARAMETERS = ("max_tokens", "max_completion_tokens")
# name: (least, most, whole)
_NUMBERS = {
    "input_price": (0, 1_000_000, False),
    "output_price": (0, 1_000_000, False),
    "requests_per_minute": (0.01, 600_000, False),
    "tokens_per_minute": (1, 6_000_000, False),
    "max_tokens": (1, 100_000, True),
    "temperature": (0, 2, False),
    "timeout_seconds": (0.1, 600, False),
    "concurrency": (1, 1000, True),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    """Prices per million tokens, rates per minute over the whole fleet (None: not limited).

    ``provider``: whose budget of requests and tokens a call uses; models of one account share it. ``key`` comes from
    the environment and never shows. ``problem``: why it cannot be asked, for people.
    """

    name: str
    url: str
    model: str
    provider: str
    key_variable: str | None = None
    key: str | None = field(default=None, repr=False)
    input_price: float = 0.0
    output_price: float = 0.0
    requests_per_minute: float | None = None
    tokens_per_minute: float | None = None
    max_tokens: int = 400
    tokens_parameter: str = "max_tokens"
    temperature: float | None = None
    timeout_seconds: float = 60.0
    concurrency: int = 4
    private: bool = False
    problem: str | None = None

    @property
    def host(self) -> str:
        return urlsplit(self.url).hostname or ""

    @property
    def port(self) -> int | None:
        """None: the usual one of the scheme."""
        return urlsplit(self.url).port

    @property
    def version(self) -> str:
        """Changes with everything that changes the answers; the key and the prices do not."""
        shape = (self.url, self.model, self.temperature, self.max_tokens, self.tokens_parameter)
        return f"{self.model} {sha256(repr(shape).encode()).hexdigest()[:12]}"

    @property
    def requests_key(self) -> str:
        return f"model:{self.provider}:requests"

    @property
    def tokens_key(self) -> str:
        return f"model:{self.provider}:tokens"

    @property
    def requests_burst(self) -> int:
        return max(1, int((self.requests_per_minute or 0.0) / 60 * _REQUESTS_BURST_SECONDS))

    @property
    def tokens_burst(self) -> int:
        """At least two answers of full length, or a small budget would let nothing through."""
        usual = int((self.tokens_per_minute or 0.0) / 60 * _TOKENS_BURST_SECONDS)
        return min(max(usual, 2 * self.max_tokens, 1), _LARGEST_BURST)

    def cost(self, tokens_in: int, tokens_out: int) -> float:
        return round((tokens_in * self.input_price + tokens_out * self.output_price) / _MILLION, 12)


def read(settings: Settings, environment: Mapping[str, str]) -> list[Endpoint]:
    """The endpoints in the order of the file; none where no file is set."""
    own = settings.of(SitesSettings)
    if own.models_file is None:
        return []
    endpoints: list[Endpoint] = []
    for table in tables(own.models_file, setting=_SETTING, kind="model"):
        endpoint = _endpoint(table, settings, environment)
        for other in endpoints:
            _fit_together(table, endpoint, other)
        endpoints.append(endpoint)
    return endpoints


def _endpoint(table: Table, settings: Settings, environment: Mapping[str, str]) -> Endpoint:
    table.check_fields([*_TEXTS, *_NUMBERS])
    given = table.texts(_TEXTS, names=("name", "provider"))
    if given["name"] == OFFLINE:
        raise table.wrong("name", OFFLINE, "that is the model that comes along; choose another name")
    if given.get("tokens_parameter", "max_tokens") not in _TOKENS_PARAMETERS:
        raise table.wrong("tokens_parameter", given["tokens_parameter"], f"use {' or '.join(_TOKENS_PARAMETERS)}")
    given |= table.numbers(_NUMBERS)
    table.check_address(given["url"])
    private = settings.private_networks or _is_allowed(given["url"], settings)
    given["url"] = given["url"].rstrip("/").removesuffix("/chat/completions")
    if given.get("key_variable") and urlsplit(given["url"]).scheme == "http" and not private:
        raise table.wrong(
            "url", given["url"], f"a key is not sent over http; use https, or list the host in {_ALLOWED_HOSTS}"
        )
    key, problem = key_of(given.get("key_variable"), environment)
    return Endpoint(**({"provider": given["name"]} | given), key=key, problem=problem, private=private)


def _fit_together(table: Table, endpoint: Endpoint, other: Endpoint) -> None:
    if endpoint.name == other.name:
        raise table.wrong("name", endpoint.name, "another model of the file has the same name")
    if endpoint.provider != other.provider:
        return
    for name in ("requests_per_minute", "tokens_per_minute"):
        if getattr(endpoint, name) != getattr(other, name):
            raise table.wrong(
                name, getattr(endpoint, name), f"model {other.name!r} of the same provider says otherwise"
            )


def _is_allowed(url: str, settings: Settings) -> bool:
    parts = urlsplit(url)
    port = parts.port or (443 if parts.scheme == "https" else 80)
    return is_allowed((parts.hostname or "").lower(), port, settings.of(SitesSettings).allowed_hosts)
