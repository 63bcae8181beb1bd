"""Writes the generated parts of the documentation: `python tools/docs.py`, or `make docs`.

A generated part stands between ``<!-- generated: name -->`` and ``<!-- end -->`` in a page of ``docs``; what is around
it is written by people. A test compares the pages with what this would write, so a setting, an event, a metric or a
command without documentation fails the build.
"""

import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import typer
from fastapi import APIRouter
from fastapi.routing import APIRoute
from pydantic.fields import FieldInfo

from penstock.cli.app import LazyCommands, root
from penstock.config import PREFIX, Settings, setting_fields
from penstock.console.http.app import extension_routers
from penstock.console.http.bodies import ANONYMOUS_BYTES, OTHERS, Limit, limits_of
from penstock.console.http.routes import routers
from penstock.events import NAMES
from penstock.extension import declared_settings, discovered
from penstock.observe.counter import COUNTERS, TIMES
from penstock.observe.exposition import GAUGES
from penstock.terminal.options import ANNOTATIONS
from penstock_demo.showcase import app as showcase

DOCS = Path(__file__).resolve().parents[1] / "docs"
_PART = re.compile(r"(<!-- generated: ([a-z]+) -->\n)(.*?)(<!-- end -->)", re.DOTALL)


def settings() -> str:
    rows = []
    for name, field in all_settings().items():
        default = "" if field.default is None else f"`{field.default}`"
        rows.append((f"`{PREFIX}{name.upper()}`", default, _bounds(field.metadata), field.description or ""))
    return _table(("setting", "default", "bounds", "what it does"), rows)


def all_settings() -> dict[str, FieldInfo]:
    """Of Penstock itself, then of the extensions."""
    return {name: field for name, (_, _, field) in setting_fields([Settings, *declared_settings()]).items()}


def _bounds(metadata: list[Any]) -> str:
    signs = {"gt": ">", "ge": "≥", "lt": "<", "le": "≤"}
    found = [f"{sign} {getattr(one, key):g}" for key, sign in signs.items() for one in metadata if hasattr(one, key)]
    return ", ".join(found)


def events() -> str:
    known = all_events().items()
    return _table(("event", "level", "when"), [(f"`{name}`", level, says) for name, (level, says) in known])


def all_events() -> dict[str, tuple[str, str]]:
    """Of the engine, then of the extensions."""
    return NAMES | {name: one for extension in discovered() for name, one in extension.events.items()}


def metrics() -> str:
    rows = [(f"`{name}`", "counter", says) for name, says in COUNTERS.items()]
    rows += [(f"`{name}_sum`, `{name}_count`", "counters per `stage`", says) for name, says in TIMES.items()]
    for name, (labels, says) in GAUGES.items():
        per = f"gauge per {', '.join(f'`{label}`' for label in labels)}" if labels else "gauge"
        rows.append((f"`{name}`", per, says))
    return _table(("metric", "kind", "what it shows"), rows)


def commands() -> str:
    """Every command with its own arguments and options; the global ones are described once."""
    commands = LazyCommands(name="penstock")
    described = commands.described(None)
    overview = _table(("command", "what it does"), [(f"`penstock {name}`", says) for name, says in described.items()])
    shared = "\n".join(_option(one) for one in root().params if one.name in ANNOTATIONS)
    parts = [overview, "### Options of every command\n\n" + shared + "\n"]
    for name in described:
        for path, command in _leaves(f"penstock {name}", commands.get_command(None, name)):
            parts.append(_section(path, command))
    return "\n".join(parts)


def bodies() -> str:
    """How large a request may be: the routes with limits of their own, then all others."""
    default = Settings.model_construct()
    rows = [
        (f"`{method} {route.path}`", *(_bytes(one, default) for one in (limits.json, limits.form or limits.json)))
        for router in (*routers(), *(router for router, _ in extension_routers(showcase)))
        for route in _routes(router)
        if (limits := limits_of(route.endpoint)) is not OTHERS
        for method in sorted(route.methods)
    ]
    rows.append(("all others", *(_bytes(OTHERS.json, default),) * 2))
    rows.append(("any, without valid credentials", f"{ANONYMOUS_BYTES:,}", f"{ANONYMOUS_BYTES:,}"))
    return _table(("route", "body, bytes", "multipart form, bytes"), rows)


def _routes(router: APIRouter) -> Iterator[APIRoute]:
    for route in router.routes:
        if isinstance(route, APIRoute):
            yield route
        elif (inside := getattr(route, "original_router", None)) is not None:
            yield from _routes(inside)


def _bytes(limit: Limit, default: Settings) -> str:
    return f"{limit if isinstance(limit, int) else limit(default):,}"


def _leaves(path: str, command: Any) -> Iterator[tuple[str, Any]]:
    if not isinstance(command, typer.core.TyperGroup):
        yield path, command
        return
    for name in command.list_commands(None):
        yield from _leaves(f"{path} {name}", command.get_command(None, name))


def _section(path: str, command: Any) -> str:
    own = [one for one in command.params if one.name not in ANNOTATIONS]
    arguments = [one for one in own if one.param_type_name == "argument"]
    usage = " ".join([path, *(_argument(one) for one in arguments)])
    lines = [f"### `{usage}`", "", " ".join((command.help or "").split())]
    described = [one for one in own if one.param_type_name == "option" and not one.hidden]
    if described:
        lines += ["", *(_option(one) for one in described)]
    return "\n".join(lines) + "\n"


def _argument(argument: Any) -> str:
    name = (argument.metavar or argument.name).upper().strip("[]").rstrip("….")
    name = f"{name}…" if argument.nargs == -1 else name
    return name if argument.required else f"[{name}]"


def _option(option: Any) -> str:
    names = ", ".join(f"`{one}`" for one in (*option.opts, *option.secondary_opts))
    return f"- {names}: {option.help}" if option.help else f"- {names}"


def _table(head: tuple[str, ...], rows: list[tuple[str, ...]]) -> str:
    lines = [head, tuple("---" for _ in head), *rows]
    return "".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |\n" for line in lines)


PARTS: dict[str, Callable[[], str]] = {
    "settings": settings,
    "events": events,
    "metrics": metrics,
    "commands": commands,
    "bodies": bodies,
}


def rewritten(text: str) -> str:
    """The page with its generated parts made anew."""
    return _PART.sub(lambda found: f"{found[1]}\n{PARTS[found[2]]()}\n{found[4]}", text)


def pages() -> Iterator[Path]:
    return (page for page in sorted(DOCS.glob("*.md")) if _PART.search(page.read_text(encoding="utf-8")))


def main() -> None:
    for page in pages():
        before = page.read_text(encoding="utf-8")
        if (after := rewritten(before)) != before:
            page.write_text(after, encoding="utf-8")
            sys.stderr.write(f"wrote docs/{page.name}\n")


if __name__ == "__main__":
    main()
