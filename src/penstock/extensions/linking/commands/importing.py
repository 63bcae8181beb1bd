"""`penstock link import`"""

import asyncio
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from penstock.errors import UsageError
from penstock.extensions.linking import progress, saving
from penstock.extensions.linking.commands.ground import noted, opened
from penstock.extensions.linking.dataset import read_path, suggested_roles
from penstock.extensions.linking.project import Project, Role
from penstock.terminal.command import command
from penstock.terminal.owners import require_owner
from penstock.terminal.readable import clean
from penstock.terminal.session import Session

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


def register(app: typer.Typer) -> None:
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
