"""A report for programs: JSON in camelCase under a version. Keys that are data (topics, models, names) stay as is.

Version 1. Fields may be added to it; one that changes its meaning or goes away makes it version 2.
"""

from dataclasses import asdict
from datetime import UTC, datetime
from typing import Any

from pydantic import TypeAdapter

from penstock.extensions.sites.answer import Answer
from penstock.extensions.sites.facts import SiteFacts
from penstock.extensions.sites.report.document import Overview, Report, SiteLine
from penstock.extensions.sites.report.method import LIMITS, MEANING
from penstock.extensions.sites.scores import SiteScoring

VERSION = 1
_ANSWER, _SCORING, _LINE = TypeAdapter(Answer), TypeAdapter(SiteScoring), TypeAdapter(SiteLine)


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
        "facts": None if report.facts is None else _facts(report.facts),
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


def _facts(facts: SiteFacts) -> dict[str, Any]:
    """Without the whole text of the pages, which is the site's own."""
    return {
        "url": facts.url,
        "name": facts.name,
        "title": facts.title,
        "description": facts.description,
        "language": facts.language,
        "canonical": facts.canonical,
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
