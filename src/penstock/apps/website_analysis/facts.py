"""What is known of a site: the result of the first stage.

Holds nothing that changes while the site does not (no times, no durations): two runs over the same pages give the same
facts, and what was computed from them is used again.
"""

from dataclasses import asdict, dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Heading:
    level: int
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where on the site something stands: the page, and the words as they stand there."""

    page: str
    quote: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Topic:
    """What the site is about, best first."""

    text: str
    weight: float
    place: Place


@dataclass(frozen=True, slots=True, kw_only=True)
class Offer:
    """Something one can buy, book or get. ``price`` as it is written."""

    text: str
    price: str | None
    place: Place


@dataclass(frozen=True, slots=True, kw_only=True)
class Contacts:
    emails: tuple[str, ...] = ()
    phones: tuple[str, ...] = ()
    addresses: tuple[str, ...] = ()
    profiles: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class PageFacts:
    """One page as it was read. ``text`` is the main text without navigation; ``words`` counts it."""

    url: str
    status: int
    sha256: str
    content_type: str
    charset: str
    title: str | None
    description: str | None
    language: str | None
    canonical: str | None
    headings: tuple[Heading, ...]
    open_graph: dict[str, str]
    json_ld: tuple[dict[str, Any], ...]
    text: str
    words: int
    links: tuple[str, ...]
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """``notes`` are sentences for people: what could not be read and why."""

    url: str
    name: str | None
    title: str | None
    description: str | None
    language: str | None
    canonical: str | None
    topics: tuple[Topic, ...] = ()
    offers: tuple[Offer, ...] = ()
    places: tuple[str, ...] = ()
    contacts: Contacts = field(default_factory=Contacts)
    pages: tuple[PageFacts, ...] = ()
    notes: tuple[str, ...] = ()

    def as_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, stored: dict[str, Any]) -> "Facts":
        return cls(
            **{
                **stored,
                "topics": tuple(Topic(**{**one, "place": Place(**one["place"])}) for one in stored["topics"]),
                "offers": tuple(Offer(**{**one, "place": Place(**one["place"])}) for one in stored["offers"]),
                "places": tuple(stored["places"]),
                "contacts": Contacts(**{name: tuple(values) for name, values in stored["contacts"].items()}),
                "pages": tuple(_page(one) for one in stored["pages"]),
                "notes": tuple(stored["notes"]),
            }
        )


def _page(stored: dict[str, Any]) -> PageFacts:
    return PageFacts(
        **{
            **stored,
            "headings": tuple(Heading(**one) for one in stored["headings"]),
            "json_ld": tuple(stored["json_ld"]),
            "links": tuple(stored["links"]),
            "notes": tuple(stored["notes"]),
        }
    )
