"""Errors as clients get them: one JSON shape (RFC 9457), the right status, never a 500 for a known fault."""

import re
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from fastapi.routing import APIRoute, iter_route_contexts
from starlette.exceptions import HTTPException

from penstock import errors
from penstock.storage.database import AGAIN, LOST, REFUSED, passing

RETRY_AFTER_SECONDS = 2
LIMIT_RETRY_SECONDS = 60
MEDIA_TYPE = "application/problem+json"
_SHAPE = {
    "type": "object",
    "properties": {
        "title": {"type": "string"},
        "status": {"type": "integer"},
        "detail": {"type": "string"},
        "requestId": {"type": "string"},
    },
    "required": ["title", "status", "detail"],
    "additionalProperties": True,
}
_TITLES = {
    400: "The request is wrong",
    401: "Log in first",
    403: "Not allowed",
    404: "Not found",
    405: "The method is not answered here",
    408: "Request timeout",
    409: "Not possible now",
    411: "The length is missing",
    413: "Too large",
    415: "This kind of file is not taken",
    416: "No such part",
    422: "A field is wrong",
    429: "Too much at once",
    500: "A fault of ours",
    503: "The database cannot be reached",
}


class Problem(HTTPException):
    """Raised by routes, and while a body is read; ``extra`` goes into the answer, in camelCase.

    FastAPI turns whatever else is raised while it reads a body into a 400.
    """

    def __init__(self, status: int, detail: str, *, headers: dict[str, str] | None = None, **extra: Any) -> None:
        super().__init__(status, detail, headers or {})
        self.status = status
        self.extra = extra


def not_found(what: str) -> Problem:
    """The same answer for what does not exist and for what belongs to somebody else."""
    return Problem(404, f"There is no {what}.")


def nothing_at(request: Request) -> Problem:
    return Problem(404, f"There is nothing at {request.url.path}.")


def documented(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """``responses=`` of a router or route: what OpenAPI says about its failures. Those of any request are always
    there."""
    chosen = sorted({400, 401, 403, 404, 408, 413, 422, 503, *statuses})
    return {status: {"description": _TITLES[status], "content": {MEDIA_TYPE: {"schema": _SHAPE}}} for status in chosen}


def answer(request: Request, problem: Problem) -> JSONResponse:
    body = {
        "title": _TITLES.get(problem.status, "The request failed"),
        "status": problem.status,
        "detail": problem.detail,
        "requestId": getattr(request.state, "request_id", None),
        **problem.extra,
    }
    return JSONResponse(body, problem.status, headers=problem.headers, media_type=MEDIA_TYPE)


def problem_of(error: BaseException) -> Problem | None:
    """What an error of the engine means to a client; None: it is a fault of ours."""
    match error:
        case Problem():
            return error
        case errors.TaskNotFound() | errors.JobNotFound() | errors.RowNotFound() | errors.NotKnown():
            return Problem(404, str(error))
        case errors.IllegalMove():
            return Problem(409, str(error), state=error.state, allowedFrom=list(error.allowed_from))
        case errors.NotRepeated():
            return Problem(409, str(error))
        case errors.LimitReached():
            return Problem(429, str(error), headers={"Retry-After": str(LIMIT_RETRY_SECONDS)})
        case errors.PayloadTooLarge():
            return Problem(413, str(error))
        case errors.UsageError():
            extra = {name: getattr(error, name) for name in ("row", "column") if getattr(error, name, None) is not None}
            return Problem(400, str(error), **extra)
        case errors.DatabaseError():
            return _away(str(error))
        case _ if passing(error):
            return _away("The connection to the database was lost.")
        case _:
            return None


def _away(detail: str) -> Problem:
    return Problem(503, detail, headers={"Retry-After": str(RETRY_AFTER_SECONDS)})


def _taken_for_an_id(request: Request) -> bool:
    """A method that ``/projects/preview`` lacks may reach ``/projects/{projectId}``, where it is a bad id."""
    known = _methods(request.app).get(request.url.path)
    return known is not None and request.method not in known


def _not_answered(request: Request, methods: str) -> Problem:
    detail = f"{request.url.path} answers {methods}, not {request.method}."
    return Problem(405, detail, headers={"Allow": methods})


def _answered(request: Request) -> str:
    """All methods of the path: each route knows only its own."""
    paths = _methods(request.app)
    if (known := paths.get(request.url.path)) is None:
        found = (methods for path, methods in paths.items() if _pattern(path).fullmatch(request.url.path))
        known = set().union(*found)
    return ", ".join(sorted(known))


def _methods(api: FastAPI) -> dict[str, set[str]]:
    """By documented path. Read from the routes: the OpenAPI document takes a second to build, and the first bad request
    would stop the event loop for that long."""
    paths: dict[str, set[str]] = {}
    for route in iter_route_contexts(api.routes):
        if isinstance(route.original_route, APIRoute) and route.include_in_schema:
            paths.setdefault(route.path_format or "", set()).update(route.methods or ())
    return paths


def _pattern(path: str) -> re.Pattern[str]:
    return re.compile("[^/]+".join(re.escape(part) for part in re.split(r"\{\w+\}", path)))


def install(api: FastAPI) -> None:
    """Every way a request can fail ends here."""

    async def known(request: Request, error: Exception) -> JSONResponse:
        problem = problem_of(error)
        if problem is None:
            raise error
        return answer(request, problem)

    async def invalid(request: Request, error: Exception) -> JSONResponse:
        assert isinstance(error, RequestValidationError)
        if _taken_for_an_id(request):
            return answer(request, _not_answered(request, _answered(request)))
        fields = [
            {"field": ".".join(str(part) for part in one["loc"]), "problem": str(one["msg"])} for one in error.errors()
        ]
        first = fields[0]
        return answer(request, Problem(422, f"{first['field']}: {first['problem']}.", fields=fields))

    async def http(request: Request, error: Exception) -> JSONResponse:
        assert isinstance(error, HTTPException)
        headers = dict(error.headers or {})
        detail = str(error.detail)
        if error.status_code == 404:
            detail = nothing_at(request).detail
        elif error.status_code == 405 and (methods := _answered(request)):
            return answer(request, _not_answered(request, methods))
        return answer(request, Problem(error.status_code, detail, headers=headers))

    api.add_exception_handler(Problem, known)
    api.add_exception_handler(errors.PenstockError, known)
    # What the driver raises where nobody has translated it, such as in a worker inside a request.
    for kind in (*LOST, *AGAIN, *REFUSED):
        if issubclass(kind, Exception):
            api.add_exception_handler(kind, known)
    api.add_exception_handler(RequestValidationError, invalid)
    api.add_exception_handler(HTTPException, http)
