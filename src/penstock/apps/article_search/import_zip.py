"""The Markdown files of a zip archive.

Its table of contents is judged first. No more bytes are unpacked of an entry than it declares, and where that was a lie
the checksum tells: so a declared size that is small enough is a bound.
"""

import zipfile
from pathlib import Path, PurePosixPath

from penstock.apps.article_search.drafts import Entries, Entry, Refusal, of_markdown
from penstock.apps.article_search.import_folder import SUFFIXES, is_hidden, is_markdown
from penstock.intake import zip_directory
from penstock.intake.refused import FileRefused

MOST_ENTRIES = 50_000
TOTAL_BYTES = 1024 * 1024 * 1024


def read(
    path: Path,
    *,
    source: str,
    most_bytes: int,
    most_entries: int = MOST_ENTRIES,
    total_bytes: int = TOTAL_BYTES,
) -> Entries:
    """``source``: before the path of each entry, because most archives have a ``README.md``.

    One that is damaged or too long is refused, the others are read; the whole is refused where it is no honest
    archive."""
    with zip_directory.opened(path) as archive:
        listed = archive.infolist()
        zip_directory.check(listed, most=most_entries)
        wanted = [entry for entry in listed if not entry.is_dir() and _is_wanted(entry.filename)]
        if not wanted:
            raise FileRefused("the archive holds no Markdown file.", f"Pack {' or '.join(SUFFIXES)} files.")
        zip_directory.check_sizes(wanted, total_bytes=total_bytes)
        seen: set[str] = set()
        for number, entry in enumerate(wanted, start=1):
            name = entry.filename
            if name in seen:
                found: bytes | Refusal = Refusal(where=name, why="The archive has another file of that name.")
            else:
                seen.add(name)
                found = _unpacked(archive, entry, most_bytes)
            if isinstance(found, bytes):
                draft = of_markdown(found, where=name, source=f"{source}/{name}", name=PurePosixPath(name).stem)
                yield Entry(found=draft, share=number / len(wanted))
            else:
                yield Entry(found=found, share=number / len(wanted))


def _unpacked(archive: zipfile.ZipFile, entry: zipfile.ZipInfo, most_bytes: int) -> bytes | Refusal:
    if entry.file_size > most_bytes:
        why = f"It has more than {most_bytes:,} bytes. Split it into several articles."
        return Refusal(where=entry.filename, why=why)
    try:
        with zip_directory.complaints_told(), archive.open(entry) as part:
            return part.read()
    except FileRefused as error:
        return Refusal(where=entry.filename, why=str(error))


def _is_wanted(name: str) -> bool:
    parts = name.split("/")
    return is_markdown(name) and "__MACOSX" not in parts and not any(map(is_hidden, parts))
