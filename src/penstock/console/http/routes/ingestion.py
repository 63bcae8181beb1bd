"""`/api/ingestion`: places that files come from, and scanning them now."""

from datetime import datetime
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Path, Query
from pydantic import Field

from penstock.console.files.sources import registry
from penstock.console.files.sources.registry import NewSource, Source
from penstock.console.files.sources.scan import preview, scan, scan_all
from penstock.console.http.actor import Actor, Admin, Operator, Viewer
from penstock.console.http.ground import Ground, Here
from penstock.console.http.parameters import COUNTED, LONGEST_NAME, STORABLE, After, Flag, Name, Number, PageSize, Text
from penstock.console.http.problems import documented, not_found
from penstock.console.http.wire import MOST_ID, Wire
from penstock.errors import NotKnown

router = APIRouter(prefix="/api/ingestion", tags=["ingestion"], responses=documented())

# A request waits no longer for files to be taken; what is left is left for the next scan.
_SCAN_SECONDS = 20.0
SourceName = Annotated[str, Path(alias="name", min_length=1, max_length=LONGEST_NAME, pattern=STORABLE)]
Kind = Literal["folder", "s3", "ftp"]
State = Literal["seen", "submitting", "submitted", "duplicate", "refused", "gone"]


class PlaceParts(Wire):
    """folder: `path`. s3: `bucket`, `prefix`, `endpoint`, `region`. ftp: `host`, `port`, `path`, `tls`."""

    path: Text | None = None
    bucket: Name | None = None
    prefix: Text | None = None
    endpoint: Text | None = None
    region: Name | None = None
    host: Name | None = None
    port: Annotated[int, Field(ge=1, le=65535), COUNTED] | None = None
    tls: Literal["none", "explicit", "implicit"] | None = None


class SourceBody(Wire):
    """`userEnv` and `secretEnv` name environment variables of the service and the workers that hold the login."""

    name: Name
    kind: Kind
    place: PlaceParts
    pipeline: Name
    owner: Name | None = Field(None, description="Of the jobs. Default: whoever adds the source.")
    pattern: Text = "*"
    options: dict[str, Any] = Field(default_factory=dict)
    after: Literal["keep", "move", "delete"] = "keep"
    target: Text | None = Field(None, description="Of a move: a folder inside the place.")
    stable_seconds: Annotated[Number, Field(ge=0, le=86_400)] = 5.0
    user_env: Name | None = None
    secret_env: Name | None = None
    enabled: Flag = True


class SourceItem(Wire):
    name: str
    kind: Kind
    place: PlaceParts
    pipeline: str
    owner: str
    pattern: str
    options: dict[str, Any]
    after: str
    target: str | None
    stable_seconds: float
    user_env: str | None
    secret_env: str | None
    enabled: bool
    created_by: str
    created_at: datetime
    scanned_at: datetime | None = Field(description="The last listing that came to its end.")
    problem: str | None = Field(description="Of the last scan.")


class SourcePage(Wire):
    items: list[SourceItem]
    next_cursor: str | None


class FileItem(Wire):
    path: str
    state: State
    size_bytes: int
    job_id: int | None
    problem: str | None
    tries: int
    first_seen_at: datetime
    settled_at: datetime | None


class FilePage(Wire):
    items: list[FileItem]
    next_cursor: str | None


class FileEnding(Wire):
    path: str
    state: str
    job_id: int | None
    problem: str | None


class ScanReport(Wire):
    """`waiting`: not the same for long enough yet. `failed`: tried again by the next scan. `more`: time was over."""

    source: str
    seen: int
    new: int
    waiting: int
    submitted: int
    duplicate: int
    refused: int
    gone: int
    failed: int
    cleared: int
    more: bool
    dry_run: bool
    problem: str | None
    files: list[FileEnding] = Field(description="The first of those that something happened to.")


class ScanBody(Wire):
    source: Name | None = Field(None, description="Default: all enabled ones, of an admin everybody's.")
    dry_run: Flag = False


class Scanned(Wire):
    sources: list[ScanReport]


@router.get("/sources", operation_id="listSources")
async def list_sources(ground: Here, actor: Viewer, page_size: PageSize = 50, after: After = None) -> SourcePage:
    """One's own, by name; an admin sees everybody's."""
    owner = None if actor.is_admin else actor.name
    sources = ground.listing(actor.name, "sources", owner)
    found = await registry.page(ground.app, owner=owner, after=sources.behind(after, first=""), limit=page_size + 1)
    shown, following = sources.page(found, page_size, lambda source: source.name)
    if actor.is_admin:
        await ground.note_look(actor.entry("source.list", kind="source"))
    return SourcePage(items=[SourceItem.from_record(one) for one in shown], next_cursor=following)


@router.post("/sources", operation_id="addSource", status_code=201)
async def add_source(ground: Here, actor: Admin, body: SourceBody) -> SourceItem:
    """Admins only, because a source reads what the server can read. Nothing is scanned yet; test it first."""
    values = body.model_dump(exclude={"place", "owner"})
    place = body.place.model_dump(exclude_none=True)
    new = NewSource(**values, place=place, owner=body.owner or actor.name, created_by=actor.name)
    return SourceItem.from_record(await registry.add(ground.app, new, by=actor.by))


@router.delete("/sources/{name}", operation_id="removeSource", status_code=204)
async def remove_source(ground: Here, actor: Admin, name: SourceName) -> None:
    """Forgets what was seen there; jobs and files stay."""
    await registry.remove(ground.app, name, by=actor.by)


@router.post("/sources/{name}/test", operation_id="testSource")
async def test_source(ground: Here, actor: Operator, name: SourceName) -> ScanReport:
    """What a scan would see now. Reads no file and writes nothing."""
    found = await _own(ground, actor, name)
    report = await preview(ground.app, found, limit_seconds=_SCAN_SECONDS)
    await ground.note(actor.entry("source.test", kind="source", object=name, owner=found.owner))
    return ScanReport.from_record(report)


@router.get("/sources/{name}/files", operation_id="listSourceFiles")
async def list_source_files(
    ground: Here,
    actor: Viewer,
    name: SourceName,
    state: Annotated[State | None, Query()] = None,
    page_size: PageSize = 50,
    after: After = None,
) -> FilePage:
    """What was seen there and what became of it, newest first."""
    found = await _own(ground, actor, name, look=True)
    seen = ground.listing(actor.name, "source files", found.id, state)
    files = await registry.files(
        ground.app, found, state=state, before_id=seen.behind(after, first=MOST_ID), limit=page_size + 1
    )
    shown, following = seen.page(files, page_size, lambda file: file.id)
    return FilePage(items=[FileItem.from_record(one) for one in shown], next_cursor=following)


@router.post("/scan", operation_id="scanSources")
async def scan_sources(ground: Here, actor: Operator, body: ScanBody) -> Scanned:
    """Scan now, and say what was seen, submitted and skipped. What needs longer is left to the next scan."""
    if body.source is None:
        owner = None if actor.is_admin else actor.name
        reports = await scan_all(ground.app, owner=owner, dry_run=body.dry_run, limit_seconds=_SCAN_SECONDS)
        owner = owner or "everybody"
    else:
        found = await _own(ground, actor, body.source)
        run = preview if body.dry_run else scan
        reports = [await run(ground.app, found, limit_seconds=_SCAN_SECONDS)]
        owner = found.owner
    submitted = sum(one.submitted for one in reports)
    entry = actor.entry(
        "source.scan", kind="source", object=body.source, owner=owner, dry_run=body.dry_run, submitted=submitted
    )
    await ground.note(entry)
    return Scanned(sources=[ScanReport.from_record(one) for one in reports])


async def _own(ground: Ground, actor: Actor, name: str, *, look: bool = False) -> Source:
    """The same answer for what is not there and what is somebody else's."""
    try:
        found = await registry.find(ground.app, name)
    except NotKnown:
        raise not_found(f"source {name[:100]!r}") from None
    if found.owner != actor.name and not actor.is_admin:
        raise not_found(f"source {name[:100]!r}")
    if look and found.owner != actor.name:
        await ground.note_look(actor.entry("source.show", kind="source", object=name, owner=found.owner))
    return found
