"""The processors of one stage: each idle, busy or in error.

A processor is a long-lived task of the loop that runs one handler after the other; starting a handler costs no new
task. A handler that changed context variables gets its processor replaced, so that nothing leaks to the next one.
"""

import asyncio
import contextvars
import time
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING

from penstock.core.context import Context
from penstock.core.payload import decode
from penstock.core.run import DeadlinePassed, HandBack, RunningStage, StopAsked, decide_error, run
from penstock.core.stage import Stage
from penstock.errors import PermanentError, TransientError
from penstock.failpoints import Failpoints
from penstock.model import Claimed, Release, Settlement
from penstock.workers.slots import Slots

if TYPE_CHECKING:
    from penstock.workers.runner import Runner

# After this long without a pause a processor lets the loop do its other work.
_TURN_NS = 500_000


class ProcessorState(StrEnum):
    IDLE = "idle"
    BUSY = "busy"
    ERROR = "error"


@dataclass(slots=True, eq=False)
class Processor:
    """Busy while it holds a task; in error while that task was asked to stop and has not."""

    name: str
    slot: int
    claimed: Claimed | None = None
    context: Context | None = None
    started: int = 0
    deadline: int = 0
    interruption: Exception | None = None
    task: asyncio.Task[None] | None = None
    wake: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def state(self) -> ProcessorState:
        if self.claimed is None:
            return ProcessorState.IDLE
        return ProcessorState.BUSY if self.interruption is None else ProcessorState.ERROR


class Pool:
    """A processor that is free asks the coordinator what to run. Nothing starts when the leases may not hold any more,
    which the slots tell."""

    def __init__(
        self,
        *,
        running: RunningStage,
        first_slot: int,
        slots: Slots,
        failpoints: Failpoints,
    ) -> None:
        self.running = running
        self.stage = stage = running.stage
        self._failpoints = failpoints
        self._slots = slots
        self._stopping = False
        self._needs_context = stage.needs_context
        self._timeout_ns = int(stage.timeout_seconds * 1e9)
        self.processors = [
            Processor(f"{stage.definition.name}-processor-{number}", first_slot + number - 1)
            for number in range(1, stage.pool + 1)
        ]
        self._idle: list[Processor] = []
        self._held_back = False

    def start(self, runner: "Runner") -> None:
        for processor in self.processors:
            self._spawn(processor, runner)

    def _spawn(self, processor: Processor, runner: "Runner") -> None:
        processor.task = asyncio.get_running_loop().create_task(
            self._process(processor, runner), name=processor.name, context=contextvars.Context()
        )

    async def stop(self) -> None:
        """End the processors; their handlers must have ended or been interrupted before."""
        self._stopping = True
        tasks = [processor.task for processor in self.processors if processor.task is not None]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    @property
    def busy(self) -> list[Processor]:
        return [processor for processor in self.processors if processor.claimed is not None]

    @property
    def idle_count(self) -> int:
        return len(self._idle)

    def states(self) -> dict[str, int]:
        counts = {state.value: 0 for state in ProcessorState}
        for processor in self.processors:
            counts[processor.state] += 1
        return counts

    def wake(self, count: int) -> int:
        """Let up to this many idle processors look for work; returns how many."""
        idle = self._idle
        woken = min(count, len(idle))
        for _ in range(woken):
            idle.pop().wake.set()
        return woken

    def take_held_back(self) -> bool:
        """Whether a processor was woken since the last call and found the leases in doubt: it is owed a wake-up."""
        owed, self._held_back = self._held_back, False
        return owed

    def interrupt(self, processor: Processor, why: DeadlinePassed | StopAsked | HandBack) -> None:
        """Ask a running handler to end. Async handlers are cancelled where they wait; threads have to look at
        ``ctx.cancelled``, and a process that does not react is killed by the supervisor."""
        if processor.claimed is None or processor.interruption is not None:
            return
        processor.interruption = why
        if processor.context is not None:
            processor.context.cancelled = True
        if self.stage.definition.execution != "thread" and processor.task is not None:
            processor.task.cancel()

    async def _process(self, processor: Processor, runner: "Runner") -> None:
        before = contextvars.copy_context()
        safe, next_for = self._slots.safe, runner.coordinator.next_for
        turn_ends = 0
        while not self._stopping:
            # Once a turn is enough: a process that was frozen finds its turn over.
            unsafe = time.monotonic_ns() > turn_ends and not safe()
            claimed = None if unsafe else next_for(self)
            if claimed is None:
                self._held_back = self._held_back or unsafe
                self._idle.append(processor)
                processor.wake.clear()
                await processor.wake.wait()
                turn_ends = 0
                continue
            ended = await self._run(processor, claimed, runner)
            if contextvars.copy_context() != before:
                self._spawn(processor, runner)
                return
            if ended > turn_ends:
                await asyncio.sleep(0)
                turn_ends = (time.monotonic_ns() + _TURN_NS) if safe() else 0

    async def _run(self, processor: Processor, claimed: Claimed, runner: "Runner") -> int:
        """Run one task and report its end; returns when that was."""
        started = time.monotonic_ns()
        processor.started = started
        processor.deadline = deadline = started + self._timeout_ns
        processor.claimed = claimed
        try:
            if claimed.options is not None:
                processor.deadline = deadline = started + _timeout_ns(claimed, self.stage)
            context = None
            if self._needs_context:
                context = processor.context = Context(claimed, self.running.runtime)
            self._slots.start(processor.slot, claimed.task_id, claimed.lease, started, deadline)
            self._failpoints.hit("before_run")
            settlement = await run(claimed, self.running, context)
            if processor.interruption is not None:
                settlement = self._after_interruption(processor, claimed, settlement)
        except asyncio.CancelledError:
            settlement = self._cancelled(processor, claimed)
        except GeneratorExit:  # the loop closes its coroutines; there is nobody left to settle for
            raise
        except BaseException as error:
            # Whatever a handler or its options bring up ends its own task, never the processor.
            settlement = self._broken(claimed, error)
        self._slots.clear(processor.slot)
        processor.claimed = processor.context = processor.interruption = None
        ended = time.monotonic_ns()
        runner.ended(claimed, settlement, (ended - started) / 1e9)
        return ended

    def _cancelled(self, processor: Processor, claimed: Claimed) -> Settlement:
        """The handler was interrupted where it waited; what that means depends on who asked for it."""
        why = processor.interruption
        if processor.task is not None:
            processor.task.uncancel()
        if why is None and self._stopping:
            why = HandBack()
        if why is None:
            why = TransientError("something inside the handler was cancelled, but nobody cancelled the task")
        return self._decide(claimed, why)

    def _after_interruption(
        self, processor: Processor, claimed: Claimed, settlement: Settlement | None
    ) -> Settlement | None:
        """The handler ended by itself although it was asked to stop: what it finished counts, what failed does not."""
        if processor.task is not None and processor.task.cancelling():
            processor.task.uncancel()
        if settlement is None or not isinstance(settlement, Release):
            return settlement
        assert processor.interruption is not None
        return self._decide(claimed, processor.interruption)

    def _broken(self, claimed: Claimed, error: BaseException) -> Settlement:
        try:
            return self._decide(claimed, error)
        except Exception as problem:
            text = f"the error could not be described: {type(error).__name__}, then {type(problem).__name__}"
            return self._decide(claimed, PermanentError(text))

    def _decide(self, claimed: Claimed, error: BaseException) -> Settlement:
        return decide_error(claimed, self.stage, error, self.running.retry_spacing)


def _timeout_ns(claimed: Claimed, stage: Stage) -> int:
    return int(float((decode(claimed.options) or {}).get("timeout_seconds") or stage.timeout_seconds) * 1e9)
