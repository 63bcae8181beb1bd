"""What every model can do: be asked a prompt, and say beforehand what that may cost at most."""

from dataclasses import dataclass
from typing import Protocol

from penstock import Context
from penstock.errors import PermanentError, TransientError
from penstock.extensions.sites.findings import Answer, Prompt, SiteFacts

# Quotes the site instead of knowing it: counts for coverage, never for visibility.
OFFLINE = "offline"


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """``sample`` from 1. ``facts`` are for the model that answers from the site; others see the prompt only."""

    prompt: Prompt
    sample: int
    facts: SiteFacts


class Model(Protocol):
    @property
    def name(self) -> str: ...

    @property
    def version(self) -> str:
        """Part of what an answer is remembered by: with another one, the prompt is asked again."""
        ...

    def worst_cost(self, question: Question) -> float:
        """The most that this call can cost; reserved in the budget before it is made."""
        ...

    async def ask(self, question: Question, ctx: Context) -> Answer:
        """Raises ThrottledError, TransientError or PermanentError; a refusal that is an answer is ``problem`` of it."""
        ...

    async def close(self) -> None: ...


class ModelRefused(PermanentError):
    """No call to this model will work (wrong key, unknown model, no credit): nobody asks it again for this site."""


class AnswerLost(TransientError):
    """The question went out and no usable answer came back: it may have been charged for all the same."""


class EndpointDown(TransientError):
    """The endpoint has failed so often in a row that there is no use in asking it anything else for now."""
