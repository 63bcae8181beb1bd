"""What can be told about the providers without asking them: set up or not, keys, limits, how they answered lately."""

import os
import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from penstock.application import Penstock
from penstock.config import Settings
from penstock.control import limits
from penstock.errors import InvalidSetting
from penstock.extensions.catalogue import catalogues, sample_provider
from penstock.extensions.catalogue.catalogues import ProviderAnswers
from penstock.extensions.catalogue.http_options import HttpOptions
from penstock.extensions.catalogue.settings import CatalogueSettings
from penstock.extensions.catalogue.wire import KeyBody, LimitBody, ProviderBody

LATELY = 1000
_VARIABLE = re.compile(r"\$(\w+)")
_LOCAL = "Your own products in this database, by GTIN, article number, brand and title, or title."
_HTTP = "A service of your choice that is asked over HTTP."
_SAMPLE = "The made-up shop of `penstock demo` on this machine. Only lists that choose it ask it."
_LOCAL_KINDS = ["gtin", "sku", "brand and title", "title"]
_HTTP_SETTINGS = ["URL", "HEADERS", "PATHS", "PER_SECOND", "CONCURRENCY", "CIRCUIT_FAILURES", "CIRCUIT_SECONDS"]


async def providers(app: Penstock, *, with_errors: bool) -> list[ProviderBody]:
    """In the usual order. ``with_errors``: whoever asks may see what went wrong with others' rows."""
    async with app.connection() as connection:
        lately = await catalogues.lately(connection, LATELY)
        known = await catalogues.products_estimate(connection)
    told = {name: one if with_errors else replace(one, last_error=None) for name, one in lately.items()}
    found = [_local(known, told.get("local")), await _http(app, told.get("http"))]
    if (shop := sample_provider.options_of(app.settings)) is not None:
        name = sample_provider.NAME
        found.append(await _asked(app, shop, name, _SAMPLE, told.get(name), settings=[], keys=[]))
    return found


def _local(known: int | None, lately: ProviderAnswers | None) -> ProviderBody:
    settings = ["PENSTOCK_CATALOGUE_MATCH_THRESHOLD"]
    return _body("local", _LOCAL, lately, ready=True, settings=settings, asks_for=_LOCAL_KINDS, products_estimate=known)


async def _http(app: Penstock, lately: ProviderAnswers | None) -> ProviderBody:
    settings = app.settings
    named = [f"PENSTOCK_CATALOGUE_HTTP_{name}" for name in _HTTP_SETTINGS]
    shown: dict[str, Any] = {"settings": named, "keys": keys_of(settings, os.environ)}
    try:
        options = HttpOptions.of(settings)
    except InvalidSetting as error:
        return _body("http", _HTTP, lately, ready=False, problem=str(error), **shown)
    if options is None:
        problem = "It is not set up. Set PENSTOCK_CATALOGUE_HTTP_URL for the service and the workers."
        return _body("http", _HTTP, lately, ready=False, problem=problem, **shown)
    return await _asked(app, options, "http", _HTTP, lately, **shown)


async def _asked(
    app: Penstock, options: HttpOptions, name: str, about: str, lately: ProviderAnswers | None, **shown: Any
) -> ProviderBody:
    scheme, host, port = options.origin
    return _body(
        name,
        about,
        lately,
        ready=True,
        address=f"{scheme}://{host}:{port}",
        asks_for=sorted(options.places),
        per_second=options.per_second,
        concurrency=options.concurrency,
        circuit_failures=options.circuit_failures,
        circuit_seconds=options.circuit_seconds,
        cost=options.cost,
        limit=await _limit(app, options.key),
        **shown,
    )


def keys_of(settings: Settings, environment: Mapping[str, str]) -> list[KeyBody]:
    """Names only: what the variables hold is nobody's business here."""
    found = []
    for part in settings.of(CatalogueSettings).http_headers.split("|"):
        header, _, value = (piece.strip() for piece in part.partition(":"))
        for variable in _VARIABLE.findall(value):
            found.append(KeyBody(header=header, variable=variable, present=bool(environment.get(variable))))
    return found


async def _limit(app: Penstock, key: str) -> LimitBody | None:
    """None: nobody has asked yet, so the limit was not told to the fleet."""
    found = next((one for one in await limits.listing(app) if one.key == key), None)
    if found is None:
        return None
    return LimitBody(
        key=found.key,
        per_second=found.rate,
        available=found.available,
        blocked_seconds=found.blocked_seconds,
        blocked_reason=found.blocked_reason,
    )


def _body(name: str, about: str, lately: ProviderAnswers | None, **told: Any) -> ProviderBody:
    nothing: dict[str, Any] = {
        "problem": None,
        "address": None,
        "asks_for": [],
        "keys": [],
        "per_second": None,
        "concurrency": None,
        "circuit_failures": None,
        "circuit_seconds": None,
        "cost": 0.0,
        "limit": None,
        "products_estimate": None,
    }
    return ProviderBody(name=name, about=about, lately=lately, **(nothing | told))
