"""How hard the storm blows."""

from collections.abc import Callable
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True, kw_only=True)
class StormOptions:
    """``seconds`` bounds the whole run, set-up and drain included; ``chaos`` adds faults of the database and
    failpoints inside the workers."""

    tasks: int = 5000
    kills: int = 40
    zombies: int = 10
    seconds: float = 60.0
    seed: int | None = None
    trees: int = 5
    runners: int = 2
    chaos: bool = False
    keep: bool = False
    tell: Callable[[str], None] = field(default=lambda line: None)


QUICK = StormOptions(seconds=58.0)
LONG = StormOptions(tasks=60_000, kills=300, zombies=60, seconds=600.0, chaos=True)
