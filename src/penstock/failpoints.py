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
    "after_publish",
    "before_fan_in",
    "during_fan_in",
    "after_fan_in_commit",
)
_VARIABLE = "PENSTOCK_FAILPOINTS"
_FORM = "write NAME:ACTION:CHANCE, for example after_claim_commit:kill:0.02"
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
        name, _, rest = part.partition(":")
        action, _, chance = rest.partition(":")
        action, _, argument = (action or "kill").partition("=")
        if name not in NAMES:
            raise InvalidSetting(_VARIABLE, part, f"the place {name!r} is none of {', '.join(NAMES)}; {_FORM}")
        if action not in _ACTIONS:
            raise InvalidSetting(_VARIABLE, part, f"the action {action!r} is none of {', '.join(_ACTIONS)}; {_FORM}")
        found[name] = _Failpoint(
            action=action,
            argument=_number(part, argument, what="seconds", default=0.0, most=86_400.0),
            chance=_number(part, chance, what="chance", default=1.0, most=1.0),
        )
    return found


def _number(part: str, text: str, *, what: str, default: float, most: float) -> float:
    if not text:
        return default
    try:
        number = float(text)
    except ValueError:
        number = float("nan")
    if not 0 <= number <= most:
        raise InvalidSetting(_VARIABLE, part, f"the {what} {text!r} is no number from 0 to {most:g}; {_FORM}")
    return number


class Failpoints:
    """Parsed once per process; ``seed`` repeats the same plan of faults."""

    __slots__ = ("_chance", "_points")

    def __init__(self, text: str = "", *, seed: int | None = None) -> None:
        self._points = parse(text)
        self._chance = random.Random(seed)

    @classmethod
    def from_environment(cls, environment: Mapping[str, str] = os.environ) -> "Failpoints":
        seed = environment.get(f"{_VARIABLE}_SEED", "")
        try:
            number = int(seed) if seed else None
        except ValueError:
            raise InvalidSetting(f"{_VARIABLE}_SEED", seed, "it has to be a whole number, or unset") from None
        return cls(environment.get(_VARIABLE, ""), seed=number)

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
