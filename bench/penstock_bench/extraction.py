"""`penstock bench extraction`: how much of what people read on saved pages does the extraction find?

A corpus is a folder of ``NAME.html`` with ``NAME.json`` beside it: the address, the headers, and what a person finds on
the page. Part ``held-out`` was not looked at while the extraction was tuned.
"""

import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson

from penstock.errors import UsageError
from penstock.extensions.sites.extract.site import VERSION, understand
from penstock.extensions.sites.fetch.crawl import Crawl
from penstock.extensions.sites.fetch.fetched import Fetched
from penstock.extensions.sites.findings import SiteFacts
from penstock.terminal.output import Column, write_table
from penstock.terminal.session import Session
from penstock_bench.extraction_marks import FIELDS, marks

GOAL = 0.9
GOAL_FIELDS = ("title", "description", "language", "canonical", "text")
_PARTS = ("all", "tuned", "held-out")


@dataclass(frozen=True, slots=True, kw_only=True)
class Marked:
    """A mark of None: there is nothing of the kind on the page."""

    name: str
    part: str
    marks: Mapping[str, float | None]


def extraction(session: Session, corpus: Path | None) -> None:
    figures = measure(corpus if corpus is not None else _usual())
    if session.out.json:
        session.out.emit(figures)
        return
    columns = [Column(key="field", title="field"), *(Column(key=part, title=part, show=_shown) for part in _PARTS)]
    write_table(session.out.stdout, figures["fields"], columns)
    pages = figures["pages"]
    session.out.stdout.write(f"{pages} pages; 1 is best. The goal of {GOAL:g} holds for {', '.join(GOAL_FIELDS)}.\n")
    for page in figures["worst"]:
        session.out.stdout.write(f"{page['name']}: {page['text']:.2f} of its main text\n")
    session.out.stdout.flush()


def measure(corpus: Path) -> dict[str, Any]:
    marked = [_marked(path) for path in sorted(corpus.glob("*.html"))]
    if not marked:
        raise UsageError(f"There are no pages in {corpus}. Name a folder with NAME.html and NAME.json files.")
    rows = [{"field": field, **{part: _mean(marked, part, field) for part in _PARTS}} for field in FIELDS]
    read = [one for one in marked if (one.marks["text"] or 0.0) < GOAL]
    worst = sorted(read, key=lambda one: (one.marks["text"] or 0.0, one.name))[:10]
    return {
        "pages": len(marked),
        "version": VERSION,
        "fields": rows,
        "worst": [{"name": one.name, "text": round(one.marks["text"] or 0.0, 3)} for one in worst],
        "by_page": [{"page": one.name, "part": one.part, **one.marks} for one in marked],
    }


def facts_of(path: Path, expected: Mapping[str, Any]) -> SiteFacts:
    """As if the page had been fetched from its address."""
    fetched = Fetched(
        kind="page",
        url=expected["url"],
        final_url=expected["url"],
        status=200,
        headers=dict(expected["headers"]),
        body=path.read_bytes(),
    )
    return understand(Crawl(fetched=(fetched,), start=fetched, notes=()))


def _marked(path: Path) -> Marked:
    beside = path.with_suffix(".json")
    if not beside.is_file():
        raise UsageError(f"{path} has no {beside.name} beside it that says what is on the page. Write one.")
    expected = orjson.loads(beside.read_bytes())
    return Marked(name=path.stem, part=expected["part"], marks=marks(expected, facts_of(path, expected)))


def _mean(marked: Sequence[Marked], part: str, field: str) -> float | None:
    return _average(one.marks[field] for one in marked if part in ("all", one.part))


def _average(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return round(statistics.fmean(known), 3) if known else None


def _usual() -> Path:
    """The repository's own, for those who have it; a wheel holds no pages."""
    folder = Path(__file__).parents[2] / "tests" / "extensions" / "sites_corpus"
    if not folder.is_dir():
        raise UsageError("The corpus is not part of an installed Penstock. Name the folder of one.")
    return folder


def _shown(value: Any) -> str:
    return "–" if value is None else f"{value:.3f}"
