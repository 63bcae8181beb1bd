"""`penstock catalogue watch` and `penstock catalogue sources`: files that come by folder, bucket or FTP."""

import asyncio
from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

import typer

from penstock.control.acting import By
from penstock.terminal.command import accept_global_options, command
from penstock.terminal.output import Column
from penstock.terminal.pages import YesOption, confirmed
from penstock.terminal.readable import short
from penstock.terminal.session import Session

if TYPE_CHECKING:
    from penstock.application import Penstock
    from penstock.console.files.sources.registry import Source
    from penstock.console.files.sources.scan import Report

Name = Annotated[str, typer.Argument(metavar="NAME")]
Kind = Annotated[str, typer.Argument(metavar="KIND", help="folder, s3 or ftp.")]
PlaceArgument = Annotated[
    str, typer.Argument(metavar="PLACE", help="/a/folder, s3://bucket/prefix, ftp://host:port/folder or ftps://….")
]
OwnerOption = Annotated[str, typer.Option("--owner", metavar="USER", help="Whose jobs the files become.")]
PipelineOption = Annotated[str, typer.Option("--pipeline", metavar="NAME", help="What the files' rows go through.")]
PatternOption = Annotated[
    str, typer.Option("--pattern", help="Which files: '*.csv', or '**/*.csv' with folders inside.")
]
AfterOption = Annotated[str, typer.Option("--after", help="keep, move or delete a file once its job is stored.")]
TargetOption = Annotated[str | None, typer.Option("--target", help="Of a move: a folder inside the place.")]
StableOption = Annotated[float, typer.Option("--stable-seconds", help="A file that is the same for so long is whole.")]
EndpointOption = Annotated[str | None, typer.Option("--endpoint", metavar="URL", help="Of an S3 that is not Amazon's.")]
RegionOption = Annotated[str | None, typer.Option("--region", help="Of the bucket.")]
UserEnvOption = Annotated[
    str | None, typer.Option("--user-env", metavar="VARIABLE", help="Holds the user or access key.")
]
SecretEnvOption = Annotated[
    str | None, typer.Option("--secret-env", metavar="VARIABLE", help="Holds the password or secret key.")
]
SourceOption = Annotated[str | None, typer.Option("--source", metavar="NAME", help="This one; default: all enabled.")]
EveryOption = Annotated[float, typer.Option("--every", min=0.1, max=86_400, help="Seconds between two scans.")]
OnceOption = Annotated[bool, typer.Option("--once", help="One scan, then end.")]
DryOption = Annotated[bool, typer.Option("--dry-run", help="Say what is there; take nothing.")]

EMPTY = "No sources yet. `penstock catalogue sources add NAME folder /a/folder --owner USER` makes one."


def register(app: typer.Typer) -> None:
    @command(app)
    async def watch(
        session: Session,
        source: SourceOption = None,
        every: EveryOption = 30.0,
        once: OnceOption = False,
        dry_run: DryOption = False,
    ) -> int:
        """Scan the sources again and again until it is stopped, and submit the files that are whole and new."""
        serving = await session.serving_app()
        while True:
            reports = await _scanned(serving, source, dry_run=dry_run)
            _show(session, reports)
            if once or dry_run:
                return 1 if any(report.problem for report in reports) else 0
            await asyncio.sleep(every)

    from penstock.terminal.groups import WholeSentences, new_app

    group = new_app(help="Places that files come from.", cls=WholeSentences)
    accept_global_options(group)
    _register_sources(group)
    app.add_typer(group, name="sources")


def _register_sources(group: typer.Typer) -> None:
    @command(group)
    async def add(
        session: Session,
        name: Name,
        kind: Kind,
        place: PlaceArgument,
        owner: OwnerOption,
        pipeline: PipelineOption = "catalogue",
        pattern: PatternOption = "*",
        after: AfterOption = "keep",
        target: TargetOption = None,
        stable_seconds: StableOption = 5.0,
        endpoint: EndpointOption = None,
        region: RegionOption = None,
        user_env: UserEnvOption = None,
        secret_env: SecretEnvOption = None,
    ) -> None:
        """Add a place. Nothing is scanned yet; `sources test` shows what a scan would see."""
        from penstock.console.files.sources import registry

        new = registry.NewSource(
            name=name,
            kind=kind,
            place=place_of(kind, place, endpoint=endpoint, region=region),
            owner=owner,
            pipeline=pipeline,
            pattern=pattern,
            after=after,
            target=target,
            stable_seconds=stable_seconds,
            user_env=user_env,
            secret_env=secret_env,
            created_by=By.command_line().actor,
        )
        added = await registry.add(await session.serving_app(), new, by=By.command_line())
        session.out.show(
            asdict(added), f"Source {name} is added. `penstock catalogue sources test {name}` looks at it."
        )

    @command(group, "list")
    async def listing(session: Session) -> None:
        """Every source and how its last scan went."""
        from penstock.console.files.sources import registry

        found = await registry.page(await session.app())
        session.out.table([_row(one) for one in found], COLUMNS, empty=EMPTY)

    @command(group)
    async def test(session: Session, name: Name) -> int:
        """Say what a scan would see; take nothing."""
        (report,) = await _scanned(await session.serving_app(), name, dry_run=True)
        _show(session, [report])
        return 1 if report.problem else 0

    @command(group)
    async def remove(session: Session, name: Name, yes: YesOption = False) -> None:
        """Forget a place and what was seen there. Jobs stay."""
        from penstock.console.files.sources import registry

        opened = await session.app()
        await registry.find(opened, name)
        confirmed(session, f"Remove source {name!r} and what was seen there?", yes=yes)
        await registry.remove(opened, name, by=By.command_line())
        session.out.show({"name": name, "removed": True}, f"Source {name} is removed.")


def place_of(kind: str, text: str, *, endpoint: str | None, region: str | None) -> dict[str, Any]:
    """The parts of a place, from how people write it. A login in the address is refused: it would be stored."""
    from urllib.parse import urlsplit

    from penstock.errors import UsageError

    if kind == "folder":
        return {"path": text}
    try:
        parts = urlsplit(text)
        host, port = parts.hostname, parts.port
    except ValueError:
        raise UsageError(f"The place {text!r} will not do. Write s3://bucket/prefix or ftp://host/folder.") from None
    if parts.username or parts.password:
        raise UsageError("Leave user and password out of the place; name their variables: --user-env, --secret-env.")
    place: dict[str, Any]
    further = {"endpoint": endpoint, "region": region}
    match kind, parts.scheme:
        case "s3", "s3":
            place = {"bucket": parts.netloc, "prefix": parts.path.strip("/") or None, **further}
        case "ftp", "ftp" | "ftps" | "ftpes":
            tls = {"ftp": "none", "ftps": "implicit", "ftpes": "explicit"}[parts.scheme]
            place = {"host": host, "port": port, "path": parts.path or None, "tls": tls}
        case _:
            raise UsageError(f"The place {text!r} is no {kind}. Write s3://bucket/prefix or ftp://host/folder.")
    return {key: value for key, value in place.items() if value is not None}


async def _scanned(app: "Penstock", name: str | None, *, dry_run: bool) -> "list[Report]":
    from penstock.console.files.sources import registry, scan

    if name is None:
        return await scan.scan_all(app, dry_run=dry_run)
    source = await registry.find(app, name)
    return [await (scan.preview if dry_run else scan.scan)(app, source)]


def _show(session: Session, reports: "Sequence[Report]") -> None:
    if session.out.json:
        session.out.emit([asdict(report) for report in reports])
        return
    if not reports:
        session.out.say(EMPTY)
    for report in reports:
        counts = {
            name: getattr(report, name)
            for name in ("seen", "new", "waiting", "submitted", "duplicate", "refused", "gone", "failed")
        }
        said = ", ".join(f"{count:,} {name}" for name, count in counts.items() if count or name == "seen")
        session.out.show(None, f"{report.source}: {said}")
        for one in report.files:
            job = "" if one.job_id is None else f"  job {one.job_id}"
            session.out.show(
                None, f"  {one.state:10}{short(one.path, 80)}{job}{'  ' + one.problem if one.problem else ''}"
            )
        if report.problem:
            session.out.warn(report.problem)


COLUMNS = (
    Column(key="name", title="source"),
    Column(key="kind", title="kind"),
    Column(key="where", title="place", show=lambda value: short(value, 60)),
    Column(key="pattern", title="files"),
    Column(key="owner", title="owner"),
    Column(key="pipeline", title="pipeline"),
    Column(key="after", title="after"),
    Column(key="scanned_at", title="scanned"),
    Column(key="problem", title="problem", show=lambda value: short(value or "–", 60)),
)


def _row(source: "Source") -> dict[str, Any]:
    place = source.place
    where = {
        "folder": place.get("path"),
        "s3": f"s3://{place.get('bucket')}/{place.get('prefix') or ''}",
        "ftp": f"ftp://{place.get('host')}{place.get('path') or ''}",
    }[source.kind]
    return asdict(source) | {"where": where}
