"""JSON in and out of the tables: values PostgreSQL cannot keep are refused by name, annotated types come back as they
were. Types that JSON keeps as they are cost nothing.
"""

import dataclasses
import inspect
import math
import re
import types
import typing
from collections.abc import Callable, Iterable, Iterator
from functools import reduce
from operator import or_
from typing import Any

import orjson
from pydantic import TypeAdapter, ValidationError
from pydantic.errors import PydanticUserError
from pydantic_core import PydanticSerializationError
from typing_extensions import TypeAliasType

from penstock.errors import NotStorable, PayloadTooLarge
from penstock.model import Ending

_NUL = re.compile(rb"(?<!\\)(?:\\\\)*\\u0000")


_SAME = object()
_PLAIN: frozenset[Any] = frozenset(
    {int, str, float, bool, dict, list, None, type(None), Any, typing.NoReturn, typing.Never, inspect.Parameter.empty}
)
_PLAIN_KEYS: frozenset[Any] = frozenset({str, Any})
_ENDINGS = frozenset(typing.get_args(Ending))


def encode(value: Any, *, what: str, limit_bytes: int, made_of: Any = _SAME) -> str:
    """Encode for a jsonb column. NaN and infinity are refused: JSON has no word for them, and writing null
    instead would change somebody's data without telling. ``made_of``: what they are looked for in, if not in it."""
    try:
        data = orjson.dumps(value, default=_plain)
    except (TypeError, orjson.JSONEncodeError, RecursionError) as error:
        # The cause is our own sentence from `_plain`; the encoder's names only the type.
        raise NotStorable(what=what, problem=str(error.__cause__ or error)) from None
    if len(data) > limit_bytes:
        raise PayloadTooLarge(what=what, size_bytes=len(data), limit_bytes=limit_bytes)
    if b"\\u0000" in data and _NUL.search(data):
        raise NotStorable(what=what, problem="it contains a NUL character (\\u0000), which PostgreSQL cannot keep")
    if b"null" in data and (path := _not_finite(value if made_of is _SAME else made_of, "")) is not None:
        raise NotStorable(what=what, problem=f"the number at {path or 'the top'} is NaN or infinite")
    return data.decode()


def decode(text: str | None) -> Any:
    return None if text is None else orjson.loads(text)


def clean_text(text: str, limit: int = 20_000) -> str:
    """Any text made storable: for error messages, where losing a character beats losing the message."""
    if len(text) > limit:
        text = text[: limit // 2] + f"\n… {len(text) - limit:,} characters left out …\n" + text[-limit // 2 :]
    return text.replace("\0", "\\0").encode("utf-8", "backslashreplace").decode("utf-8")


def _plain(value: Any) -> Any:
    if hasattr(value, "model_dump"):
        return value.model_dump(mode="json")
    if isinstance(value, set | frozenset):
        return sorted(value)
    if isinstance(value, bytes):
        raise TypeError("bytes are not JSON; decode them, or store them elsewhere and pass a reference")
    raise TypeError(f"{type(value).__name__} is not JSON serializable")


def _not_finite(value: Any, path: str) -> str | None:
    """Where the first number is that JSON cannot express."""
    if isinstance(value, float):
        return None if math.isfinite(value) else path
    if isinstance(value, dict):
        children = ((f"{path}.{key}", child) for key, child in value.items())
    elif hasattr(value, "model_dump"):
        children = ((f"{path}.{name}", child) for name, child in getattr(value, "__dict__", {}).items())
    elif isinstance(value, list | tuple | set | frozenset):
        children = ((f"{path}[{index}]", child) for index, child in enumerate(value))
    elif dataclasses.is_dataclass(value) and not isinstance(value, type):
        children = ((f"{path}.{field.name}", getattr(value, field.name)) for field in dataclasses.fields(value))
    else:
        return None
    for child_path, child in children:
        if (found := _not_finite(child, child_path)) is not None:
            return found
    return None


class Mismatch(Exception):
    """JSON that does not fit the type; the text says where."""


class TypedJson:
    """``plain``: whatever JSON holds is taken as it is."""

    def __init__(self, hint: Any) -> None:
        self.name = inspect.formatannotation(hint)
        self._adapter = None if is_plain(hint) else _adapter(hint)

    @property
    def plain(self) -> bool:
        return self._adapter is None

    def load(self, text: str | None) -> Any:
        """From what is stored; not for plain ones. Models are stored by the names of their fields, so those are taken
        as well as their aliases."""
        assert self._adapter is not None
        try:
            return self._adapter.validate_json(text or "null", by_alias=True, by_name=True)
        except ValidationError as error:
            raise Mismatch(sentence(error, whole="the value")) from None
        except PydanticUserError:  # it names a class that only type checkers see
            return decode(text)

    def encode(self, value: Any, *, what: str, limit_bytes: int) -> str:
        """For a jsonb column. What the encoder does not know may be known by the annotation: a Decimal, keys that are
        numbers."""
        try:
            return encode(value, what=what, limit_bytes=limit_bytes)
        except NotStorable:
            if self._adapter is None:
                raise
            known = _dumped(self._adapter, value)
            if known is None:
                raise
        return encode(known, what=what, limit_bytes=limit_bytes, made_of=value)


def returned_by(function: Callable[..., Any]) -> TypedJson:
    """The type of a handler's results: its return annotation without the planned endings, which are no results."""
    annotated = getattr(function, "__annotations__", {}).get("return", Any)
    try:
        hint = typing.get_type_hints(function, include_extras=True).get("return", Any)
    except (NameError, TypeError):
        # An annotation that exists for type checkers only, of this or of a parameter.
        hint = Any if isinstance(annotated, str) else annotated
    # Of an object as little is known as of Any.
    return TypedJson(Any if hint is object else _without_endings(hint))


def is_plain(hint: Any) -> bool:
    try:
        if hint in _PLAIN:
            return True
    except TypeError:  # Annotated with something that cannot be hashed
        return False
    origin, parts = typing.get_origin(hint), typing.get_args(hint)
    if origin is dict and parts[0] not in _PLAIN_KEYS:
        return False
    return (origin in (dict, list) or _is_union(origin)) and all(is_plain(part) for part in parts)


def sentence(error: ValidationError, *, whole: str) -> str:
    """``whole``: what a problem is called that concerns no part of it."""
    problems = []
    for one in error.errors()[:5]:
        where = ".".join(str(part) for part in one["loc"]) or whole
        message = one["msg"][0].lower() + one["msg"][1:]
        given = "" if one["type"] == "missing" else f" (got {short(one.get('input'))})"
        problems.append(f"{where}: {message}{given}")
    return "; ".join(problems)


def short(value: Any, longest: int = 60) -> str:
    text = repr(value)
    return text if len(text) <= longest else text[: longest - 3] + "…"


def _adapter(hint: Any) -> TypeAdapter[Any] | None:
    if typing.get_origin(hint) in (Iterable, Iterator):
        # pydantic would give an iterator that can be read once, and would check it only then.
        hint = types.GenericAlias(list, typing.get_args(hint)[:1])
    try:
        return TypeAdapter(hint)
    except (PydanticUserError, NameError, TypeError):
        return None  # a class of which nobody knows how it looks in JSON


def _dumped(adapter: TypeAdapter[Any], value: Any) -> Any:
    """None where the value is not of that type, or that type knows no JSON either."""
    try:
        return adapter.dump_python(value, mode="json", warnings="error")
    except (PydanticSerializationError, ValueError, TypeError):
        return None


def _without_endings(hint: Any) -> Any:
    while isinstance(hint, TypeAliasType):
        hint = hint.__value__
    parts = typing.get_args(hint) if _is_union(typing.get_origin(hint)) else (hint,)
    left = tuple(part for part in parts if part not in _ENDINGS)
    if len(left) == len(parts):
        return hint
    return reduce(or_, left) if left else Any


def _is_union(origin: Any) -> bool:
    return origin in (typing.Union, types.UnionType)
