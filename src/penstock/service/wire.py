"""The form of everything on the wire: camelCase, nothing unknown accepted, ids that fit the database."""

from typing import Annotated

from fastapi import Path
from pydantic import BaseModel, ConfigDict
from pydantic.alias_generators import to_camel

MOST_ID = 2**63 - 1

JobId = Annotated[int, Path(alias="jobId", ge=1, le=MOST_ID, description="As `POST /api/jobs` answered it.")]
TaskId = Annotated[int, Path(alias="taskId", ge=1, le=MOST_ID)]


class Wire(BaseModel):
    """Base of all bodies. A field that is not known is refused, so that nobody sets what they should not."""

    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True, extra="forbid")
