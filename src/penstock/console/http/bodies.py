"""Bodies: how large those of a route may be, and how a route reads one itself that may be a form or JSON."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from fastapi import Request
from pydantic import ValidationError
from starlette.datastructures import FormData
from starlette.exceptions import HTTPException
from starlette.formparsers import MultiPartException

from penstock.config import Settings
from penstock.console.http.problems import Problem

# Of callers whose credentials were not found to hold, whatever the route.
ANONYMOUS_BYTES = 64 * 1024
# Room for 10,000 ids, or for the longest input of a task with every character escaped.
JSON_BYTES = 1024 * 1024
_PART_BYTES = 1024 * 1024
_MARK = "__penstock_body_limits__"

Limit = int | Callable[[Settings], int]
Endpoint = TypeVar("Endpoint", bound=Callable[..., Any])


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Of one route. ``form``: of `multipart/form-data`, which is kept on disk while it comes."""

    json: Limit
    form: Limit | None = None

    def bytes_of(self, content_type: str, settings: Settings) -> int:
        is_form = self.form is not None and media_type(content_type) == "multipart/form-data"
        limit = self.form if is_form and self.form is not None else self.json
        return limit if isinstance(limit, int) else limit(settings)


OTHERS = Limits(json=JSON_BYTES)


def takes(*, json: Limit = JSON_BYTES, form: Limit | None = None) -> Callable[[Endpoint], Endpoint]:
    """Below the decorator of a route whose bodies are larger than others'. The limits hold before the route is
    called, and `docs/service.md` lists them."""

    def marked(endpoint: Endpoint) -> Endpoint:
        setattr(endpoint, _MARK, Limits(json=json, form=form))
        return endpoint

    return marked


def limits_of(endpoint: object) -> Limits:
    found: Limits = getattr(endpoint, _MARK, OTHERS)
    return found


def media_type(content_type: str) -> str:
    return content_type.partition(";")[0].strip().lower()


async def form_of(request: Request, *, most_files: int) -> FormData:
    """Read to the end; the caller closes it."""
    try:
        return await request.form(max_files=most_files, max_fields=50, max_part_size=_PART_BYTES)
    except Problem:
        raise
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
