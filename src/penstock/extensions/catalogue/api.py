"""`/api/catalogues`: how well products were found, by whom, and where each value came from."""

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from fastapi import APIRouter, Request

from penstock.application import Penstock
from penstock.config import Settings
from penstock.console.http.actor import Viewer
from penstock.console.http.ground import ground_of
from penstock.console.http.job_wire import Counts
from penstock.console.http.ownership import look_at_job, whose
from penstock.console.http.parameters import After, PageSize, UserId
from penstock.console.http.problems import documented, not_found
from penstock.console.http.wire import JobId
from penstock.control import limits
from penstock.core import job_counts
from penstock.errors import InvalidSetting
from penstock.extensions.catalogue import catalogues, http_options
from penstock.extensions.catalogue.catalogues import ProviderAnswers, StoredCatalogue
from penstock.extensions.catalogue.http_options import HttpOptions
from penstock.extensions.catalogue.offer import PIPELINE, order_of, roles_by_heading
from penstock.extensions.catalogue.settings import CatalogueSettings
from penstock.extensions.catalogue.wire import (
    CatalogueBody,
    CataloguePage,
    ItemId,
    KeyBody,
    LimitBody,
    ProvenanceBody,
    ProviderBody,
    ProviderList,
    provenance_of,
)
from penstock.insight import task_views
from penstock.storage import items, job_lists, jobs, reads

router = APIRouter(prefix="/api/catalogues", tags=["catalogues"], responses=documented())
# Questions that are looked at: of each job of a list, and of one job.
_LISTED = 500
_SHOWN = 5000
_QUESTIONS = 200
LATELY = 1000
_VARIABLE = re.compile(r"\$(\w+)")
_LOCAL = "Your own products in this database, by GTIN, article number, brand and title, or title."
_HTTP = "A service of your choice that is asked over HTTP."
_SAMPLE = "The made-up shop of `penstock demo` on this machine. Only lists that choose it ask it."
_LOCAL_KINDS = ["gtin", "sku", "brand and title", "title"]
_HTTP_SETTINGS = ["URL", "HEADERS", "PATHS", "PER_SECOND", "CONCURRENCY", "CIRCUIT_FAILURES", "CIRCUIT_SECONDS"]


@router.get("", operation_id="listCatalogues")
async def list_catalogues(
    request: Request, actor: Viewer, page_size: PageSize = 50, after: After = None, user_id: UserId = "me"
) -> CataloguePage:
    """Newest first. A page may be short, or empty, and have a next one: it looks at a bounded number of jobs."""
    ground = ground_of(request)
    owner = whose(actor, user_id)
    listed = ground.listing(actor.name, "catalogues", user_id)
    before = listed.behind(after)
    async with ground.app.connection() as connection:
        found, last = await catalogues.page(connection, owner=owner, before=before, pipeline=PIPELINE, limit=page_size)
        bodies = await _bodies(connection, found, _LISTED)
    if user_id == "all":
        await ground.note_look(actor.entry("catalogues.look_at_all", kind="job"))
    return CataloguePage(items=bodies, next_cursor=listed.cursor(last))


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
    return CatalogueBody.from_record(
        one,
        job_id=one.id,
        type=metadata.get("type"),
        file_name=metadata.get("file_name"),
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


async def providers(app: Penstock, *, with_errors: bool) -> list[ProviderBody]:
    """In the usual order. ``with_errors``: whoever asks may see what went wrong with others' rows."""
    async with app.connection() as connection:
        lately = await catalogues.lately(connection, LATELY)
        known = await catalogues.products_estimate(connection)
    told = {name: one if with_errors else replace(one, last_error=None) for name, one in lately.items()}
    found = [_local(known, told.get("local")), await _http(app, told.get("http"))]
    if (shop := http_options.shop_options(app.settings)) is not None:
        name = http_options.SHOP
        found.append(await _asked(app, shop, name, _SAMPLE, told.get(name), settings=[], keys=[]))
    return found


def _local(known: int | None, lately: ProviderAnswers | None) -> ProviderBody:
    settings = ["PENSTOCK_CATALOGUE_MATCH_THRESHOLD"]
    return _provider(
        "local", _LOCAL, lately, ready=True, settings=settings, asks_for=_LOCAL_KINDS, products_estimate=known
    )


async def _http(app: Penstock, lately: ProviderAnswers | None) -> ProviderBody:
    settings = app.settings
    named = [f"PENSTOCK_CATALOGUE_HTTP_{name}" for name in _HTTP_SETTINGS]
    shown: dict[str, Any] = {"settings": named, "keys": keys_of(settings, os.environ)}
    try:
        options = HttpOptions.of(settings)
    except InvalidSetting as error:
        return _provider("http", _HTTP, lately, ready=False, problem=str(error), **shown)
    if options is None:
        problem = "It is not set up. Set PENSTOCK_CATALOGUE_HTTP_URL for the service and the workers."
        return _provider("http", _HTTP, lately, ready=False, problem=problem, **shown)
    return await _asked(app, options, "http", _HTTP, lately, **shown)


async def _asked(
    app: Penstock, options: HttpOptions, name: str, about: str, lately: ProviderAnswers | None, **shown: Any
) -> ProviderBody:
    scheme, host, port = options.origin
    return _provider(
        name,
        about,
        lately,
        ready=True,
        address=f"{scheme}://{host}:{port}",
        asks_for=sorted(options.places),
        per_second=options.own.http_per_second,
        concurrency=options.own.http_concurrency,
        circuit_failures=options.own.http_circuit_failures,
        circuit_seconds=options.own.http_circuit_seconds,
        cost=options.own.http_cost,
        limit=await _limit(app, options.key),
        **shown,
    )


def keys_of(settings: Settings, environment: Mapping[str, str]) -> list[KeyBody]:
    """Names only: what the variables hold is nobody's business here."""
    found = []
    for part in settings.of(CatalogueSettings).http_headers.split("|"):
        header, _, value = (piece.strip() for piece in part.partition(":"))
        for variable in _VARIABLE.findall(value):
            found.append(KeyBody(header=header, variable=variable, present=bool(environment.get(variable))))
    return found


async def _limit(app: Penstock, key: str) -> LimitBody | None:
    """None: nobody has asked yet, so the limit was not told to the fleet."""
    found = next((one for one in await limits.listing(app) if one.key == key), None)
    return None if found is None else LimitBody.model_validate(found)


def _provider(name: str, about: str, lately: ProviderAnswers | None, **told: Any) -> ProviderBody:
    nothing: dict[str, Any] = {**dict.fromkeys(ProviderBody.model_fields), "asks_for": [], "keys": [], "cost": 0.0}
    return ProviderBody(**(nothing | told | {"name": name, "about": about, "lately": lately}))
