"""A source in memory: the entities whose labels or aliases come nearest to a name, as a search box gives them."""

from collections.abc import Iterable

from rapidfuzz import fuzz, process

from penstock.extensions.linking.entity import Entity
from penstock.extensions.linking.project import Wanted
from penstock.extensions.linking.scoring.folding import plain, romanised

CANDIDATES = 7
# An entity has several names, and they may all be near.
_NAMES_PER_ENTITY = 6


class NearestNames:
    """Ranks by characters alone, with another measure than scoring has; types and properties play no part."""

    def __init__(self, entities: Iterable[Entity]) -> None:
        self._entities: list[Entity] = []
        self._names: list[str] = []
        for one in entities:
            for name in (*one.labels.values(), *(alias for aliases in one.aliases.values() for alias in aliases)):
                self._entities.append(one)
                self._names.append(_searched(name))

    def find(self, wanted: Wanted) -> list[Entity]:
        """For the name and each alias the best ones, as a matching run asks for them."""
        found: dict[str, Entity] = {}
        for name in (wanted.name, *wanted.aliases):
            found |= self._best(name)
        return list(found.values())

    def _best(self, name: str) -> dict[str, Entity]:
        near = process.extract(
            _searched(name), self._names, scorer=fuzz.WRatio, limit=CANDIDATES * _NAMES_PER_ENTITY, score_cutoff=50
        )
        best: dict[str, Entity] = {}
        for _, _, place in near:
            if len(best) < CANDIDATES:
                best.setdefault(self._entities[place].id, self._entities[place])
        return best


def _searched(name: str) -> str:
    return romanised(plain(name))
