"""docs/api.md lists every route, and says who may call it as the matrix of routes does."""

import re
from pathlib import Path

from penstock.console.http.app import create
from tests.console import service_app
from tests.console.matrix import ROWS, Access

_PAGE = Path(__file__).parents[2] / "docs" / "api.md"
_ROW = re.compile(r"^\| `([A-Z]+) (/\S+)` \| ([^|]+) \| [^|]+ \|$", re.MULTILINE)
_WHO = {
    Access.OPEN: "anybody",
    Access.VIEWERS: "viewer",
    Access.OPERATORS: "operator",
    Access.ADMINS: "admin",
    Access.OWNER_READS: "viewer, owner",
    Access.OWNER_WRITES: "operator, owner",
    Access.OWNER_ALONE: "viewer, self",
}


def _page() -> dict[tuple[str, str], str]:
    return {(method, path): who.strip() for method, path, who in _ROW.findall(_PAGE.read_text(encoding="utf-8"))}


def test_the_page_lists_every_route_and_no_other() -> None:
    paths = create(service_app.make()).openapi()["paths"]
    served = {(method.upper(), path) for path, methods in paths.items() for method in methods}
    assert sorted(served - _page().keys()) == [], "add these to the table in docs/api.md"
    assert sorted(_page().keys() - served) == [], "these routes are gone: take them out of docs/api.md"


def test_the_page_says_who_may_call_a_route_as_the_matrix_does() -> None:
    assert _page() == {route: _WHO[row.access] + (", session" if row.session else "") for route, row in ROWS.items()}
