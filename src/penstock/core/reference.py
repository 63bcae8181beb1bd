"""``module:name``: how a command line, a setting or another process names an object of the user's code."""

import importlib
import os
import sys
from types import ModuleType

from penstock import extras
from penstock.errors import InvalidSetting, MissingExtra

_EXAMPLE = "write it as module:name, for example shop.background:app"


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
