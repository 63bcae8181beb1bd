"""The TOML file that names the endpoints of models."""

from collections.abc import Mapping
from urllib.parse import urlsplit

from penstock.apps.website_analysis.models.endpoint import Endpoint, is_listed
from penstock.apps.website_analysis.models.model import OFFLINE
from penstock.config import PREFIX, Settings
from penstock.providers.toml_tables import Table, key_of, tables

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


def read(settings: Settings, environment: Mapping[str, str]) -> list[Endpoint]:
    """The endpoints in the order of the file; none where no file is set."""
    if settings.sites_models_file is None:
        return []
    endpoints: list[Endpoint] = []
    for table in tables(settings.sites_models_file, setting=_SETTING, kind="model"):
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
    private = settings.private_networks or is_listed(given["url"], settings.sites_allowed_hosts)
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
