"""Which commands there are. Each is one file with ``register(app)``, imported when it is called.

`penstock --help` reads the lines below and imports none of them, so it stays quick however many there are.
"""

import importlib
import importlib.util
from typing import Any

import typer
from typer.core import TyperGroup

from penstock.cli.command import accept_global_options

# Name → what it does, in the order of the help. The module is the name with "_" for "-".
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
    "catalogue": "Enrich product lists: the local products, imports, exports, watched folders.",
    "sites": "Analyse websites: add them, watch them, edit their prompts, report.",
    "articles": "Write, import and find articles, and look after their index.",
    "link": "Match records against Wikidata: import, match, review, export.",
    "users": "Who may use the service: create, list, let in, disable, roles, passwords.",
    "tokens": "Create, list and revoke tokens for programs.",
    "settings": "Features and retention, as admins change them while everything runs.",
    "migrate": "Bring the database schema up to date.",
    "bench": "Measure Penstock on this machine.",
    "config": "Show every setting, its value and where it came from.",
    "version": "Print the version.",
}
_EPILOG = "Every command takes -o json. Settings come from PENSTOCK_… variables; `penstock config show` lists them."


class LazyCommands(TyperGroup):
    """Knows the names; imports a command's module when that command is asked for."""

    def list_commands(self, ctx: Any) -> list[str]:
        return [name for name in COMMANDS if importlib.util.find_spec(module_of(name)) is not None]

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        if cmd_name not in self.list_commands(ctx):
            return None
        if cmd_name not in self.commands:
            self.commands[cmd_name] = load(cmd_name)
        return self.commands[cmd_name]

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """A mistyped name is compared with all names, so all of them are loaded: the one slow case."""
        if args and args[0] not in COMMANDS and not args[0].startswith("-"):
            for name in self.list_commands(ctx):
                self.get_command(ctx, name)
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, COMMANDS[name]) for name in self.list_commands(ctx)])


class WholeSentences(TyperGroup):
    """Lists its commands with the first sentence of each, where the usual list would cut it in the middle."""

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        rows = []
        for name in self.list_commands(ctx):
            described = self.get_command(ctx, name)
            text = " ".join((described.help or "" if described is not None else "").split())
            rows.append((name, f"{text.split('. ')[0].removesuffix('.')}."))
        with formatter.section("Commands"):
            formatter.write_dl(rows)


def module_of(name: str) -> str:
    return f"penstock.cli.{name.replace('-', '_')}"


def load(name: str) -> Any:
    """One command, or a group of them when its file registers several (or a callback)."""
    app = new_app(help=COMMANDS[name], cls=WholeSentences)
    importlib.import_module(module_of(name)).register(app)
    if len(app.registered_commands) > 1 and app.registered_callback is None:
        accept_global_options(app)
    command = typer.main.get_command(app)
    command.name = name
    return command


def new_app(**options: Any) -> typer.Typer:
    """Plain help and plain errors: rich would cost a tenth of a second and break lines in logs."""
    return typer.Typer(
        add_completion=False,
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
        no_args_is_help=True,
        context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
        **options,
    )


def root() -> Any:
    """The whole command line, ready to be called."""
    app = new_app(cls=LazyCommands, epilog=_EPILOG, help="Durable background processing for Python on PostgreSQL.")
    accept_global_options(app)
    return typer.main.get_command(app)
