"""What a report is made from: one site, or an overview of a job of many."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from penstock.extensions.sites.answer import STORED, Answer
from penstock.extensions.sites.facts import SiteFacts
from penstock.extensions.sites.prompt import Prompt
from penstock.extensions.sites.scores import Share, SiteScoring

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
    facts: SiteFacts | None
    prompts: tuple[Prompt, ...]
    answers: tuple[Answer, ...]
    scores: SiteScoring | None
    options: Mapping[str, Any]
    problems: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        return (self.facts.name if self.facts else None) or self.url


@dataclass(frozen=True, slots=True, kw_only=True)
class SiteLine:
    """A site in an overview. ``state``: a word for people, such as completed; ``link``: where its own report is."""

    __pydantic_config__ = STORED

    site_id: int
    url: str
    name: str | None = None
    state: str
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
