"""The TOML file that names the endpoints: read once, checked whole, with the place of a mistake in the message."""

import difflib
import math
import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from penstock.apps.website_analysis.models.endpoint import Endpoint, is_listed
from penstock.apps.website_analysis.models.model import OFFLINE
from penstock.config import PREFIX, Settings
from penstock.errors import InvalidSetting

_SETTING = f"{PREFIX}SITES_MODELS_FILE"
_ALLOWED_HOSTS = f"{PREFIX}SITES_ALLOWED_HOSTS"
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,127}")
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
    for number, table in enumerate(_tables(settings.sites_models_file), start=1):
        endpoint = _endpoint(table, number, settings, environment)
        for other in endpoints:
            _fit_together(endpoint, other)
        endpoints.append(endpoint)
    return endpoints


def _tables(path: Path) -> list[dict[str, Any]]:
    try:
        content = tomllib.loads(path.read_text("utf-8"))
    except OSError as error:
        raise InvalidSetting(_SETTING, str(path), f"it cannot be read ({error.strerror})") from None
    except (UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise InvalidSetting(_SETTING, str(path), f"it is no TOML ({error})") from None
    tables = content.get("model")
    if set(content) != {"model"} or not isinstance(tables, list) or not all(isinstance(one, dict) for one in tables):
        raise InvalidSetting(_SETTING, str(path), "it has to hold one or more tables [[model]] and nothing else")
    return tables


def _endpoint(table: Mapping[str, Any], number: int, settings: Settings, environment: Mapping[str, str]) -> Endpoint:
    named = table.get("name")
    where = f"model {named!r}" if isinstance(named, str) else f"model number {number}"
    _known_fields(where, table)
    given = _texts(where, table) | _numbers(where, table)
    private = settings.private_networks or is_listed(_address(where, given["url"]), settings.sites_allowed_hosts)
    given["url"] = given["url"].rstrip("/").removesuffix("/chat/completions")
    if given.get("key_variable") and urlsplit(given["url"]).scheme == "http" and not private:
        raise _wrong(
            where, "url", given["url"], f"a key is not sent over http; use https, or list the host in {_ALLOWED_HOSTS}"
        )
    key, problem = _key(given.get("key_variable"), environment)
    return Endpoint(**({"provider": given["name"]} | given), key=key, problem=problem, private=private)


def _known_fields(where: str, table: Mapping[str, Any]) -> None:
    known = [*_TEXTS, *_NUMBERS]
    for name in table:
        if name in ("key", "api_key"):
            raise _wrong(where, name, "…", "keys stay in the environment; name the variable as key_variable")
        if name not in known:
            near = difflib.get_close_matches(name, known, n=1)
            hint = f"did you mean {near[0]}" if near else f"the fields are {', '.join(known)}"
            raise _wrong(where, name, "…", f"there is no such field; {hint}")


def _texts(where: str, table: Mapping[str, Any]) -> dict[str, Any]:
    given: dict[str, Any] = {}
    for name, needed in _TEXTS.items():
        value = table.get(name)
        if value is None and not needed:
            continue
        if not isinstance(value, str) or not value.strip() or len(value) > 500 or not value.isprintable():
            raise _wrong(where, name, value, "a text is needed here")
        given[name] = value.strip()
    for name, shape in (("name", _NAME), ("provider", _NAME), ("key_variable", _VARIABLE)):
        if name in given and not shape.fullmatch(given[name]):
            # Not the value: somebody may have put the key itself in the place of the variable's name.
            shown = "…" if name == "key_variable" else given[name]
            raise _wrong(where, name, shown, "use letters, digits and, in names, dots and dashes")
    if given["name"] == OFFLINE:
        raise _wrong(where, "name", OFFLINE, "that is the model that comes along; choose another name")
    if given.get("tokens_parameter", "max_tokens") not in _TOKENS_PARAMETERS:
        raise _wrong(where, "tokens_parameter", given["tokens_parameter"], f"use {' or '.join(_TOKENS_PARAMETERS)}")
    return given


def _numbers(where: str, table: Mapping[str, Any]) -> dict[str, Any]:
    given: dict[str, Any] = {}
    for name, (least, most, whole) in _NUMBERS.items():
        value = table.get(name)
        if value is None:
            continue
        fits = isinstance(value, int) or (isinstance(value, float) and not whole and math.isfinite(value))
        if isinstance(value, bool) or not fits or not least <= value <= most:
            noun = "a whole number" if whole else "a number"
            raise _wrong(where, name, value, f"it has to be {noun} from {least} to {most}")
        given[name] = value if whole else float(value)
    return given


def _address(where: str, url: str) -> str:
    """Plain: whatever stands in a query or a login would end up in logs."""
    try:
        parts = urlsplit(url)
        plain = parts.scheme in ("http", "https") and bool(parts.hostname) and (parts.port is None or parts.port > 0)
    except ValueError:
        raise _wrong(where, "url", "…", "it is no address") from None
    if not plain:
        raise _wrong(where, "url", url.partition("?")[0][:100], "it has to begin with https:// or http:// and a host")
    if "@" in parts.netloc or parts.query or parts.fragment:
        raise _wrong(where, "url", f"{parts.scheme}://{parts.hostname}", "leave out login, ? and #")
    return url


def _key(variable: str | None, environment: Mapping[str, str]) -> tuple[str | None, str | None]:
    """The key, and why there is none. A missing key is no reason to refuse the other models of the file."""
    if variable is None:
        return None, None
    key = environment.get(variable, "").strip()
    if not key:
        return None, f"The variable {variable}, which should hold its key, is not set. Set it and restart the workers."
    if not key.isascii() or not key.isprintable() or len(key) > 4096:
        return None, f"The variable {variable} holds no key: only printable ASCII characters may be in it."
    return key, None


def _fit_together(endpoint: Endpoint, other: Endpoint) -> None:
    where = f"model {endpoint.name!r}"
    if endpoint.name == other.name:
        raise _wrong(where, "name", endpoint.name, "another model of the file has the same name")
    if endpoint.provider != other.provider:
        return
    for name in ("requests_per_minute", "tokens_per_minute"):
        if getattr(endpoint, name) != getattr(other, name):
            raise _wrong(
                where, name, getattr(endpoint, name), f"model {other.name!r} of the same provider says otherwise"
            )


def _wrong(where: str, name: str, value: object, problem: str) -> InvalidSetting:
    return InvalidSetting(f"{name} of {where} in {_SETTING}", value, problem)
