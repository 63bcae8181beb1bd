"""The form of everything on the wire: camelCase, nothing unknown accepted, ids that fit the database."""

from dataclasses import fields, is_dataclass
from enum import Enum
from functools import cache
from typing import Annotated, Any, Literal, Self

from fastapi import Path
from pydantic import BaseModel, BeforeValidator, Field

from penstock.insight.record import WIRE

MOST_ID = 2**63 - 1

JobId = Annotated[int, Path(alias="jobId", ge=1, le=MOST_ID, description="As `POST /api/jobs` answered it.")]
TaskId = Annotated[int, Path(alias="taskId", ge=1, le=MOST_ID)]


class Wire(BaseModel):
    """Base of all bodies. A field that is not known is refused, so that nobody sets what they should not."""

    model_config = {**WIRE, "from_attributes": True}

    @classmethod
    def from_record(cls, record: object, **more: Any) -> Self:
        """Its fields of the same names, and ``more``: what has another name there, or is not there."""
        names = _shared(cls, record.__class__) if is_dataclass(record) else _held(cls, record)
        same = {name: getattr(record, name) for name in names if name not in more}
        return cls.model_validate({**same, **more})


def _held(model: type[BaseModel], record: object) -> tuple[str, ...]:
    return tuple(name for name in model.model_fields if hasattr(record, name))


@cache
def _shared(model: type[BaseModel], record: type[Any]) -> tuple[str, ...]:
    """Fields of the model that a dataclass has too, as a field or as a property: the same for each of its records."""
    own = {field.name for field in fields(record)}
    return tuple(name for name in model.model_fields if name in own or hasattr(record, name))


def named(value: object) -> object:
    return value.name if isinstance(value, Enum) else value


# The states of `penstock.lifecycle`, and the moves of people in it, as types for clients; a test compares them.
Status = Annotated[
    Literal["PENDING", "PROCESSING", "DONE", "ERROR", "NOT_FOUND", "SKIPPED", "CANCELLED"], BeforeValidator(named)
]
QueueState = Annotated[Literal["QUEUED", "RUNNING", "PAUSED", "DONE", "FAILED", "CANCELLED"], BeforeValidator(named)]
ItemMove = Literal["cancel", "hasten", "reprocess", "replay", "edit"]
JobMove = Literal["pause", "resume", "cancel", "delete", "reprioritise", "reprocess"]
_MOVES = Field(description="What its state allows now and you may do.")
ItemMoves = Annotated[list[ItemMove], _MOVES]
JobMoves = Annotated[list[JobMove], _MOVES]
