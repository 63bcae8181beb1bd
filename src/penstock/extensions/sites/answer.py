"""What a model said to a prompt. Stored as it comes, so that no answer is paid for twice."""

from dataclasses import dataclass, field
from typing import Any

from pydantic import ConfigDict

from penstock.insight.record import WIRE

# Of records that are stored and answered as they are. What has a default is always there in an answer.
STORED = ConfigDict(**WIRE, json_schema_serialization_defaults_required=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """A sentence of the site; `similarity` from 0 to 1."""

    __pydantic_config__ = STORED

    sentence: str
    page: str
    similarity: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """``text`` is None where the model gave none; ``problem`` then says why, in a sentence for people."""

    __pydantic_config__ = STORED

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
