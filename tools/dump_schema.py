"""``make schema``: writes the migrated schema to ``schema.sql``, so that a review sees what a
migration changes. A test keeps the file equal to a fresh dump.

It is made with the ``pg_dump`` of the embedded server and without what differs from run to run (comments, session
settings, random tokens). To read, not to run: `penstock migrate --sql` prints what can be run.
"""

import asyncio
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import asyncpg

from penstock import embedded
from penstock.errors import DatabaseUnavailable
from penstock.storage.migrate import migrate

SCHEMA_FILE = Path(__file__).resolve().parents[1] / "src" / "penstock" / "storage" / "schema.sql"
_HEADER = """\
-- The schema after all migrations, as pg_dump shows it. Written by `make schema`; do not edit.
"""
_NOISE = re.compile(r"^(--.*|SET .*|SELECT pg_catalog\.set_config.*|\\(un)?restrict .*)\n", re.MULTILINE)


def dump(url: str) -> str:
    """The schema of this database, normalised."""
    program = embedded.binaries() / "bin" / "pg_dump"
    done = subprocess.run(
        [program, "--schema-only", "--schema=penstock", "--no-owner", "--no-privileges", f"--dbname={url}"],
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise DatabaseUnavailable(
            what=f"pg_dump ended with {done.returncode}: {done.stderr.strip()}",
            next_step="Is the server running, and not newer than the pg_dump of the embedded one?",
        )
    return normalised(done.stdout)


def normalised(text: str) -> str:
    """Without the lines that say nothing about the schema, and with one empty line between statements."""
    return _HEADER + "\n" + re.sub(r"\n{3,}", "\n\n", _NOISE.sub("", text)).strip() + "\n"


def fresh_dump() -> str:
    """Of an embedded server of its own, thrown away afterwards."""
    # Not the usual temporary folder: as root, the server's user may not be able to pass through that.
    folder = Path(tempfile.mkdtemp(prefix="penstock-schema-", dir="/tmp"))
    folder.chmod(0o711)
    server = embedded.acquire(folder / "home")
    try:
        asyncio.run(_migrated(server.url))
        return dump(server.url)
    finally:
        server.release()
        shutil.rmtree(folder, ignore_errors=True)


async def _migrated(url: str) -> None:
    connection = await asyncpg.connect(url)
    try:
        await migrate(connection)
    finally:
        await connection.close()


def main() -> None:
    SCHEMA_FILE.write_text(fresh_dump(), encoding="utf-8")
    sys.stderr.write(f"wrote {SCHEMA_FILE}\n")


if __name__ == "__main__":
    main()
