"""A question that a customer would ask, and the fact of the site it came from: the result of the second stage."""

from dataclasses import asdict, dataclass
from enum import StrEnum
from hashlib import sha256
from typing import Any

from pydantic import TypeAdapter


class PromptKind(StrEnum):
    TOPIC = "topic"
    OFFER = "offer"
    PLACE = "place"
    COMPARISON = "comparison"
    BRAND = "brand"
    OWN = "own"  # written by a person


@dataclass(frozen=True, slots=True, kw_only=True)
class Prompt:
    """``fact``: what it was formed from, as it stands on the page ``page``; ``template``: name and version."""

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

    @classmethod
    def from_json(cls, stored: dict[str, Any]) -> "Prompt":
        return _PROMPT.validate_python(stored)


_PROMPT = TypeAdapter(Prompt)
