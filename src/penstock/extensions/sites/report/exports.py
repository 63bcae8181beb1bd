"""A report for programs, and one for spreadsheets.

JSON in camelCase under a version; keys that are data (topics, models, names) stay as they are. Version 1: fields may be
added to it; one that changes its meaning or goes away makes it version 2. CSV is one table, a row per figure or
sentence, the section first so that it can be filtered. Its cells are strangers' text, and spreadsheets run what looks
like a formula: such cells get an apostrophe.
"""

import csv as writing
import io
from collections.abc import Iterator
from dataclasses import asdict
from datetime import UTC, datetime
from typing import Any

from pydantic import TypeAdapter

from penstock.console.files.export.formulas import guard
from penstock.extensions.sites.findings import Answer, AnswerCell, PromptCoverage, Share, SiteFacts, SiteScoring
from penstock.extensions.sites.report import wording
from penstock.extensions.sites.report.blocks import clean
from penstock.extensions.sites.report.content import LIMITS, MEANING, Report
from penstock.extensions.sites.report.overview import Overview, SiteLine

VERSION = 1
_ANSWER, _SCORING, _LINE = TypeAdapter(Answer), TypeAdapter(SiteScoring), TypeAdapter(SiteLine)
COLUMNS = ("section", "item", "kind", "model", "result", "value", "low", "high", "count", "text", "page")
OVERVIEW_COLUMNS = (
    "site_id", "url", "name", "state", "coverage", "coverage_low", "coverage_high", "questions",
    "visibility", "visibility_low", "visibility_high", "answers", "unsupported", "problem", "improvements",
)  # fmt: skip
_LONGEST = 8000
Row = dict[str, Any]


def json(report: Report | Overview) -> dict[str, Any]:
    return _overview(report) if isinstance(report, Overview) else _report(report)


def _report(report: Report) -> dict[str, Any]:
    return {
        "schema": f"penstock.website-analysis.report/{VERSION}",
        "jobId": report.job_id,
        "siteId": report.site_id,
        "url": report.url,
        "name": report.facts.name if report.facts else None,
        "analysedAt": _moment(report.analysed_at),
        "problems": list(report.problems),
        "options": dict(report.options),
        "facts": None if report.facts is None else _json_facts(report.facts),
        "prompts": [one.as_json() for one in report.prompts],
        "answers": [_wire(_ANSWER, one, without={"took_ms", "details"}) for one in report.answers],
        "scores": None if report.scores is None else _wire(_SCORING, report.scores),
        "method": {"meaning": list(MEANING), "limits": list(LIMITS)},
    }


def _overview(overview: Overview) -> dict[str, Any]:
    return {
        "schema": f"penstock.website-analysis.overview/{VERSION}",
        "jobId": overview.job_id,
        "name": overview.name,
        "madeAt": _moment(overview.made_at),
        "total": overview.total,
        "sites": [_wire(_LINE, one, without={"link"}) for one in overview.sites],
    }


def _json_facts(facts: SiteFacts) -> dict[str, Any]:
    """Without the whole text of the pages, which is the site's own."""
    return {
        **{name: getattr(facts, name) for name in ("url", "name", "title", "description", "language", "canonical")},
        "topics": [{"text": one.text, "weight": one.weight, "page": one.place.page} for one in facts.topics],
        "offers": [{"text": one.text, "price": one.price, "page": one.place.page} for one in facts.offers],
        "places": list(facts.places),
        "contacts": {name: list(values) for name, values in asdict(facts.contacts).items()},
        "pages": [
            {"url": one.url, "status": one.status, "title": one.title, "words": one.words} for one in facts.pages
        ],
        "notes": list(facts.notes),
    }


def _wire(form: TypeAdapter[Any], record: Any, *, without: set[str] | None = None) -> dict[str, Any]:
    shown: dict[str, Any] = form.dump_python(record, mode="json", by_alias=True, exclude=without)
    return shown


def _moment(at: datetime) -> str:
    return at.astimezone(UTC).isoformat().replace("+00:00", "Z")


def csv(report: Report | Overview) -> str:
    rows = map(_site, report.sites) if isinstance(report, Overview) else _rows(report)
    columns = OVERVIEW_COLUMNS if isinstance(report, Overview) else COLUMNS
    out = io.StringIO()
    writer = writing.writer(out, lineterminator="\n")
    writer.writerow(columns)
    for row in rows:
        writer.writerow([_shown(row.get(column)) for column in columns])
    return out.getvalue()


def _shown(value: Any) -> str:
    """Figures are ours and stay figures; everything else is text."""
    if value is None:
        return ""
    if isinstance(value, int | float):
        return f"{value:g}" if isinstance(value, float) else str(value)
    return guard(clean(value, _LONGEST))


def _rows(report: Report) -> Iterator[Row]:
    yield {"section": "site", "item": "url", "text": report.url, "page": report.url}
    tried = "tried at" if report.facts is None else "analysed at"
    yield {"section": "site", "item": tried, "text": wording.day(report.analysed_at)}
    yield from ({"section": "problem", "text": one} for one in report.problems)
    if report.facts is not None:
        yield from _fact_rows(report.facts)
    if report.scores is None:
        yield from _prompts(report, {})
    else:
        yield from _scores(report, report.scores)
    for section, texts in (("meaning", MEANING), ("limit", LIMITS)):
        yield from ({"section": section, "text": text} for text in texts)


def _fact_rows(facts: SiteFacts) -> Iterator[Row]:
    for item in ("name", "title", "description", "language", "canonical"):
        yield {"section": "fact", "item": item, "text": getattr(facts, item), "page": facts.url}
    for topic in facts.topics:
        yield {"section": "fact", "item": "topic", "value": topic.weight, "text": topic.text, "page": topic.place.page}
    for offer in facts.offers:
        yield {"section": "fact", "item": "offer", "result": offer.price, "text": offer.text, "page": offer.place.page}
    contacts = facts.contacts
    for text in (*facts.places, *contacts.emails, *contacts.phones, *contacts.addresses):
        yield {"section": "fact", "item": "place" if text in facts.places else "contact", "text": text}
    for page in facts.pages:
        yield {"section": "fact", "item": "page", "count": page.words, "text": page.title, "page": page.url}
    yield from ({"section": "fact", "item": "note", "text": note} for note in facts.notes)


def _prompts(report: Report, covered: dict[str, PromptCoverage]) -> Iterator[Row]:
    for prompt in report.prompts:
        row: Row = {"section": "question", "item": prompt.text, "kind": str(prompt.kind), "text": prompt.fact}
        row["page"] = prompt.page
        if (found := covered.get(prompt.key)) is not None:
            row["result"] = "answered" if found.covered else "not answered"
            row["value"] = round(found.similarity, 4)
        yield row
        if found is not None and found.evidence is not None:
            text, page = found.evidence.sentence, found.evidence.page
            yield {"section": "evidence", "item": prompt.text, "text": text, "page": page}


def _scores(report: Report, scores: SiteScoring) -> Iterator[Row]:
    yield {"section": "score", "item": "coverage", **_share(scores.coverage)}
    yield {"section": "score", "item": "visibility", **_share(scores.visibility)}
    yield {"section": "score", "item": "claims without support", "count": scores.unsupported}
    yield {"section": "score", "item": "cost", "value": scores.cost}
    yield {"section": "score", "item": "tokens", "count": scores.tokens_in + scores.tokens_out}
    for section, shares in (("kind", scores.by_kind), ("topic", scores.by_topic), ("model", scores.by_model)):
        yield from ({"section": f"score by {section}", "item": item, **_share(one)} for item, one in shares.items())
    yield from _prompts(report, {one.prompt: one for one in scores.prompts})
    texts = {prompt.key: prompt.text for prompt in report.prompts}
    for cell in scores.cells:
        yield from _cell(cell, texts.get(cell.prompt, cell.prompt))
    yield from ({"section": "improvement", "text": one} for one in scores.improvements)


def _cell(cell: AnswerCell, question: str) -> Iterator[Row]:
    row = {"item": question, "model": cell.model}
    yield {"section": "answer", **row, "result": wording.verdict(cell), **_share(cell.named), "text": cell.excerpt}
    if cell.problem:
        yield {"section": "problem", **row, "count": cell.failed, "text": cell.problem}
    for name, count in sorted(cell.others.items()):
        yield {"section": "also named", **row, "count": count, "text": name}
    for claim in cell.claims:
        page = claim.evidence.page if claim.evidence else None
        result = "supported" if claim.supported else "without support"
        yield {"section": "claim", **row, "result": result, "text": claim.text, "page": page}


def _share(share: Share | None, prefix: str = "", value: str = "value", count: str = "count") -> Row:
    if share is None:
        return {}
    return {value: share.value, f"{prefix}low": share.low, f"{prefix}high": share.high, count: share.count}


def _site(site: SiteLine) -> Row:
    return {
        "site_id": site.site_id,
        "url": site.url,
        "name": site.name,
        "state": site.state,
        **_share(site.coverage, "coverage_", "coverage", "questions"),
        **_share(site.visibility, "visibility_", "visibility", "answers"),
        "unsupported": site.unsupported,
        "problem": site.problem,
        "improvements": " ".join(site.improvements),
    }
