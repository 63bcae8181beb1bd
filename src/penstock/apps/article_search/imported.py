"""What an import came to, so far or in the end."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from penstock.apps.article_search.drafts import Refusal
from penstock.apps.article_search.writing_many import ManySaved

MOST_REFUSED_TOLD = 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class Imported:
    """``job_id``: its embeddings; None where there are none. ``refused``: the first ones as (where, why), of
    ``refused_count`` in all. ``share``: how much was read, 0 to 1. ``note``: the first embedding that failed
    in the request, where there is no queue, of ``not_embedded``."""

    job_id: int | None = None
    created: int = 0
    updated: int = 0
    unchanged: int = 0
    refused: tuple[tuple[str, str], ...] = ()
    refused_count: int = 0
    share: float = 0.0
    not_embedded: int = 0
    note: str | None = None

    @property
    def stored(self) -> int:
        """Articles that are there now, whether they were before or not."""
        return self.created + self.updated + self.unchanged

    def refusing(self, refusals: Sequence[Refusal]) -> "Imported":
        room = MOST_REFUSED_TOLD - len(self.refused)
        told = tuple((one.where, one.why) for one in refusals[:room])
        return replace(self, refused=(*self.refused, *told), refused_count=self.refused_count + len(refusals))

    def saving(self, saved: ManySaved, notes: Sequence[str]) -> "Imported":
        return replace(
            self,
            created=self.created + len(saved.created),
            updated=self.updated + len(saved.updated),
            unchanged=self.unchanged + saved.unchanged,
            not_embedded=self.not_embedded + len(notes),
            note=self.note or next(iter(notes), None),
        )
