"""What goes wrong when, and with whom: drawn from a seed, so that the same seed gives the same plan."""

import random
from dataclasses import dataclass
from enum import StrEnum

from penstock.errors import InvalidSetting

# A tree gets this long after a fault before the next one: time to start its runner again.
_RECOVERS_SECONDS = 1.5
_BETWEEN_WAVES_SECONDS = 2.0
_TRIES = 10_000


class Kind(StrEnum):
    KILL_RUNNER = "kill runner"
    KILL_TREE = "kill tree"
    FREEZE_TREE = "freeze tree"
    FREEZE_SUPERVISOR = "freeze supervisor"
    TERMINATE_BACKENDS = "terminate backends"
    KILL_LISTENERS = "kill listeners"
    RESTART_FAST = "restart fast"
    RESTART_IMMEDIATE = "restart immediate"


KILLS = frozenset({Kind.KILL_RUNNER, Kind.KILL_TREE})
FREEZES = frozenset({Kind.FREEZE_TREE, Kind.FREEZE_SUPERVISOR})


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """``victim`` is the number of a worker tree; the database has none."""

    at_seconds: float
    kind: Kind
    victim: int = -1
    for_seconds: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Wishes:
    """How much of what, for how many worker trees, in how much time."""

    kills: int
    zombies: int
    trees: int
    window_seconds: float
    frozen_seconds: float
    tree_kill_share: float = 0.2
    supervisors_freeze: bool = False
    database_faults: bool = False


def plan(seed: int, wishes: Wishes) -> list[Fault]:
    """Zombies first, because they are long; then kills where a tree is free. In the order they happen."""
    chance = random.Random(seed)
    faults = _zombies(chance, wishes)
    for number in range(wishes.kills):
        kind = Kind.KILL_TREE if number < wishes.kills * wishes.tree_kill_share else Kind.KILL_RUNNER
        faults.append(_placed_kill(chance, wishes, faults, kind))
    if wishes.database_faults:
        faults += _database_faults(chance, wishes.window_seconds)
    return sorted(faults, key=lambda fault: fault.at_seconds)


def _zombies(chance: random.Random, wishes: Wishes) -> list[Fault]:
    """In waves, because each lasts longer than a lease: some trees sleep, the others work."""
    each = wishes.frozen_seconds + _BETWEEN_WAVES_SECONDS
    waves = int(wishes.window_seconds // each)
    at_once = -(-wishes.zombies // max(waves, 1))
    if wishes.zombies and (waves == 0 or at_once > wishes.trees - 2):
        raise _too_much(wishes)
    spare = (wishes.window_seconds - waves * each) / max(waves, 1)
    faults: list[Fault] = []
    while len(faults) < wishes.zombies:
        begins = (len(faults) // at_once) * (each + spare)
        for victim in chance.sample(range(wishes.trees), min(at_once, wishes.zombies - len(faults))):
            alone = wishes.supervisors_freeze and len(faults) % 4 == 3
            kind = Kind.FREEZE_SUPERVISOR if alone else Kind.FREEZE_TREE
            at = begins + chance.uniform(0, spare)
            faults.append(Fault(at_seconds=at, kind=kind, victim=victim, for_seconds=wishes.frozen_seconds))
    return faults


def _placed_kill(chance: random.Random, wishes: Wishes, faults: list[Fault], kind: Kind) -> Fault:
    """A free moment of a random tree."""
    for _ in range(_TRIES):
        at, victim = chance.uniform(0, wishes.window_seconds), chance.randrange(wishes.trees)
        fault = Fault(at_seconds=at, kind=kind, victim=victim)
        if not any(_clash(fault, other) for other in faults):
            return fault
    raise _too_much(wishes)


def _too_much(wishes: Wishes) -> InvalidSetting:
    return InvalidSetting(
        "storm",
        f"{wishes.kills} kills and {wishes.zombies} zombies in {wishes.window_seconds:.0f} s",
        f"{wishes.trees} workers have no time for so many; give it more seconds, more workers or fewer faults",
    )


def _clash(one: Fault, other: Fault) -> bool:
    first, second = sorted((one, other), key=lambda fault: fault.at_seconds)
    ends = first.at_seconds + first.for_seconds + _RECOVERS_SECONDS
    return first.victim == second.victim and second.at_seconds < ends


def _database_faults(chance: random.Random, window_seconds: float) -> list[Fault]:
    """Every 20 s something about the server, in turn: ten seconds of terminated backends, or a restart."""
    kinds = (Kind.TERMINATE_BACKENDS, Kind.RESTART_FAST, Kind.KILL_LISTENERS, Kind.RESTART_IMMEDIATE)
    found = []
    at, turn = 10.0, 0
    while at < window_seconds - 20:
        kind = kinds[turn % len(kinds)]
        found.append(Fault(at_seconds=at, kind=kind, for_seconds=10.0 if kind is Kind.TERMINATE_BACKENDS else 0.0))
        at += chance.uniform(15, 25)
        turn += 1
    return found
