"""TOML files that name endpoints: read once, checked whole, with the place of a mistake in the message."""

import difflib
import math
import re
import tomllib
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any, TypeGuard
from urllib.parse import urlsplit

from penstock.errors import InvalidSetting

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,127}")
_LONGEST_TEXT = 500
_LONGEST_KEY = 4096
_KEYS = ("key", "api_key")


def tables(path: Path, *, setting: str, kind: str) -> list["Table"]:
    """The tables ``[[kind]]`` of a file, which holds nothing else. ``setting``: what names the file."""
    try:
        content = tomllib.loads(path.read_text("utf-8"))
    except OSError as error:
        raise InvalidSetting(setting, str(path), f"it cannot be read ({error.strerror})") from None
    except (UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise InvalidSetting(setting, str(path), f"it is no TOML ({error})") from None
    found = content.get(kind)
    if set(content) != {kind} or not isinstance(found, list) or not all(isinstance(one, dict) for one in found):
        raise InvalidSetting(setting, str(path), f"it has to hold one or more tables [[{kind}]] and nothing else")
    return [Table(one, number, setting=setting, kind=kind) for number, one in enumerate(found, start=1)]


class Table:
    """One table, and where it stands, for people who look for their mistake."""

    def __init__(self, given: Mapping[str, Any], number: int, *, setting: str, kind: str) -> None:
        named = given.get("name")
        self.where = f"{kind} {named!r}" if isinstance(named, str) else f"{kind} number {number}"
        self._given = given
        self._setting = setting

    def wrong(self, field: str, value: object, problem: str) -> InvalidSetting:
        return InvalidSetting(f"{field} of {self.where} in {self._setting}", value, problem)

    def has(self, field: str) -> bool:
        return field in self._given

    def check_fields(self, known: Collection[str]) -> None:
        for field in self._given:
            if field in _KEYS:
                raise self.wrong(field, "…", "keys stay in the environment; name the variable as key_variable")
            if field not in known:
                near = difflib.get_close_matches(field, known, n=1)
                hint = f"did you mean {near[0]}" if near else f"the fields are {', '.join(known)}"
                raise self.wrong(field, "…", f"there is no such field; {hint}")

    def texts(self, fields: Mapping[str, bool], *, names: Collection[str] = ("name",)) -> dict[str, Any]:
        """Trimmed texts of those fields that are there; True: it has to be. ``names``: those that are identifiers."""
        given: dict[str, Any] = {}
        for field, needed in fields.items():
            value = self._given.get(field)
            if value is None and not needed:
                continue
            if not _is_text(value) or not value.strip():
                raise self.wrong(field, value, "a text is needed here")
            given[field] = value.strip()
        for field in (*names, "key_variable"):
            shape = _VARIABLE if field == "key_variable" else _NAME
            if field in given and not shape.fullmatch(given[field]):
                # Not the value: somebody may have put the key itself in the place of the variable's name.
                shown = "…" if field == "key_variable" else given[field]
                raise self.wrong(field, shown, "use letters, digits and, in names, dots and dashes")
        return given

    def exact_texts(self, fields: Collection[str]) -> dict[str, Any]:
        """Texts whose spaces count, and which may be empty."""
        given = {field: self._given[field] for field in fields if field in self._given}
        for field, value in given.items():
            if not _is_text(value):
                raise self.wrong(field, value, "a text is needed here")
        return given

    def numbers(self, fields: Mapping[str, tuple[float, float, bool]]) -> dict[str, Any]:
        """Each with least, most, and whether it is a whole number."""
        given: dict[str, Any] = {}
        for field, (least, most, whole) in fields.items():
            value = self._given.get(field)
            if value is None:
                continue
            fits = isinstance(value, int) or (isinstance(value, float) and not whole and math.isfinite(value))
            if isinstance(value, bool) or not fits or not least <= value <= most:
                noun = "a whole number" if whole else "a number"
                raise self.wrong(field, value, f"it has to be {noun} from {least} to {most}")
            given[field] = value if whole else float(value)
        return given

    def switches(self, fields: Collection[str]) -> dict[str, Any]:
        given = {field: self._given[field] for field in fields if field in self._given}
        for field, value in given.items():
            if not isinstance(value, bool):
                raise self.wrong(field, value, "it has to be true or false")
        return given

    def check_address(self, url: str) -> None:
        """Plain: whatever stands in a query or a login would end up in logs."""
        try:
            parts = urlsplit(url)
            schemes = ("http", "https")
            plain = parts.scheme in schemes and bool(parts.hostname) and (parts.port is None or parts.port > 0)
        except ValueError:
            raise self.wrong("url", "…", "it is no address") from None
        if not plain:
            shown = url.partition("?")[0][:100]
            raise self.wrong("url", shown, "it has to begin with https:// or http:// and a host")
        if "@" in parts.netloc or parts.query or parts.fragment:
            raise self.wrong("url", f"{parts.scheme}://{parts.hostname}", "leave out login, ? and #")


def key_of(variable: str | None, environment: Mapping[str, str]) -> tuple[str | None, str | None]:
    """The key, and why there is none. A missing key is no reason to refuse the other tables of the file."""
    if variable is None:
        return None, None
    key = environment.get(variable, "").strip()
    if not key:
        return None, f"The variable {variable}, which should hold its key, is not set. Set it and restart the workers."
    if not key.isascii() or not key.isprintable() or len(key) > _LONGEST_KEY:
        return None, f"The variable {variable} holds no key: only printable ASCII characters may be in it."
    return key, None


def _is_text(value: object) -> TypeGuard[str]:
    return isinstance(value, str) and len(value) <= _LONGEST_TEXT and value.isprintable()
