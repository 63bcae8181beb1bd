"""`penstock catalogue export`, as a user calls it."""

from pathlib import Path
from typing import Any

import orjson
import pytest
from python_calamine import CalamineWorkbook

from penstock.config import Settings
from penstock.core.enqueue import EnqueueOptions
from tests.cli.conftest import Call
from tests.console import service_app


@pytest.fixture
async def job(database_url: str) -> int:
    async with service_app.make(Settings(database_url=database_url)) as app:
        rows: list[dict[str, Any]] = [{"row": 1, "cells": ["=1", "ä"]}, {"row": 2, "cells": ["b", "c"]}]
        metadata = {"type": "csv", "columns": ["Name", "Brand"]}
        made = await app.store_many(app.pipelines["look_up"], rows, EnqueueOptions(), name=None, metadata=metadata)
        return made.id


async def test_a_csv_goes_to_the_standard_output_and_nothing_else_does(call: Call, database_url: str, job: int) -> None:
    ended = call("catalogue", "export", str(job), "--form", "safe", database_url=database_url)
    assert (ended.returncode, ended.stderr.splitlines()[-1]) == (0, "2/2 100 %")
    assert ended.stdout == '"Name","Brand","Status","Error"\n\'=1,ä,PENDING,\nb,c,PENDING,\n'


async def test_a_workbook_appears_under_its_name_when_it_is_whole(
    call: Call, database_url: str, job: int, tmp_path: Path
) -> None:
    file = tmp_path / "out.xlsx"
    ended = call(
        "catalogue",
        "export",
        str(job),
        "--format",
        "xlsx",
        "--file",
        str(file),
        "-o",
        "json",
        database_url=database_url,
    )
    assert orjson.loads(ended.stdout) == {"job_id": job, "rows": 2, "file": str(file), "manifest": 0}
    rows = CalamineWorkbook.from_path(file).get_sheet_by_name("Rows").to_python()
    assert rows[1] == ["=1", "ä", "PENDING", ""]
    assert [one.name for one in tmp_path.iterdir()] == ["out.xlsx"]


async def test_a_job_that_is_not_there_is_told_and_leaves_no_file(
    call: Call, database_url: str, tmp_path: Path
) -> None:
    ended = call("catalogue", "export", "999", "--file", str(tmp_path / "out.csv"), database_url=database_url)
    assert ended.returncode != 0
    assert "There is no job 999" in ended.stderr
    assert not list(tmp_path.iterdir())
