"""What was found about a site, on the wire: facts and scores as the stages store them."""

from typing import Any

from pydantic import ConfigDict, Field

from penstock.service.wire import Wire


class Stored(Wire):
    """Read from the records that the stages keep."""

    model_config = ConfigDict(from_attributes=True)


class Share(Stored):
    """`value` from 0 to 1 over `count` trials; `low` to `high` holds the true share nineteen times of twenty."""

    value: float | None
    low: float | None
    high: float | None
    count: int


class EvidenceBody(Stored):
    """A sentence of the site; `similarity` from 0 to 1."""

    sentence: str
    page: str
    similarity: float


class FoundAt(Stored):
    """Where something stands: the page, and the words as they stand there."""

    page: str
    quote: str


class SiteTopic(Stored):
    text: str
    weight: float
    place: FoundAt


class SiteOffer(Stored):
    """`price` as it is written."""

    text: str
    price: str | None
    place: FoundAt


class SiteContacts(Stored):
    emails: list[str]
    phones: list[str]
    addresses: list[str]
    profiles: list[str]


class ReadHeading(Stored):
    level: int
    text: str


class ReadPage(Stored):
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
    headings: list[ReadHeading]
    open_graph: dict[str, str]
    json_ld: list[dict[str, Any]]
    text: str
    words: int
    links: list[str]
    notes: list[str]


class SiteFacts(Stored):
    """`topics` and `offers` best first; `notes`: what could not be read, and why."""

    url: str
    name: str | None
    title: str | None
    description: str | None
    language: str | None
    canonical: str | None
    topics: list[SiteTopic]
    offers: list[SiteOffer]
    places: list[str]
    contacts: SiteContacts
    pages: list[ReadPage]
    notes: list[str]


class AnswerClaim(Stored):
    """A sentence of an answer that speaks of the business. `supported`: the site says so too."""

    text: str
    supported: bool
    evidence: EvidenceBody | None


class AnswerCell(Stored):
    """One prompt on one model, over all samples. `named`: the share that names the business, `positions`: as which of
    the names; `others`: who else is named, with the number of samples."""

    prompt: str
    model: str
    samples: int
    failed: int
    named: Share
    positions: list[int]
    others: dict[str, int]
    claims: list[AnswerClaim]
    excerpt: str | None
    problem: str | None


class PromptCoverage(Stored):
    """Whether the site itself answers a prompt, with the sentence that does."""

    prompt: str
    covered: bool
    similarity: float
    evidence: EvidenceBody | None


class SiteScoring(Stored):
    """`byKind`, `byTopic`: coverage per kind of prompt and per fact it came from; `byModel`: visibility."""

    coverage: Share
    visibility: Share
    by_kind: dict[str, Share]
    by_topic: dict[str, Share]
    by_model: dict[str, Share]
    prompts: list[PromptCoverage]
    cells: list[AnswerCell]
    unsupported: int = Field(description="Claims about the business that no sentence of the site bears.")
    improvements: list[str]
    cost: float
    tokens_in: int
    tokens_out: int
