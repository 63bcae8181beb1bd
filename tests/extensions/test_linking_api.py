"""Projects over HTTP: made out of rows and files, matched, seen by whom they should be; bad input is told clearly."""

import io
import json
from collections.abc import AsyncIterator
from typing import Any

import pytest

from penstock.testing import drain
from tests.extensions.linking_service import ROWS, Linking, serving


@pytest.fixture
async def linking(database_url: str) -> AsyncIterator[Linking]:
    async with serving(database_url) as made:
        yield made


def form(data: bytes, called: str = "people.csv", **fields: Any) -> dict[str, Any]:
    texts = {key: value if isinstance(value, str) else json.dumps(value) for key, value in fields.items()}
    return {"files": {"file": (called, data)}, "data": texts}


async def test_rows_become_a_project_that_is_matched_and_read(linking: Linking) -> None:
    answer = await linking.call("POST", "", json={"name": "People", "rows": list(ROWS)})
    made = answer.json()
    assert (answer.status_code, answer.headers["Location"]) == (201, f"/api/projects/{made['projectId']}")
    assert made["roles"] == {
        "name": {"role": "name", "property": None},
        "born": {"role": "property", "property": "P569"},
    }
    assert made["progress"]["counts"]["NEW"] == 4
    number = await linking.matched()
    found = await linking.ok("GET", f"/{number}")
    counts = {state: n for state, n in found["progress"]["counts"].items() if n}
    assert counts == {"ACCEPTED": 1, "REVIEW": 2, "NO_CANDIDATE": 1}, found
    assert (found["running"], found["progress"]["total"], found["progress"]["ended"]) == (False, 4, 4)
    record = await linking.ok("GET", f"/{number}/records/1")
    assert (record["state"], record["entity"], record["cells"]["born"]) == ("ACCEPTED", "Q101", "1815-12-10")
    best = record["candidates"][0]
    assert sum(part["points"] for part in best["parts"]) == pytest.approx(best["score"], abs=0.001)


async def test_a_csv_file_with_roles_and_options_becomes_a_project(linking: Linking) -> None:
    data = b"Who,Birth\nAda Quillfeather,1815\n"
    roles = {"Who": {"role": "name"}, "Birth": {"role": "property", "property": "P569"}}
    made = await linking.ok("POST", "", **form(data, roles=roles, options={"acceptScore": 0.5}))
    assert (made["name"], made["options"]["acceptScore"], made["columns"]) == ("people", 0.5, ["Who", "Birth"])


async def test_delimiters_behind_the_last_column_are_no_cells(linking: Linking) -> None:
    made = await linking.ok("POST", "", **form(b"name,born,\nAda,1815, ,\n"))
    assert (made["columns"], made["progress"]["total"]) == (["name", "born"], 1)


async def test_a_json_file_becomes_a_project(linking: Linking) -> None:
    data = json.dumps([{"name": "Ada", "born": 1815}]).encode()
    made = await linking.ok("POST", "", **form(data, "people.json", name="From JSON"))
    assert (made["name"], made["progress"]["total"]) == ("From JSON", 1)


@pytest.mark.parametrize(
    ("change", "status", "sentence"),
    [
        ({"roles": {"nome": {"role": "name"}}}, 400, "There is no column 'nome'"),
        ({"roles": {"born": {"role": "alias"}}}, 400, "exactly one"),
        ({"roles": {"name": {"role": "property"}}}, 400, "such as P569"),
        ({"roles": {"name": {"role": "title"}}}, 422, "role"),
        ({"options": {"acceptScore": 2.0}}, 422, "less than or equal to 1"),
        ({"options": {"languages": ["e!"]}}, 400, "codes of languages"),
        ({"options": {"weights": {"name": 0}}}, 400, "weight of the name"),
        ({"options": {"colour": 1}}, 422, "colour"),
        ({"rows": []}, 400, "no rows"),
        ({"rows": [{}]}, 400, "no columns"),
        ({"rows": [{"name\0": "x"}]}, 400, "cannot be stored"),
        ({"rows": [{"name": "x\0"}]}, 400, "cannot be stored"),
        ({"rows": [{"name": {"a": 1}}]}, 400, "holds an object"),
        ({"rows": [{"colour": "red"}]}, 400, "0 columns have the role name"),
        ({"source": "elsewhere"}, 422, "source"),
        ({"name": " "}, 400, "characters that can be shown"),
        ({"owner": "root"}, 422, "owner"),
    ],
)
async def test_what_cannot_become_a_project_is_refused_with_a_sentence(
    linking: Linking, change: dict[str, Any], status: int, sentence: str
) -> None:
    answer = await linking.call("POST", "", json={"name": "People", "rows": list(ROWS), **change})
    assert (answer.status_code, sentence in answer.json()["detail"]) == (status, True), answer.text
    assert await linking.service.fetch("select from record_linking.projects") == []


@pytest.mark.parametrize(
    ("data", "name", "sentence"),
    [
        (b"", "people.csv", "empty"),
        (b"name,born\n", "people.csv", "no rows"),
        (b"", "people.json", "empty"),
        (b"{}", "people.json", "no array"),
        (b"[", "people.json", "not JSON"),
        (b"[]", "people.json", "no rows"),
        (b"PK\x03\x04 and nothing more", "people.xlsx", ""),
        (b"name\n" + b"x" * 20_000 + b"\n", "people.csv", "characters"),
        (b"name,x\na,b\na,b,c\n", "people.csv", "Row 2: it has 3 cells, and the header names 2 columns."),
        (b"name,\nAda,1815\n", "people.csv", "Row 1: it has 2 cells, and the header names 1 column."),
        (b"name,,x\nAda,1815,y\n", "people.csv", "column 2 has no heading"),
    ],
)
async def test_files_that_hold_no_dataset_are_refused(linking: Linking, data: bytes, name: str, sentence: str) -> None:
    answer = await linking.call("POST", "", **form(data, name))
    assert (answer.status_code, sentence in answer.json()["detail"]) == (400, True), answer.text


async def test_what_is_too_large_or_of_another_kind_is_refused(database_url: str) -> None:
    async with serving(database_url, max_upload_bytes=2_000, linking_max_records=10) as linking:
        answer = await linking.call("POST", "", **form(b"name\n" + b"Ada\n" * 1000))
        assert (answer.status_code, "2,000 bytes" in answer.json()["detail"]) == (413, True)
        announced = await linking.call("POST", "", content=b"", headers={"Content-Length": str(200 * 1024**2)})
        assert announced.status_code == 415
        many = await linking.call("POST", "", **form(b"name\n" + b"Ada\n" * 11))
        assert (many.status_code, "PENSTOCK_LINKING_MAX_RECORDS" in many.json()["detail"]) == (400, True)
        none = await linking.call("POST", "", files={"other": ("a.csv", b"name\nAda\n")})
        assert none.status_code == 400
        form_error = await linking.call("POST", "", **form(b"name\nAda\n", roles="{"))
        assert (form_error.status_code, "not JSON" in form_error.json()["detail"]) == (422, True)


async def test_others_projects_are_not_there_and_admins_looks_are_noted(linking: Linking) -> None:
    number = await linking.matched()
    for name in ("bob", "eve"):
        for path in ("", "/records", "/records/1", "/records/1/history"):
            assert (await linking.call("GET", f"/{number}{path}", name=name)).status_code == 404
    assert (await linking.call("POST", f"/{number}/records/1/reject", name="bob")).status_code == 404
    assert (await linking.call("POST", f"/{number}/records/1/reject", name="eve")).status_code == 403
    assert (await linking.call("GET", "?userId=all", name="bob")).status_code == 403
    assert (await linking.ok("GET", "", name="bob"))["items"] == []
    assert [one["projectId"] for one in (await linking.ok("GET", "?userId=all", name="root"))["items"]] == [number]
    await linking.ok("GET", f"/{number}", name="root")
    noted = await linking.service.fetch("select action from penstock.audit where actor = 'root' order by id")
    assert [row["action"] for row in noted] == ["project.look_at_all", "project.look"]


async def test_lists_go_on_where_the_page_before_ended(linking: Linking) -> None:
    numbers = [await linking.project() for _ in range(3)]
    first = await linking.ok("GET", "?pageSize=2")
    second = await linking.ok("GET", f"?pageSize=2&after={first['nextCursor']}")
    assert [one["projectId"] for one in first["items"] + second["items"]] == numbers[::-1]
    assert second["nextCursor"] is None
    page = await linking.ok("GET", f"/{numbers[0]}/records?pageSize=3&status=NEW&status=ERROR")
    rest = await linking.ok(
        "GET", f"/{numbers[0]}/records?pageSize=3&status=ERROR&status=NEW&after={page['nextCursor']}"
    )
    assert [one["number"] for one in page["items"] + rest["items"]] == [1, 2, 3, 4]
    elsewhere = await linking.call("GET", f"/{numbers[1]}/records?pageSize=3&after={page['nextCursor']}")
    assert elsewhere.status_code == 400
    assert (await linking.call("GET", f"/{numbers[0]}/records?status=DONE")).status_code == 422


async def test_a_project_is_renamed_and_its_options_changed_and_taken_back(linking: Linking) -> None:
    number = await linking.project()
    changed = await linking.ok("PATCH", f"/{number}", json={"name": "Persons", "options": {"acceptScore": 0.5}})
    assert (changed["name"], changed["options"]["acceptScore"]) == ("Persons", 0.5)
    back = await linking.ok("PATCH", f"/{number}", json={"options": {"acceptScore": None}})
    assert back["options"]["acceptScore"] != 0.5
    answer = await linking.call("PATCH", f"/{number}", json={"roles": {"nome": {"role": "name"}}})
    assert (answer.status_code, "'nome'" in answer.json()["detail"]) == (400, True)


async def test_a_second_match_waits_for_the_first_and_an_unknown_scope_is_refused(linking: Linking) -> None:
    number = await linking.project()
    started = await linking.call("POST", f"/{number}/match", json={"scope": "all"})
    assert (started.status_code, started.json()["records"], started.json()["queries"]) == (202, 4, 4)
    again = await linking.call("POST", f"/{number}/match")
    assert (again.status_code, again.json()["state"]) == (409, "MATCHING")
    assert (await linking.call("POST", f"/{number}/match", json={"scope": "some"})).status_code == 422
    assert (await linking.ok("POST", f"/{number}/cancel")) == {"cancelled": 4}
    assert (await linking.ok("POST", f"/{number}/cancel")) == {"cancelled": 0}


async def test_a_source_that_cannot_be_asked_says_what_to_set(database_url: str) -> None:
    async with serving(database_url, linking_user_agent=None) as linking:
        number = await linking.project()
        answer = await linking.call("POST", f"/{number}/match")
        assert (answer.status_code, "PENSTOCK_LINKING_USER_AGENT" in answer.json()["detail"]) == (409, True)


async def test_weights_change_the_ranking_without_a_request(linking: Linking) -> None:
    number = await linking.matched()
    asked = linking.server.counts()["total"]
    done = await linking.ok("POST", f"/{number}/rerank", json={"acceptScore": 0.3, "acceptGap": 0})
    assert done["records"] == 4
    await drain(linking.service.app, advance=True)
    counts = (await linking.ok("GET", f"/{number}"))["progress"]["counts"]
    assert (counts["ACCEPTED"], counts["REVIEW"], linking.server.counts()["total"]) == (3, 0, asked)
    assert (await linking.call("POST", f"/{number}/rerank", json={"acceptScore": 2.0})).status_code == 422


async def test_a_re_rank_says_what_the_cache_has_no_answer_for(linking: Linking) -> None:
    number = await linking.matched()
    done = await linking.ok("POST", f"/{number}/rerank")
    assert (done["records"], done["left"], done["notice"]) == (4, 0, None)
    await linking.service.fetch("delete from record_linking.searches where query = 'Ada Quillfeather'")
    done = await linking.ok("POST", f"/{number}/rerank")
    assert (done["records"], done["left"]) == (3, 1)
    assert done["notice"].startswith("1 record stays as it is") and "--scope all" in done["notice"]


async def test_a_project_says_why_its_records_failed(linking: Linking) -> None:
    linking.server.fail_share, linking.server.failures = 1.0, ("500",)
    number = await linking.matched()
    found = (await linking.ok("GET", f"/{number}"))["progress"]
    assert found["counts"]["ERROR"] == sum(one["count"] for one in found["failures"]) == 4
    assert all("500" in one["reason"] for one in found["failures"])
    linking.server.fail_share = 0.0
    assert (await linking.ok("GET", f"/{await linking.matched()}"))["progress"]["failures"] == []


async def test_types_over_the_bounds_are_refused_when_a_project_is_made_or_changed(linking: Linking) -> None:
    number = await linking.project()
    for types in ([f"Q{one}" for one in range(21)], ["x" * 201]):
        options = {"options": {"types": types}}
        assert (await linking.call("PATCH", f"/{number}", json=options)).status_code == 422
        made = {"name": "People", "rows": list(ROWS), **options}
        assert (await linking.call("POST", "", json=made)).status_code == 422


async def test_a_deleted_project_is_gone_with_all_that_was_its(linking: Linking) -> None:
    number = await linking.matched()
    assert (await linking.call("DELETE", f"/{number}", name="bob")).status_code == 404
    assert (await linking.call("DELETE", f"/{number}")).status_code == 204
    assert (await linking.call("GET", f"/{number}")).status_code == 404
    assert await linking.service.fetch("select from record_linking.records") == []


async def test_an_xlsx_file_becomes_a_project(linking: Linking) -> None:
    from pathlib import Path
    from tempfile import TemporaryDirectory

    from penstock.console.files.export.sheets import escaped_rows, write_sheets

    with TemporaryDirectory() as folder:
        path = Path(folder) / "people.xlsx"
        write_sheets(path, [("Rows", ["name", "born"], [escaped_rows([["Ada", "1815"]])])])
        data = io.BytesIO(path.read_bytes()).read()
    made = await linking.ok("POST", "", **form(data, "people.xlsx"))
    assert (made["columns"], made["progress"]["total"]) == (["name", "born"], 1)
