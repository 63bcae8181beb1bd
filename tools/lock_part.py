"""Prints the part of `requirements.lock` that some packages need, with hashes: `python tools/lock_part.py penstock`.

The lock also holds what tests and builds need. An image gets only the part of Penstock itself. uv notes behind every
package who asked for it, so the part is found without asking an index. Standard library only.
"""

import re
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

LOCK = Path(__file__).resolve().parents[1] / "requirements.lock"
_PACKAGE = re.compile(r"^([a-z0-9][a-z0-9._-]*)==")
_ASKED_BY = re.compile(r"^    #(?: via|  ) +(\S+)(?: \(pyproject\.toml(:\w+)?\))?$")


class NotLocked(Exception):
    def __init__(self, names: Sequence[str]) -> None:
        super().__init__(f"{', '.join(names)}: not in requirements.lock. Run `make lock` and look at the names.")


def part(lock: str, roots: Sequence[str]) -> str:
    """``penstock`` as a root is what the project itself asks for, without its group of tools for development."""
    # A package may stand there twice, for different versions of Python.
    entries = [(name, entry, set(_asked_by(entry))) for name, entry in _entries(lock)]
    known = {name for name, _, by in entries for name in (name, *by)}
    if missing := [root for root in roots if root not in known]:
        raise NotLocked(missing)
    wanted = set(roots)
    while more := {name for name, _, by in entries if name not in wanted and by & wanted}:
        wanted |= more
    return "".join(entry for name, entry, _ in entries if name in wanted)


def _entries(lock: str) -> Iterator[tuple[str, str]]:
    name, lines = None, list[str]()
    for line in lock.splitlines(keepends=True):
        if found := _PACKAGE.match(line):
            if name is not None:
                yield name, "".join(lines)
            name, lines = found[1], []
        lines.append(line)
    if name is not None:
        yield name, "".join(lines)


def _asked_by(entry: str) -> Iterator[str]:
    for line in entry.splitlines():
        if found := _ASKED_BY.match(line):
            yield found[1] + (found[2] or "")


if __name__ == "__main__":
    try:
        sys.stdout.write(part(LOCK.read_text("utf-8"), sys.argv[1:]))
    except NotLocked as error:
        raise SystemExit(f"penstock: {error}") from None
