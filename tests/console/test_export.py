"""Exports: what was stored comes out as it is, in every format, for its owner alone."""

import asyncio
import csv
import io
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from python_calamine import CalamineWorkbook

from penstock.console.files import csv_rows
from penstock.console.files.export import csv_file, xlsx_process
from penstock.console.files.export.formulas import unguard
from penstock.console.files.export.layout import Layout, layout_of
from penstock.console.files.export.manifest import ESCAPED, POINTER
from penstock.console.files.export.xlsx_file import Workbook
from penstock.console.storage import exports
from penstock.core.enqueue import EnqueueOptions
from penstock.testing import drain
from tests.console.conftest import Service

TABLE = {"type": "csv", "columns": ["Name", "Brand"], "file_name": "prices.csv"}


async def fill(
    service: Service,
    rows: Sequence[Sequence[str]],
    *,
    metadata: Mapping[str, Any] = TABLE,
    results: Mapping[int, Any] = {},
    owner: str = "ann",
) -> int:
    """A job of these cells. ``results``: rows (from 1) that ended DONE; the others wait."""
    inputs = [{"row": number, "cells": list(cells)} for number, cells in enumerate(rows, start=1)]
    app = service.app
    options = EnqueueOptions(owner=owner)
    job = await app.store_many(app.pipelines["look_up"], inputs, options, name=None, metadata=metadata)
    for row, result in results.items():
        await service.fetch(
            """with gone as (
                   delete from penstock.queue using penstock.tasks t
                   where t.id = task_id and t.job_id = $1 and t.input -> 'row' = to_jsonb($2::integer)
                   returning task_id, lane, stage)
               insert into penstock.outcomes (task_id, job_id, lane, stage, status, attempts, run, result)
               select task_id, $1, lane, stage, 2, 1, 1, $3::text::jsonb from gone""",
            job.id,
            row,
            json.dumps(result),
        )
    return job.id


async def as_csv(service: Service, job: int, **options: Any) -> list[list[str]]:
    data = b"".join([part async for part in csv_file.stream(service.app, await layout_of(service.app, job), **options)])
    return list(csv.reader(io.StringIO(data.decode(), newline=""), strict=True))


async def as_sheets(service: Service, job: int, tmp_path: Path, **options: Any) -> dict[str, list[list[Any]]]:
    layout = await layout_of(service.app, job)
    async with xlsx_process.written(service.app, layout, **options) as made:
        (tmp_path / "a.xlsx").write_bytes(made.file.read())
    book = CalamineWorkbook.from_path(tmp_path / "a.xlsx")
    return {name: book.get_sheet_by_name(name).to_python() for name in book.sheet_names}


async def test_columns_come_as_they_were_sent_then_results_status_and_error(service: Service, tmp_path: Path) -> None:
    job = await fill(service, [["lamp", "Acme"], ["missing", "Acme"], ["bad", "A, B"]])
    await drain(service.app)
    await service.app.job_by_id(job).pause()
    expected = [
        ["Name", "Brand", "Found", "Status", "Error"],
        ["lamp", "Acme", "LAMP", "DONE", ""],
        ["missing", "Acme", "", "NOT_FOUND", "nobody sells it"],
        ["bad", "A, B", "", "ERROR", "it cannot be looked up"],
    ]
    assert await as_csv(service, job) == expected
    assert (await as_sheets(service, job, tmp_path))["Rows"] == expected


async def test_what_has_not_ended_is_there_with_its_state(service: Service, tmp_path: Path) -> None:
    job = await fill(service, [["a", "b"], ["c", "d"]])
    await service.fetch(
        """update penstock.queue set worker = 1, lease = 1
           where task_id = (select max(id) from penstock.tasks where job_id = $1)""",
        job,
    )
    expected = [["Name", "Brand", "Status", "Error"], ["a", "b", "PENDING", ""], ["c", "d", "PROCESSING", ""]]
    assert await as_csv(service, job) == expected
    await service.app.job_by_id(job).cancel()
    expected[1][2] = "CANCELLED"
    assert await as_csv(service, job) == expected
    assert (await as_sheets(service, job, tmp_path))["Rows"] == expected


async def test_declared_result_columns_keep_their_order_and_nothing_else_is_lost(
    service: Service, tmp_path: Path
) -> None:
    metadata = {**TABLE, "result_columns": ["Price", "Shop $1 'x' %s"]}
    results = {
        1: {"columns": {"Shop $1 'x' %s": "one", "Price": 1.5, "More": [1, {"a": "ä"}]}},
        2: {"columns": {"Price": None, "Shop $1 'x' %s": True}},
        3: "not in columns",
    }
    job = await fill(service, [["a", "b"]] * 3, metadata=metadata, results=results)
    found = await as_csv(service, job)
    assert found[0] == ["Name", "Brand", "Price", "Shop $1 'x' %s", "Other results", "Status", "Error"]
    assert [row[2:5] for row in found[1:]] == [
        ["1.5", "one", '{"More": [1, {"a": "ä"}]}'],
        ["", "true", ""],
        ["", "", '"not in columns"'],
    ]
    sheet = (await as_sheets(service, job, tmp_path))["Rows"]
    assert sheet[1][2] == 1.5
    assert [[str(cell) for cell in row] for row in sheet] == found


async def test_undeclared_result_columns_stand_in_the_order_they_are_first_seen(service: Service) -> None:
    results = {1: {"columns": {"Zebra": "1"}}, 2: {"columns": {"Ape": "2", "Zebra": "3"}}}
    job = await fill(service, [["a", "b"]] * 3, results=results)
    assert (await as_csv(service, job))[0] == ["Name", "Brand", "Zebra", "Ape", "Status", "Error"]


async def test_input_columns_called_like_ours_stay_and_ours_get_a_number(service: Service) -> None:
    metadata = {"type": "csv", "columns": ["Status", "Found"]}
    job = await fill(service, [["new", "x"]], metadata=metadata, results={1: {"columns": {"Found": "y"}}})
    assert await as_csv(service, job) == [
        ["Status", "Found", "Found (2)", "Status (2)", "Error"],
        ["new", "x", "y", "DONE", ""],
    ]


async def test_rows_of_other_widths_say_how_many_cells_they_had(service: Service, tmp_path: Path) -> None:
    job = await fill(service, [["a"], ["b", ""], ["c", "d", "e"]])
    expected = [
        ["Name", "Brand", "Column 3", "Status", "Error", "Cells"],
        ["a", "", "", "PENDING", "", "1"],
        ["b", "", "", "PENDING", "", "2"],
        ["c", "d", "e", "PENDING", "", "3"],
    ]
    assert await as_csv(service, job) == expected
    sheet = (await as_sheets(service, job, tmp_path))["Rows"]
    assert [row[:5] for row in sheet] == [row[:5] for row in expected]
    assert [row[5] for row in sheet[1:]] == [1, 2, 3]


async def test_plain_items_give_their_arguments_as_columns_and_the_result_as_json(
    service: Service, tmp_path: Path
) -> None:
    app = service.app
    rows = [{"left": 1, "right": 2}, {"left": 3, "right": 4}]
    job = await app.store_many(app.pipelines["add"], rows, EnqueueOptions(owner="ann"), name=None, metadata={})
    await drain(app)
    expected = [
        ["left", "right", "Result", "Status", "Error"],
        ["1", "2", "3", "DONE", ""],
        ["3", "4", "7", "DONE", ""],
    ]
    assert await as_csv(service, job.id) == expected
    sheet = (await as_sheets(service, job.id, tmp_path))["Rows"]
    assert [[_shown(cell) for cell in row] for row in sheet] == expected


def _shown(cell: object) -> str:
    return f"{cell:g}" if isinstance(cell, float) else str(cell)


async def test_images_are_named_in_a_column(service: Service) -> None:
    job = await fill(service, [], metadata={"type": "images", "columns": []})
    await service.fetch(
        """insert into penstock.tasks (entry, job_id, owner, input) values
           (1, $1, 'ann', '{"row": 1, "image": {"file_id": 7, "name": "a.jpg"}}')""",
        job,
    )
    assert await as_csv(service, job) == [["Image", "Status", "Error"], ["a.jpg", "PENDING", ""]]


CELL = st.one_of(
    st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=12),
    st.text("'\"=+-@,;\t\r\n ab\x01\x0b\ufffe_x0041", max_size=6),
    st.sampled_from(["", "=1+1", "'=1", "''", "\r", "\\.", "NULL", "_x000D_", "1e5", "007", " x "]),
)
ROWS = st.lists(st.lists(CELL, min_size=1, max_size=4), min_size=1, max_size=6)


async def _read_again(service: Service, layout: Layout, form: csv_file.Form) -> list[list[str]]:
    data = b"".join([part async for part in csv_file.stream(service.app, layout, form=form)])
    shape = csv_rows.shape_of_head(data, whole=True)
    undo = unguard if form is csv_file.Form.safe else str
    assert [undo(one) for one in shape.columns] == list(layout.headings)
    parts = iter([data, b""])
    return [[undo(cell) for cell in row] for row in csv_rows.read(lambda: next(parts), shape)]


async def _written_here(service: Service, layout: Layout, tmp_path: Path) -> dict[str, list[list[Any]]]:
    """Without a process of its own, which takes half a second to start."""
    async with service.app.connection() as connection:
        page = await exports.next_page(connection, job_id=layout.job_id, after=0, last_id=layout.last_id, rows=1000)
        assert page is not None
        rows = await exports.rows(connection, page, columns_only=True)
    with Workbook(layout) as made:
        made.write(tmp_path / "a.xlsx", rows)
    book = CalamineWorkbook.from_path(tmp_path / "a.xlsx")
    return {name: book.get_sheet_by_name(name).to_python() for name in book.sheet_names}


def _input(row: Sequence[Any], width: int, ragged: bool) -> list[Any]:
    return list(row[: int(row[-1])] if ragged else row[:width])


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(rows=ROWS, heading=st.sampled_from(["Brand", "=1", "Status", "'a'", "a;b;c"]))
async def test_import_export_import_gives_the_same_cells(
    service: Service, tmp_path: Path, rows: list[list[str]], heading: str
) -> None:
    job = await fill(service, rows, metadata={"type": "csv", "columns": ["Name", heading]})
    layout = await layout_of(service.app, job)
    ragged = layout.columns[-1].kind == "width"
    width = max(2, *map(len, rows))
    for form in csv_file.Form:
        found = await _read_again(service, layout, form)
        assert [_input(row, width, ragged) for row in found] == rows
    sheets = await _written_here(service, layout, tmp_path)
    lost = {(row[1], row[2]): json.loads(row[6]) for row in sheets["Manifest"][1:] if row[0] == "Rows"}
    escaped = [row for row in sheets["Manifest"][1:] if row[4] == ESCAPED]
    found = [
        [
            lost[(number, layout.headings[place])] if cell == POINTER else cell
            for place, cell in enumerate(_input(row, width, ragged))
        ]
        for number, row in enumerate(sheets["Rows"][1:], start=2)
    ]
    assert found == rows, escaped


async def test_the_file_is_streamed_as_an_attachment_and_audited(service: Service) -> None:
    job = await fill(service, [["=1", "ä"]])
    client = await service.client()
    answer = await client.post(f"/api/jobs/{job}/export?form=safe&bom=true")
    assert answer.status_code == 200
    assert answer.headers["content-type"] == "text/csv; charset=utf-8"
    assert answer.headers["content-disposition"].startswith(f'attachment; filename="prices {job}.csv"')
    assert answer.content == '\ufeff"Name","Brand","Status","Error"\n\'=1,ä,PENDING,\n'.encode()
    noted = await service.fetch(
        "select actor, object, owner, details::text from penstock.audit where action = 'job.export'"
    )
    assert [tuple(row)[:3] for row in noted] == [("ann", str(job), "ann")]
    assert json.loads(noted[0]["details"]) == {"format": "csv", "form": "safe"}


async def test_a_workbook_says_how_many_cells_its_manifest_names(service: Service, tmp_path: Path) -> None:
    job = await fill(service, [["a", "x" * 40_000]])
    answer = await (await service.client()).post(f"/api/jobs/{job}/export?format=xlsx")
    assert answer.status_code == 200
    assert (answer.headers["x-penstock-manifest"], answer.headers["x-penstock-rows"]) == ("1", "1")
    assert int(answer.headers["content-length"]) == len(answer.content)
    (tmp_path / "a.xlsx").write_bytes(answer.content)
    sheet = CalamineWorkbook.from_path(tmp_path / "a.xlsx").get_sheet_by_name("Rows").to_python()
    assert sheet[1] == ["a", POINTER, "PENDING", ""]


@pytest.mark.parametrize("format", ["csv", "xlsx"])
async def test_the_job_of_somebody_else_is_not_there_and_an_admins_export_is_noted(
    service: Service, format: str
) -> None:
    job = await fill(service, [["a", "b"]])
    path = f"/api/jobs/{job}/export?format={format}"
    assert (await (await service.client("bob")).post(path)).status_code == 404
    assert (await (await service.client("root")).post(path)).status_code == 200
    noted = await service.fetch("select actor, owner from penstock.audit where action = 'job.export'")
    assert [tuple(row) for row in noted] == [("root", "ann")]


@pytest.mark.parametrize("query", ["format=pdf", "form=wild", "bom=maybe"])
async def test_an_unknown_format_is_refused(service: Service, query: str) -> None:
    job = await fill(service, [["a", "b"]])
    assert (await (await service.client()).post(f"/api/jobs/{job}/export?{query}")).status_code == 422


async def test_pages_follow_each_other_without_a_gap(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(csv_file, "PAGE_ROWS", 3)
    job = await fill(service, [[str(number), "x"] for number in range(10)])
    told: list[int] = []
    found = await as_csv(service, job, told=told.append)
    assert [row[0] for row in found[1:]] == [str(number) for number in range(10)]
    assert told == [3, 6, 9, 10]


async def test_no_statement_is_open_while_a_client_is_slow(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(csv_file, "PAGE_ROWS", 2)
    job = await fill(service, [["a", "b"]] * 20)
    stream = csv_file.stream(service.app, await layout_of(service.app, job))
    assert (await anext(stream)).startswith(b'"Name"')
    await anext(stream)
    async with asyncio.timeout(60):
        while await service.fetch(
            """select from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()
               and (state <> 'idle' or backend_xmin is not null) and backend_type = 'client backend'"""
        ):
            await asyncio.sleep(0.01)
    await stream.aclose()


async def test_a_client_that_goes_away_ends_the_process_that_writes(service: Service) -> None:
    job = await fill(service, [["a", "b"]] * 200)
    layout = await layout_of(service.app, job)
    started = asyncio.Event()
    real = asyncio.create_subprocess_exec
    processes = []

    async def noted(*arguments: Any, **options: Any) -> Any:
        processes.append(await real(*arguments, **options))
        started.set()
        return processes[0]

    async def export() -> None:
        async with xlsx_process.written(service.app, layout):
            pass

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(asyncio, "create_subprocess_exec", noted)
        work = asyncio.create_task(export())
        await started.wait()
        work.cancel()
        with pytest.raises(asyncio.CancelledError):
            await work
    assert processes[0].returncode == -9
