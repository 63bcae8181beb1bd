"""Which commands there are. Each is one file with ``register(app)``, imported when it is called.

`penstock --help` reads the lines below and those of the extensions, and imports none of the modules, so it stays quick
however many there are.
"""

import importlib
import os
from collections.abc import Iterable, Sequence
from typing import Any

import typer
from typer.core import TyperGroup

from penstock import extras
from penstock.errors import PenstockError, UsageError
from penstock.extension import Extension, declared, discovered
from penstock.terminal.command import accept_global_options
from penstock.terminal.groups import WholeSentences, new_app

# Name → what it does, in the order of the help. The module is the name with "_" for "-", or stands below.
COMMANDS: dict[str, str] = {
    "up": "Start everything on this machine: database, workers, HTTP service.",
    "serve": "Run the HTTP service in the foreground, without workers.",
    "worker": "Run a worker in the foreground.",
    "demo": "Fill a fresh instance with a small world and keep it moving.",
    "status": "What is waiting, running and failing, at a glance.",
    "top": "The same, live.",
    "doctor": "Look for what is wrong, each finding with its fix.",
    "tasks": "List, show, explain and cancel tasks.",
    "jobs": "List, watch, pause, resume, cancel and reprocess jobs.",
    "items": "The rows of a job's file, page by page or one of them.",
    "stages": "List, show, pause, resume and limit stages.",
    "workers": "Every worker that lives, with its last health report.",
    "lanes": "List, pause, resume, cancel, weigh and limit lanes.",
    "dead-letters": "Look at, edit and replay tasks that ran out of attempts.",
    "schedules": "List, pause and fire schedules.",
    "limits": "Fleet-wide budgets per key.",
    "users": "Who may use the service: create, list, let in, disable, roles, passwords.",
    "tokens": "Create, list and revoke tokens for programs.",
    "settings": "Features and retention, as admins change them while everything runs.",
    "migrate": "Bring the database schema up to date.",
    "bench": "Measure Penstock on this machine.",
    "config": "Show every setting, its value and where it came from.",
    "version": "Print the version.",
}
# Commands that an extra brings: module, extra.
_BROUGHT = {
    "serve": ("penstock.cli.serve", "console"),
    "up": ("penstock.cli.up", "console"),
    "items": ("penstock.cli.items", "console"),
    "settings": ("penstock.cli.settings", "console"),
    "users": ("penstock.cli.users", "console"),
    "tokens": ("penstock.cli.tokens", "console"),
    "bench": ("penstock_bench", "all"),
    "demo": ("penstock_demo.command", "all"),
}
_EPILOG = "Every command takes -o json. Settings come from PENSTOCK_… variables; `penstock config show` lists them."


class LazyCommands(TyperGroup):
    """Knows the names; imports a command's module when that command is asked for."""

    def list_commands(self, ctx: Any) -> list[str]:
        return list(self.described(ctx))

    def described(self, ctx: Any) -> dict[str, str]:
        return _own() | _brought_by(_installed_in(ctx))

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        if cmd_name in self.commands:
            return self.commands[cmd_name]
        if cmd_name in _BROUGHT:
            extras.require(_BROUGHT[cmd_name][1], f"`penstock {cmd_name}`")
        if cmd_name in COMMANDS:
            made = _made(COMMANDS[cmd_name], module_of(cmd_name), cmd_name)
        elif (extension := _bringing(cmd_name, ctx)) is not None:
            if extension.extra is not None:
                extras.require(extension.extra, f"`penstock {cmd_name}`")
            says, module = extension.commands[cmd_name]
            try:
                importlib.import_module(module)
            except ImportError as error:
                raise extension.refused(f"importing {module} failed: {type(error).__name__}: {error}") from error
            made = _made(says, module, cmd_name)
        else:
            return None
        return self.commands.setdefault(cmd_name, made)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """A mistyped name is compared with all names, so all of them are loaded: the one slow case."""
        if args and not args[0].startswith("-") and self.get_command(ctx, args[0]) is None:
            for name in self.list_commands(ctx):
                self.get_command(ctx, name)
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(_own().items()))
        try:
            brought = _brought_by(_installed_in(ctx))
        except PenstockError as error:
            brought = {"–": str(error)}
        if brought:
            with formatter.section("Extensions"):
                formatter.write_dl(list(brought.items()))


def _own() -> dict[str, str]:
    return {
        name: says for name, says in COMMANDS.items() if name not in _BROUGHT or extras.installed(_BROUGHT[name][1])
    }


def _brought_by(extensions: Iterable[Extension]) -> dict[str, str]:
    """name → help. Raises :class:`InvalidExtension` for a name that Penstock or another extension has."""
    found: dict[str, str] = {}
    for extension in extensions:
        for name, (says, _) in extension.commands.items():
            if name in COMMANDS or name in found:
                raise extension.refused(f"its command {name!r} is there already")
            found[name] = says
    return found


def _bringing(command: str, ctx: Any) -> Extension | None:
    """Raises :class:`UsageError` for a command of an extension that the named application lacks."""
    installed = _installed_in(ctx)
    for extensions in (installed, declared()):
        _brought_by(extensions)
        for extension in extensions:
            if command in extension.commands:
                if (named := _named(ctx)) is not None and extension not in installed:
                    raise UsageError(
                        f"The application {named} does not install the extension {extension.name!r}, which has the"
                        f" command `penstock {command}`. Install it there, or name another application."
                    )
                return extension
    return None


def _installed_in(ctx: Any) -> Sequence[Extension]:
    """Those of the application that was named, or all that run on this machine."""
    if (named := _named(ctx)) is None:
        return discovered()
    from penstock.core.loading import extensions_of

    return extensions_of(named)


def _named(ctx: Any) -> str | None:
    return (ctx and ctx.params.get("app")) or os.environ.get("PENSTOCK_APP") or None


def module_of(name: str) -> str:
    return _BROUGHT[name][0] if name in _BROUGHT else f"penstock.cli.{name.replace('-', '_')}"


def _made(says: str, module: str, name: str) -> Any:
    """One command, or a group of them when its file registers several (or a callback)."""
    app = new_app(help=says, cls=WholeSentences)
    importlib.import_module(module).register(app)
    if len(app.registered_commands) > 1 and app.registered_callback is None:
        accept_global_options(app)
    command = typer.main.get_command(app)
    command.name = name
    return command


def root() -> Any:
    """The whole command line, ready to be called."""
    app = new_app(cls=LazyCommands, epilog=_EPILOG, help="Durable background processing for Python on PostgreSQL.")
    accept_global_options(app)
    return typer.main.get_command(app)
