"""`/api/catalogues`: how well products were found, by whom, and where each value came from."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, cast

from fastapi import APIRouter, Request

from penstock.console.http.actor import Viewer
from penstock.console.http.ground import ground_of
from penstock.console.http.job_wire import Counts
from penstock.console.http.ownership import look_at_job, whose
from penstock.console.http.parameters import After, PageSize, UserId
from penstock.console.http.problems import documented, not_found
from penstock.console.http.wire import JobId
from penstock.core import job_counts
from penstock.extensions.catalogue import catalogues
from penstock.extensions.catalogue.catalogues import ProviderAnswers, StoredCatalogue
from penstock.extensions.catalogue.names import PIPELINE
from penstock.extensions.catalogue.provenance import provenance_of
from penstock.extensions.catalogue.provider_views import providers
from penstock.extensions.catalogue.submitted import order_of, roles_by_heading
from penstock.extensions.catalogue.wire import CatalogueBody, CataloguePage, ItemId, ProvenanceBody, ProviderList
from penstock.insight import task_views
from penstock.storage import items, job_lists, jobs, reads

router = APIRouter(prefix="/api/catalogues", tags=["catalogues"], responses=documented())
# Questions that are looked at: of each job of a list, and of one job.
_LISTED = 500
_SHOWN = 5000
_QUESTIONS = 200


@router.get("", operation_id="listCatalogues")
async def list_catalogues(
    request: Request, actor: Viewer, page_size: PageSize = 50, after: After = None, user_id: UserId = "me"
) -> CataloguePage:
    """Newest first. A page may be short, or empty, and have a next one: it looks at a bounded number of jobs."""
    ground = ground_of(request)
    owner = whose(actor, user_id)
    query = ("catalogues", user_id)
    before = None if after is None else cast("int", ground.cursors.take(actor.name, query, after)[0])
    async with ground.app.connection() as connection:
        found, last = await catalogues.page(connection, owner=owner, before=before, pipeline=PIPELINE, limit=page_size)
        bodies = await _bodies(connection, found, _LISTED)
    if user_id == "all":
        await ground.note_look(actor.entry("catalogues.look_at_all", kind="job"))
    following = None if last is None else ground.cursors.give(actor.name, query, [last])
    return CataloguePage(items=bodies, next_cursor=following)


@router.get("/providers", operation_id="listProviders")
async def list_providers(request: Request, actor: Viewer) -> ProviderList:
    """Who can be asked, in the usual order: set up or not, keys, limits, and how they answered lately."""
    return ProviderList(items=await providers(ground_of(request).app, with_errors=actor.is_admin))


@router.get("/{jobId}", operation_id="getCatalogue")
async def get_catalogue(request: Request, actor: Viewer, job_id: JobId) -> CatalogueBody:
    """What was found and by whom; its items are those of the job."""
    ground = ground_of(request)
    await look_at_job(ground, actor, job_id)
    async with ground.app.connection() as connection:
        found = await catalogues.job(connection, job_id, PIPELINE)
        if found is None:
            raise not_found(f"catalogue {job_id}")
        (body,) = await _bodies(connection, [found], _SHOWN)
    return body


@router.get("/{jobId}/items/{itemId}", operation_id="getProvenance")
async def get_provenance(request: Request, actor: Viewer, job_id: JobId, item_id: ItemId) -> ProvenanceBody:
    """One product: what was given, what was understood, which provider gave which value, and what the others said."""
    ground = ground_of(request)
    await look_at_job(ground, actor, job_id)
    async with ground.app.connection() as connection:
        found = await catalogues.job(connection, job_id, PIPELINE)
        if found is None or not await items.of_job(connection, job_id, [item_id]):
            raise not_found(f"item {item_id} of catalogue {job_id}")
        questions = await catalogues.of_task(connection, item_id, _QUESTIONS + 1)
    task = await task_views.show(ground.app, item_id)
    return provenance_of(task, found, questions, most=_QUESTIONS)


async def _bodies(connection: Any, found: Sequence[StoredCatalogue], most: int) -> list[CatalogueBody]:
    job_ids = [one.id for one in found]
    moved = await reads.job_movements(connection, job_ids)
    answers = await catalogues.by_provider(connection, job_ids, most)
    heads = await job_lists.heads(connection, job_ids)
    now = await jobs.database_now(connection)
    bodies = []
    for one in found:
        later = [
            head["run_at"] for head in heads.get(one.id, ()) if head["run_at"] > now and head["cause"] == "not_found"
        ]
        bodies.append(_body(one, moved[one.id], answers[one.id], min(later, default=None), most))
    return bodies


def _body(
    one: StoredCatalogue,
    moved: Mapping[str, Any],
    answers: Sequence[ProviderAnswers],
    looks_again_at: datetime | None,
    most: int,
) -> CatalogueBody:
    counts = job_counts.counts_of(moved)
    metadata = one.metadata
    state: Any = job_counts.state_of(moved).name
    order, chosen = order_of(metadata)
    asked = sum(answer.asked for answer in answers)
    return CatalogueBody(
        job_id=one.id,
        name=one.name,
        owner=one.owner,
        type=metadata.get("type"),
        file_name=metadata.get("file_name"),
        created_at=one.created_at,
        queue_state=state,
        counts=Counts.from_record(counts),
        total_items=counts.total,
        looks_again_at=looks_again_at,
        columns=list(metadata.get("columns") or ()),
        result_columns=list(metadata.get("result_columns") or ()),
        roles=roles_by_heading(metadata),
        providers=order,
        providers_chosen=chosen,
        answers=list(answers),
        answers_of=most,
        answers_complete=asked < most,
    )
