"""Stages, workers, limits and schedules over HTTP."""

import json

import pytest

from penstock.testing import drain
from tests.console.conftest import Service


async def test_a_stage_is_paused_with_a_reason_and_goes_on_again(service: Service) -> None:
    ann = await service.client("ann")
    paused = await ann.post("/api/stages/look_up/look_up/pause", json={"reason": "the shop is closed"})
    assert (paused.status_code, paused.json()["pausedBy"]) == (200, "ann")
    shown = {item["stage"]: item for item in (await ann.get("/api/stages")).json()["items"]}
    assert shown["look_up"]["pauseReason"] == "the shop is closed"
    assert shown["add"]["pausedAt"] is None
    assert (await ann.post("/api/stages/look_up/look_up/resume")).json()["pausedAt"] is None


async def test_a_paused_stage_runs_nothing(service: Service) -> None:
    ann = await service.client("ann")
    await ann.post("/api/stages/add/add/pause")
    item = await service.app.enqueue("add", {"left": 1, "right": 2}, owner="ann")
    await drain(service.app)
    why = (await ann.get(f"/api/tasks/{item.id}/why")).json()
    assert (why["reason"], why["status"]) == ("stage_paused", "PENDING")
    assert "ann" in why["sentence"]


async def test_the_limit_of_a_stage_is_set_and_taken_away(service: Service) -> None:
    ann = await service.client("ann")
    assert (await ann.patch("/api/stages/add/add/limit", json={"maxRunning": 7})).json()["maxRunning"] == 7
    assert (await ann.patch("/api/stages/add/add/limit", json={"maxRunning": None})).json()["maxRunning"] is None
    for wrong in ({"maxRunning": 0}, {"maxRunning": "7"}, {"maxRunning": True}, {"maxRunning": 2**31}, {}, {"more": 1}):
        assert (await ann.patch("/api/stages/add/add/limit", json=wrong)).status_code == 422


async def test_a_stage_that_is_not_there_is_told_with_the_known_ones(service: Service) -> None:
    answer = await (await service.client("ann")).post("/api/stages/look_up/elsewhere/pause")
    assert answer.status_code == 404
    assert "look_up" in answer.json()["detail"]


async def test_what_operators_do_is_written_down(service: Service) -> None:
    ann = await service.client("ann")
    await ann.post("/api/stages/add/add/pause", json={"reason": "rest"})
    await ann.put("/api/limits", json={"key": "shop", "rate": 5})
    rows = await service.fetch("select actor, action, kind, object, details::text from penstock.audit order by id")
    assert [tuple(row)[:4] for row in rows] == [
        ("ann", "stage.pause", "stage", "add/add"),
        ("ann", "limit.set", "limit", "shop"),
    ]
    assert '"rest"' in rows[0]["details"]


async def test_limits_are_set_listed_blocked_and_removed(service: Service) -> None:
    ann = await service.client("ann")
    for key in ("http://shop/a?b=1", "zz", "m"):
        assert (await ann.put("/api/limits", json={"key": key, "rate": 2.5, "burst": 3})).status_code == 200
    blocked = await ann.post("/api/limits/block", json={"key": "m", "seconds": 6000, "reason": "they asked for it"})
    assert blocked.json()["blockedSeconds"] == pytest.approx(6000, abs=100)
    first = (await ann.get("/api/limits?pageSize=2")).json()
    rest = (await ann.get("/api/limits", params={"pageSize": 2, "after": first["nextCursor"]})).json()
    assert [item["key"] for item in first["items"] + rest["items"]] == ["http://shop/a?b=1", "m", "zz"]
    assert rest["nextCursor"] is None
    assert first["items"][1]["blockedReason"] == "they asked for it"
    assert (await ann.delete("/api/limits", params={"key": "http://shop/a?b=1"})).status_code == 204
    assert (await ann.delete("/api/limits", params={"key": "http://shop/a?b=1"})).status_code == 404


async def test_a_circuit_is_set_shown_and_taken_away_with_its_limit(service: Service) -> None:
    ann = await service.client("ann")
    limit = {"key": "shop", "rate": 5}
    assert (await ann.put("/api/limits", json={**limit, "circuitFailures": 3, "circuitSeconds": 30})).status_code == 200
    (shown,) = (await ann.get("/api/limits")).json()["items"]
    assert (shown["circuit"], shown["circuitFailures"], shown["circuitSeconds"]) == ("closed", 3, 30)
    assert shown["store"] == "postgres"
    assert (await ann.put("/api/limits", json=limit)).status_code == 200
    assert (await ann.get("/api/limits")).json()["items"][0]["circuit"] == "closed", "left as it is"
    for wrong in ({"circuitFailures": 3}, {"circuitSeconds": 3}, {"circuitFailures": -1, "circuitSeconds": 3}):
        assert (await ann.put("/api/limits", json={**limit, **wrong})).status_code in (400, 422), wrong
    assert (await ann.put("/api/limits", json={**limit, "circuitFailures": 0})).status_code == 200
    assert (await ann.get("/api/limits")).json()["items"][0]["circuit"] is None


async def test_a_cursor_of_somebody_else_is_refused(service: Service) -> None:
    ann, bob = await service.client("ann"), await service.client("bob")
    for key in ("a", "b"):
        await ann.put("/api/limits", json={"key": key, "rate": 1})
    cursor = (await ann.get("/api/limits?pageSize=1")).json()["nextCursor"]
    assert (await bob.get("/api/limits", params={"pageSize": 1, "after": cursor})).status_code == 400


async def test_a_limit_that_cannot_be_kept_is_refused_by_its_field(service: Service) -> None:
    ann = await service.client("ann")
    for wrong in (
        {"key": "", "rate": 1},
        {"key": "a\0b", "rate": 1},
        {"key": "  ", "rate": 1},
        {"key": "a", "rate": 0},
        {"key": "a", "rate": 1e400},
        {"key": "a", "rate": "5"},
        {"key": "a", "rate": 1, "burst": 0},
        {"key": "a", "rate": 1, "owner": "bob"},
    ):
        content = json.dumps(wrong)
        answer = await ann.put("/api/limits", content=content, headers={"content-type": "application/json"})
        assert answer.status_code == 422, wrong
        assert answer.json()["fields"]


async def test_a_schedule_is_paused_resumed_and_fired(service: Service) -> None:
    ann = await service.client("ann")
    await service.fetch(
        """insert into penstock.schedules (name, cron, pipeline, input, next_fire_at)
           values ('shop/nightly', '0 3 * * *', 'add', '{"left": 1, "right": 2}', now() + interval '1 hour')"""
    )
    # Those of the applications are there, too.
    listed = (await ann.get("/api/schedules")).json()["items"]
    (shown,) = [one for one in listed if one["name"] == "shop/nightly"]
    assert (shown["words"], len(shown["upcoming"])) == ("At 03:00 every day", 5)
    paused = (await ann.post("/api/schedules/shop/nightly/pause")).json()
    assert (paused["pausedBy"], paused["upcoming"]) == ("ann", [])
    assert (await ann.post("/api/schedules/shop/nightly/resume")).json()["pausedAt"] is None
    fired = (await ann.post("/api/schedules/shop%2Fnightly/fire")).json()
    assert fired["name"] == "shop/nightly"
    found = await service.fetch("select 1 from penstock.tasks where id = $1", fired["itemId"])
    assert found
    assert (await ann.post("/api/schedules/other/fire")).status_code == 404


async def test_the_overview_shows_workers_stages_and_what_needs_attention(service: Service) -> None:
    seen = (await (await service.client("eve")).get("/api/overview")).json()
    assert {item["pipeline"] for item in seen["stages"]} >= {"add", "look_up"}
    assert seen["attention"][0]["sentence"] == "No worker is running."
    assert seen["workers"] == (await (await service.client("eve")).get("/api/workers")).json()["items"] == []


async def test_a_quick_key_that_is_closed_for_years_is_listed(service: Service) -> None:
    """What is left of it is further below zero than a small integer goes."""
    ann = await service.client("ann")
    await ann.put("/api/limits", json={"key": "shop", "rate": 100_000})
    await ann.post("/api/limits/block", json={"key": "shop", "seconds": 300_000_000})
    answer = await ann.get("/api/limits")
    assert answer.status_code == 200
    assert answer.json()["items"][0]["available"] < -(2**31)


async def test_a_number_without_a_fraction_is_whole(service: Service) -> None:
    ann = await service.client("ann")
    sent = {"content": '{"maxRunning": 7.0}', "headers": {"content-type": "application/json"}}
    assert (await ann.patch("/api/stages/add/add/limit", **sent)).json()["maxRunning"] == 7


async def test_a_method_that_is_not_answered_is_told_with_those_that_are(service: Service) -> None:
    answer = await (await service.client("ann")).post("/api/limits")
    assert (answer.status_code, answer.headers["allow"]) == (405, "DELETE, GET, PUT")
