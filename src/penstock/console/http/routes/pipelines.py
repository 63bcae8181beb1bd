"""`GET /api/pipelines`: what takes files, and what can be chosen for it."""

from typing import Any, Literal

from fastapi import APIRouter
from pydantic import Field

from penstock.console.http.actor import Viewer
from penstock.console.http.ground import Here
from penstock.console.http.problems import documented
from penstock.console.http.wire import Wire
from penstock.core.define import PipelineDefinition

router = APIRouter(prefix="/api/pipelines", tags=["jobs"], responses=documented())


class PipelineOption(Wire):
    """A field of the form. `order`: some of `choices`, in the order in which they are to be taken."""

    name: str
    kind: Literal["text", "number", "flag", "order"]
    label: str
    help: str
    default: Any
    choices: list[str]


class PipelineItem(Wire):
    name: str
    about: str = Field(description="What it is for, in a sentence or two.")
    takes_rows: bool
    takes_images: bool
    roles: list[str] = Field(description="What its columns can mean; given in the option `roles` as role: heading.")
    options: list[PipelineOption]
    result_columns: list[str]


class PipelineList(Wire):
    items: list[PipelineItem]
    max_upload_bytes: int


@router.get("", operation_id="listPipelines")
async def list_pipelines(ground: Here, actor: Viewer) -> PipelineList:
    """Those that files can be sent to, by name."""
    found = sorted(ground.app.pipelines.values(), key=lambda one: one.name)
    return PipelineList(
        items=[_item(one) for one in found if takes_files(one)], max_upload_bytes=ground.settings.max_upload_bytes
    )


def takes_files(pipeline: PipelineDefinition) -> bool:
    return not pipeline.internal and (pipeline.takes_rows or pipeline.takes_images)


def _item(pipeline: PipelineDefinition) -> PipelineItem:
    offer = pipeline.offer
    roles, options = ((), ()) if offer is None else (offer.roles, offer.options())
    return PipelineItem.from_record(pipeline, roles=roles, options=options)
