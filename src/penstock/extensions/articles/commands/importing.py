"""`penstock articles import`, and `sample-folder`: a few made-up articles to try it with"""

import asyncio
from dataclasses import asdict
from functools import partial
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from penstock.core.job_counts import JobCounts
from penstock.errors import UsageError
from penstock.extensions.articles.articles import Visibility
from penstock.extensions.articles.commands.context import OwnerOption, SkipOption, explained, opened, pending_of_job
from penstock.extensions.articles.commands.saving import SharedFlag
from penstock.terminal.command import command
from penstock.terminal.owners import require_owner
from penstock.terminal.progress import Progress, duration
from penstock.terminal.readable import clean
from penstock.terminal.session import Session

if TYPE_CHECKING:
    from penstock.extensions.articles.importing import Imported

PathArgument = Annotated[
    Path, typer.Argument(metavar="PATH", help="A folder of Markdown, or a .md, .csv or .zip file.")
]
WaitOption = Annotated[bool, typer.Option("--wait", help="Until all of them are embedded.")]
SourceOption = Annotated[
    str | None,
    typer.Option("--source", metavar="NAME", help="What they are known by when they come again; otherwise the path."),
]
FolderArgument = Annotated[Path, typer.Argument(metavar="[FOLDER]", help="Made where it is not there.")]
_SHOWN_REFUSED = 10


class ImportLine(Progress):
    """``12,481 articles 26 % 212/s ETA 2m48s · 3 refused``: the share is of the bytes or files, so nothing has to be
    counted before the first article is stored."""

    share: float = 0.0

    def line(self, done: int, failed: int = 0) -> str:
        parts = [f"{done:,} {'article' if done == 1 else 'articles'} {int(100 * self.share)} %"]
        if (rate := self._rate()) is not None:
            parts.append(f"{rate:,.0f}/s" if rate >= 10 else f"{rate:.1f}/s")
            if rate and 0 < self.share < 1:
                parts.append(f"ETA {duration((done / self.share - done) / rate)}")
        return " ".join(parts) + (f" · {failed:,} refused" if failed else "")


def register(app: typer.Typer) -> None:
    @command(app, "import")
    async def import_articles(
        session: Session,
        path: PathArgument,
        owner: OwnerOption = "admin",
        shared: SharedFlag = False,
        skip_embedding: SkipOption = False,
        source: SourceOption = None,
        wait: WaitOption = False,
    ) -> int:
        """Store every article of a folder or file. Importing it again updates what has changed."""
        done = await _import(session, path, owner, shared=shared, skip_embedding=skip_embedding, source=source)
        for one in done.refused[:_SHOWN_REFUSED]:
            session.out.warn(f"{clean(one.where)}: {clean(one.why)}")
        if (more := done.refused_count - _SHOWN_REFUSED) > 0:
            session.out.warn(f"{more:,} more were refused.")
        counts = None
        if wait and done.job_id is not None:
            session.out.say(_sentence(done, None))
            counts = await _until_embedded(session, done.job_id)
        session.out.show(_data(done, counts), _sentence(done, counts))
        return 1 if done.refused_count or (counts is not None and counts.done + counts.skipped < counts.total) else 0

    @command(app, "sample-folder")
    async def sample_folder(session: Session, folder: FolderArgument = Path("handbook")) -> None:
        """Write a dozen short Markdown files, the handbook of a made-up shop; what is there is not overwritten."""
        texts = {
            one.name: one.read_bytes()
            for one in files("penstock.extensions.articles").joinpath("sample_handbook").iterdir()
            if one.name.endswith(".md")
        }
        _write(folder, texts)
        told = f"{len(texts)} articles are in {folder}. `penstock articles import {folder} --wait` stores them."
        session.out.show({"folder": str(folder), "files": sorted(texts)}, told)


async def _import(
    session: Session, path: Path, owner: str, *, shared: bool, skip_embedding: bool, source: str | None
) -> "Imported":
    """Ctrl-C leaves what is stored, and says how to go on."""
    from penstock.extensions.articles.importing import import_path

    line = ImportLine(session.out.stderr, None, quiet=session.out.quiet)
    stored = 0

    def tell(so_far: "Imported") -> None:
        nonlocal stored
        stored, line.share = so_far.stored, so_far.share
        line.update(stored, failed=so_far.refused_count)

    async with opened(session) as search:
        await require_owner(search.app, owner)
        try:
            done = await import_path(
                search,
                path,
                owner=owner,
                visibility=Visibility.SHARED if shared else Visibility.PRIVATE,
                skip_embedding=skip_embedding,
                source=source,
                told=tell,
            )
        except asyncio.CancelledError:
            line.detach()
            session.out.say(f"Stopped; {stored:,} articles are stored. The same command again goes on with the others.")
            raise
    line.end(done.stored, failed=done.refused_count)
    return done


async def _until_embedded(session: Session, job_id: int) -> JobCounts:
    progress = session.out.progress(None)

    def tell(counts: JobCounts) -> None:
        progress.update(counts.finished, failed=counts.error, total=counts.total)

    app = await session.app()
    pending = partial(pending_of_job, app, job_id)
    stopped = f"Not waiting any more; job {job_id} goes on. `penstock jobs wait {job_id}` waits again."
    async with explained(session, app, pending, stopped=stopped, before=progress.detach):
        counts = await app.job_by_id(job_id).wait(None, tell)
    progress.end(counts.finished, failed=counts.error)
    return counts


def _data(done: "Imported", counts: JobCounts | None) -> dict[str, object]:
    data = asdict(done) | {"embeddings": None if counts is None else asdict(counts)}
    return {name: value for name, value in data.items() if name not in ("share", "note")}


def _sentence(done: "Imported", counts: JobCounts | None) -> str:
    new = "1 article is new" if done.created == 1 else f"{done.created:,} articles are new"
    again = " (they came from the same source before)" if done.updated else ""
    text = f"{new}, {done.updated:,} updated{again}, {done.unchanged:,} unchanged"
    text += f", {done.refused_count:,} refused." if done.refused_count else "."
    if done.not_embedded:
        text += f" {done.not_embedded:,} embeddings failed, the first: {done.note}"
    if done.job_id is None:
        return text
    if counts is not None:
        return f"{text} {counts.done:,} embedded, {counts.error:,} failed."
    return f"{text} Their embeddings are job {done.job_id}. `penstock jobs show {done.job_id}`"


def _write(folder: Path, texts: dict[str, bytes]) -> None:
    """All or none, as far as names go: a file that is there and says something else is somebody's own."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, text in texts.items():
            there = folder / name
            if there.exists() and there.read_bytes() != text:
                raise UsageError(f"{there} is there and is another text. Nothing was written; name another folder.")
        for name, text in texts.items():
            (folder / name).write_bytes(text)
    except OSError as error:
        raise UsageError(
            f"{error.filename or folder} cannot be written: {error.strerror}. Name another folder."
        ) from None
