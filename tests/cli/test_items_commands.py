"""`penstock catalogue import` and `penstock items`: a file in, and what became of one of its rows."""

from pathlib import Path

import asyncpg
import orjson

from tests.cli.conftest import Call


def test_a_file_is_imported_and_its_rows_are_found_by_number(call: Call, database_url: str, tmp_path: Path) -> None:
    file = tmp_path / "products.csv"
    file.write_text("EAN,Product name\n" + "".join(f",Lamp {n}\n" for n in range(1, 5001)))
    nobody = call("catalogue", "import", str(file), "--owner", "ann", database_url=database_url)
    assert nobody.returncode == 3
    assert "no user 'ann'" in nobody.stderr
    call("users", "create", "ann", database_url=database_url)
    done = call("catalogue", "import", str(file), "--owner", "ann", "-o", "json", database_url=database_url)
    assert done.returncode == 0, done.stderr
    job = orjson.loads(done.stdout)["job_id"]
    shown = call("items", "show", str(job), "--row", "4182", "-o", "json", database_url=database_url)
    assert orjson.loads(shown.stdout)["input"] == {"row": 4182, "cells": ["", "Lamp 4182"]}
    listed = call("items", "list", str(job), "--limit", "3", "-o", "json", database_url=database_url)
    assert listed.returncode == 0
    missing = call("items", "show", str(job), "--row", "5001", database_url=database_url)
    assert missing.returncode == 3
    assert "has no row 5,001" in missing.stderr
    wrong = call("items", "list", str(job), "--statuses", "lost", database_url=database_url)
    assert wrong.returncode == 2
    again = call("catalogue", "import", str(file), "--owner", "ann", database_url=database_url)
    assert f"already in job {job}" in again.stderr
    gone = call("jobs", "delete", str(job), database_url=database_url)
    assert gone.returncode == 0
    assert call("jobs", "show", str(job), database_url=database_url).returncode == 3


async def test_what_is_decided_on_the_command_line_is_in_the_audit_log(
    call: Call, database_url: str, connection: asyncpg.Connection
) -> None:
    assert call("limits", "set", "shop", "--rate", "5", database_url=database_url).returncode == 0
    row = await connection.fetchrow("select actor, action, kind, object from penstock.audit order by id desc limit 1")
    assert row["actor"].startswith("cli:")
    assert tuple(row)[1:] == ("limit.set", "limit", "shop")


def test_a_file_that_cannot_be_read_is_refused_in_one_sentence(call: Call, database_url: str, tmp_path: Path) -> None:
    file = tmp_path / "products.csv"
    file.write_bytes(b"%PDF-1.7 not a table")
    call("users", "create", "admin", "--role", "admin", database_url=database_url)
    done = call("catalogue", "import", str(file), database_url=database_url)
    assert done.returncode == 2
    assert "PDF" in done.stderr
    assert "Traceback" not in done.stderr
