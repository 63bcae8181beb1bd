"""`POST /api/analyses`: addresses in, however they come; an answer as soon as they are stored."""

from collections.abc import Mapping
from typing import Annotated, Any

import orjson
from fastapi import APIRouter, Header, Request
from starlette.datastructures import UploadFile

from penstock.console.files.room import require_room
from penstock.console.files.submit import Submission
from penstock.console.http.actor import Operator
from penstock.console.http.bodies import form_of, media_type, takes, text_fields, validated
from penstock.console.http.ground import ground_of
from penstock.console.http.problems import Problem, documented
from penstock.extensions.sites.names import PIPELINE
from penstock.extensions.sites.submitting import Wish, submit
from penstock.extensions.sites.wire import AddedBody, Chosen, NewAnalysis, Refused

router = APIRouter(prefix="/api/analyses", tags=["analyses"], responses=documented(409, 411, 413, 415, 429))
_JSON_BYTES = 16 * 1024 * 1024
_FILE_BYTES = 16 * 1024 * 1024
_REFUSED_SHOWN = 100
_WHOLE = frozenset({"pages", "samples", "prompts"})
_REQUEST = {
    "requestBody": {
        "required": True,
        "content": {
            "application/json": {"schema": NewAnalysis.model_json_schema(ref_template="#/components/schemas/{model}")},
            "multipart/form-data": {
                "schema": {
                    "type": "object",
                    "required": ["file"],
                    "properties": {
                        "file": {
                            "type": "string",
                            "format": "binary",
                            "description": "CSV with a column of addresses: url, website, domain, or the first such.",
                        },
                        **{name: {"type": "string"} for name in Chosen.model_fields},
                    },
                }
            },
        },
    }
}


@router.post("", operation_id="addAnalysis", status_code=202, openapi_extra=_REQUEST)
@takes(json=_JSON_BYTES, form=_FILE_BYTES)
async def add(
    request: Request,
    actor: Operator,
    idempotency_key: Annotated[
        str | None,
        Header(alias="Idempotency-Key", min_length=1, max_length=200, description="The same key gives the same job."),
    ] = None,
) -> AddedBody:
    """One job of all sites, each once. What is no address is answered in `refused` and left out; if nothing is left,
    nothing is stored."""
    ground = ground_of(request)
    # Before the body is read; it is asked again in the transaction that stores the job.
    await require_room(ground.app, actor.name)
    kind = media_type(request.headers.get("content-type", ""))
    if kind == "multipart/form-data":
        chosen, wish = await _from_form(request)
    elif kind == "application/json":
        chosen, wish = await _from_json(request)
    else:
        raise Problem(415, "Send addresses as application/json, or a CSV file as multipart/form-data.")
    submission = Submission(
        owner=actor.name,
        pipeline=PIPELINE,
        ip=actor.ip,
        name=chosen.name,
        idempotency_key=idempotency_key,
        by=actor.by,
    )
    done = await submit(ground.app, submission, wish)
    return AddedBody(
        job_id=done.job_id,
        created=done.created,
        sites=done.sites,
        duplicates=done.duplicates,
        refused=[Refused(text=text, why=why) for text, why in done.refused[:_REFUSED_SHOWN]],
        refused_count=len(done.refused),
    )


async def _from_json(request: Request) -> tuple[Chosen, Wish]:
    try:
        parsed = orjson.loads(await request.body())
    except orjson.JSONDecodeError as error:
        raise Problem(400, f"The body is not JSON: {error}.") from None
    if not isinstance(parsed, dict):
        raise Problem(422, "body: it has to be an object with `url`, `urls`, `text` or `sitemap`.")
    body: NewAnalysis = validated(NewAnalysis, parsed)
    urls = [*([] if body.url is None else [body.url]), *(body.urls or [])]
    return body, Wish(urls=urls, text=body.text, sitemap=body.sitemap, options=body.options())


async def _from_form(request: Request) -> tuple[Chosen, Wish]:
    form = await form_of(request, most_files=1)
    try:
        uploads = [part for part in form.getlist("file") if isinstance(part, UploadFile)]
        if len(uploads) != 1:
            raise Problem(400, "The form needs one field `file` with a CSV file in it.")
        chosen: Chosen = validated(Chosen, _typed(text_fields(form.multi_items())))
        return chosen, Wish(csv=await uploads[0].read(), options=chosen.options())
    finally:
        await form.close()


def _typed(given: Mapping[str, str]) -> dict[str, Any]:
    """A form has only text; what is no number stays one, and is refused with its name."""
    typed: dict[str, Any] = dict(given)
    for name, text in given.items():
        if name == "models":
            typed[name] = [one.strip() for one in text.split(",") if one.strip()]
        elif name == "review":
            typed[name] = {"true": True, "false": False}.get(text.lower(), text)
        elif name in _WHOLE and text.isdecimal() and len(text) < 10:
            typed[name] = int(text)
        elif name == "budget":
            typed[name] = _number(text)
    return typed


def _number(text: str) -> float | str:
    try:
        return float(text)
    except ValueError:
        return text
