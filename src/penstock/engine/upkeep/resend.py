"""Sends again what a broker was told of and nobody claimed: the message is lost, or who had it is gone."""

from dataclasses import dataclass
from typing import Any

from penstock.engine.events import Events
from penstock.storage import relay

_BATCH = 5000
_BATCHES_PER_RUN = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Resend:
    """The resend duty. A row is only marked: the relay sends it in its turn."""

    events: Events
    older_than_seconds: float
    every_seconds: float
    name: str = "resend lost messages"

    async def run_once(self, connection: Any) -> dict[str, int]:
        total = 0
        for _ in range(_BATCHES_PER_RUN):
            count = await relay.resend_old(connection, older_than_seconds=self.older_than_seconds, batch=_BATCH)
            total += count
            if count < _BATCH:
                break
        if total:
            self.events.emit("messages.resent", count=total)
        return {"resent": total}
