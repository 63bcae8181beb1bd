"""`/api/overview`: one screen of the whole system."""

from datetime import datetime

from fastapi import APIRouter, Request

from penstock.engine.overview import overview
from penstock.engine.steering import dead_letters
from penstock.service.actor import Viewer
from penstock.service.api.dead_letters import DeadLetter
from penstock.service.api.dead_letters import item_of as letter_of
from penstock.service.api.stages import StageItem
from penstock.service.api.stages import item_of as stage_of
from penstock.service.api.workers import WorkerItem
from penstock.service.api.workers import item_of as worker_of
from penstock.service.ground import ground_of
from penstock.service.problems import documented
from penstock.service.wire import Wire

router = APIRouter(prefix="/api/overview", tags=["operations"], responses=documented())

_NEWEST = 5


class Attention(Wire):
    """Something a person should know, and what shows or ends it."""

    sentence: str
    next_step: str


class Overview(Wire):
    read_at: datetime
    database: str
    size_bytes: int
    workers: list[WorkerItem]
    stages: list[StageItem]
    attention: list[Attention]
    newest_dead_letters: list[DeadLetter]


@router.get("", operation_id="getOverview")
async def show(request: Request, actor: Viewer) -> Overview:
    """Workers, stages, what needs attention; of the dead letters the newest of one's own."""
    ground = ground_of(request)
    async with ground.app.connection() as connection:
        seen = await overview(connection)
    own = await dead_letters.page(ground.app, dead_letters.DeadLetterFilter(owner=actor.name), limit=_NEWEST)
    return Overview(
        read_at=seen.read_at,
        database=seen.database,
        size_bytes=seen.size_bytes,
        workers=[worker_of(view) for view in seen.workers],
        stages=[stage_of(view) for view in seen.stages],
        attention=[Attention(sentence=one.sentence, next_step=one.next_step) for one in seen.attention],
        newest_dead_letters=[letter_of(row) for row in own.rows],
    )
