"""Every promise of the docs points to tests, and these exist."""

import re
from pathlib import Path

import pytest

TESTS = Path(__file__).resolve().parents[1]
DOCS = TESTS.parent / "docs"
# A file or folder, a test in it, or `::name` alone for a test of the section's files.
_REFERENCE = re.compile(r"`(?:tests/)?((?:[\w*]+/)*(?:[\w*]+\.py)?)(?:::(test_\w+))?`")


def references(page: str) -> list[tuple[str, str]]:
    """(file, test) of each; without a test the whole file or folder is meant, without a file any."""
    found = _REFERENCE.findall((DOCS / page).read_text())
    return [(file, test) for file, test in found if test or file.endswith((".py", "/"))]


def exists(file: str, test: str) -> bool:
    if file.endswith("/"):
        return (TESTS / file).is_dir()
    return any(not test or f"def {test}(" in place.read_text() for place in TESTS.rglob(file or "test_*.py"))


@pytest.mark.parametrize("page", ["promises.md", "proof.md"])
def test_every_test_that_a_promise_names_exists(page: str) -> None:
    named = references(page)
    assert len(named) >= 5
    assert [f"{file}::{test}" for file, test in named if not exists(file, test)] == []


def test_every_promise_names_what_shows_it() -> None:
    rows = [line for line in (DOCS / "promises.md").read_text().splitlines() if line.startswith("| ")]
    unproven = [row for row in rows if "`" not in row.rpartition(" | ")[2] and "|---" not in row]
    headings = {"| promise | shown by |", "| fault | test |"}
    assert [row for row in unproven if row not in headings] == []
