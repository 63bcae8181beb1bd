"""A project as a file: the dataset as it came in, then what was matched and who decided."""

import csv
import io
import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from penstock.console.files import xlsx_rows
from penstock.extensions.linking.exporting import MATCH_COLUMNS
from tests.extensions.linking_service import Linking, serving

ROWS = (
    {"name": "Ada Quillfeather", "born": "1815-12-10", "remark": "=SUM(A1)"},
    {"name": "Elva Saltmere", "remark": 'said "no",\nthen left'},
    {"name": "Nobody Here", "remark": "-1"},
)


@pytest.fixture
async def linking(database_url: str) -> AsyncIterator[Linking]:
    async with serving(database_url) as made:
        yield made


async def exported(linking: Linking, project: int, query: str, name: str = "ann") -> bytes:
    answer = await linking.call("POST", f"/{project}/export?{query}", name=name)
    assert answer.status_code == 200, answer.text
    assert answer.headers["Content-Disposition"].startswith("attachment")
    return bytes(answer.content)


async def decided(linking: Linking) -> int:
    project = await linking.matched(ROWS)
    await linking.ok("POST", f"/{project}/records/2/accept", json={"entity": "Q105", "note": "@home"})
    return project


async def test_csv_has_the_columns_untouched_and_then_the_match(linking: Linking) -> None:
    project = await decided(linking)
    rows = list(csv.DictReader(io.StringIO((await exported(linking, project, "format=csv")).decode())))
    assert list(rows[0]) == ["name", "born", "remark", *MATCH_COLUMNS]
    assert [row["remark"] for row in rows] == [row["remark"] for row in ROWS]
    assert [(row["match_state"], row["match_id"], row["decided_by"]) for row in rows] == [
        ("ACCEPTED", "Q101", ""),
        ("ACCEPTED", "Q105", "ann"),
        ("NO_CANDIDATE", "", ""),
    ]
    assert (rows[0]["match_score"], rows[1]["note"], rows[0]["match_label"]) == ("1.0", "@home", "Ada Quillfeather")
    assert rows[1]["decided_at"]


async def test_safe_csv_runs_no_formula_and_may_begin_with_a_mark(linking: Linking) -> None:
    project = await decided(linking)
    data = await exported(linking, project, "format=csv&form=safe&bom=true")
    assert data.startswith(b"\xef\xbb\xbf")
    rows = list(csv.DictReader(io.StringIO(data.decode("utf-8-sig"))))
    assert [rows[0]["remark"], rows[2]["remark"], rows[1]["note"]] == ["'=SUM(A1)", "'-1", "'@home"]


@pytest.mark.parametrize("form", ["exact", "safe"])
async def test_no_line_break_inside_of_a_cell_ends_its_row(linking: Linking, form: str) -> None:
    names = ["a\rb", "y\r=1+1", "c\nd", "e\r\nf", "\r", 'g",\r"']
    project = await linking.project([{"name": name, "place": "here"} for name in names])
    data = await exported(linking, project, f"format=csv&form={form}")
    rows = list(csv.DictReader(io.StringIO(data.decode(), newline="")))
    assert [row["place"] for row in rows] == ["here"] * len(names)
    # A cell of blanks is an empty one.
    assert [row["name"] for row in rows] == [name if name.strip() else "" for name in names]
    outside = "".join(data.decode().split('"')[::2])
    assert "\r" not in outside


async def test_a_safe_export_comes_in_again_as_it_was(linking: Linking) -> None:
    texts = ["=1+1", "'=1+1", "''", "'quoted'", "-5", "@cmd", "\tTab", "plain"]
    project = await linking.project([{"name": "Ada", "=head": text} for text in texts])
    data = await exported(linking, project, "format=csv&form=safe")
    form = {"files": {"file": ("again.csv", data)}, "data": {"form": "safe"}}
    again = (await linking.ok("POST", "", **form))["projectId"]
    items = (await linking.ok("GET", f"/{again}/records"))["items"]
    assert [item["cells"]["=head"] for item in items] == texts
    refused = await linking.call("POST", "", **{**form, "data": {"form": "other"}})
    assert refused.status_code == 422


async def test_json_and_xlsx_say_the_same_as_csv(linking: Linking, tmp_path: Path) -> None:
    project = await decided(linking)
    rows = list(csv.reader(io.StringIO((await exported(linking, project, "format=csv")).decode())))
    objects = json.loads(await exported(linking, project, "format=json"))
    assert [["" if value is None else str(value) for value in one.values()] for one in objects] == rows[1:]
    assert [list(one) for one in objects] == [rows[0]] * 3
    assert isinstance(objects[0]["match_score"], float)
    path = tmp_path / "out.xlsx"
    path.write_bytes(await exported(linking, project, "format=xlsx"))
    shape = xlsx_rows.shape_of_file(path, header=True)
    read = [list(row) for row in xlsx_rows.read(path, shape)]
    assert list(shape.columns) == rows[0]
    assert [row[:3] for row in read] == [row[:3] for row in rows[1:]]
    assert [row[4] for row in read] == ["Q101", "Q105", ""]


async def test_a_column_called_like_one_of_ours_keeps_its_name(linking: Linking) -> None:
    project = await linking.project([{"name": "Ada", "match_id": "own"}])
    (row,) = json.loads(await exported(linking, project, "format=json"))
    assert (row["match_id"], row["match_id (2)"], row["match_state"]) == ("own", None, "NEW")


async def test_many_pages_come_in_order_and_whole(linking: Linking, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("penstock.extensions.linking.exporting.PAGE_ROWS", 7)
    project = await linking.project([{"name": f"Somebody {n}"} for n in range(100)])
    for query in ("format=csv", "format=json"):
        text = (await exported(linking, project, query)).decode()
        rows = json.loads(text) if "json" in query else list(csv.DictReader(io.StringIO(text)))
        assert [row["name"] for row in rows] == [f"Somebody {n}" for n in range(100)]


async def test_what_a_sheet_cannot_hold_is_in_its_manifest(linking: Linking) -> None:
    project = await linking.project([{"name": "Ada", "remark": "bell \x07"}])
    answer = await linking.call("POST", f"/{project}/export?format=xlsx")
    assert (answer.status_code, answer.headers["X-Penstock-Manifest"]) == (200, "1")


async def test_exports_are_the_owners_and_audited(linking: Linking) -> None:
    project = await linking.project()
    for name, status in (("bob", 404), ("eve", 404), (None, 401)):
        assert (await linking.call("POST", f"/{project}/export", name=name)).status_code == status
    await exported(linking, project, "", name="root")
    (row,) = await linking.service.fetch("select actor, owner from penstock.audit where action = 'project.export'")
    assert tuple(row) == ("root", "ann")
    assert (await linking.call("POST", f"/{project}/export?format=pdf")).status_code == 422
