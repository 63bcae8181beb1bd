"""Long lists of records both ways, how scores are spread, and what a threshold would take and leave."""

import json
from collections.abc import AsyncIterator
from typing import Any

import asyncpg
import pytest

from penstock.console.files import xlsx_rows
from penstock.console.files.capped import Caps
from penstock.console.files.preview import CAPS
from penstock.console.files.refused import FileRefused
from penstock.extensions.linking import records
from penstock.extensions.linking.record import RecordState
from penstock.storage.queries import load
from tests.extensions.linking_service import Linking, serving
from tests.storage.test_read_plans import touched

ROWS = [{"name": f"Nobody {n}"} for n in range(1, 31)]
RECORDS = 30_000


@pytest.fixture
async def linking(database_url: str) -> AsyncIterator[Linking]:
    async with serving(database_url) as made:
        yield made


def numbers(page: dict[str, Any]) -> list[int]:
    return [one["number"] for one in page["items"]]


async def states(linking: Linking, project: int) -> None:
    """Every third record waits for review, with a score that rises with its number."""
    await linking.service.fetch(
        """update record_linking.records set state = case when number % 3 = 0 then 3 else 6 end,
             entity = case when number % 3 = 0 then 'Q' || number end, label = 'N', gap = 0.2,
             score = case when number % 3 = 0 then number / 30.0 end where project_id = $1 returning id""",
        project,
    )


async def test_records_are_paged_both_ways_within_their_states(linking: Linking) -> None:
    project = await linking.project(ROWS)
    await states(linking, project)
    first = await linking.ok("GET", f"/{project}/records?status=REVIEW&pageSize=4")
    assert (numbers(first), first["previousCursor"]) == ([3, 6, 9, 12], None)
    second = await linking.ok("GET", f"/{project}/records?status=REVIEW&pageSize=4&after={first['nextCursor']}")
    assert numbers(second) == [15, 18, 21, 24]
    back = await linking.ok("GET", f"/{project}/records?status=REVIEW&pageSize=3&before={second['startCursor']}")
    assert (numbers(back), back["nextCursor"]) == ([6, 9, 12], back["endCursor"])
    near = await linking.ok("GET", f"/{project}/records?status=REVIEW&pageSize=1&before={second['startCursor']}")
    assert numbers(near) == [12]
    top = await linking.ok("GET", f"/{project}/records?status=REVIEW&pageSize=3&before={back['startCursor']}")
    assert (numbers(top), top["previousCursor"]) == ([3], None)
    both = await linking.ok("GET", f"/{project}/records?status=NO_CANDIDATE&status=REVIEW&status=REVIEW&pageSize=5")
    assert numbers(both) == [1, 2, 3, 4, 5]
    empty = await linking.ok("GET", f"/{project}/records?status=ERROR")
    assert (empty["items"], empty["startCursor"], empty["nextCursor"]) == ([], None, None)


async def test_a_list_starts_at_a_row_and_tells_known_rows_as_they_are_now(linking: Linking) -> None:
    project = await linking.project(ROWS)
    await states(linking, project)
    middle = await linking.ok("GET", f"/{project}/records?fromNumber=20&pageSize=2")
    assert (numbers(middle), middle["previousCursor"] is not None) == ([20, 21], True)
    assert numbers(await linking.ok("GET", f"/{project}/records?before={middle['startCursor']}&pageSize=2")) == [18, 19]
    start = await linking.ok("GET", f"/{project}/records?status=REVIEW&fromNumber=3")
    assert (numbers(start)[0], start["previousCursor"]) == (3, None)
    now = await linking.ok("GET", f"/{project}/records?number=9&number=2&number=99")
    assert [(one["number"], one["state"]) for one in now["items"]] == [(2, "NO_CANDIDATE"), (9, "REVIEW")]
    assert (await linking.call("GET", f"/{project}/records?number=9&fromNumber=3")).status_code == 400
    assert (await linking.call("GET", f"/{project}/records?number=0")).status_code == 422


async def test_scores_are_spread_over_twenty_steps(linking: Linking) -> None:
    project = await linking.project(ROWS)
    await states(linking, project)
    found = await linking.ok("GET", f"/{project}/scores")
    assert len(found["steps"]) == 20
    assert sum(one["review"] for one in found["steps"]) == 10
    assert found["steps"][19] == {"fromScore": 0.95, "toScore": 1.0, "review": 1, "accepted": 0, "noCandidate": 0}
    assert (found["lookedAt"], found["complete"]) == (30, True)
    assert (found["acceptScore"], found["acceptGap"]) == (0.9, 0.1)


async def test_of_more_scores_than_are_looked_at_the_answer_says_so(
    linking: Linking, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("penstock.extensions.linking.api_records.MOST_SCORES", 5)
    project = await linking.project(ROWS)
    await states(linking, project)
    found = await linking.ok("GET", f"/{project}/scores")
    assert (sum(one["review"] for one in found["steps"]), found["complete"]) == (5, False)


async def test_a_dry_run_shows_what_it_takes_and_what_it_leaves_at_the_threshold(linking: Linking) -> None:
    project = await linking.project(ROWS)
    await states(linking, project)
    tried = await linking.ok("POST", f"/{project}/accept", json={"minScore": 0.65, "dryRun": True})
    assert (tried["accepted"], tried["waiting"], tried["minGap"]) == (4, 10, 0.1)
    assert numbers({"items": tried["examples"]})[0] == 21
    assert numbers({"items": tried["below"]}) == [18, 15, 12, 9, 6, 3]


async def test_a_preview_guesses_roles_and_stores_nothing(linking: Linking) -> None:
    data = "Vollständiger Name,Geburtsdatum,Homepage,Spot,Remark\n" + "".join(
        f'Ada {n},18{n:02}-01-02,https://example.org/{n},"52.5{n}, 13.4{n}",x\n' for n in range(10, 80)
    )
    seen = await linking.ok("POST", "/preview", files={"file": ("people.csv", data.encode())})
    assert {column: (one["role"], one["property"]) for column, one in seen["roles"].items()} == {
        "Vollständiger Name": ("name", None),
        "Geburtsdatum": ("property", "P569"),
        "Homepage": ("property", "P856"),
        "Spot": ("property", "P625"),
    }
    assert (len(seen["rows"]), seen["more"], seen["rows"][0]["Remark"]) == (50, True, "x")
    assert (await linking.ok("GET", ""))["items"] == []
    rows = json.dumps([{"who": "Ada"}, {"who": "Bob"}]).encode()
    seen = await linking.ok("POST", "/preview", files={"file": ("people.json", rows)})
    assert (seen["roles"]["who"]["role"], seen["more"]) == ("name", False)
    refused = await linking.call("POST", "/preview", files={"file": ("people.csv", b"")})
    assert (refused.status_code, "empty" in refused.json()["detail"]) == (400, True)
    assert (await linking.call("POST", "/preview", data={"form": "exact"})).status_code == 400


async def test_a_preview_is_bounded_and_waits_for_the_turn_it_shares_with_uploads(
    linking: Linking, monkeypatch: pytest.MonkeyPatch
) -> None:
    large = json.dumps([{"who": "x" * 1000}] * 4200).encode()
    refused = await linking.call("POST", "/preview", files={"file": ("people.json", large)})
    assert refused.status_code == 400
    assert "without a look" in refused.json()["detail"]
    refused = await linking.call("POST", "/preview", files={"file": ("people.csv", b"who\n" * (9 * 1024 * 1024))})
    assert refused.status_code == 413

    def told(_parser: object, caps: Caps, *, subject: str) -> None:
        raise FileRefused(f"a {subject} has {caps.memory_mb} MB.", "That is all.")

    monkeypatch.setattr(xlsx_rows, "CappedChild", told)
    refused = await linking.call("POST", "/preview", files={"file": ("people.xlsx", b"PK\x03\x04")})
    assert f"a workbook has {CAPS.memory_mb} MB" in refused.json()["detail"]

    client = await linking.service.client("ann")
    ground = linking.service.api.state.ground
    turns = TurnsTaken()
    monkeypatch.setattr(ground, "preview_turns", turns)
    for path in ("/api/projects/preview", "/api/uploads/preview"):
        answer = await client.post(path, files={"file": ("people.csv", b"who\nAda\n")})
        assert answer.status_code == 200, answer.text
    assert (turns.taken, turns.held) == (2, 0)


class TurnsTaken:
    taken = held = 0

    async def __aenter__(self) -> None:
        self.taken, self.held = self.taken + 1, self.held + 1

    async def __aexit__(self, *_: object) -> None:
        self.held -= 1


async def test_the_sources_say_what_is_missing_before_they_can_be_asked(linking: Linking) -> None:
    client = await linking.service.client("eve")
    found = (await client.get("/api/linking")).json()
    by_name = {one["name"]: one for one in found["sources"]}
    assert (by_name["wikidata"]["problem"], by_name["wikidata"]["pages"]) == (None, None)
    assert "PENSTOCK_LINKING_RECONCILIATION_URL is not set" in by_name["reconciliation"]["problem"]
    assert (found["options"]["acceptScore"], found["options"]["weights"]["name"]) == (0.9, 5.0)


async def test_without_a_contact_nobody_is_asked_and_the_page_of_an_entity_is_known(database_url: str) -> None:
    more = {"linking_user_agent": None, "linking_endpoint": "https://www.wikidata.org/w/api.php"}
    async with serving(database_url, **more) as linking:
        found = (await (await linking.service.client("ann")).get("/api/linking")).json()
    wikidata = found["sources"][0]
    assert "PENSTOCK_LINKING_USER_AGENT is not set" in wikidata["problem"]
    assert (wikidata["host"], wikidata["pages"]) == ("www.wikidata.org", "https://www.wikidata.org/wiki/")


async def test_a_rare_state_is_found_by_the_index_and_scores_are_read_within_bounds(database_url: str) -> None:
    connection = await asyncpg.connect(database_url)
    try:
        await connection.execute(
            f"""insert into record_linking.projects (name, owner, source, columns, roles)
                values ('Many', 'ann', 'wikidata', array['name'], '{{}}');
                insert into record_linking.records (project_id, number, cells, state, score)
                select 1, n, '{{}}', case when n % 15000 = 0 then 7 else 3 end, 0.5
                from generate_series(1, {RECORDS}) n;
                analyze record_linking.records"""
        )
        await connection.execute("set plan_cache_mode = force_generic_plan")
        sql = load("records", "penstock.extensions.linking")
        for query, place in ((sql.page_of_states, 0), (sql.page_of_states_before, RECORDS + 1)):
            rows, indexes = await touched(connection, query, 1, place, [7, 8], 50)
            assert (rows["records"], indexes) == (2, {"records_listed"})
        rows, indexes = await touched(connection, sql.scores, 1, [3, 4, 6], 1000)
        assert (900 < rows["records"] <= 1000, indexes) == (True, {"records_listed"})
        found = await records.page_before(connection, 1, states=[RecordState.ERROR], before=RECORDS, limit=5)
        assert [one.number for one in found] == [15_000]
    finally:
        await connection.close()
