"""`penstock link import`, `export`, `delete`, `sample-file` and `sample-source`: projects and the files they are of."""

import asyncio
from collections.abc import Mapping, Sequence
from importlib.resources import files
from pathlib import Path
from typing import Annotated, Any

import typer

from penstock.console.files.export.csv_file import Form
from penstock.control.acting import By
from penstock.errors import InvalidSetting, UsageError
from penstock.extensions.linking import exporting, progress, saving
from penstock.extensions.linking.commands.ground import ProjectArgument, noted, opened, project_of
from penstock.extensions.linking.dataset import read_path, suggested_roles
from penstock.extensions.linking.exporting import FileFormat
from penstock.extensions.linking.project import Project, Role
from penstock.terminal.command import command
from penstock.terminal.files import whole_file
from penstock.terminal.owners import require_owner
from penstock.terminal.pages import YesOption, confirmed
from penstock.terminal.readable import clean
from penstock.terminal.session import Session
from penstock.terminal.waiting import until_stopped

FileArgument = Annotated[
    Path, typer.Argument(metavar="FILE", help="CSV or XLSX with a header, or a .json file with an array of objects.")
]
NameOption = Annotated[str | None, typer.Option("--name", help="What lists call it; otherwise the name of the file.")]
RoleOption = Annotated[
    list[str] | None,
    typer.Option(
        "--role",
        metavar="COLUMN=ROLE",
        help="What a column is: name, alias, type, language, a property such as P569, or none. May be repeated; other "
        "columns are read as their names suggest.",
    ),
]
SourceOption = Annotated[
    str, typer.Option("--source", help="wikidata, reconciliation, or sample: the made-up one of the demo.")
]
LanguageOption = Annotated[
    list[str] | None, typer.Option("--language", metavar="CODE", help="Searched in this order; may be repeated.")
]
TypeOption = Annotated[
    list[str] | None, typer.Option("--type", metavar="ID", help="What the records are, such as Q5; may be repeated.")
]
SafeOption = Annotated[bool, typer.Option("--safe", help="Undo the apostrophes of a safe export.")]
OwnerOption = Annotated[str, typer.Option("--owner", help="The user whose project it will be.")]
FormatOption = Annotated[
    FileFormat | None, typer.Option("--format", "-f", help="Without it, what the name of the file says.")
]
FileOption = Annotated[
    str, typer.Option("--file", "-O", metavar="FILE", help="Where to; - is the standard output.", show_default=False)
]
FormOption = Annotated[
    Form, typer.Option("--form", help="CSV: safe puts an apostrophe before cells that would run as formulas.")
]
ForceOption = Annotated[bool, typer.Option("--force", help="Write over a file that is there.")]
BomOption = Annotated[bool, typer.Option("--bom", help="CSV: begin with a byte order mark.")]
SampleArgument = Annotated[Path, typer.Argument(metavar="[FILE]", help="Where to; what is there is not overwritten.")]
PortOption = Annotated[int, typer.Option("--port", min=0, max=65535, help="0: a free one.")]


def register_import(app: typer.Typer) -> None:
    @command(app, "import")
    async def import_dataset(
        session: Session,
        file: FileArgument,
        name: NameOption = None,
        role: RoleOption = None,
        source: SourceOption = "wikidata",
        language: LanguageOption = None,
        type: TypeOption = None,
        safe: SafeOption = False,
        owner: OwnerOption = "admin",
    ) -> None:
        """Store a dataset as a project. Nothing is asked yet: `penstock link match` does that."""
        options = {"languages": language, "types": type}
        async with opened(session) as linking:
            await require_owner(linking.app, owner)
            try:
                dataset = await asyncio.to_thread(read_path, file, file.name, safe=safe)
            except OSError as error:
                raise UsageError(f"{file} cannot be read: {error.strerror}.") from None
            project = await saving.create(
                linking,
                dataset,
                name=name or file.stem,
                owner=owner,
                source=source,
                roles=with_roles(suggested_roles(dataset.columns), role or []),
                options={key: value for key, value in options.items() if value},
            )
            await noted(linking, "create", project, owner=owner)
            records = (await progress.read(linking, project.id)).total
        session.out.show(_data(project, records), _sentence(project, records))


def register(app: typer.Typer) -> None:
    @command(app)
    async def export(
        session: Session,
        project: ProjectArgument,
        file: FileOption = "-",
        format: FormatOption = None,
        form: FormOption = Form.exact,
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
            making = exporting.export(linking, found, chosen, safe=form is Form.safe, mark=bom, told=line.update)
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
            await saving.delete(linking, project, by=By.command_line().actor)
            await noted(linking, "delete", found, name=found.name)
        session.out.show({"project_id": project, "deleted": True}, f"Project {project} is deleted.")

    @command(app, "sample-file")
    async def sample_file(session: Session, file: SampleArgument = Path("people.csv")) -> None:
        """Write a small CSV of made-up people: typos, namesakes, an empty name, somebody nobody knows."""
        data = files("penstock.extensions.linking").joinpath("sample_people", "people.csv").read_bytes()
        try:
            if file.exists() and file.read_bytes() not in (b"", data):
                raise UsageError(f"{file} is there and holds something else. Nothing was written; name another file.")
            file.write_bytes(data)
        except OSError as error:
            raise UsageError(f"{file} cannot be written: {error.strerror}. Name another file.") from None
        rows = len(data.splitlines()) - 1
        told = f"{rows} records are in {file}. `penstock link import {file} --type Q5` makes a project of them."
        session.out.show({"file": str(file), "records": rows}, told)

    @command(app, "sample-source")
    async def sample_source(session: Session, port: PortOption = 0) -> None:
        """Serve a small made-up Wikidata on loopback until Ctrl-C; prints what to set so that it is asked."""
        from penstock.extensions.linking.sample_source import PATH, SampleSource

        try:
            server = await asyncio.start_server(SampleSource().answer, "127.0.0.1", port)
        except OSError as error:
            raise UsageError(f"Port {port} cannot be had: {error.strerror}. Choose another with --port.") from None
        url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}{PATH}"
        settings = {"PENSTOCK_LINKING_ENDPOINT": url, "PENSTOCK_LINKING_USER_AGENT": "trying-penstock/1.0"}
        lines = "\n".join(f"  export {name}={value}" for name, value in settings.items())
        session.out.show(
            {"url": url, "settings": settings},
            f"{url}\n\nIn every other terminal, before `penstock up` and `penstock link match`:\n{lines}",
        )
        async with server:
            await until_stopped()


def with_roles(suggested: Mapping[str, Role], given: Sequence[str]) -> dict[str, Any]:
    """The suggestions, and over them what was said. A second name or language takes the place of the first."""
    roles: dict[str, Any] = {column: role.stored() for column, role in suggested.items()}
    for text in given:
        column, sign, wish = text.rpartition("=")
        if not sign or not column or not wish:
            raise UsageError(f"--role {text!r} is no COLUMN=ROLE. Write it as Born=P569, or 'Full name=name'.")
        if wish in ("name", "language"):
            roles = {one: role for one, role in roles.items() if role["role"] != wish}
        if wish == "none":
            roles.pop(column, None)
        elif wish in ("name", "alias", "type", "language"):
            roles[column] = {"role": wish}
        else:
            roles[column] = {"role": "property", "property": wish}
    return roles


def _data(project: Project, records: int) -> dict[str, Any]:
    return {
        "project_id": project.id,
        "name": project.name,
        "owner": project.owner,
        "source": project.source,
        "records": records,
        "roles": {column: role.stored() for column, role in project.roles.items()},
        "without_role": [column for column in project.columns if column not in project.roles],
    }


def _sentence(project: Project, records: int) -> str:
    roles = [(column, project.roles[column]) for column in project.columns if column in project.roles]
    read = ", ".join(f"{clean(column)} = {role.property or role.role}" for column, role in roles)
    left = [clean(column) for column in project.columns if column not in project.roles]
    lines = [
        f"Project {project.id} has {records:,} {'record' if records == 1 else 'records'}.",
        f"Read as: {read}",
        *([f"Without a role, and so not compared: {', '.join(left)}"] if left else []),
        f"next: penstock link match {project.id} --wait",
    ]
    return "\n".join(lines)


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
