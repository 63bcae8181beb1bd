"""A channel of a connection to RabbitMQ: calls with their answers, and what comes unasked."""

import asyncio
from collections import deque
from collections.abc import Callable
from typing import Final, Protocol, TypeVar

from pamqp import base, commands, frame

from penstock.brokers.rabbitmq.frames import Content

_Answer = TypeVar("_Answer", bound=base.Frame)
CALL_SECONDS = 10.0
_CLOSE: Final = commands.Channel.Close(reply_code=200, reply_text="done", class_id=0, method_id=0)


class ClosedByServer(Exception):
    """The broker closed a channel or a connection and said why, with the codes of AMQP (404: not found, 403: access
    refused, 405: locked, 406: precondition failed, 530: not allowed)."""

    def __init__(self, code: int | None, text: str | None) -> None:
        self.code, self.text = code or 0, text or ""
        super().__init__(f"{code} {text}")


class Wire(Protocol):
    """What a channel needs of its connection."""

    def write(self, data: bytes) -> None: ...
    def lose(self, cause: str) -> None: ...
    def forget(self, channel: "Channel") -> None: ...


class Channel:
    """``on_content``, ``on_confirm``, ``on_cancel`` and ``on_closed`` are set by whoever uses the channel. After
    ``problem`` is set nothing comes any more."""

    def __init__(self, wire: Wire, number: int) -> None:
        self.number = number
        self.problem: Exception | None = None
        self.on_content: Callable[[Content], None] = _ignored
        self.on_confirm: Callable[[int, bool, bool], None] = _no_confirm
        self.on_cancel: Callable[[], None] = _nothing
        self.on_closed: Callable[[], None] = _nothing
        self._wire = wire
        self._waiting: deque[asyncio.Future[base.Frame | Content]] = deque()

    async def call(self, method: base.Frame, answer: type[_Answer]) -> _Answer:
        """Raises ``ClosedByServer`` when the broker says no, and ``BrokerAway`` when it says nothing."""
        got = await self._asked(frame.marshal(method, self.number), 1)
        if not isinstance(got[0], answer):
            self._wire.lose(f"it answered {method.name} with {got[0]!r}")
            raise self.problem or ClosedByServer(0, "unexpected answer")
        return got[0]

    async def next(self, answer: type[_Answer], *, after: bytes) -> _Answer:
        """For the handshake, where the broker speaks next: sends ``after`` and waits for ``answer``."""
        got = await self._asked(after, 1)
        if not isinstance(got[0], answer):
            raise ClosedByServer(0, f"it said {got[0]!r} in the handshake")
        return got[0]

    async def get(self, queue: str, most: int) -> list[Content]:
        """Up to ``most`` messages at once, not acknowledged; all questions are sent in one go."""
        question = frame.marshal(commands.Basic.Get(queue=queue), self.number)
        return [one for one in await self._asked(question * most, most) if isinstance(one, Content)]

    def tell(self, method: base.Frame) -> None:
        """For methods that have no answer. Into the void once the channel is closed."""
        if self.problem is None:
            self._wire.write(frame.marshal(method, self.number))

    def send(self, data: bytes) -> None:
        if self.problem is None:
            self._wire.write(data)

    async def close(self) -> None:
        """What was delivered and not acknowledged goes back to its queue."""
        if self.problem is None:
            self.ignore()
            await self.call(_CLOSE, commands.Channel.CloseOk)
        self.fail(ClosedByServer(200, "closed here"))
        self._wire.forget(self)

    def ignore(self) -> None:
        """Nobody waits any more for what still comes."""
        self.on_content, self.on_closed = _ignored, _nothing

    def abandon(self) -> None:
        """Closes without waiting. What still comes is nobody's, and the number is free when the broker says so."""
        self.tell(_CLOSE)
        self.fail(ClosedByServer(200, "closed here"))

    async def _asked(self, question: bytes, answers: int) -> list[base.Frame | Content]:
        if self.problem is not None:
            raise self.problem.with_traceback(None)
        loop = asyncio.get_running_loop()
        waiting = [loop.create_future() for _ in range(answers)]
        self._waiting.extend(waiting)
        self._wire.write(question)
        try:
            async with asyncio.timeout(CALL_SECONDS):
                return [await one for one in waiting]
        except TimeoutError:
            self._wire.lose(f"no answer came within {CALL_SECONDS:g} s")
            raise _problem_of(self) from None
        except asyncio.CancelledError:
            # The answers still come, and would go to the next who asks.
            for one in waiting:
                one.cancel()
            raise

    # ---- called by the connection

    def method(self, given: base.Frame) -> None:
        if isinstance(given, commands.Basic.Cancel):
            self.on_cancel()
        elif self.problem is not None and isinstance(given, commands.Channel.CloseOk):
            self._wire.forget(self)
        elif isinstance(given, commands.Channel.Close):
            # Where both sides close at one time each waits for the other's word, and the number is not free before.
            self._wire.write(frame.marshal(commands.Channel.CloseOk(), self.number))
            if self.problem is None:
                self._wire.forget(self)
            self.fail(ClosedByServer(given.reply_code, given.reply_text))
        else:
            self._answer(given)

    def content(self, given: Content) -> None:
        if given.asked:
            self._answer(given)
        elif self.problem is None:
            self.on_content(given)

    def fail(self, problem: Exception) -> None:
        if self.problem is not None:
            return
        self.problem = problem
        for one in self._waiting:
            if not one.done():
                one.set_exception(problem)
                one.exception()  # taken note of, also where several questions share one answer
        self._waiting.clear()
        self.on_closed()

    def _answer(self, given: base.Frame | Content) -> None:
        if self._waiting and not (waiting := self._waiting.popleft()).done():
            waiting.set_result(given)


def _ignored(content: Content) -> None: ...


def _no_confirm(tag: int, multiple: bool, taken: bool) -> None: ...


def _nothing() -> None: ...


def _problem_of(channel: Channel) -> Exception:
    """Asked anew: it was set while somebody waited."""
    return channel.problem or ClosedByServer(0, "no answer")
