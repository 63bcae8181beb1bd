"""A report for programs: JSON in camelCase under a version. Keys that are data (topics, models, names) stay as is.

Version 1. Fields may be added to it; one that changes its meaning or goes away makes it version 2.
"""

from dataclasses import asdict
from datetime import UTC, datetime
from typing import Any

from penstock.apps.website_analysis.answer import Answer, Evidence
from penstock.apps.website_analysis.facts import Facts
from penstock.apps.website_analysis.prompt import Prompt
from penstock.apps.website_analysis.report.document import Overview, Report, SiteLine
from penstock.apps.website_analysis.report.method import LIMITS, MEANING
from penstock.apps.website_analysis.scores import Cell, Coverage, Scores, Share

VERSION = 1


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
        "prompts": [_prompt(one) for one in report.prompts],
        "answers": [_answer(one) for one in report.answers],
        "scores": None if report.scores is None else _scores(report.scores),
        "method": {"meaning": list(MEANING), "limits": list(LIMITS)},
    }


def _overview(overview: Overview) -> dict[str, Any]:
    return {
        "schema": f"penstock.website-analysis.overview/{VERSION}",
        "jobId": overview.job_id,
        "name": overview.name,
        "madeAt": _moment(overview.made_at),
        "total": overview.total,
        "sites": [_line(one) for one in overview.sites],
    }


def _line(site: SiteLine) -> dict[str, Any]:
    return {
        "siteId": site.site_id,
        "url": site.url,
        "name": site.name,
        "state": site.state,
        "coverage": _share(site.coverage),
        "visibility": _share(site.visibility),
        "unsupported": site.unsupported,
        "problem": site.problem,
        "improvements": list(site.improvements),
    }


def _facts(facts: Facts) -> dict[str, Any]:
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


def _prompt(prompt: Prompt) -> dict[str, Any]:
    return prompt.as_json()


def _answer(answer: Answer) -> dict[str, Any]:
    return {
        "prompt": answer.prompt,
        "model": answer.model,
        "sample": answer.sample,
        "text": answer.text,
        "problem": answer.problem,
        "tokensIn": answer.tokens_in,
        "tokensOut": answer.tokens_out,
        "cost": answer.cost,
        "evidence": [_evidence(one) for one in answer.evidence],
    }


def _scores(scores: Scores) -> dict[str, Any]:
    return {
        "coverage": _share(scores.coverage),
        "visibility": _share(scores.visibility),
        "byKind": {kind: _share(one) for kind, one in scores.by_kind.items()},
        "byTopic": {topic: _share(one) for topic, one in scores.by_topic.items()},
        "byModel": {model: _share(one) for model, one in scores.by_model.items()},
        "prompts": [_coverage(one) for one in scores.prompts],
        "cells": [_cell(one) for one in scores.cells],
        "unsupported": scores.unsupported,
        "improvements": list(scores.improvements),
        "cost": scores.cost,
        "tokensIn": scores.tokens_in,
        "tokensOut": scores.tokens_out,
    }


def _coverage(one: Coverage) -> dict[str, Any]:
    return {**asdict(one), "evidence": _evidence(one.evidence)}


def _cell(cell: Cell) -> dict[str, Any]:
    return {
        "prompt": cell.prompt,
        "model": cell.model,
        "samples": cell.samples,
        "failed": cell.failed,
        "named": _share(cell.named),
        "positions": list(cell.positions),
        "others": dict(cell.others),
        "claims": [{**asdict(one), "evidence": _evidence(one.evidence)} for one in cell.claims],
        "excerpt": cell.excerpt,
        "problem": cell.problem,
    }


def _share(share: Share | None) -> dict[str, Any] | None:
    return None if share is None else asdict(share)


def _evidence(evidence: Evidence | None) -> dict[str, Any] | None:
    return None if evidence is None else asdict(evidence)


def _moment(at: datetime) -> str:
    return at.astimezone(UTC).isoformat().replace("+00:00", "Z")
