"""How well a site answers what its customers ask, and whether models name it. Shares from 0 to 1, with intervals."""

from dataclasses import asdict, dataclass
from typing import Annotated, Any

from pydantic import Field, TypeAdapter

from penstock.extensions.sites.answer import STORED, Evidence


@dataclass(frozen=True, slots=True, kw_only=True)
class Share:
    """`value` from 0 to 1 over `count` trials; `low` to `high` holds the true share nineteen times of twenty."""

    __pydantic_config__ = STORED

    value: float | None
    low: float | None
    high: float | None
    count: int


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerClaim:
    """A sentence of an answer that speaks of the business. `supported`: the site says so too."""

    __pydantic_config__ = STORED

    text: str
    supported: bool
    evidence: Evidence | None


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerCell:
    """One prompt on one model, over all samples. `named`: the share that names the business, `positions`: as which of
    the names; `others`: who else is named, with the number of samples."""

    __pydantic_config__ = STORED

    prompt: str
    model: str
    samples: int
    failed: int
    named: Share
    positions: tuple[int, ...]
    others: dict[str, int]
    claims: tuple[AnswerClaim, ...]
    excerpt: str | None
    problem: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PromptCoverage:
    """Whether the site itself answers a prompt, with the sentence that does."""

    __pydantic_config__ = STORED

    prompt: str
    covered: bool
    similarity: float
    evidence: Evidence | None


@dataclass(frozen=True, slots=True, kw_only=True)
class SiteScores:
    __pydantic_config__ = STORED

    coverage: Share
    visibility: Share
    unsupported: int
    cost: float


@dataclass(frozen=True, slots=True, kw_only=True)
class SiteScoring:
    """`byKind`, `byTopic`: coverage per kind of prompt and per fact it came from; `byModel`: visibility."""

    __pydantic_config__ = STORED

    coverage: Share
    visibility: Share
    by_kind: dict[str, Share]
    by_topic: dict[str, Share]
    by_model: dict[str, Share]
    prompts: tuple[PromptCoverage, ...]
    cells: tuple[AnswerCell, ...]
    unsupported: Annotated[int, Field(description="Claims about the business that no sentence of the site bears.")]
    improvements: tuple[str, ...]
    cost: float
    tokens_in: int
    tokens_out: int

    def as_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, stored: dict[str, Any]) -> "SiteScoring":
        return _SCORING.validate_python(stored)


_SCORING = TypeAdapter(SiteScoring)
