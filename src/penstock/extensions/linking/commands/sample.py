"""`penstock link sample-file` and `sample-source`: made-up people and a source that knows them, to try it offline."""

import asyncio
from importlib.resources import files
from pathlib import Path
from typing import Annotated

import typer

from penstock.errors import UsageError
from penstock.terminal.command import command
from penstock.terminal.session import Session
from penstock.terminal.waiting import until_stopped

FileArgument = Annotated[Path, typer.Argument(metavar="[FILE]", help="Where to; what is there is not overwritten.")]
PortOption = Annotated[int, typer.Option("--port", min=0, max=65535, help="0: a free one.")]


def register(app: typer.Typer) -> None:
    @command(app, "sample-file")
    async def sample_file(session: Session, file: FileArgument = Path("people.csv")) -> None:
        """Write a small CSV of made-up people: typos, namesakes, an empty name, somebody nobody knows."""
        data = files("penstock.extensions.linking").joinpath("sample_people", "people.csv").read_bytes()
        try:
            if file.exists() and file.read_bytes() != data:
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
