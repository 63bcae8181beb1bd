"""Writes an XLSX file in a process of its own, so that the caller's event loop stays free and its memory flat."""

import asyncio
import sys
import tempfile
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import orjson

from penstock.application import Penstock
from penstock.console.files.export.layout import Layout
from penstock.errors import DatabaseUnavailable, PenstockError, UsageError

CHUNK_BYTES = 256 * 1024
_END_SECONDS = 5.0
Told = Callable[[int], None]


class ExportFailed(PenstockError):
    """The process ended without a file and without a reason of ours, for example because memory ran out."""

    def __init__(self, code: int | None, said: str) -> None:
        super().__init__(f"The XLSX file could not be written (exit code {code}): {said or 'no reason was given'}.")


@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    """``manifest``: how many cells the sheet `Manifest` names. ``file`` has no name any more: closing removes it."""

    rows: int
    manifest: int
    size_bytes: int
    file: BinaryIO


@asynccontextmanager
async def written(app: Penstock, layout: Layout, *, told: Told | None = None) -> AsyncIterator[Written]:
    """The whole file, gone when the block is left; leaving early ends the process that writes it."""
    with tempfile.TemporaryDirectory(prefix="penstock-export-") as folder:
        path = Path(folder) / "export.xlsx"
        asked = {"url": await app.database_url(), "layout": layout.encoded(), "path": str(path)}
        ended = await _run(asked, told)
        file = path.open("rb")
    with file:
        size_bytes = file.seek(0, 2)
        file.seek(0)
        yield Written(rows=ended["rows"], manifest=ended["manifest"], size_bytes=size_bytes, file=file)


async def _run(asked: dict[str, Any], told: Told | None) -> dict[str, Any]:
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "penstock.console.files.export.xlsx_file",
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    last: dict[str, Any]
    try:
        said, last = await asyncio.gather(_stderr(process), _talk(process, asked, told))
        code = await process.wait()
    finally:
        # Whoever is not waited for any more holds a connection and a core.
        if process.returncode is None:
            process.kill()
            await asyncio.wait_for(process.wait(), _END_SECONDS)
    if "error" in last:
        if last["away"]:
            raise DatabaseUnavailable(what=last["error"].rstrip("."), next_step="Export again when it is back.")
        raise UsageError(last["error"])
    if not last.get("done"):
        raise ExportFailed(code, said)
    return last


async def _talk(process: asyncio.subprocess.Process, asked: dict[str, Any], told: Told | None) -> dict[str, Any]:
    assert process.stdin is not None
    assert process.stdout is not None
    last: dict[str, Any] = {}
    process.stdin.write(orjson.dumps(asked) + b"\n")
    async for line in process.stdout:
        last = orjson.loads(line)
        if told is not None and "rows" in last:
            told(last["rows"])
    return last


async def _stderr(process: asyncio.subprocess.Process) -> str:
    assert process.stderr is not None
    kept = b""
    while part := await process.stderr.read(4096):
        kept = (kept + part)[-4096:]
    lines = kept.decode("utf-8", "replace").strip().splitlines()
    return lines[-1] if lines else ""
