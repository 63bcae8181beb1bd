"""What a mutant is, and how it is looked up."""

import importlib
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from penstock.storage.queries import Queries

_SHARD = re.compile(r"([1-9]\d*)/([1-9]\d*)")

STATEMENTS = ("tests/storage/test_guards.py",)
LANE_RETENTION = ("tests/storage/test_lane_retention.py",)
FLEET = ("tests/storage/test_guards_fleet.py",)
VIEWS = ("tests/storage/test_views.py",)


@dataclass(frozen=True, slots=True, kw_only=True)
class Mutant:
    """``file`` below ``src/penstock``; ``query`` names one query of a .sql file with named queries.

    ``text`` has to occur exactly once there, so that a mutant cannot quietly stop applying. ``tests``: files, or single
    tests as pytest names them, the fewest that find it.
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

    def queries(self) -> "Queries":
        """Those of its .sql file, as Penstock holds them."""
        from penstock.storage.queries import load

        *folders, _, table = self.file.removesuffix(".sql").split("/")
        package = ".".join(["penstock", *folders])
        # First the package: one that loads the file while it is imported would keep queries of its own.
        importlib.import_module(package)
        # The engine's are loaded without naming the package, and the cache goes by the arguments.
        return load(table) if folders == ["storage"] else load(table, package)

    def module(self) -> str:
        """What its .py file is imported as."""
        return "penstock." + self.file.removesuffix(".py").removesuffix("/__init__").replace("/", ".")


@dataclass(frozen=True, slots=True, kw_only=True)
class Shard:
    """Every ``of``-th mutant from the ``number``-th on, so that the slow ones of an area are spread."""

    number: int = 1
    of: int = 1

    def __post_init__(self) -> None:
        if self.number > self.of:
            raise ValueError(
                f"Invalid shard {self.number}/{self.of}: must be between 1/{self.of} and {self.of}/{self.of}"
            )

    @classmethod
    def parsed(cls, text: str) -> Self:
        if (match := _SHARD.fullmatch(text)) is None:
            raise ValueError(f"Invalid shard {text!r}: must be a number of a number, such as 1/3")
        return cls(number=int(match[1]), of=int(match[2]))

    def taken(self, names: Iterable[str]) -> list[str]:
        return list(names)[self.number - 1 :: self.of]


def in_query(file: str, query: str, tests: tuple[str, ...], changes: Iterable[tuple[str, str, str]]) -> list[Mutant]:
    """Mutants of one query, each as (name, text, what it becomes)."""
    return [
        Mutant(name=f"{query}: {name}", file=file, query=query, text=text, becomes=becomes, tests=tests)
        for name, text, becomes in changes
    ]


def in_area(area: str, file: str, tests: str, changes: Iterable[tuple[str | None, str, str, str, str]]) -> list[Mutant]:
    """Mutants of one file of an application or the service, each as (query; None: it is Python, name, text, what it
    becomes, test). ``tests``: the file of those tests."""
    stem = file.rsplit("/", 1)[-1].rsplit(".", 1)[0]
    return [
        Mutant(
            name=f"{area}: {stem if query is None else f'{stem}.{query}'} {name}",
            file=file,
            query=query,
            text=text,
            becomes=becomes,
            tests=(f"{tests}::{test}",),
        )
        for query, name, text, becomes, test in changes
    ]


def all_mutants() -> tuple[Mutant, ...]:
    from tests.mutants.articles import ARTICLES
    from tests.mutants.catalogues import CATALOGUES
    from tests.mutants.fleet_guards import FLEET_GUARDS
    from tests.mutants.intake import INTAKE
    from tests.mutants.linking import LINKING
    from tests.mutants.queue_guards import QUEUE_GUARDS
    from tests.mutants.service import SERVICE
    from tests.mutants.sites import SITES

    return (*QUEUE_GUARDS, *FLEET_GUARDS, *SERVICE, *INTAKE, *SITES, *ARTICLES, *LINKING, *CATALOGUES)


def mutant(name: str) -> Mutant:
    for one in all_mutants():
        if one.name == name:
            return one
    raise LookupError(f"No mutant is called {name!r}; `python -m tests.mutants --list` lists them.")
