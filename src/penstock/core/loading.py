"""The application of a process, from its reference. Without the worker: commands and checks need only this."""

import traceback
from collections.abc import Sequence

from penstock.core.app import App
from penstock.core.reference import resolve
from penstock.errors import PenstockError, UsageError
from penstock.extension import Extension, declared, discovered
from penstock.storage.migrate import Migration, migrations_of


def load_app(reference: str, extensions: Sequence[str] = ()) -> App:
    """``extensions``: functions, as module:name, called with the application before it is opened, so that they can
    declare tasks of their own in it."""
    app = _imported(reference)
    if not isinstance(app, App):
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
    return app


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
