"""The settings of the HTTP provider, understood and checked before the first question."""

import os
import re
import string
from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import quote, urlsplit

from penstock.config import PREFIX, Settings
from penstock.errors import InvalidSetting, UsageError
from penstock.extensions.catalogue.http_answer import Step, parse
from penstock.extensions.catalogue.provider import FIELDS, NUMBERS, Query
from penstock.extensions.catalogue.settings import CatalogueSettings
from penstock.providers.origin import PORTS, Origin, origin_of

_PLACES = frozenset({"gtin", "sku", "brand", "title", "text"})
_HEADER = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")
_VARIABLE = re.compile(r"\$(\w+)")
# The shop of `penstock demo`. Only jobs that name it ask it: what it knows does not exist.
SHOP = "sample"
SHOP_PATH = "/shop"
_SHOP_PER_SECOND = 20.0


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpOptions:
    """``origin``: scheme, host and port, the only ones spoken to. Headers may be secret, so they do not show.
    ``own``: the other settings, as they are."""

    url: str
    places: frozenset[str]
    origin: Origin
    headers: Mapping[str, str] = field(repr=False)
    paths: Mapping[str, tuple[Step, ...]]
    own: CatalogueSettings = field(repr=False)
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
            own=own,
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


def shop_options(settings: Settings) -> HttpOptions | None:
    """None where `penstock up` does not serve it. Its host is our own loopback, whatever the setting says of others."""
    if settings.sample_url is None:
        return None
    shop = {
        "catalogue_http_url": f"{settings.sample_url}{SHOP_PATH}?text={{text}}",
        "catalogue_http_headers": "",
        "catalogue_http_paths": CatalogueSettings.model_fields["http_paths"].default,
        "catalogue_http_per_second": _SHOP_PER_SECOND,
        "catalogue_http_cost": 0.0,
        "private_networks": True,
    }
    return HttpOptions.of(settings.model_copy(update=shop))
