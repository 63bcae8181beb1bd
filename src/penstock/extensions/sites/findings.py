"""What an analysis finds out about a site, stage by stage: facts, prompts, answers, scores. Stored as it is here.

Holds nothing that changes while the site does not (no times, no durations): two runs over the same pages give the same
facts, and what was computed from them is used again.
"""

from dataclasses import asdict, dataclass, field
from enum import StrEnum
from functools import cache
from hashlib import sha256
from typing import Annotated, Any, Self

from pydantic import ConfigDict, Field, TypeAdapter

from penstock.insight.record import WIRE

PIPELINE = "sites"
READING, FORMING, ASKING = STAGES = ("website-analysis", "prompt-forming", "model-analysis")


@dataclass(frozen=True, slots=True)
class Finding:
    """A record that is stored and answered as it is. What has a default is always there in an answer."""

    __pydantic_config__ = ConfigDict(**WIRE, json_schema_serialization_defaults_required=True)

    def as_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, stored: dict[str, Any]) -> Self:
        found: Self = cls._adapter().validate_python(stored)
        return found

    @classmethod
    @cache
    def _adapter(cls) -> TypeAdapter[Any]:
        return TypeAdapter(cls)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadHeading(Finding):
    level: int
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundAt(Finding):
    """Where something stands: the page, and the words as they stand there."""

    page: str
    quote: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class SiteTopic(Finding):
    text: str
    weight: float
    place: FoundAt


@dataclass(frozen=True, slots=True, kw_only=True)
class SiteOffer(Finding):
    """`price` as it is written."""

    text: str
    price: str | None
    place: FoundAt


@dataclass(frozen=True, slots=True, kw_only=True)
class SiteContacts(Finding):
    emails: tuple[str, ...] = ()
    phones: tuple[str, ...] = ()
    addresses: tuple[str, ...] = ()
    profiles: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadPage(Finding):
    """One page as it was read; `text` is its main text without navigation."""

    url: str
    status: int
    sha256: str
    content_type: str
    charset: str
    title: str | None
    description: str | None
    language: str | None
    canonical: str | None
    headings: tuple[ReadHeading, ...]
    open_graph: dict[str, str]
    json_ld: tuple[dict[str, Any], ...]
    text: str
    words: int
    links: tuple[str, ...]
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class SiteFacts(Finding):
    """`topics` and `offers` best first; `notes`: what could not be read, and why."""

    url: str
    name: str | None
    title: str | None
    description: str | None
    language: str | None
    canonical: str | None
    topics: tuple[SiteTopic, ...] = ()
    offers: tuple[SiteOffer, ...] = ()
    places: tuple[str, ...] = ()
    contacts: SiteContacts = field(default_factory=SiteContacts)
    pages: tuple[ReadPage, ...] = ()
    notes: tuple[str, ...] = ()


class PromptKind(StrEnum):
    TOPIC = "topic"
    OFFER = "offer"
    PLACE = "place"
    COMPARISON = "comparison"
    BRAND = "brand"
    OWN = "own"  # written by a person


@dataclass(frozen=True, slots=True, kw_only=True)
class Prompt(Finding):
    """``fact``: what it was formed from, as it stands on the page ``page``; ``template``: name and version."""

    __pydantic_config__ = ConfigDict()  # its key is stored too, and comes from its text

    text: str
    kind: PromptKind
    fact: str
    page: str | None
    template: str

    @property
    def key(self) -> str:
        """The same words are the same question, whatever they came from."""
        return sha256(self.text.encode()).hexdigest()[:16]

    def as_json(self) -> dict[str, Any]:
        return {**asdict(self), "key": self.key}


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence(Finding):
    """A sentence of the site; `similarity` from 0 to 1."""

    sentence: str
    page: str
    similarity: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer(Finding):
    """``text`` is None where the model gave none; ``problem`` then says why, in a sentence for people."""

    prompt: str  # key of the prompt
    model: str
    sample: int  # from 1
    text: str | None
    problem: str | None = None
    tokens_in: int = 0
    tokens_out: int = 0
    cost: float = 0.0
    took_ms: int = 0
    # Where the model names its own sources: the offline model does.
    evidence: tuple[Evidence, ...] = ()
    details: dict[str, Any] = field(default_factory=dict)

    @property
    def model_version(self) -> str | None:
        return self.details.get("version")

    @property
    def reused_from_run(self) -> int | None:
        """The run that paid for it."""
        return self.details.get("reused_from_run")

    @property
    def cut(self) -> bool:
        return bool(self.details.get("cut"))

    @property
    def tokens_estimated(self) -> bool:
        return bool(self.details.get("tokens_estimated"))

    @property
    def stopped_by_budget(self) -> bool:
        return self.details.get("stopped_by") == "budget"


@dataclass(frozen=True, slots=True, kw_only=True)
class Share(Finding):
    """`value` from 0 to 1 over `count` trials; `low` to `high` holds the true share nineteen times of twenty."""

    value: float | None
    low: float | None
    high: float | None
    count: int


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerClaim(Finding):
    """A sentence of an answer that speaks of the business. `supported`: the site says so too."""

    text: str
    supported: bool
    evidence: Evidence | None


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerCell(Finding):
    """One prompt on one model, over all samples. `named`: the share that names the business, `positions`: as which of
    the names; `others`: who else is named, with the number of samples."""

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
class PromptCoverage(Finding):
    """Whether the site itself answers a prompt, with the sentence that does."""

    prompt: str
    covered: bool
    similarity: float
    evidence: Evidence | None


@dataclass(frozen=True, slots=True, kw_only=True)
class SiteScores(Finding):
    coverage: Share
    visibility: Share
    unsupported: int
    cost: float


@dataclass(frozen=True, slots=True, kw_only=True)
class SiteScoring(Finding):
    """`byKind`, `byTopic`: coverage per kind of prompt and per fact it came from; `byModel`: visibility."""

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
