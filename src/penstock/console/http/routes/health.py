"""`/healthz`, `/readyz`, `/metrics`: for service managers, load balancers and Prometheus. They need no token."""

import asyncio

from fastapi import APIRouter, Request
from fastapi.responses import Response
from starlette.responses import JSONResponse

from penstock.console.http.ground import ground_of
from penstock.console.http.wire import Wire
from penstock.console.live.live import live_of
from penstock.errors import SchemaOutOfDate
from penstock.storage import migrate, workers
from penstock.storage.database import DATABASE_FAULTS
from penstock.storage.dialer import require_writes

router = APIRouter(tags=["operations"])

_METRICS_TYPE = "text/plain; version=0.0.4; charset=utf-8"
_RETRY_AFTER_SECONDS = "2"
_PATIENCE_SECONDS = 5.0
_NO_WORKER = "no live worker: start one with `penstock worker`, or everything with `penstock up`"


class Health(Wire):
    status: str


class Readiness(Wire):
    """``reason``: the first of what is ``missing``."""

    status: str
    reason: str | None = None
    missing: list[str] | None = None


@router.get("/healthz", operation_id="healthz")
async def healthz() -> Health:
    """The process answers. Asks nobody else, so that a database that is away does not get the service restarted."""
    return Health(status="ok")


@router.get(
    "/readyz",
    operation_id="readyz",
    response_model=Readiness,
    response_model_exclude_none=True,
    responses={503: {"description": "Something is missing", "model": Readiness}},
)
async def readyz(request: Request) -> Readiness | JSONResponse:
    """Whether requests can be served: the database answers, accepts writes and has the schema; and what is missing.

    Without a live worker jobs are still taken and kept. Under `penstock up`, which starts workers itself, that is not
    ready; under `penstock serve` it is only said.
    """
    missing, workers_missing = await _missing(request)
    if missing or (workers_missing and live_of(request).needs_workers):
        told = [*missing, *workers_missing]
        answer = Readiness(status="not ready", reason=told[0], missing=told)
        return JSONResponse(answer.model_dump(), 503, headers={"Retry-After": _RETRY_AFTER_SECONDS})
    return Readiness(status="ready", missing=workers_missing or None)


async def _missing(request: Request) -> tuple[list[str], list[str]]:
    """What is missing to answer requests, and what is missing to work."""
    try:
        async with asyncio.timeout(_PATIENCE_SECONDS), ground_of(request).app.connection() as connection:
            await migrate.check(connection, ground_of(request).app.migrations)
            await require_writes(connection)
            live = any(one["live"] for one in await workers.listing(connection))
    except SchemaOutOfDate as error:
        return [f"schema: {error}"], []
    except DATABASE_FAULTS as error:
        return [f"database: {str(error) or 'no answer in time'}"], []
    return [], [] if live else [_NO_WORKER]


@router.get(
    "/metrics",
    operation_id="metrics",
    response_class=Response,
    responses={
        200: {"description": "Prometheus text format", "content": {"text/plain": {"schema": {"type": "string"}}}}
    },
)
async def metrics(request: Request) -> Response:
    """Counters and gauges of the service and the engine, in the text format of Prometheus."""
    return Response(await live_of(request).metrics.render(), media_type=_METRICS_TYPE)
