"""`penstock link export` and `penstock link delete`"""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from penstock.errors import InvalidSetting, UsageError
from penstock.extensions.linking import exporting, progress, removing
from penstock.extensions.linking.commands.ground import ProjectArgument, actor, noted, opened, project_of
from penstock.extensions.linking.exporting import FileFormat
from penstock.terminal.command import command
from penstock.terminal.files import whole_file
from penstock.terminal.pages import YesOption, confirmed
from penstock.terminal.readable import clean
from penstock.terminal.session import Session


class CsvForm(StrEnum):
    exact = "exact"
    safe = "safe"


FormatOption = Annotated[
    FileFormat | None, typer.Option("--format", "-f", help="Without it, what the name of the file says.")
]
FileOption = Annotated[
    str, typer.Option("--file", "-O", metavar="FILE", help="Where to; - is the standard output.", show_default=False)
]
FormOption = Annotated[
    CsvForm, typer.Option("--form", help="CSV: safe puts an apostrophe before cells that would run as formulas.")
]
ForceOption = Annotated[bool, typer.Option("--force", help="Write over a file that is there.")]
BomOption = Annotated[bool, typer.Option("--bom", help="CSV: begin with a byte order mark.")]


def register(app: typer.Typer) -> None:
    @command(app)
    async def export(
        session: Session,
        project: ProjectArgument,
        file: FileOption = "-",
        format: FormatOption = None,
        form: FormOption = CsvForm.exact,
        bom: BomOption = False,
        force: ForceOption = False,
    ) -> None:
        """The dataset with its matches as a file: the columns as they came in, then match, score, who and when."""
        chosen = _format_of(file, format)
        _check_free(file, force=force)
        async with opened(session) as linking:
            found = await project_of(linking, project)
            total = (await progress.read(linking, project)).total
            line = session.out.progress(total)
            making = exporting.export(linking, found, chosen, safe=form is CsvForm.safe, mark=bom, told=line.update)
            with whole_file(file) as target:
                async with making as made:
                    async for chunk in made.chunks:
                        target.write(chunk)
            line.end(total)
            await noted(linking, "export", found, format=chosen.value)
        if made.manifest:
            session.out.warn(f"{made.manifest:,} cells did not fit into their sheet; the sheet Manifest holds them.")
        if file != "-":
            data = {"project_id": project, "rows": total, "file": file, "manifest": made.manifest}
            session.out.show(data, f"{total:,} rows of project {project} are in {file}.")

    @command(app)
    async def delete(session: Session, project: ProjectArgument, yes: YesOption = False) -> None:
        """Delete a project with its records, decisions and tasks, also while it is being matched. The cache stays."""
        async with opened(session) as linking:
            found = await project_of(linking, project)
            confirmed(session, f"Delete project {project} {clean(found.name)!r} with all its records?", yes=yes)
            await removing.delete(linking, project, by=actor())
            await noted(linking, "delete", found, name=found.name)
        session.out.show({"project_id": project, "deleted": True}, f"Project {project} is deleted.")


def _check_free(file: str, *, force: bool) -> None:
    """The dataset itself is often the file that is named by mistake."""
    if file != "-" and Path(file).exists() and not force:
        raise UsageError(f"{file} is there already. Nothing was written; name another file, or add --force.")


def _format_of(file: str, given: FileFormat | None) -> FileFormat:
    """What was said, or what the name of the file says; not both where they differ."""
    suffix = "" if file == "-" else Path(file).suffix.lower().lstrip(".")
    named = FileFormat(suffix) if suffix in {one.value for one in FileFormat} else None
    if given is not None and named not in (None, given):
        raise InvalidSetting("--format", given.value, f"the name of {file} says {suffix}; leave one of them out")
    if given is not None or named is not None or suffix in ("", "txt"):
        return given or named or FileFormat.csv
    raise InvalidSetting("--file", file, "its name ends neither in .csv, .xlsx nor .json; say which with --format")
