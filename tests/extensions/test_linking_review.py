"""What people decide: one record, many by threshold, undone, and never over somebody else's head."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any
from uuid import uuid4

import pytest

from penstock.extensions.linking import decisions, records
from penstock.testing import drain
from tests.extensions.linking_service import Linking, serving

_BLOCKED_BY_US = "select count(*) from pg_locks where not granted and pg_backend_pid() = any (pg_blocking_pids(pid))"


@pytest.fixture
async def linking(database_url: str) -> AsyncIterator[Linking]:
    async with serving(database_url) as made:
        yield made


async def shown(linking: Linking, project: int, number: int) -> dict[str, Any]:
    found: dict[str, Any] = await linking.ok("GET", f"/{project}/records/{number}")
    return found


def standing(record: dict[str, Any]) -> tuple[Any, ...]:
    return tuple(record[name] for name in ("state", "entity", "score", "gap", "decidedBy"))


async def test_a_reviewer_accepts_another_candidate_than_the_best_and_undoes_it(linking: Linking) -> None:
    project = await linking.matched()
    before = await shown(linking, project, 3)
    assert (before["state"], before["entity"], before["gap"]) == ("REVIEW", "Q104", 0)
    done = await linking.ok(
        "POST", f"/{project}/records/3/accept", json={"entity": "Q105", "note": "the baker, by her shop"}
    )
    record = done["record"]
    assert (record["state"], record["entity"], record["decidedBy"]) == ("ACCEPTED", "Q105", "ann")
    assert (record["byHand"], record["note"]) == (False, "the baker, by her shop")
    undone = await linking.ok("POST", f"/{project}/undo", json={"batch": done["batch"]})
    assert undone == {"undone": 1, "changedSince": 0}
    after = await shown(linking, project, 3)
    assert standing(after) == standing(before)
    assert after["decidedAt"] is None
    again = await linking.call("POST", f"/{project}/undo", json={"batch": done["batch"]})
    assert (again.status_code, "no decision" in again.json()["detail"]) == (400, True)


async def test_a_rejected_record_is_opened_again_with_its_best_candidate(linking: Linking) -> None:
    project = await linking.matched()
    rejected = (await linking.ok("POST", f"/{project}/records/1/reject"))["record"]
    assert standing(rejected) == ("REJECTED", None, None, None, "ann")
    opened = (await linking.ok("POST", f"/{project}/records/1/reopen"))["record"]
    assert (opened["state"], opened["entity"], opened["decidedBy"], opened["score"]) == ("REVIEW", "Q101", None, 1.0)
    await linking.ok("POST", f"/{project}/records/4/reject")
    assert (await linking.ok("POST", f"/{project}/records/4/reopen"))["record"]["state"] == "NO_CANDIDATE"


async def test_an_id_given_by_hand_is_marked_and_has_no_score(linking: Linking) -> None:
    project = await linking.matched()
    unknown = (await linking.ok("POST", f"/{project}/records/4/accept", json={"entity": "Q999"}))["record"]
    assert (unknown["entity"], unknown["label"], unknown["score"], unknown["byHand"]) == ("Q999", "Q999", None, True)
    cached = (await linking.ok("POST", f"/{project}/records/4/accept", json={"entity": "Q101"}))["record"]
    assert (cached["label"], cached["byHand"]) == ("Ada Quillfeather", True)
    for entity, sentence in (
        ("nobody", "look like Q42"),
        ("Q1; drop", "look like Q42"),
        ("P31", "look like Q42"),
        ("L1", "look like Q42"),
    ):
        answer = await linking.call("POST", f"/{project}/records/4/accept", json={"entity": entity})
        assert (answer.status_code, sentence in answer.json()["detail"]) == (400, True)
    assert (await linking.call("POST", f"/{project}/records/4/accept", json={"entity": "Q\0"})).status_code == 422
    await linking.ok("POST", f"/{project}/records/4/reject")
    nothing = await linking.call("POST", f"/{project}/records/4/accept")
    assert (nothing.status_code, "no candidate to accept" in nothing.json()["detail"]) == (400, True)


async def test_the_second_of_two_reviewers_gets_what_the_first_one_decided(
    linking: Linking, monkeypatch: pytest.MonkeyPatch
) -> None:
    project = await linking.matched()
    hold, held = decisions.hold_record, []

    async def hold_together(connection: Any, *given: Any) -> Any:
        """The first one decides when the second one waits for it, or has come through as well."""
        found = await hold(connection, *given)
        held.append(found)
        async with asyncio.timeout(60):
            while len(held) < 2 and not await connection.fetchval(_BLOCKED_BY_US):
                await asyncio.sleep(0.01)
        return found

    monkeypatch.setattr(decisions, "hold_record", hold_together)
    seen = {"seen": {"state": "REVIEW", "decidedAt": None}}
    calls = [
        linking.call("POST", f"/{project}/records/3/accept", name="ann", json={"entity": "Q105", **seen}),
        linking.call("POST", f"/{project}/records/3/accept", name="root", json={"entity": "Q104", **seen}),
    ]
    answers = await asyncio.gather(*calls)
    monkeypatch.setattr(decisions, "hold_record", hold)
    assert sorted(answer.status_code for answer in answers) == [200, 409]
    won, lost = sorted(answers, key=lambda answer: answer.status_code)
    assert lost.json()["current"]["entity"] == won.json()["record"]["entity"]
    assert won.json()["record"]["decidedBy"] in lost.json()["detail"]
    current = lost.json()["current"]
    overruled = await linking.ok(
        "POST",
        f"/{project}/records/3/reject",
        name="root",
        json={"seen": {"state": current["state"], "decidedAt": current["decidedAt"]}},
    )
    assert overruled["record"]["decidedBy"] == "root"


async def test_without_what_was_seen_nobody_overrules_somebody_else(linking: Linking) -> None:
    project = await linking.matched()
    await linking.ok("POST", f"/{project}/records/3/reject")
    answer = await linking.call("POST", f"/{project}/records/3/accept", name="root")
    assert (answer.status_code, answer.json()["current"]["state"]) == (409, "REJECTED")
    same = await linking.ok("POST", f"/{project}/records/3/reject")
    assert same["batch"] is None
    assert (await linking.ok("POST", f"/{project}/records/3/accept"))["record"]["state"] == "ACCEPTED"


async def test_a_record_that_is_being_matched_is_not_decided(linking: Linking) -> None:
    project = await linking.project()
    await linking.ok("POST", f"/{project}/match", json={"scope": "all"})
    for move in ("accept", "reject", "reopen"):
        answer = await linking.call("POST", f"/{project}/records/1/{move}")
        assert (answer.status_code, answer.json()["state"]) == (409, "QUEUED")
    noted = await linking.ok("POST", f"/{project}/records/1/note", json={"note": "ask Bruno"})
    assert noted["note"] == "ask Bruno"
    assert (await linking.call("POST", f"/{project}/records/99/note", json={"note": "x"})).status_code == 404
    assert (await linking.call("POST", f"/{project}/records/99/accept")).status_code == 404


async def test_a_dry_run_shows_where_the_threshold_cuts_and_changes_nothing(linking: Linking) -> None:
    project = await linking.matched()
    tried = await linking.ok("POST", f"/{project}/accept", json={"minScore": 0.5, "minGap": 0, "dryRun": True})
    assert (tried["accepted"], tried["waiting"], tried["batch"]) == (2, 2, None)
    scores = [one["score"] for one in tried["examples"]]
    assert (len(scores), scores) == (2, sorted(scores))
    assert sum(step["taken"] for step in tried["histogram"]) == 2
    assert all(step["fromScore"] < step["toScore"] for step in tried["histogram"])
    assert (await shown(linking, project, 3))["state"] == "REVIEW"
    none = await linking.ok("POST", f"/{project}/accept", json={"minScore": 0.5, "minGap": 0.9, "dryRun": True})
    assert (none["accepted"], none["waiting"]) == (0, 2)
    for wrong in ({"minScore": 2.0}, {"minScore": -1}, {"minScore": "0.5"}, {}):
        assert (await linking.call("POST", f"/{project}/accept", json=wrong)).status_code == 422


async def test_a_bulk_accept_takes_what_reaches_its_thresholds_exactly(linking: Linking) -> None:
    project = await linking.matched()
    await linking.service.fetch(
        """update record_linking.records set score = 0.75, gap = case number when 2 then 0.25 else 0.125 end
           where state = 3"""
    )
    wanted = {"minScore": 0.75, "minGap": 0.25}
    assert (await linking.ok("POST", f"/{project}/accept", json={**wanted, "dryRun": True}))["accepted"] == 1
    assert (await linking.ok("POST", f"/{project}/accept", json=wanted))["accepted"] == 1
    assert [(await shown(linking, project, number))["state"] for number in (2, 3)] == ["ACCEPTED", "REVIEW"]


async def test_a_batch_is_undone_except_for_what_somebody_changed_since(linking: Linking) -> None:
    project = await linking.matched()
    unsure = await linking.ok("POST", f"/{project}/accept", json={"minScore": 0.5})
    assert unsure["accepted"] == 0, "ties wait for a person unless somebody says otherwise"
    done = await linking.ok("POST", f"/{project}/accept", json={"minScore": 0.5, "minGap": 0})
    assert done["accepted"] == 2
    assert (await linking.ok("POST", f"/{project}/accept", json={"minScore": 0.5}))["accepted"] == 0
    await linking.ok("POST", f"/{project}/records/3/reject")
    undone = await linking.ok("POST", f"/{project}/undo", json={"batch": done["batch"]})
    assert undone == {"undone": 1, "changedSince": 1}
    assert (await shown(linking, project, 2))["state"] == "REVIEW"
    assert (await shown(linking, project, 3))["state"] == "REJECTED"
    await linking.ok("POST", f"/{project}/undo", json={"record": 3})
    back = await shown(linking, project, 3)
    assert (back["state"], back["decidedBy"]) == ("ACCEPTED", "ann")
    await linking.ok("POST", f"/{project}/undo", json={"record": 3})
    last = await shown(linking, project, 3)
    assert (last["state"], last["decidedBy"]) == ("REVIEW", None)


async def test_two_bulk_accepts_at_once_take_every_record_once(linking: Linking) -> None:
    rows = [{"name": "Elva Saltmere"} for _ in range(200)]
    project = await linking.matched(rows)
    answers = await asyncio.gather(
        *(
            linking.ok("POST", f"/{project}/accept", name=name, json={"minScore": 0.1, "minGap": 0})
            for name in ("ann", "root")
        )
    )
    assert sum(answer["accepted"] for answer in answers) == 200
    (row,) = await linking.service.fetch("select count(*) as n from record_linking.decisions")
    assert row["n"] == 200


async def test_undo_wants_one_thing_that_exists(linking: Linking) -> None:
    project = await linking.matched()
    for body, status in (
        ({}, 400),
        ({"batch": str(uuid4()), "record": 1}, 400),
        ({"batch": str(uuid4())}, 400),
        ({"record": 1}, 400),
        ({"batch": "x"}, 422),
    ):
        assert (await linking.call("POST", f"/{project}/undo", json=body)).status_code == status


async def test_the_history_of_a_record_tells_who_decided_what(linking: Linking) -> None:
    project = await linking.matched()
    await linking.ok("POST", f"/{project}/records/3/accept")
    await linking.ok("POST", f"/{project}/undo", json={"record": 3})
    await linking.ok("POST", f"/{project}/records/3/reject", name="root")
    first = await linking.ok("GET", f"/{project}/records/3/history?pageSize=2")
    rest = await linking.ok("GET", f"/{project}/records/3/history?pageSize=2&after={first['nextCursor']}")
    told = [(one["move"], one["by"], one["toState"]) for one in first["items"] + rest["items"]]
    assert told == [("reject", "root", "REJECTED"), ("undo", "ann", "REVIEW"), ("accept", "ann", "ACCEPTED")]
    assert rest["items"][0]["undoneAt"] is not None
    noted = await linking.service.fetch(
        "select actor, action, owner from penstock.audit where kind = 'project' and action ~ 'accept|undo|reject' "
        "order by id"
    )
    assert [tuple(row) for row in noted] == [
        ("ann", "project.accept", "ann"),
        ("ann", "project.undo", "ann"),
        ("root", "project.reject", "ann"),
    ]


async def test_what_a_person_decided_survives_a_rerun_and_a_ranking(linking: Linking) -> None:
    project = await linking.matched()
    await linking.ok("POST", f"/{project}/records/3/accept", json={"entity": "Q105"})
    await linking.ok("POST", f"/{project}/records/1/reject")
    await linking.ok("POST", f"/{project}/match", json={"scope": "all"})
    await drain(linking.service.app, advance=True)
    await linking.ok("POST", f"/{project}/rerank", json={"acceptScore": 0.1})
    await drain(linking.service.app, advance=True)
    assert (await shown(linking, project, 3))["entity"] == "Q105"
    assert (await shown(linking, project, 1))["state"] == "REJECTED"


async def test_a_decision_during_the_start_of_a_run_waits_and_is_told(
    linking: Linking, monkeypatch: pytest.MonkeyPatch
) -> None:
    project = await linking.matched()
    queue, deciding = records.queue, []

    async def queue_late(connection: Any, *given: Any) -> None:
        """Between the choice of the records and their move: a decision that came through would be overwritten."""
        if not deciding:
            deciding.append(asyncio.create_task(linking.call("POST", f"/{project}/records/3/reject")))
            async with asyncio.timeout(60):
                while not await connection.fetchval(_BLOCKED_BY_US):
                    assert not deciding[0].done(), "it was decided while the run was about to take it"
                    await asyncio.sleep(0.01)
        await queue(connection, *given)

    monkeypatch.setattr(records, "queue", queue_late)
    await linking.ok("POST", f"/{project}/match", json={"scope": "all"})
    answer = await deciding[0]
    assert (answer.status_code, answer.json()["state"]) == (409, "QUEUED")
