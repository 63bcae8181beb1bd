"""The application of a process, from its reference: ``module:name``, as a command line, a setting or another process
names an object of the user's code. Without the worker: commands and checks need only this.
"""

import importlib
import os
import sys
import traceback
from collections.abc import Sequence
from types import ModuleType
from typing import Any, cast

from penstock import extras
from penstock.core.app import App
from penstock.errors import InvalidSetting, MissingExtra, PenstockError, UsageError
from penstock.extension import Extension, declared, discovered
from penstock.storage.migrate import Migration, migrations_of

_EXAMPLE = "write it as module:name, for example shop.background:app"


def load_app(reference: str, extensions: Sequence[str] = ()) -> App:
    """``extensions``: functions, as module:name, called with the application before it is opened, so that they can
    declare tasks of their own in it."""
    app: Any = _imported(reference)
    if App not in type(app).__mro__:
        raise UsageError(
            f"{reference} is a {type(app).__name__}, not a Penstock application. Point --app at the object."
        )
    for extension in extensions:
        install = _imported(extension)
        if not callable(install):
            raise UsageError(
                f"The extension {extension} is a {type(install).__name__}, not a function. Name one that takes the"
                " application."
            )
        install(app)
    return cast(App, app)


def extensions_of(reference: str | None) -> tuple[Extension, ...]:
    """Of the application that is named, or all that run on this machine."""
    return discovered() if reference is None else tuple(load_app(reference).extensions.values())


def migrations_for(module: str) -> tuple[Migration, ...]:
    """Of the extension whose commands stand in this module, or in the package it belongs to."""

    def has_it(one: Extension) -> bool:
        return any(f"{module}.".startswith(f"{place}.") for _, place in one.commands.values())

    return migrations_of(filter(has_it, declared()))


def _imported(reference: str) -> object:
    try:
        return resolve(reference)
    except PenstockError:
        raise
    except (Exception, SystemExit) as error:
        # The user's own module failed; starting again would not help, and its traceback says where.
        traceback.print_exc()
        raise UsageError(f"Importing {reference} failed: {type(error).__name__}: {error}.") from error


def resolve(reference: str) -> object:
    """Import the module and take the name from it; the name may be dotted (``shop:state.app``).

    An error inside the module itself is not touched: its own traceback says more than any sentence here.
    """
    module_name, colon, name = reference.partition(":")
    parts = name.split(".")
    if not colon or not all(part.isidentifier() for part in (*module_name.split("."), *parts)):
        raise InvalidSetting("app", reference, f"it names no object; {_EXAMPLE}")
    make_current_directory_importable()
    found: object = _module(module_name, reference)
    for index, part in enumerate(parts):
        try:
            found = getattr(found, part)
        except AttributeError:
            where = ".".join((module_name, *parts[:index]))
            raise InvalidSetting("app", reference, f"there is no {part!r} in {where}; {_EXAMPLE}") from None
    return found


def make_current_directory_importable() -> None:
    """What `python -m` does for itself; a console script such as `penstock` starts without it."""
    here = os.getcwd()
    if here not in sys.path and "" not in sys.path:
        sys.path.insert(0, here)


def _module(name: str, reference: str) -> ModuleType:
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        # A module that exists but imports something missing is the user's own error and stays as it is.
        if error.name is None or not (name == error.name or name.startswith(f"{error.name}.")):
            if error.name is not None and (extra := extras.bringing(error.name)) is not None:
                raise MissingExtra(extra=extra, what=f"The application {reference}") from error
            raise
        problem = f"there is no module {error.name!r}; start it from the folder that holds it, or install it"
        raise InvalidSetting("app", reference, problem) from None
