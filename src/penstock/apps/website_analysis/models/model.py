"""What every model can do: be asked a prompt, and say beforehand what that may cost at most."""

from dataclasses import dataclass
from typing import Protocol

from penstock import Context
from penstock.apps.website_analysis.answer import Answer
from penstock.apps.website_analysis.facts import Facts
from penstock.apps.website_analysis.prompt import Prompt

# Quotes the site instead of knowing it: counts for coverage, never for visibility.
OFFLINE = "offline"


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """``sample`` from 1. ``facts`` are for the model that answers from the site; others see the prompt only."""

    prompt: Prompt
    sample: int
    facts: Facts


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
