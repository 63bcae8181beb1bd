"""How far one model is with one site: what is still to be asked, what failed, and until when it has to wait."""

import asyncio
import math
from collections import deque
from collections.abc import Container, Iterable
from time import monotonic
from typing import Protocol, runtime_checkable

from penstock.apps.website_analysis.models.model import Model, Question

Cell = tuple[str, str, int]  # model, key of the prompt, sample
_CONCURRENCY = 4


@runtime_checkable
class Paced(Protocol):
    """A model that takes only so many calls at once from this process, whatever the number of sites."""

    concurrency: int
    turns: asyncio.Semaphore


class Course:
    def __init__(self, model: Model, questions: Iterable[Question]) -> None:
        self.model = model
        self._open = deque(questions)
        self.cells = [self.cell(question) for question in self._open]
        self.concurrency = model.concurrency if isinstance(model, Paced) else _CONCURRENCY
        self.turns = model.turns if isinstance(model, Paced) else asyncio.Semaphore(_CONCURRENCY)
        # Questions without an answer for now, with the reason; and those that the budget stopped.
        self.failed: dict[Cell, str] = {}
        self.stopped_by_budget: dict[Cell, str] = {}
        self.too_dear = math.inf
        self.budget_says = ""
        self.refusals = 0
        self.free_at = -math.inf
        self.waits_for = ""

    def cell(self, question: Question) -> Cell:
        return self.model.name, question.prompt.key, question.sample

    @property
    def goes_on(self) -> bool:
        return bool(self._open) and self.free_at == -math.inf

    @property
    def left(self) -> int:
        """Still to be asked when its wait is over."""
        return len(self._open)

    def skip(self, answered: Container[Cell]) -> None:
        self._open = deque(question for question in self._open if self.cell(question) not in answered)

    def take(self) -> Question | None:
        return self._open.popleft() if self.goes_on else None

    def put_back(self, question: Question) -> None:
        self._open.appendleft(question)

    def wait(self, seconds: float, why: str) -> None:
        """No more questions in this visit; the longest wait that was asked for counts."""
        until = monotonic() + seconds
        if until > self.free_at:
            self.free_at, self.waits_for = until, why

    def fail(self, question: Question, why: str) -> None:
        self.failed[self.cell(question)] = why

    def fail_rest(self, why: str) -> None:
        self.failed |= dict.fromkeys(self.take_rest(), why)

    def stop_by_budget(self, question: Question, why: str) -> None:
        self.stopped_by_budget[self.cell(question)] = why

    def take_rest(self) -> list[Cell]:
        rest = [self.cell(question) for question in self._open]
        self._open.clear()
        return rest
