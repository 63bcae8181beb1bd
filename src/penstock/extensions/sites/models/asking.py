"""Asks every prompt on every chosen model, as far as that is possible now, and keeps each answer as it comes."""

import asyncio
import math
from collections import deque
from collections.abc import Container, Coroutine, Iterable, Sequence
from dataclasses import replace
from time import monotonic
from typing import Any, Protocol, runtime_checkable

from penstock import Context, Penstock
from penstock.errors import PermanentError, ThrottledError, TransientError
from penstock.extensions.sites import answers
from penstock.extensions.sites.budgets import Budget, BudgetSpent, Call
from penstock.extensions.sites.findings import Answer, Prompt, SiteFacts
from penstock.extensions.sites.models.model import AnswerLost, EndpointDown, Model, ModelRefused, Question
from penstock.extensions.sites.settings import SitesSettings

Cell = tuple[str, str, int]  # model, key of the prompt, sample
_CONCURRENCY = 4
# No new call is begun behind this share of the stage's deadline; the rest is for calls under way.
_SLICE_SHARE = 0.5
_GO_ON_SECONDS = 0.1
# A model that refuses this many questions in a row would refuse the others too.
_REFUSALS = 3


@runtime_checkable
class Paced(Protocol):
    """A model that takes only so many calls at once from this process, whatever the number of sites."""

    concurrency: int
    turns: asyncio.Semaphore


class Course:
    """How far one model is with one site: what is still to be asked, what failed, and until when it has to wait."""

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

    def stop_by_budget(self, question: Question, why: str) -> None:
        self.stopped_by_budget[self.cell(question)] = why

    def take_rest(self) -> list[Cell]:
        rest = [self.cell(question) for question in self._open]
        self._open.clear()
        return rest


async def ask_all(
    app: Penstock,
    ctx: Context,
    *,
    models: Sequence[Model],
    prompts: Sequence[Prompt],
    samples: int,
    facts: SiteFacts,
    budget: Budget,
) -> list[Answer]:
    """All answers, in the order of models, prompts and samples; what has no text says why.

    Answers that this run has stored are not asked for again. Raises ThrottledError or TransientError when something is
    left that may be answered later, after everything else was; in the last attempt failures become problems instead.
    """
    async with app.connection() as connection:
        known = await answers.stored(connection, ctx.task_id, ctx.run)
    unique = {prompt.key: prompt for prompt in prompts}.values()
    courses = [
        Course(model, [Question(prompt=one, sample=n, facts=facts) for one in unique for n in range(1, samples + 1)])
        for model in {model.name: model for model in models}.values()
    ]
    return await _Visit(app, ctx, budget, courses, known).ended()


class _Visit:
    """One run of the stage over one site."""

    def __init__(
        self, app: Penstock, ctx: Context, budget: Budget, courses: Sequence[Course], known: Iterable[Answer]
    ) -> None:
        self._app = app
        self._ctx = ctx
        self._budget = budget
        self._ends_at = monotonic() + app.settings.of(SitesSettings).model_timeout_seconds * _SLICE_SHARE
        self._got = 0
        self._answers = {_cell(one): one for one in known}
        self._courses = courses

    async def ended(self) -> list[Answer]:
        """Everything, or the reason to come back."""
        for course in self._courses:
            course.skip(self._answers)
        self._tell()
        await _together([self._ask_model(course) for course in self._courses])
        self._come_back()
        for course in self._courses:
            await self._note(course, course.failed | course.stopped_by_budget)
        return [self._answers[cell] for course in self._courses for cell in course.cells]

    # ---------------------------------------------------------------- asking

    async def _ask_model(self, course: Course) -> None:
        """The first call goes alone: a wrong key is found out by one call, not by all that may go at once."""
        await self._ask_next(course)

        async def ask_rest() -> None:
            while course.goes_on:
                await self._ask_next(course)

        await _together([ask_rest() for _ in range(course.concurrency)])

    async def _ask_next(self, course: Course) -> None:
        async with course.turns:
            if monotonic() > self._ends_at and self._got:
                course.wait(_GO_ON_SECONDS, "its time is over for now")
            question = course.take()
            if question is not None:
                await self._ask(course, question)

    async def _ask(self, course: Course, question: Question) -> None:
        worst_cost = course.model.worst_cost(question)
        if worst_cost >= course.too_dear:
            course.stop_by_budget(question, course.budget_says)
            return
        try:
            async with self._budget.reserved(self._ctx.task_id, self._ctx.lease, worst_cost) as call:
                answer = await self._answer(course.model, question, call)
                await self._store(course, answer)
        except BudgetSpent as error:
            course.too_dear, course.budget_says = error.worst_cost, str(error)
            course.stop_by_budget(question, str(error))
        except ThrottledError as error:
            course.put_back(question)
            course.wait(error.retry_after, str(error))
        except EndpointDown as error:
            course.fail(question, str(error))
            course.failed |= dict.fromkeys(course.take_rest(), str(error))
        except TransientError as error:
            course.fail(question, str(error))
        except PermanentError as error:
            await self._refused(course, question, error)
        else:
            course.refusals = 0

    async def _answer(self, model: Model, question: Question, call: Call) -> Answer:
        """Says what the call cost, where that is known: an answer that got lost may have been charged for."""
        try:
            answer = await model.ask(question, self._ctx)
        except AnswerLost:
            raise
        except (ThrottledError, TransientError, PermanentError):
            call.spent = 0.0
            raise
        call.spent = answer.cost
        return answer

    async def _refused(self, course: Course, question: Question, error: PermanentError) -> None:
        course.refusals += 1
        cells = [course.cell(question)]
        if isinstance(error, ModelRefused) or course.refusals >= _REFUSALS:
            cells += course.take_rest()
        await self._note(course, dict.fromkeys(cells, str(error)))

    # ---------------------------------------------------------------- keeping

    async def _note(self, course: Course, unanswered: dict[Cell, str]) -> None:
        """Cells without an answer, each with its reason."""
        for cell, why in unanswered.items():
            details = {"stopped_by": "budget"} if cell in course.stopped_by_budget else {}
            model, prompt, sample = cell
            said = Answer(prompt=prompt, model=model, sample=sample, text=None, problem=why, details=details)
            await self._store(course, said)

    async def _store(self, course: Course, answer: Answer) -> None:
        kept = replace(answer, details={**answer.details, "version": course.model.version})
        async with self._app.connection() as connection:
            await answers.store(connection, self._ctx.task_id, self._ctx.run, kept)
        self._answers[_cell(kept)] = kept
        self._got += 1
        self._tell()

    def _tell(self) -> None:
        total = sum(len(course.cells) for course in self._courses)
        done = sum(cell in self._answers for course in self._courses for cell in course.cells)
        self._ctx.progress(done, total, f"{done} of {total} answers")

    def _come_back(self) -> None:
        waiting = [course for course in self._courses if course.left]
        if waiting:
            first = min(waiting, key=lambda course: course.free_at)
            wait = max(first.free_at - monotonic(), _GO_ON_SECONDS)
            left = sum(course.left for course in waiting)
            raise ThrottledError(f"{left} answers are still to come: {first.waits_for}", retry_after=wait)
        failed = [(course.model.name, why) for course in self._courses for why in course.failed.values()]
        if failed and self._ctx.attempt < self._ctx.max_attempts:
            name, why = failed[0]
            raise TransientError(f"{len(failed)} questions got no answer; the first, of model {name!r}: {why}")


def budget_note(given: Sequence[Answer]) -> str | None:
    """For people: how many calls the budget stopped."""
    stopped = sum(one.stopped_by_budget for one in given)
    if not stopped:
        return None
    calls = "1 call was" if stopped == 1 else f"{stopped} calls were"
    return f"{calls} not made because the budget would have been passed. Run model-analysis again with a larger one."


def _cell(answer: Answer) -> Cell:
    return answer.model, answer.prompt, answer.sample


async def _together(work: Sequence[Coroutine[Any, Any, None]]) -> None:
    """All of it; the first fault ends the others, and leaves none of them behind."""
    tasks = [asyncio.ensure_future(one) for one in work]
    try:
        await asyncio.gather(*tasks)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
