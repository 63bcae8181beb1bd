"""Which dead letters are meant, how fast they are replayed, and what came of it."""

from typing import Annotated

from pydantic import Field

from penstock.service.parameters import COUNTED, Flag, Moment, Name, Number, Whose
from penstock.service.wire import MOST_ID, Wire

# One request replays no more than this, and waits no longer than that for a canary.
_MOST_REPLAYED = 5000
_LONGEST_CANARY_SECONDS = 30.0

GroupId = Annotated[str, Field(pattern="^[0-9a-f]{16}$", description="As `GET /api/errors` answered it.")]


class Matching(Wire):
    """Which dead letters are meant. Everything that is given has to fit."""

    pipeline: Name | None = None
    error_type: Name | None = None
    group: GroupId | None = None
    job_id: Annotated[int, Field(ge=1, le=MOST_ID), COUNTED] | None = None
    since: Moment | None = None
    user_id: Whose = Field("me", description="`all`: everybody's, for admins; it is audited.")

    def key(self) -> tuple[object, ...]:
        """What a cursor is bound to."""
        return ("dead-letters", self.pipeline, self.error_type, self.group, self.job_id, self.since, self.user_id)


class ReplayMatching(Matching):
    dry_run: Flag = Field(False, description="Only say how many match.")
    most: Annotated[int, Field(ge=1, le=_MOST_REPLAYED), COUNTED] = 1000
    after: Annotated[str, Field(max_length=2000)] | None = Field(None, description="`nextCursor` of the answer before.")
    canary: Flag = Field(False, description="Replay one first and wait for its end; the others stay if it fails.")
    canary_seconds: Annotated[Number, Field(gt=0, le=_LONGEST_CANARY_SECONDS)] = 10.0
    per_second: Annotated[Number, Field(ge=0.1, le=1e5)] | None = Field(
        None, description="At most so many a second. `most` has to fit into 60 seconds of it; `nextCursor` goes on."
    )
    stop_after: Annotated[int, Field(ge=1, le=_MOST_REPLAYED), COUNTED] | None = Field(
        None, description="Stop when so many failed again with the error they had; 10 with a canary."
    )


class ReplayCanary(Wire):
    """``state`` null: it had not ended in time."""

    item_id: int
    state: str | None
    same_error: bool


class Replayed(Wire):
    """``nextCursor``: there is more; send the same again with it as ``after``. ``stopped``: the canary failed or did
    not end in time, or ``failedAgain`` became too many; the others stay dead letters, and there is no cursor."""

    matched: int
    replayed: int
    dry_run: bool
    next_cursor: str | None
    stopped: bool = False
    failed_again: int = 0
    canary: ReplayCanary | None = None
