"""One annotated type on its way into JSON and back. Types that JSON keeps as they are cost nothing."""

import inspect
import types
import typing
from collections.abc import Callable, Iterable, Iterator
from functools import reduce
from operator import or_
from typing import Any

from pydantic import TypeAdapter, ValidationError
from pydantic.errors import PydanticUserError
from pydantic_core import PydanticSerializationError
from typing_extensions import TypeAliasType

from penstock.core.payload import decode, encode
from penstock.errors import NotStorable
from penstock.model import Ending

_PLAIN: frozenset[Any] = frozenset(
    {int, str, float, bool, dict, list, None, type(None), Any, typing.NoReturn, typing.Never, inspect.Parameter.empty}
)
_PLAIN_KEYS: frozenset[Any] = frozenset({str, Any})
_ENDINGS = frozenset(typing.get_args(Ending))


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
