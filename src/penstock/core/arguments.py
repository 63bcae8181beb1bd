"""Typed arguments: checked when a task is enqueued, turned back into Python values when it runs.

A function whose parameters are all plain JSON types skips the second step, which keeps the hot path short.
"""

import inspect
import typing
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any, NotRequired

import orjson
from pydantic import ConfigDict, TypeAdapter, ValidationError
from typing_extensions import TypedDict

from penstock.core.payload import Mismatch, TypedJson, is_plain, sentence, short
from penstock.errors import InvalidArguments, InvalidDefinition, PermanentError


class Arguments:
    """The parameters of one handler, without its ``ctx``."""

    def __init__(self, name: str, function: Callable[..., Any], context_type: type) -> None:
        self._name = name
        signature = inspect.signature(function)
        hints = _hints(function)
        parameters = list(signature.parameters.values())
        self.takes_context = bool(parameters) and (
            hints.get(parameters[0].name) is context_type or parameters[0].name == "ctx"
        )
        if self.takes_context:
            parameters = parameters[1:]
        for parameter in parameters:
            if parameter.kind in (parameter.VAR_POSITIONAL, parameter.POSITIONAL_ONLY):
                raise InvalidDefinition(
                    what=f"Task {name!r}",
                    problem=f"parameter {parameter} has no name to store its value under; use plain parameters",
                )
        self._signature = signature.replace(parameters=parameters)
        # What a later stage of a pipeline calls the result of the stage before, and what it takes it for.
        self.first_name = parameters[0].name if parameters else None
        self.first_type = TypedJson(hints.get(self.first_name or "", Any))
        self._open = any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters)
        fields: dict[str, Any] = {}
        for parameter in parameters:
            if parameter.kind is not parameter.VAR_KEYWORD:
                hint = hints.get(parameter.name, Any)
                fields[parameter.name] = hint if parameter.default is parameter.empty else NotRequired[hint]
        self.names = frozenset(fields)
        self.plain = all(is_plain(hints.get(field, Any)) for field in fields)
        self._required = frozenset(one.name for one in parameters if one.name in fields and one.default is one.empty)
        self._adapter = _adapter(name, fields, is_open=self._open)
        self._read_back = False

    def bind(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> dict[str, Any]:
        """Check and normalise the arguments of an enqueue call into the object that is stored."""
        if args:
            try:
                bound = self._signature.bind_partial(*args, **kwargs)
            except TypeError as error:
                raise InvalidArguments(self._name, str(error)) from None
            kwargs = _flat(bound, self._open, self._signature)
        return self.check(kwargs)

    def check(self, values: Mapping[str, Any]) -> dict[str, Any]:
        """Check an argument object, such as one row of ``enqueue_many``. Defaults are not filled in, so that a task
        that waits gets the default of the code that runs it."""
        try:
            checked: dict[str, Any] = self._adapter.validate_python(values)
        except ValidationError as error:
            raise InvalidArguments(self._name, sentence(error, whole="arguments")) from None
        if self.plain:
            return checked
        stored: dict[str, Any] = self._adapter.dump_python(checked, mode="json")
        if not self._read_back:
            # Once: whether a type can be read from its own JSON depends on the type. No worker could call the handler.
            # What is no JSON at all is refused where it is encoded, with the value named.
            with suppress(TypeError, UnicodeEncodeError):
                self.revive(stored)
                self._read_back = True
        return stored

    def revive(self, stored: Mapping[str, Any]) -> dict[str, Any]:
        """The stored object as the Python values that the handler's annotations name. Read as JSON, which a strict
        model takes a date from; models are stored by the names of their fields, whatever their aliases."""
        try:
            values: dict[str, Any] = self._adapter.validate_json(orjson.dumps(stored), by_alias=True, by_name=True)
        except ValidationError as error:
            raise InvalidArguments(self._name, sentence(error, whole="arguments")) from None
        return values

    def from_previous(self, text: str | None, previous: Any) -> dict[str, Any]:
        """What a later stage gets: the result of the stage before, as its own parameter is annotated. ``previous`` is
        ``text``, decoded."""
        name, kind = self.first_name, self.first_type
        if name is None:
            return {}
        if kind.plain:
            return {name: previous}
        try:
            return {name: kind.load(text)}
        except Mismatch as error:
            raise PermanentError(
                f"the result of the stage before does not fit the parameter {name!r}, annotated with {kind.name}:"
                f" {error}. The stored value is {short(previous, 200)}. Correct one of the two annotations, then run"
                " the task again from an earlier stage: reprocess(from_stage=…)"
            ) from None

    def misfit(self, stored: Mapping[str, Any]) -> str | None:
        """Why the handler cannot be called with a stored object; None where it can."""
        unknown = [] if self._open else sorted(stored.keys() - self.names)
        problems = [f"unknown argument {name!r}" for name in unknown[:5]]
        problems += [f"missing argument {name!r}" for name in sorted(self._required - stored.keys())]
        if problems or self.plain:
            return ", ".join(problems) or None
        try:
            self.revive(stored)
        except InvalidArguments as error:
            return error.problem
        return None


def _adapter(name: str, fields: dict[str, Any], *, is_open: bool) -> TypeAdapter[Any]:
    """A checked dictionary rather than a model: half the cost per row, and no field name is reserved."""
    make: Any = TypedDict  # made at run time, which type checkers cannot follow
    shape = make(f"{name} arguments", fields)
    shape.__pydantic_config__ = ConfigDict(
        extra="allow" if is_open else "forbid",
        arbitrary_types_allowed=True,
        # NaN is refused later, by name; turned into null here, it would be stored as something else.
        ser_json_inf_nan="constants",
    )
    return TypeAdapter(shape)


def _hints(function: Callable[..., Any]) -> dict[str, Any]:
    try:
        return typing.get_type_hints(function, include_extras=True)
    except (NameError, TypeError):
        # An annotation that exists for type checkers only. Take those that can be resolved.
        found = {}
        for name, hint in getattr(function, "__annotations__", {}).items():
            if not isinstance(hint, str):
                found[name] = hint
        return found


def _flat(bound: inspect.BoundArguments, is_open: bool, signature: inspect.Signature) -> dict[str, Any]:
    values = dict(bound.arguments)
    if is_open:
        for parameter in signature.parameters.values():
            if parameter.kind is parameter.VAR_KEYWORD:
                values.update(values.pop(parameter.name, {}))
    return values
