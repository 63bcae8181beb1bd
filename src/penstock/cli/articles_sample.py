"""`penstock articles sample-folder`: a few made-up articles, to try import and search."""

from importlib.resources import files
from pathlib import Path
from typing import Annotated

import typer

from penstock.cli.command import command
from penstock.cli.session import Session
from penstock.errors import UsageError

FolderArgument = Annotated[Path, typer.Argument(metavar="[FOLDER]", help="Made where it is not there.")]
_SAMPLES = "sample_handbook"


def register(app: typer.Typer) -> None:
    @command(app, "sample-folder")
    async def sample_folder(session: Session, folder: FolderArgument = Path("handbook")) -> None:
        """Write a dozen short Markdown files, the handbook of a made-up shop; what is there is not overwritten."""
        texts = {
            one.name: one.read_bytes()
            for one in files("penstock.cli").joinpath(_SAMPLES).iterdir()
            if one.name.endswith(".md")
        }
        _write(folder, texts)
        told = f"{len(texts)} articles are in {folder}. `penstock articles import {folder} --wait` stores them."
        session.out.show({"folder": str(folder), "files": sorted(texts)}, told)


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
