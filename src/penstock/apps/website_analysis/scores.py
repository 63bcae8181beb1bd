"""How well a site answers what its customers ask, and whether models name it. Shares from 0 to 1, with intervals."""

from dataclasses import asdict, dataclass
from typing import Any

from penstock.apps.website_analysis.answer import Evidence


@dataclass(frozen=True, slots=True, kw_only=True)
class Share:
    """``value`` of ``count`` trials, with the interval that holds the true share nineteen times of twenty."""

    value: float | None
    low: float | None
    high: float | None
    count: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """A sentence of an answer that speaks of the business. ``supported``: the site says so too."""

    text: str
    supported: bool
    evidence: Evidence | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """One prompt on one model, over all samples.

    ``named``: the share of samples that name the business; ``positions``: as which of the names it came, per sample
    that names it; ``others``: who else is named, with the number of samples.
    """

    prompt: str
    model: str
    samples: int
    failed: int
    named: Share
    positions: tuple[int, ...]
    others: dict[str, int]
    claims: tuple[Claim, ...]
    excerpt: str | None
    problem: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Coverage:
    """Whether the site itself answers a prompt, with the sentence that does."""

    prompt: str
    covered: bool
    similarity: float
    evidence: Evidence | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Scores:
    """``by_kind`` and ``by_topic``: coverage per kind of prompt and per fact it came from; ``by_model``: visibility."""

    coverage: Share
    visibility: Share
    by_kind: dict[str, Share]
    by_topic: dict[str, Share]
    by_model: dict[str, Share]
    prompts: tuple[Coverage, ...]
    cells: tuple[Cell, ...]
    unsupported: int
    improvements: tuple[str, ...]
    cost: float
    tokens_in: int
    tokens_out: int

    def as_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, stored: dict[str, Any]) -> "Scores":
        return cls(
            **{
                **stored,
                "coverage": Share(**stored["coverage"]),
                "visibility": Share(**stored["visibility"]),
                **{
                    name: {key: Share(**one) for key, one in stored[name].items()}
                    for name in ("by_kind", "by_topic", "by_model")
                },
                "prompts": tuple(Coverage(**{**one, "evidence": _evidence(one)}) for one in stored["prompts"]),
                "cells": tuple(_cell(one) for one in stored["cells"]),
                "improvements": tuple(stored["improvements"]),
            }
        )


def _cell(stored: dict[str, Any]) -> Cell:
    return Cell(
        **{
            **stored,
            "named": Share(**stored["named"]),
            "positions": tuple(stored["positions"]),
            "claims": tuple(Claim(**{**one, "evidence": _evidence(one)}) for one in stored["claims"]),
        }
    )


def _evidence(stored: dict[str, Any]) -> Evidence | None:
    return None if stored["evidence"] is None else Evidence(**stored["evidence"])
