"""Decisions that are based on what is no longer so: they are not made, and the answer says what is so now."""

from collections.abc import AsyncIterator
from typing import Any

import pytest

from penstock.testing import drain
from tests.extensions.linking_service import Linking, serving


@pytest.fixture
async def linking(database_url: str) -> AsyncIterator[Linking]:
    async with serving(database_url) as made:
        yield made


async def decided(linking: Linking, path: str, *, name: str = "ann", **body: Any) -> dict[str, Any]:
    found: dict[str, Any] = await linking.ok("POST", path, name=name, json=body)
    return found


def seen_of(record: dict[str, Any], *names: str) -> dict[str, Any]:
    return {name: record[name] for name in ("state", "decidedAt", *names)}


async def ranked_otherwise(linking: Linking) -> tuple[str, dict[str, Any]]:
    """A record as it was seen, after a ranking has put another candidate first; both wait for review."""
    rows = [{"name": "Bruno Ashdown", "born": "1850-02-01", "type": "Q11446"}]
    project = await linking.matched(rows, options={"acceptScore": 1.0, "acceptGap": 1.0})
    seen = await linking.ok("GET", f"/{project}/records/1")
    by_type = {"type": 100, "date": 0, "name": 0.01}
    by_date = {"type": 0, "date": 100, "name": 0.01}
    weights = by_type if seen["entity"] == "Q102" else by_date
    await linking.ok("POST", f"/{project}/rerank", json={"weights": weights})
    await drain(linking.service.app, advance=True)
    now = await linking.ok("GET", f"/{project}/records/1")
    assert (seen["state"], now["state"], seen["decidedAt"], now["decidedAt"]) == ("REVIEW", "REVIEW", None, None)
    assert {seen["entity"], now["entity"]} == {"Q102", "Q103"}
    return f"/{project}/records/1", seen


async def test_what_a_ranking_put_first_meanwhile_is_not_accepted_unseen(linking: Linking) -> None:
    path, seen = await ranked_otherwise(linking)
    for body in ({"seen": seen_of(seen)}, {"seen": seen_of(seen, "entity")}):
        answer = await linking.call("POST", f"{path}/accept", json=body)
        assert (answer.status_code, answer.json()["current"]["state"]) == (409, "REVIEW"), answer.text
    now = answer.json()["current"]
    assert now["entity"] != seen["entity"]
    done = await decided(linking, f"{path}/accept", seen=seen_of(now, "entity"))
    assert (done["record"]["state"], done["record"]["entity"]) == ("ACCEPTED", now["entity"])


async def test_an_entity_that_is_named_is_accepted_wherever_a_ranking_put_it(linking: Linking) -> None:
    path, seen = await ranked_otherwise(linking)
    done = await decided(linking, f"{path}/accept", entity=seen["entity"], seen=seen_of(seen))
    assert done["record"]["entity"] == seen["entity"]


async def test_a_rejection_of_what_is_no_longer_shown_is_not_made(linking: Linking) -> None:
    path, seen = await ranked_otherwise(linking)
    answer = await linking.call("POST", f"{path}/reject", json={"seen": seen_of(seen, "entity")})
    assert answer.status_code == 409


async def test_the_same_decision_made_again_is_not_the_one_that_was_seen(linking: Linking) -> None:
    project = await linking.matched()
    path = f"/{project}/records/3"
    first = (await decided(linking, f"{path}/reject"))["record"]
    await decided(linking, f"{path}/reopen")
    second = (await decided(linking, f"{path}/reject"))["record"]
    assert (first["state"], first["entity"]) == (second["state"], second["entity"])
    late = {"entity": "Q104", "seen": seen_of(first)}
    answer = await linking.call("POST", f"{path}/accept", name="root", json=late)
    assert (answer.status_code, answer.json()["current"]["decidedAt"]) == (409, second["decidedAt"])
    done = await decided(linking, f"{path}/accept", name="root", entity="Q104", seen=seen_of(second))
    assert done["record"]["decidedBy"] == "root"


async def test_nobody_reopens_what_somebody_else_decided_without_having_seen_it(linking: Linking) -> None:
    project = await linking.matched()
    path = f"/{project}/records/3"
    record = (await decided(linking, f"{path}/accept", entity="Q105"))["record"]
    answer = await linking.call("POST", f"{path}/reopen", name="root")
    assert (answer.status_code, answer.json()["current"]["decidedBy"]) == (409, "ann")
    done = await decided(linking, f"{path}/reopen", name="root", seen=seen_of(record))
    assert done["record"]["state"] == "REVIEW"


async def test_by_its_record_one_undoes_only_ones_own_decision_and_by_its_batch_any(linking: Linking) -> None:
    project = await linking.matched()
    done = await decided(linking, f"/{project}/records/3/accept", entity="Q105")
    answer = await linking.call("POST", f"/{project}/undo", name="root", json={"record": 3})
    assert (answer.status_code, answer.json()["current"]["entity"]) == (409, "Q105")
    assert done["batch"] in answer.json()["detail"]
    undone = await decided(linking, f"/{project}/undo", name="root", batch=done["batch"])
    assert undone == {"undone": 1, "changedSince": 0}
    missing = await linking.call("POST", f"/{project}/undo", json={"record": 99})
    assert missing.status_code == 404


async def test_a_reopening_is_somebodys_decision_too(linking: Linking) -> None:
    project = await linking.matched()
    path = f"/{project}/records/3"
    await decided(linking, f"{path}/reject")
    await decided(linking, f"{path}/reopen")
    assert (await linking.call("POST", f"/{project}/undo", name="root", json={"record": 3})).status_code == 409
    await decided(linking, f"/{project}/undo", record=3)
    assert (await linking.ok("GET", path))["state"] == "REJECTED"


async def test_a_reopening_is_not_undone_once_the_record_was_ranked_otherwise(linking: Linking) -> None:
    project = await linking.matched()
    path = f"/{project}/records/3"
    await decided(linking, f"{path}/reject")
    await decided(linking, f"{path}/reopen")
    await linking.service.fetch("update record_linking.records set entity = 'Q105' where number = 3")
    answer = await linking.call("POST", f"/{project}/undo", json={"record": 3})
    assert (answer.status_code, "changed since" in answer.json()["detail"]) == (409, True)
    assert (await linking.ok("GET", path))["state"] == "REVIEW"


async def test_a_decision_is_not_undone_below_later_ones_that_led_to_the_same(linking: Linking) -> None:
    project = await linking.matched()
    path = f"/{project}/records/3"
    await decided(linking, f"{path}/reject")
    opened = await decided(linking, f"{path}/reopen")
    await decided(linking, f"{path}/accept", entity="Q105")
    again = await decided(linking, f"{path}/reopen")
    same = ("state", "entity", "decidedBy", "decidedAt")
    assert [opened["record"][name] for name in same] == [again["record"][name] for name in same]
    answer = await linking.call("POST", f"/{project}/undo", json={"batch": opened["batch"]})
    assert (answer.status_code, "changed since" in answer.json()["detail"]) == (409, True)
    for state in ("ACCEPTED", "REVIEW", "REJECTED"):
        await decided(linking, f"/{project}/undo", record=3)
        assert (await linking.ok("GET", path))["state"] == state
