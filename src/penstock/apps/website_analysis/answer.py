"""What a model said to a prompt. Stored as it comes, so that no answer is paid for twice."""

from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """A sentence of the site that bears an answer; ``similarity`` from 0 to 1."""

    sentence: str
    page: str
    similarity: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
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
