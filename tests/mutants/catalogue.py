"""What a mutant is, and how it is looked up."""

from collections.abc import Iterable
from dataclasses import dataclass

STATEMENTS = ("tests/storage/test_guards.py",)
LANE_RETENTION = ("tests/storage/test_lane_retention.py",)
FLEET = ("tests/storage/test_guards_fleet.py",)


@dataclass(frozen=True, slots=True, kw_only=True)
class Mutant:
    """``file`` below ``src/penstock``; ``query`` names one query of a .sql file with named queries.

    ``text`` has to occur exactly once there, so that a mutant cannot quietly stop applying.
    """

    name: str
    file: str
    query: str | None = None
    text: str
    becomes: str = ""
    tests: tuple[str, ...] = STATEMENTS

    def applied(self, source: str) -> str:
        found = source.count(self.text)
        if found != 1:
            where = f"{self.file} {self.query or ''}".strip()
            raise LookupError(f"Mutant {self.name!r}: its text occurs {found} times in {where}; it has to be once.")
        return source.replace(self.text, self.becomes)


def in_query(file: str, query: str, tests: tuple[str, ...], changes: Iterable[tuple[str, str, str]]) -> list[Mutant]:
    """Mutants of one query, each as (name, text, what it becomes)."""
    return [
        Mutant(name=f"{query}: {name}", file=file, query=query, text=text, becomes=becomes, tests=tests)
        for name, text, becomes in changes
    ]


def all_mutants() -> tuple[Mutant, ...]:
    from tests.mutants.fleet_guards import FLEET_GUARDS
    from tests.mutants.queue_guards import QUEUE_GUARDS

    return (*QUEUE_GUARDS, *FLEET_GUARDS)


def mutant(name: str) -> Mutant:
    for one in all_mutants():
        if one.name == name:
            return one
    raise LookupError(f"No mutant is called {name!r}; `python -m tests.mutants --list` lists them.")
