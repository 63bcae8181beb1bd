"""Writes `ui/openapi.json`, from which the types of the web pages are made: `make openapi`.

Only what types need stands in it, so that a better sentence changes no file here; a test compares the two.
"""

import json
import sys
from pathlib import Path
from typing import Any

from penstock.console.http.app import create
from penstock_demo.showcase import app as showcase

TARGET = Path(__file__).resolve().parents[1] / "ui" / "openapi.json"
# For people, or for checks that the service makes itself.
_LEFT_OUT = frozenset(
    {"description", "title", "summary", "examples", "example", "tags", "security", "headers", "pattern"}
    | {"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "minLength", "maxLength", "minItems", "maxItems"}
)


def text() -> str:
    """A line for each route and each schema, so that a change of one is a change of one line."""
    whole = _bare(create(showcase).openapi())
    return (
        f'{{"openapi": "{whole["openapi"]}", "info": {{"title": "Penstock", "version": "0"}},\n'
        f'"paths": {{\n{_lines(whole["paths"])}\n}},\n'
        f'"components": {{"schemas": {{\n{_lines(whole["components"]["schemas"])}\n}}}}}}\n'
    )


def _lines(part: dict[str, Any]) -> str:
    return ",\n".join(f"{json.dumps(name)}: {json.dumps(part[name], sort_keys=True)}" for name in sorted(part))


def _bare(value: Any, *, names: bool = False) -> Any:
    """``names``: the keys are somebody's names, such as a property called title."""
    if isinstance(value, dict):
        kept = {key: inside for key, inside in value.items() if names or key not in _LEFT_OUT}
        if not names and "responses" in kept:  # problems all have the same form
            kept["responses"] = {
                status: inside for status, inside in kept["responses"].items() if status.startswith("2")
            }
        return {
            key: _bare(inside, names=key in {"properties", "schemas"} and not names) for key, inside in kept.items()
        }
    if isinstance(value, list):
        return [_bare(inside) for inside in value]
    return value


def main() -> None:
    if "--print" in sys.argv[1:]:
        sys.stdout.write(text())
        return
    TARGET.write_text(text(), "utf-8")
    print(f"{TARGET.name}: {TARGET.stat().st_size:,} bytes", file=sys.stderr)


if __name__ == "__main__":
    main()
