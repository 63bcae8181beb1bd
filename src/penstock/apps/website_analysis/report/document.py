"""What a report is made from: one site, or an overview of a job of many."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from penstock.apps.website_analysis.answer import Answer
from penstock.apps.website_analysis.facts import Facts
from penstock.apps.website_analysis.prompt import Prompt
from penstock.apps.website_analysis.scores import Scores, Share

# Rows of an overview, and sites of it with a part of their own. A page has to stay one that a browser opens at once.
MOST_ROWS = 1000
MOST_DETAILED = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """``facts`` or ``scores`` None: the site did not get so far, and ``problems`` says why, a sentence each.

    ``options``: as ``Options.as_json`` gives them; empty where they are not known.
    """

    job_id: int
    site_id: int
    url: str
    analysed_at: datetime
    facts: Facts | None
    prompts: tuple[Prompt, ...]
    answers: tuple[Answer, ...]
    scores: Scores | None
    options: Mapping[str, Any]
    problems: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        return (self.facts.name if self.facts else None) or self.url


@dataclass(frozen=True, slots=True, kw_only=True)
class SiteLine:
    """A site in an overview. ``state``: a word for people, such as completed; ``link``: where its own report is."""

    site_id: int
    url: str
    state: str
    name: str | None = None
    coverage: Share | None = None
    visibility: Share | None = None
    unsupported: int | None = None
    problem: str | None = None
    improvements: tuple[str, ...] = ()
    link: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Overview:
    """``total``: how many sites the job has; ``sites`` may hold the first of them only."""

    job_id: int
    name: str | None
    made_at: datetime
    total: int
    sites: tuple[SiteLine, ...]


def line_of(report: Report, *, state: str, link: str | None = None) -> SiteLine:
    """A report in one line of an overview."""
    scores = report.scores
    return SiteLine(
        site_id=report.site_id,
        url=report.url,
        state=state,
        name=report.facts.name if report.facts else None,
        coverage=scores.coverage if scores else None,
        visibility=scores.visibility if scores else None,
        unsupported=scores.unsupported if scores else None,
        problem=" ".join(report.problems) or None,
        improvements=scores.improvements if scores else (),
        link=link,
    )
