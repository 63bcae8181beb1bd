"""Typed arguments: checked when a task is enqueued, turned back into Python values when it runs.

A function whose parameters are all plain JSON types skips the second step, which keeps the hot path short.
"""

import inspect
import typing
from collections.abc import Callable, Mapping
from typing import Any

from pydantic import ConfigDict, ValidationError, create_model

from penstock.errors import InvalidArguments, InvalidDefinition

_PLAIN: frozenset[Any] = frozenset({int, str, float, bool, dict, list, None, type(None), Any, inspect.Parameter.empty})


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
        # What a later stage of a pipeline calls the result of the stage before.
        self.first_name = parameters[0].name if parameters else None
        self._open = any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters)
        fields: dict[str, Any] = {}
        for parameter in parameters:
            if parameter.kind is parameter.VAR_KEYWORD:
                continue
            hint = hints.get(parameter.name, Any)
            default = ... if parameter.default is parameter.empty else parameter.default
            fields[parameter.name] = (hint, default)
        self.plain = all(_is_plain(hint) for hint, _ in fields.values())
        self._model = create_model(
            f"{name}_arguments",
            __config__=ConfigDict(
                extra="allow" if self._open else "forbid",
                arbitrary_types_allowed=True,
                protected_namespaces=(),
                # NaN is refused later, by name; turned into null here, it would be stored as something else.
                ser_json_inf_nan="constants",
            ),
            **fields,
        )

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
        """Check an argument object, such as one row of ``enqueue_many``."""
        try:
            checked = self._model.model_validate(values)
        except ValidationError as error:
            raise InvalidArguments(self._name, _sentence(error)) from None
        if self.plain:
            given = checked.model_fields_set
            stored = {name: value for name, value in checked.__dict__.items() if name in given}
            return stored | (checked.model_extra or {})
        stored = checked.model_dump(mode="json", exclude_unset=True)
        return stored

    def revive(self, stored: Mapping[str, Any]) -> dict[str, Any]:
        """The stored object as the Python values that the handler's annotations name."""
        try:
            checked = self._model.model_validate(stored)
        except ValidationError as error:
            raise InvalidArguments(self._name, _sentence(error)) from None
        values = {name: getattr(checked, name) for name in type(checked).model_fields}
        values.update(checked.model_extra or {})
        return values


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


def _is_plain(hint: Any) -> bool:
    if hint in _PLAIN:
        return True
    origin, parts = typing.get_origin(hint), typing.get_args(hint)
    if origin in (dict, list) or str(origin) in ("typing.Union", "<class 'types.UnionType'>"):
        return all(_is_plain(part) for part in parts)
    return False


def _flat(bound: inspect.BoundArguments, is_open: bool, signature: inspect.Signature) -> dict[str, Any]:
    values = dict(bound.arguments)
    if is_open:
        for parameter in signature.parameters.values():
            if parameter.kind is parameter.VAR_KEYWORD:
                values.update(values.pop(parameter.name, {}))
    return values


def _sentence(error: ValidationError) -> str:
    problems = []
    for one in error.errors()[:5]:
        where = ".".join(str(part) for part in one["loc"]) or "arguments"
        message = one["msg"][0].lower() + one["msg"][1:]
        given = "" if one["type"] == "missing" else f" (got {_short(one.get('input'))})"
        problems.append(f"{where}: {message}{given}")
    return "; ".join(problems)


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "…"
