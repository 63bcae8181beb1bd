"""Questions of many tasks, asked in few requests: whatever waits when a permit comes goes along with it."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from penstock.errors import PermanentError, TransientError
from penstock.extensions.linking.sources.source import Budget

Question = TypeVar("Question")
Answer = TypeVar("Answer")


@dataclass(slots=True, kw_only=True, eq=False)
class _Waiting(Generic[Question, Answer]):
    question: Question
    group: str
    answer: "asyncio.Future[Answer]"
    taken: bool = False


class Gathering(Generic[Question, Answer]):
    """``ask``: gets questions of one group (a language, which holds for a whole request) and answers them in order;
    an error in the place of an answer is for that question alone.

    Each of those who wait may become the one who asks for all. Nobody waits for others to come along: with permits at
    hand, a question goes out alone.
    """

    def __init__(
        self, ask: Callable[[list[Question], str, Budget], Awaitable[Sequence[Answer | PermanentError]]], turns: int
    ) -> None:
        self._ask = ask
        self._turns = asyncio.Semaphore(turns)
        self._choosing = asyncio.Lock()
        self._waiting: list[_Waiting[Question, Answer]] = []

    async def answer(self, question: Question, group: str, limiter: Budget, most: int) -> Answer:
        mine = _Waiting[Question, Answer](
            question=question, group=group, answer=asyncio.get_running_loop().create_future()
        )
        self._waiting.append(mine)
        try:
            if batch := await self._chosen(mine, limiter, most):
                await self._asked(batch, limiter)
            return await mine.answer
        finally:
            mine.answer.cancel()  # who gave up is told nothing
            if not mine.taken:
                self._waiting.remove(mine)

    async def _chosen(
        self, mine: _Waiting[Question, Answer], limiter: Budget, most: int
    ) -> list[_Waiting[Question, Answer]]:
        """One at a time waits for a turn and a permit, so that none is taken for a question that went along with
        another. Whoever gets a batch gives the turn back when it is answered."""
        async with self._choosing:
            if mine.taken:
                return []
            await self._turns.acquire()
            try:
                await limiter.acquire()
            except BaseException:
                self._turns.release()
                raise
            others = [one for one in self._waiting if one is not mine and one.group == mine.group]
            batch = [mine, *others[: most - 1]]
            for one in batch:
                one.taken = True
            self._waiting = [one for one in self._waiting if not one.taken]
            return batch

    async def _asked(self, batch: list[_Waiting[Question, Answer]], limiter: Budget) -> None:
        try:
            answers = await self._ask([one.question for one in batch], batch[0].group, limiter)
            for one, answer in zip(batch, answers, strict=True):
                if isinstance(answer, PermanentError):
                    self._fail([one], answer)
                elif not one.answer.done():
                    one.answer.set_result(answer)
        except Exception as error:
            self._fail(batch, error)
        except BaseException:
            self._fail(batch[1:], TransientError("The request that this question went along with was broken off."))
            raise
        finally:
            self._turns.release()

    def _fail(self, batch: list[_Waiting[Question, Answer]], error: Exception) -> None:
        for one in batch:
            if not one.answer.done():
                one.answer.set_exception(error)
