"""Where a record stands. The numbers are those of the table."""

from enum import IntEnum
from typing import Literal

StateName = Literal["NEW", "QUEUED", "MATCHING", "REVIEW", "ACCEPTED", "REJECTED", "NO_CANDIDATE", "ERROR", "CANCELLED"]


class RecordState(IntEnum):
    """NEW → QUEUED (its name is being searched) → MATCHING (what was found is being fetched and scored) → an ending."""

    NEW = 0
    QUEUED = 1
    MATCHING = 2
    REVIEW = 3
    ACCEPTED = 4
    REJECTED = 5
    NO_CANDIDATE = 6
    ERROR = 7
    CANCELLED = 8


# A run still works on these.
UNDER_WAY = (RecordState.QUEUED, RecordState.MATCHING)
# What scoring alone decides, as long as no person has: these are scored again when weights change.
SCORED = (RecordState.REVIEW, RecordState.ACCEPTED, RecordState.NO_CANDIDATE)
