"""What a queue's keys are called. The braces keep all of them in one hash slot, as scripts need it."""

from functools import cached_property

from penstock.brokers.transport import PRIORITIES

GROUP = "penstock"
RETURNED = "returned"
"""The consumer under whose name those entries wait that somebody took and gave back. Nobody reads as it."""


class Names:
    """The keys of one queue."""

    def __init__(self, queue: str) -> None:
        self.queue = queue

    @cached_property
    def streams(self) -> tuple[str, ...]:
        """One per urgency, most urgent first."""
        return tuple(f"{{{self.queue}}}.{priority}" for priority in PRIORITIES)

    @cached_property
    def parked(self) -> str:
        return f"{{{self.queue}}}.parked"

    @cached_property
    def all(self) -> tuple[str, ...]:
        return (*self.streams, self.parked)


def dead_stream(prefix: str) -> str:
    return f"{prefix}.dead"
