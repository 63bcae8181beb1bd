"""`/api/analyses`: addresses in, however they come, and what people decide about them: other prompts, approval, another
run. With the service's own rules of access.
"""

from collections.abc import Mapping
from typing import Annotated, Any, Literal

import orjson
from fastapi import APIRouter, Header, Request
from pydantic import Field, StringConstraints
from starlette.datastructures import UploadFile

from penstock.console.files.room import require_room
from penstock.console.files.submit import Submission
from penstock.console.http.actor import Operator
from penstock.console.http.bodies import form_of, media_type, takes, text_fields, validated
from penstock.console.http.ground import Ground, ground_of
from penstock.console.http.ownership import owner_of_job
from penstock.console.http.parameters import COUNTED, STORABLE, Flag, Name, Number
from penstock.console.http.problems import Problem, documented
from penstock.console.http.wire import MOST_ID, Wire
from penstock.extensions.sites import api_reading, deciding, views
from penstock.extensions.sites.api_reading import AnalysisId, PromptBody, SiteIdPath
from penstock.extensions.sites.findings import PIPELINE, Prompt
from penstock.extensions.sites.submitting import MOST_BUDGET, MOST_PROMPTS, MOST_SAMPLES, Wish, submit
from penstock.lifecycle import FINISHED, State

MOST_SITES = 10_000
MOST_TEXT = 2_000_000
_MOST_MODELS = 20
_MOST_PAGES = 1000
Ended = Literal["DONE", "ERROR", "NOT_FOUND", "SKIPPED", "CANCELLED"]
StageName = Literal["website-analysis", "prompt-forming", "model-analysis"]
Address = Annotated[str, StringConstraints(max_length=2000, pattern=STORABLE)]
SiteIds = Annotated[list[Annotated[int, Field(ge=1, le=MOST_ID), COUNTED]], Field(min_length=1, max_length=MOST_SITES)]
_changing = APIRouter(prefix="/api/analyses", tags=["analyses"], responses=documented(409))
_JSON_BYTES = 16 * 1024 * 1024
_FILE_BYTES = 16 * 1024 * 1024
_REFUSED_SHOWN = 100
_WHOLE = frozenset({"pages", "samples", "prompts"})


class Chosen(Wire):
    """What is left out is as the settings say."""

    name: Name | None = None
    models: Annotated[list[Name], Field(min_length=1, max_length=_MOST_MODELS)] | None = None
    pages: Annotated[int, Field(ge=1, le=_MOST_PAGES), COUNTED] | None = Field(
        None, description="Pages read beside the start page."
    )
    samples: Annotated[int, Field(ge=1, le=MOST_SAMPLES), COUNTED] | None = Field(
        None, description="Answers per prompt and model."
    )
    budget: Annotated[Number, Field(ge=0, le=MOST_BUDGET)] | None = Field(
        None, description="Most that the whole job may spend on models, in the currency of their prices."
    )
    prompts: Annotated[int, Field(ge=1, le=MOST_PROMPTS), COUNTED] | None = Field(
        None, description="Prompts formed per site."
    )
    review: Flag | None = Field(None, description="No model is asked before somebody approved the prompts.")

    def options(self) -> dict[str, Any]:
        return self.model_dump(exclude={"name", *Places.model_fields}, exclude_none=True)


class Places(Wire):
    """Where the addresses come from: at least one of these."""

    url: Address | None = None
    urls: Annotated[list[Address], Field(max_length=MOST_SITES)] | None = None
    text: Annotated[str, StringConstraints(max_length=MOST_TEXT, pattern=STORABLE)] | None = Field(
        None, description="Pasted: one address per line, or with commas between."
    )
    sitemap: Address | None = Field(None, description="The address of a sitemap: every page in it is a site.")


class NewAnalysis(Places, Chosen):
    """`url`, `urls`, `text` or `sitemap`, and what was chosen."""


class Refused(Wire):
    text: str
    why: str


class AddedBody(Wire):
    """`sites`: how many are analysed, each once; `refused`: the first hundred that are no site, with the reason."""

    job_id: int
    created: bool
    sites: int
    duplicates: int
    refused: list[Refused]
    refused_count: int


class PromptsBody(Wire):
    """All prompts of the site, in the order in which they are asked."""

    prompts: Annotated[
        list[Annotated[str, StringConstraints(max_length=500, pattern=STORABLE)]],
        Field(min_length=1, max_length=MOST_PROMPTS),
    ]


class EditedBody(Wire):
    """`counts`: when they are asked. `now`: in this run; `rerun`: when it is run again from `model-analysis`."""

    site_id: int
    prompts: list[PromptBody]
    counts: Literal["now", "rerun"]


class ApproveBody(Wire):
    site_ids: SiteIds | None = Field(None, description="Left out: all whose prompts wait for approval.")
    dry_run: Flag = Field(False, description="Approve nothing; say how many, and what it may cost.")


class ApprovedBody(Wire):
    """`calls`: how many questions models are asked about them at most, fewer where an earlier run has the answer;
    `mostCost`: the most that those may cost, before the budget stops them."""

    approved: int
    calls: int
    most_cost: float


class RerunBody(Wire):
    """`siteIds` left out: all that ended in one of `statuses`. A site that never came to `fromStage` starts where it
    ended."""

    from_stage: StageName
    site_ids: SiteIds | None = None
    statuses: Annotated[list[Ended], Field(min_length=1, max_length=5)] | None = Field(
        None, description="Endings that start again; left out: DONE and ERROR."
    )
    replay: Flag = Field(False, description="Read the pages kept from the last run instead of the network.")
    fresh: Flag = Field(False, description="Ask the models also what they answered in an earlier run.")
    budget: Annotated[Number, Field(ge=0, le=MOST_BUDGET)] | None = Field(
        None, description="Most that the whole analysis may have spent from now on; left out: as it was."
    )


class RerunStarted(Wire):
    started: int


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


@_changing.post(
    "",
    operation_id="addAnalysis",
    status_code=202,
    responses=documented(409, 411, 413, 415, 429),
    openapi_extra=_REQUEST,
)
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


@_changing.put("/{jobId}/sites/{siteId}/prompts", operation_id="editPrompts")
async def edit_prompts(
    request: Request, actor: Operator, job_id: AnalysisId, site_id: SiteIdPath, body: PromptsBody
) -> EditedBody:
    """Takes the place of all prompts of the site. An approval that was given for others ends."""
    ground = ground_of(request)
    await owner_of_job(ground, actor, job_id)
    prompts = await deciding.edit_prompts(ground.app, job_id, site_id, body.prompts, by=actor.by)
    return await _edited(ground, site_id, prompts)


@_changing.delete("/{jobId}/sites/{siteId}/prompts", operation_id="resetPrompts")
async def reset_prompts(request: Request, actor: Operator, job_id: AnalysisId, site_id: SiteIdPath) -> EditedBody:
    """Those that were formed from the site again. An approval that was given for edited ones ends."""
    ground = ground_of(request)
    await owner_of_job(ground, actor, job_id)
    prompts = await deciding.edit_prompts(ground.app, job_id, site_id, None, by=actor.by)
    return await _edited(ground, site_id, prompts)


async def _edited(ground: Ground, site_id: int, prompts: list[Prompt]) -> EditedBody:
    async with ground.app.connection() as connection:
        site = await views.site(connection, site_id)
    return EditedBody(
        site_id=site_id,
        prompts=[PromptBody.model_validate(one, from_attributes=True) for one in prompts],
        counts="rerun" if site.state in FINISHED else "now",
    )


@_changing.post("/{jobId}/approve", operation_id="approvePrompts")
async def approve(
    request: Request, actor: Operator, job_id: AnalysisId, body: ApproveBody | None = None
) -> ApprovedBody:
    """Models may be asked: about these sites, or all whose prompts wait for it. They go on at once. `dryRun` only says
    how many they are, and what asking about them may cost."""
    ground = ground_of(request)
    await owner_of_job(ground, actor, job_id)
    chosen = None if body is None else body.site_ids
    asking = await deciding.asking(ground.app, job_id, chosen)
    approved = asking.sites
    if body is None or not body.dry_run:
        approved = await deciding.approve(ground.app, job_id, chosen, by=actor.by)
    return ApprovedBody(approved=approved, calls=asking.calls, most_cost=asking.most_cost)


@_changing.post("/{jobId}/rerun", operation_id="rerunAnalysis")
async def rerun(request: Request, actor: Operator, job_id: AnalysisId, body: RerunBody) -> RerunStarted:
    """Run sites that ended again from a stage. Results before it stay; prompts are formed again only where the site or
    the code has changed, and models are asked only what they have not answered yet."""
    ground = ground_of(request)
    await owner_of_job(ground, actor, job_id)
    started = await deciding.rerun(
        ground.app,
        job_id,
        from_stage=body.from_stage,
        site_ids=body.site_ids,
        statuses=[State[name] for name in body.statuses or ("DONE", "ERROR")],
        options=body.model_dump(include={"replay", "fresh", "budget"}),
        by=actor.by,
    )
    return RerunStarted(started=started)


router = APIRouter()
router.include_router(_changing)
router.include_router(api_reading.router)
