"""Settings that admins change while everything runs: features with the next request, retention with its next run."""

from typing import Any

import pytest

from penstock.config import Settings
from penstock.upkeep.duties import Retention
from tests.console.conftest import Service
from tests.console.world import make

DAY = "interval '1 day'"


async def _change(service: Service, **body: Any) -> Any:
    answer = await (await service.client("root")).patch("/api/settings", json=body)
    assert answer.status_code == 200, answer.text
    return answer.json()


async def test_a_feature_that_is_off_is_off_for_everybody_at_once(service: Service) -> None:
    ann = await service.client("ann")
    assert (await ann.get("/api/pending")).status_code == 200
    await _change(service, flags={"pendingPage": False})
    assert (await ann.get("/api/me")).json()["flags"] == {"pendingPage": False}
    assert (await ann.get("/api/settings")).json()["flags"] == {"pendingPage": False}
    refused = await ann.get("/api/pending")
    assert (refused.status_code, "switched off" in refused.json()["detail"]) == (404, True)
    await _change(service, flags={"pendingPage": None})
    assert (await ann.get("/api/pending")).status_code == 200


async def test_only_admins_see_how_long_things_are_kept(service: Service) -> None:
    seen = (await (await service.client("ann")).get("/api/settings")).json()
    assert (seen["features"], seen["retention"]) == (None, None)
    kept = {one["name"]: one for one in (await (await service.client("root")).get("/api/settings")).json()["retention"]}
    days = {name: (one["days"], one["defaultDays"]) for name, one in kept.items()}
    assert days == dict.fromkeys(("endedItemsDays", "deadLettersDays", "auditDays"), (None, None))


async def test_a_change_says_by_whom_and_is_audited_with_what_it_was(service: Service) -> None:
    changed = await _change(service, retention={"endedItemsDays": 7})
    kept = {one["name"]: one for one in changed["retention"]}
    assert (kept["endedItemsDays"]["days"], kept["endedItemsDays"]["changedBy"]) == (7.0, "root")
    assert (kept["deadLettersDays"]["days"], kept["deadLettersDays"]["defaultDays"]) == (7.0, 7.0), "it follows"
    await _change(service, retention={"endedItemsDays": 7})
    rows = await service.fetch(
        "select actor, object, details ->> 'before' as was, details ->> 'value' as now from penstock.audit "
        "where action = 'setting.change' order by id"
    )
    assert [tuple(row) for row in rows] == [
        ("root", "endedItemsDays", None, "7.0"),
        ("root", "deadLettersDays", None, "7.0"),
    ], "what follows is told as well, and the second changed nothing"


async def test_what_is_stored_and_cannot_be_is_told_and_does_not_count(service: Service) -> None:
    await _change(service, retention={"auditDays": 7})
    await service.fetch("update penstock.preferences set value = '1e9' where name = 'auditDays'")
    seen = (await (await service.client("root")).get("/api/settings")).json()["retention"]
    kept = {one["name"]: (one["days"], one["ignored"]) for one in seen}
    assert kept["endedItemsDays"] == (None, None)
    days, ignored = kept["auditDays"]
    assert (days, "stored, which does not count: it has to be a number of days" in ignored) == (None, True)
    await _change(service, retention={"auditDays": 9})
    seen = (await (await service.client("root")).get("/api/settings")).json()["retention"]
    assert {one["name"]: one["ignored"] for one in seen}["auditDays"] is None


async def test_a_job_tells_how_long_its_items_are_kept_now(service: Service) -> None:
    ann = await service.client("ann")
    job = (await make(service)).job_id
    assert (await ann.get(f"/api/jobs/{job}")).json()["retentionDays"] is None
    await _change(service, retention={"endedItemsDays": 7})
    assert (await ann.get(f"/api/jobs/{job}")).json()["retentionDays"] == 7.0


@pytest.mark.parametrize(
    "body",
    [
        {"retention": {"endedItemsDays": 0.5}},
        {"retention": {"auditDays": 40_000}},
        {"retention": {"auditDays": "7"}},
        {"retention": {"everythingDays": 7}},
        {"flags": {"pendingPage": "no"}},
        {"flags": {"nothing": True}},
    ],
)
async def test_what_cannot_be_is_refused_and_changes_nothing(service: Service, body: Any) -> None:
    assert (await (await service.client("root")).patch("/api/settings", json=body)).status_code == 422
    assert await service.fetch("select from penstock.preferences") == []


async def _run(service: Service) -> dict[str, int]:
    async with service.app.connection() as connection:
        return await Retention(settings=Settings(retention_days=30)).run_once(connection)


async def test_retention_follows_what_was_changed_with_its_next_run(service: Service) -> None:
    world = await make(service)
    await service.fetch(f"update penstock.outcomes set finished_at = now() - 10 * {DAY}")
    assert (await _run(service))["tasks"] == 0
    await _change(service, retention={"endedItemsDays": 5, "deadLettersDays": 20})
    assert (await _run(service))["tasks"] > 0
    left = await service.fetch("select task_id from penstock.outcomes")
    assert [row["task_id"] for row in left] == [world.items["ERROR"]], "dead letters are kept longer"
    await _change(service, retention={"deadLettersDays": 5})
    assert (await _run(service))["tasks"] == 1


async def test_dead_letters_may_also_be_kept_shorter_than_the_rest(service: Service) -> None:
    world = await make(service)
    await service.fetch(f"update penstock.outcomes set finished_at = now() - 10 * {DAY}")
    await _change(service, retention={"deadLettersDays": 5})
    assert (await _run(service))["tasks"] == 1
    left = {row["task_id"] for row in await service.fetch("select task_id from penstock.outcomes")}
    assert world.items["ERROR"] not in left
    assert world.items["DONE"] in left


async def test_the_audit_log_is_kept_for_ever_until_somebody_says_how_long(service: Service) -> None:
    await service.fetch(
        f"insert into penstock.audit (actor, action, at) values ('old', 'test', now() - 40 * {DAY}), "
        "('new', 'test', now())"
    )
    assert (await _run(service))["audit"] == 0
    await _change(service, retention={"auditDays": 30})
    assert (await _run(service))["audit"] == 1
    actors = {row["actor"] for row in await service.fetch("select actor from penstock.audit")}
    assert "old" not in actors and "new" in actors


async def test_a_page_of_the_audit_log_lies_within_the_times_that_were_asked_for(service: Service) -> None:
    await service.fetch("truncate penstock.audit")
    await service.fetch(
        f"insert into penstock.audit (actor, action, at) select 'ann', 'a' || n, now() - n * {DAY} "
        "from generate_series(20, 0, -1) n"
    )
    root = await service.client("root")
    times = await service.fetch(f"select now() - 10.5 * {DAY} as since, now() - 4.5 * {DAY} as until")
    asked = {name: times[0][name].isoformat() for name in ("since", "until")}
    found, after = [], None
    for _ in range(5):
        page = (
            await root.get("/api/audit", params={**asked, "pageSize": 2, **({"after": after} if after else {})})
        ).json()
        found += [one["action"] for one in page["items"]]
        if (after := page["nextCursor"]) is None:
            break
    assert found == ["a5", "a6", "a7", "a8", "a9", "a10"]
    nothing = (await root.get("/api/audit", params={"since": "2999-01-01T00:00:00Z"})).json()
    assert (nothing["items"], nothing["nextCursor"]) == ([], None)
    mine = await (await service.client("ann")).get("/api/audit", params={"until": asked["since"], "actor": "ann"})
    assert next(one["action"] for one in mine.json()["items"]) == "a11"
