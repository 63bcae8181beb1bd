"""What is known of a site: the result of the first stage.

Holds nothing that changes while the site does not (no times, no durations): two runs over the same pages give the same
facts, and what was computed from them is used again.
"""

from dataclasses import asdict, dataclass, field
from typing import Any

from pydantic import TypeAdapter

from penstock.extensions.sites.answer import STORED


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadHeading:
    __pydantic_config__ = STORED

    level: int
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundAt:
    """Where something stands: the page, and the words as they stand there."""

    __pydantic_config__ = STORED

    page: str
    quote: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class SiteTopic:
    __pydantic_config__ = STORED

    text: str
    weight: float
    place: FoundAt


@dataclass(frozen=True, slots=True, kw_only=True)
class SiteOffer:
    """`price` as it is written."""

    __pydantic_config__ = STORED

    text: str
    price: str | None
    place: FoundAt


@dataclass(frozen=True, slots=True, kw_only=True)
class SiteContacts:
    __pydantic_config__ = STORED

    emails: tuple[str, ...] = ()
    phones: tuple[str, ...] = ()
    addresses: tuple[str, ...] = ()
    profiles: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadPage:
    """One page as it was read; `text` is its main text without navigation."""

    __pydantic_config__ = STORED

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
class SiteFacts:
    """`topics` and `offers` best first; `notes`: what could not be read, and why."""

    __pydantic_config__ = STORED

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

    def as_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, stored: dict[str, Any]) -> "SiteFacts":
        return _FACTS.validate_python(stored)


_FACTS = TypeAdapter(SiteFacts)
