"""The settings of the HTTP provider, understood and checked before the first question."""

import os
import re
import string
from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import quote, urlsplit

from penstock.config import PREFIX, Settings
from penstock.errors import InvalidSetting, UsageError
from penstock.extensions.catalogue.json_paths import Step, parse
from penstock.extensions.catalogue.provider import FIELDS, NUMBERS, Query
from penstock.extensions.catalogue.settings import CatalogueSettings
from penstock.providers.origin import PORTS, Origin, origin_of

_PLACES = frozenset({"gtin", "sku", "brand", "title", "text"})
_HEADER = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")
_VARIABLE = re.compile(r"\$(\w+)")


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpOptions:
    """``origin``: scheme, host and port, the only ones spoken to. Headers may be secret, so they do not show."""

    url: str
    places: frozenset[str]
    origin: Origin
    headers: Mapping[str, str] = field(repr=False)
    paths: Mapping[str, tuple[Step, ...]]
    per_second: float
    concurrency: int
    timeout_seconds: float
    max_bytes: int
    cost: float
    circuit_failures: int
    circuit_seconds: float
    private_networks: bool

    @classmethod
    def of(cls, settings: Settings, environment: Mapping[str, str] = os.environ) -> "HttpOptions | None":
        """None where no address is set."""
        own = settings.of(CatalogueSettings)
        if own.http_url is None:
            return None
        places, origin = _template(own.http_url)
        return cls(
            url=own.http_url,
            places=places,
            origin=origin,
            headers=_headers(own.http_headers, environment),
            paths=_paths(own.http_paths),
            per_second=own.http_per_second,
            concurrency=own.http_concurrency,
            timeout_seconds=own.http_timeout_seconds,
            max_bytes=own.http_max_bytes,
            cost=own.http_cost,
            circuit_failures=own.http_circuit_failures,
            circuit_seconds=own.http_circuit_seconds,
            private_networks=settings.private_networks,
        )

    @property
    def key(self) -> str:
        """Of the limiter: one budget per host, whatever is asked there."""
        _, host, port = self.origin
        return f"catalogue.http {host}:{port}"

    def values(self, query: Query) -> dict[str, str]:
        given = {"gtin": query.gtin, "sku": query.sku, "brand": query.brand, "title": query.title, "text": query.text}
        # Dots alone would climb in a path, escaped or not.
        return {name: value for name, value in given.items() if value and name in self.places and value.strip(".")}

    def address(self, query: Query) -> str:
        """Every value as one piece: no character of it can change the path or add a parameter."""
        return self.url.format_map({name: quote(value, safe="") for name, value in self.values(query).items()})


def _template(url: str) -> tuple[frozenset[str], Origin]:
    name = f"{PREFIX}CATALOGUE_HTTP_URL"
    shown = url.partition("?")[0]
    try:
        parsed = list(string.Formatter().parse(url))
        origin = origin_of(url)
    except ValueError as error:
        raise InvalidSetting(name, shown, str(error)) from None
    if origin[0] not in PORTS or not origin[1]:
        raise InvalidSetting(name, shown, "it has to begin with https:// or http:// and a host")
    places = [place for _, place, _, _ in parsed if place is not None]
    if not places or not _PLACES.issuperset(places) or any(kind or change for _, _, kind, change in parsed):
        raise InvalidSetting(name, shown, "it has to hold one or more of {gtin}, {sku}, {brand}, {title}, {text}")
    if "{" in urlsplit(url).netloc:
        raise InvalidSetting(name, shown, "the host has to be fixed; placeholders belong into path or query")
    if "@" in urlsplit(url).netloc:
        raise InvalidSetting(name, "…", "a login belongs into PENSTOCK_CATALOGUE_HTTP_HEADERS")
    return frozenset(places), origin


def _headers(text: str, environment: Mapping[str, str]) -> dict[str, str]:
    """``Authorization: Bearer $SHOP_KEY | Accept: application/json``: secrets stay in variables of their own."""
    name = f"{PREFIX}CATALOGUE_HTTP_HEADERS"
    headers = {}
    for part in filter(str.strip, text.split("|")):
        header, colon, value = (piece.strip() for piece in part.partition(":"))
        if not colon or not _HEADER.fullmatch(header):
            raise InvalidSetting(name, header[:40], "write headers as Name: value, separated by |")
        for variable in _VARIABLE.findall(value):
            if variable not in environment:
                raise InvalidSetting(name, f"${variable}", "there is no such variable in the environment")
        filled = _VARIABLE.sub(lambda found: environment[found[1]], value)
        if not filled.isascii() or not filled.isprintable():
            raise InvalidSetting(name, header, "its value may hold printable ASCII characters only")
        headers[header] = filled
    return headers


def _paths(text: str) -> dict[str, tuple[Step, ...]]:
    name = f"{PREFIX}CATALOGUE_HTTP_PATHS"
    paths = {}
    for part in filter(str.strip, text.split(",")):
        known, equals, path = (piece.strip() for piece in part.partition("="))
        if not equals or known not in (*FIELDS, *NUMBERS):
            fields = ", ".join((*FIELDS, *NUMBERS))
            raise InvalidSetting(name, part.strip()[:80], f"write field=path; the fields are {fields}")
        try:
            paths[known] = parse(path)
        except UsageError as error:
            raise InvalidSetting(name, part.strip()[:80], str(error).rstrip(".")) from None
    if "title" not in paths and "price" not in paths:
        raise InvalidSetting(name, text[:80], "a path for title or price is needed to tell a hit from a miss")
    return paths
