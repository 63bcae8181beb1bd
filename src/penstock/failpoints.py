"""Named places where a test may make the process misbehave.

``PENSTOCK_FAILPOINTS=after_claim_commit:kill:0.02,before_settle:sleep=0.5:0.1`` — name, action, chance.
Actions: ``kill`` (SIGKILL to this process), ``exit``, ``sleep=SECONDS``, ``raise``, ``drop_connection`` (the
connection in hand is gone, and with it the answer to what was sent last).
Unset, a failpoint costs one test of an empty dict.
"""

import os
import random
import signal
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from penstock.errors import InvalidSetting, PenstockError

NAMES = (
    "before_claim",
    "after_claim_commit",
    "before_run",
    "after_run",
    "before_settle",
    "after_settle_commit",
    "during_transaction",
    "before_heartbeat",
    "during_upkeep",
    "after_schedule_fire",
)
_ACTIONS = ("kill", "exit", "sleep", "raise", "drop_connection")


class FailpointHit(PenstockError):
    """Raised by the action ``raise``; never in production."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Failpoint:
    action: str
    argument: float
    chance: float


def parse(text: str) -> dict[str, _Failpoint]:
    found: dict[str, _Failpoint] = {}
    for part in filter(None, (piece.strip() for piece in text.split(","))):
        pieces = part.split(":")
        name, action = pieces[0], pieces[1] if len(pieces) > 1 else "kill"
        action, _, argument = action.partition("=")
        if name not in NAMES or action not in _ACTIONS:
            raise InvalidSetting(
                "PENSTOCK_FAILPOINTS", part, f"use NAME:ACTION:CHANCE with a name of {', '.join(NAMES)} and {_ACTIONS}"
            )
        chance = float(pieces[2]) if len(pieces) > 2 else 1.0
        found[name] = _Failpoint(action=action, argument=float(argument or 0), chance=chance)
    return found


class Failpoints:
    """Parsed once per process; ``seed`` repeats the same plan of faults."""

    __slots__ = ("_chance", "_points")

    def __init__(self, text: str = "", *, seed: int | None = None) -> None:
        self._points = parse(text)
        self._chance = random.Random(seed)

    @classmethod
    def from_environment(cls, environment: Mapping[str, str] = os.environ) -> "Failpoints":
        seed = environment.get("PENSTOCK_FAILPOINTS_SEED")
        return cls(environment.get("PENSTOCK_FAILPOINTS", ""), seed=int(seed) if seed else None)

    def hit(self, name: str, drop_connection: Callable[[], None] | None = None) -> None:
        if not self._points:
            return
        point = self._points.get(name)
        if point is None or self._chance.random() >= point.chance:
            return
        match point.action:
            case "kill":
                os.kill(os.getpid(), signal.SIGKILL)
            case "exit":
                os._exit(3)
            case "sleep":
                time.sleep(point.argument)
            case "drop_connection":
                if drop_connection is not None:
                    drop_connection()
                    raise ConnectionResetError(f"failpoint {name} dropped the connection")
            case _:
                raise FailpointHit(f"failpoint {name}")
