"""One index of all articles: a model, a way to cut texts, and the table of their vectors."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

# HNSW takes vectors of 4-byte numbers up to here, of 2-byte numbers up to twice that.
_MOST_WHOLE = 2000


class GenerationState(StrEnum):
    BUILDING = "building"
    READY = "ready"
    ACTIVE = "active"
    STANDBY = "standby"
    DROPPED = "dropped"


@dataclass(frozen=True, slots=True, kw_only=True)
class Generation:
    """``STANDBY``: was active, is still kept up to date, and can be switched back to."""

    id: int
    name: str
    embedder: str
    model: str
    dimensions: int
    chunker: str
    state: GenerationState
    job_id: int | None
    note: str | None
    created_by: str
    created_at: datetime
    ready_at: datetime | None
    activated_at: datetime | None

    def query(self, text: str) -> str:
        """A query that is written for the table ``vectors_0`` and the type ``vector(0)``, for this generation.

        Neither can exist, so that a query which was not made one of a generation fails instead of meeting the first.
        """
        kind = "vector" if self.dimensions <= _MOST_WHOLE else "halfvec"
        return text.replace("vectors_0", f"vectors_{self.id}").replace("vector(0)", f"{kind}({self.dimensions})")
