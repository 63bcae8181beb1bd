"""How large each part of Penstock is, against its budget, and the rules that no linter knows. Part of `make check`.

Prints a line per part. Fails where a part has grown past its budget (or past what it had when it was still over it),
where SQL outside ``storage/`` and the test kit names a table of the engine that ``house.toml`` does not list, where a
package has two classes of one name, and where the engine imports what ``pip install penstock`` does not bring. What
``house.toml`` allows and the code no longer needs is an error too, so that the list only shrinks.
"""

import ast
import re
import sys
import tomllib
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
# How far a figure of house.toml may lie above what is there, before it has to be lowered.
_SLACK = 0.01
_TABLE = re.compile(r"\bpenstock\.(\w+)\b(?!\s*\()")
_CREATED = re.compile(r"create table (?:if not exists )?penstock\.(\w+)")
# Tables of the console, which keeps its SQL itself.
_CONSOLE = {"users", "tokens", "sessions", "login_links", "secrets", "files", "file_chunks", "sightings", "sources"}
_CONSOLE |= {"selections", "imports"}


def modules(source: Path, packages: list[str]) -> list[Path]:
    """ "" stands for the files directly in ``source``, "." for all of it."""
    found: list[Path] = []
    for package in packages:
        found += source.glob("*.py") if not package else (source / package).rglob("*.py")
    return found


def lines_of(paths: list[Path]) -> int:
    return sum(path.read_bytes().count(b"\n") for path in paths)


def sizes(source: Path, parts: list[dict[str, Any]]) -> Iterator[str]:
    """Prints the table; yields what is wrong."""
    for part in parts:
        name, budget, today = part["name"], part["budget"], part["today"]
        lines = lines_of(modules(source, part["packages"]))
        over = f"{lines - budget:+,}" if lines > budget else ""
        print(f"{name:20} {lines:7,} lines of {budget:7,}  {over}".rstrip())
        most = max(budget, today)
        if lines > most:
            yield f"{name} has {lines:,} lines, and may have {most:,}: make it smaller."
        elif lines < today * (1 - _SLACK):
            yield f"{name} has {lines:,} lines: lower `today` in tools/house.toml to that, or to 0 within the budget."


def foreign_tables(source: Path, allowed: dict[str, int]) -> Iterator[str]:
    created: set[str] = set()
    for path in (source / "storage" / "migrations").glob("*.sql"):
        created |= set(_CREATED.findall(path.read_text("utf-8")))
    there: dict[str, int] = {}
    for path in source.rglob("*.sql"):
        file = path.relative_to(source).as_posix()
        if not file.startswith(("storage/", "testing/")):
            text = re.sub(r"--.*", "", path.read_text("utf-8"))
            foreign = created - _CONSOLE if file.startswith("console/") else created
            there[file] = sum(table in foreign for table in _TABLE.findall(text))
    for file in sorted(there.keys() | allowed.keys()):
        count, most = there.get(file, 0), allowed.get(file, 0)
        if count > most:
            yield f"{file} names tables of the engine {count} times, and may {most} times: read its views instead."
        elif count < most:
            yield f"{file} names tables of the engine {count} times: lower it in tools/house.toml from {most}."


def same_names(source: Path) -> Iterator[str]:
    places: dict[tuple[str, str], list[str]] = defaultdict(list)
    for path in sorted(source.rglob("*.py")):
        file = path.relative_to(source)
        package = "/".join(file.parts[:2] if file.parts[0] == "extensions" else file.parts[:-1][:1])
        for node in ast.parse(path.read_text("utf-8")).body:
            if isinstance(node, ast.ClassDef):
                places[package, node.name].append(file.as_posix())
    for (package, name), files in places.items():
        if len(files) > 1:
            yield f"{package or 'penstock'} has {len(files)} classes {name}: {', '.join(files)}. Rename all but one."


def imported(path: Path) -> set[str]:
    """Top-level names that a file imports at run time or for types, also inside functions."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
            found.add(node.module.partition(".")[0])
    return found


def foreign_imports(source: Path, packages: list[str], brought: set[str]) -> Iterator[str]:
    for path in modules(source, packages):
        for name in sorted(imported(path) - brought - sys.stdlib_module_names - {"penstock"}):
            yield f"{path.relative_to(source)} imports {name}, which `pip install penstock` does not bring."


def main() -> int:
    rules = tomllib.loads((ROOT / "tools" / "house.toml").read_text("utf-8"))
    source = ROOT / "src" / "penstock"
    parts: list[dict[str, Any]] = rules["part"]
    engine = next(part["packages"] for part in parts if part["name"] == "engine")
    wrong = [
        *sizes(source, parts),
        *foreign_tables(source, rules["tables"]),
        *same_names(source),
        *foreign_imports(source, engine, set(rules["engine"]["imports"])),
    ]
    for one in wrong:
        print(one, file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
