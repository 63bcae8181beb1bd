"""Bodies that a route reads itself, as they may be a form or JSON: bounded while they come, checked like others."""

from collections.abc import Mapping, Sequence
from typing import Any

from fastapi import Request
from pydantic import ValidationError
from starlette.datastructures import FormData
from starlette.exceptions import HTTPException
from starlette.formparsers import MultiPartException

from penstock.service.problems import Problem

_PART_BYTES = 1024 * 1024


def bounded(request: Request, limit_bytes: int) -> None:
    """What a client announces is refused before it is sent; what it does not announce is counted while it comes."""
    announced = request.headers.get("content-length")
    if announced is not None and announced.isdigit() and int(announced) > limit_bytes:
        raise _too_large(limit_bytes)
    receive, seen = request._receive, 0

    async def counted() -> Any:
        nonlocal seen
        message = await receive()
        seen += len(message.get("body", b""))
        if seen > limit_bytes:
            raise _too_large(limit_bytes)
        return message

    request._receive = counted


def _too_large(limit_bytes: int) -> Problem:
    return Problem(413, f"The request is larger than {limit_bytes:,} bytes.")


async def form_of(request: Request, *, most_files: int) -> FormData:
    """Read to the end; the caller closes it."""
    try:
        return await request.form(max_files=most_files, max_fields=50, max_part_size=_PART_BYTES)
    except (MultiPartException, HTTPException) as error:
        detail = error.message if isinstance(error, MultiPartException) else error.detail
        raise Problem(400, f"The form cannot be read: {detail}") from None


def text_fields(parts: Sequence[tuple[str, object]]) -> dict[str, Any]:
    """Of a form, beside its field `file`; an empty one is one that was left out."""
    given: dict[str, Any] = {}
    for name, value in parts:
        if name == "file":
            continue
        if not isinstance(value, str) or name in given:
            raise Problem(422, f"{name}: it is given twice, or as a file.")
        given[name] = value if value else None
    return {name: value for name, value in given.items() if value is not None}


def validated(model: type[Any], given: Mapping[str, Any]) -> Any:
    try:
        return model.model_validate(given)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"])
        raise Problem(422, f"{where}: {first['msg']}.") from None
