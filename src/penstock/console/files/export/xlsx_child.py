"""The process that writes an XLSX file: `python -m penstock.console.files.export.xlsx_child`.

What to do comes as one JSON line on stdin, because an argument would show the address of the database to everybody on
the machine. How far it is goes to stdout, a JSON line each; the last one holds ``rows`` and ``manifest``, or ``error``.
"""

import asyncio
import gc
import queue
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import orjson

from penstock.config import Settings, load
from penstock.console.files.export.edits import Edits
from penstock.console.files.export.layout import Layout
from penstock.console.files.export.xlsx_file import Workbook
from penstock.console.storage import exports
from penstock.errors import PenstockError
from penstock.storage import database

_PAGE_ROWS = 5_000
_PAGES_AHEAD = 3
_TOLD_EVERY_ROWS = 5_000
_TURN_SECONDS = 0.0002
Pages = queue.Queue[list[Any] | BaseException | None]


def main() -> int:
    # The thread that reads would wait five milliseconds for its turn after every part of an answer.
    sys.setswitchinterval(_TURN_SECONDS)
    # Rows hold no cycles; looking for some takes a tenth of the time.
    gc.disable()
    asked = orjson.loads(sys.stdin.buffer.readline())
    layout = Layout.decoded(asked["layout"])
    path = Path(asked["path"])
    try:
        with Workbook(layout, told=_tell) as book:
            book.write(path, _rows(asked["url"], layout))
            _say({"rows": book.rows, "manifest": book.manifest.cells, "done": True})
    except BrokenPipeError:
        path.unlink(missing_ok=True)  # nobody is there any more to remove it
        return 1
    except PenstockError as error:
        _say({"error": str(error), "kind": type(error).__name__, "away": database.passing(error)})
        return 1
    return 0


def _rows(url: str, layout: Layout) -> Iterator[Any]:
    """Stored rows in order; the next pages are read while these are written."""
    pages: Pages = queue.Queue(_PAGES_AHEAD)
    settings = load(database_url=url)
    threading.Thread(target=lambda: asyncio.run(_read(settings, url, layout, pages)), daemon=True).start()
    while (page := pages.get()) is not None:
        if isinstance(page, BaseException):
            raise page
        yield from page


async def _read(settings: Settings, url: str, layout: Layout, pages: Pages) -> None:
    """Short statements, and none open while the writer is behind."""
    after = 0
    edits = Edits(layout.edited)
    columns_only = all(column.kind != "whole" for column in layout.columns)
    try:
        connection = await database.connect(settings, url, purpose="export")
        with database.translated(url):
            while True:
                page = await exports.next_page(
                    connection, job_id=layout.job_id, after=after, last_id=layout.last_id, rows=_PAGE_ROWS
                )
                if page is None:
                    break
                for piece in edits.pieces(page):
                    pages.put(await exports.rows(connection, piece, columns_only=columns_only))
                after = page.last_id
        pages.put(None)
        await connection.close()
    except BaseException as error:
        pages.put(error)


def _tell(rows: int) -> None:
    if rows % _TOLD_EVERY_ROWS == 0:
        _say({"rows": rows})


def _say(data: dict[str, Any]) -> None:
    sys.stdout.buffer.write(orjson.dumps(data) + b"\n")
    sys.stdout.buffer.flush()


if __name__ == "__main__":
    sys.exit(main())
