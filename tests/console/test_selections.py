"""`/api/selections`: what is counted, what an action does, and what it leaves alone."""

import asyncio
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx2
import orjson
import pytest

from penstock import EnqueueOptions
from penstock.console.grids import selection_actions
from penstock.console.storage import selections
from penstock.control import jobs as steering
from penstock.errors import NotRepeated
from penstock.insight.error_groups import group_of
from penstock.storage import outcomes
from penstock.testing import drain
from tests.console.conftest import Service

BAD, MISSING, FINE = "bad", "missing", "lamp"


async def job_of(service: Service, *cells: str, owner: str = "ann", run: bool = True) -> int:
    rows: list[dict[str, Any]] = [{"row": n, "cells": [cell]} for n, cell in enumerate(cells, 1)]
    options = EnqueueOptions(owner=owner)
    pipeline = service.app.pipelines["look_up"]
    job = await service.app.store_many(pipeline, rows, options, name="lamps", metadata={"columns": ["Name"]})
    if run:
        await drain(service.app)
    else:
        await job.pause(by="ann")
    return job.id


async def select(client: httpx2.AsyncClient, **body: Any) -> dict[str, Any]:
    answer = await client.post("/api/selections", json=body)
    assert answer.status_code == 201, answer.text
    made: dict[str, Any] = answer.json()
    return made


async def act(client: httpx2.AsyncClient, selection: dict[str, Any], action: str, **more: Any) -> dict[str, Any]:
    path = f"/api/selections/{selection['selectionId']}/actions"
    answer = await client.post(path, json={"action": action, **more})
    assert answer.status_code == (200 if more.get("dryRun") else 202), answer.text
    told: dict[str, Any] = answer.json()
    return told


async def runs(service: Service, job_id: int) -> list[int]:
    """How often each item of a job has been run, in the order of the file."""
    found = await service.fetch("select run from penstock.task_states where job_id = $1 order by task_id", job_id)
    return [row["run"] for row in found]


async def ids(service: Service, job_id: int) -> list[int]:
    return [
        row["id"] for row in await service.fetch("select id from penstock.tasks where job_id = $1 order by id", job_id)
    ]


async def test_all_that_match_but_some_run_again_as_a_job_of_their_own(service: Service) -> None:
    job = await job_of(service, BAD, FINE, BAD, BAD, MISSING)
    ann = await service.client("ann")
    kept = (await ids(service, job))[2]
    chosen = await select(ann, filter={"jobId": job, "statuses": ["ERROR", "NOT_FOUND"]}, **{"except": [kept]})
    assert (chosen["count"], chosen["estimate"]) == (3, False)

    dry = await act(ann, chosen, "reprocess", dryRun=True)
    assert dry["changes"] == 3
    assert dry["byStatus"] == [{"status": "ERROR", "count": 2}, {"status": "NOT_FOUND", "count": 1}]
    assert dry["jobId"] is None
    assert await runs(service, job) == [1, 1, 1, 1, 1]

    told = await act(ann, chosen, "reprocess")
    await drain(service.app)
    assert await runs(service, job) == [2, 1, 1, 2, 2]
    detail = (await ann.get(f"/api/jobs/{told['jobId']}")).json()
    assert (detail["queueState"], detail["name"], detail["owner"]) == ("DONE", "Run again: 3 items", "ann")
    rows = (await ann.get(f"/api/jobs/{told['jobId']}/items", params={"sort": "row"})).json()["items"]
    assert rows[1]["result"] == {"Changed": "3", "Left alone": ""}


async def test_the_same_action_asked_twice_is_one_job(service: Service) -> None:
    job = await job_of(service, BAD)
    ann = await service.client("ann")
    chosen = await select(ann, filter={"jobId": job, "statuses": ["ERROR"]})
    first = await act(ann, chosen, "reprocess")
    second = await act(ann, chosen, "reprocess")
    assert (first["jobId"], first["created"], second["created"]) == (second["jobId"], True, False)
    await drain(service.app)
    assert await runs(service, job) == [2]
    entries = await service.fetch("select details from penstock.audit where action = 'selection.reprocess'")
    assert len(entries) == 1


async def test_what_fails_again_while_it_goes_on_is_not_taken_twice(service: Service) -> None:
    """Also not when a batch is run once more, as after a worker that died."""
    job = await job_of(service, BAD, BAD)
    ann = await service.client("ann")
    told = await act(ann, await select(ann, itemIds=await ids(service, job)), "reprocess")
    await drain(service.app)
    assert await runs(service, job) == [2, 2]
    async with service.app.connection() as connection:
        parts = await ids(service, told["jobId"])
        assert await outcomes.reprocess(connection, parts, statuses=[selection_actions.State.DONE], by="ann") == parts
    await drain(service.app)
    assert await runs(service, job) == [2, 2]


async def test_picked_items_that_run_by_now_are_left_alone_by_run_again_and_asked_to_stop_by_cancel(
    service: Service,
) -> None:
    job = await job_of(service, FINE, FINE, run=False)
    ann = await service.client("ann")
    chosen = await select(ann, itemIds=await ids(service, job))
    waiting, running = await ids(service, job)
    await service.fetch(
        "update penstock.queue set worker = 1, lease = nextval('penstock.lease_numbers') where task_id = $1", running
    )
    dry = await act(ann, chosen, "reprocess", dryRun=True)
    assert dry["leftAlone"] == [
        {"status": "PROCESSING", "count": 1, "reason": selection_actions._WHY_NOT["reprocess"]},
        {"status": "PENDING", "count": 1, "reason": selection_actions._DUE},
    ]
    await act(ann, chosen, "cancel")
    await drain(service.app)
    state = await service.fetch("select status from penstock.outcomes where task_id = $1", waiting)
    assert state[0]["status"] == 6
    asked = await service.fetch("select cancel_at from penstock.queue where task_id = $1", running)
    assert asked[0]["cancel_at"] is not None


async def test_cancelling_what_waits_leaves_alone_what_began_meanwhile(service: Service) -> None:
    job = await job_of(service, FINE, FINE, FINE, run=False)
    ann = await service.client("ann")
    chosen = await select(ann, filter={"jobId": job, "statuses": ["PENDING"]})
    assert chosen["count"] == 3
    running = (await ids(service, job))[0]
    await service.fetch(
        "update penstock.queue set worker = 1, lease = nextval('penstock.lease_numbers') where task_id = $1", running
    )
    await act(ann, chosen, "cancel")
    await drain(service.app)
    asked = await service.fetch("select cancel_at from penstock.queue where task_id = $1", running)
    assert asked[0]["cancel_at"] is None
    counts = (await ann.get(f"/api/jobs/{job}")).json()["counts"]
    assert counts["cancelled"] == 2


async def test_cancelling_what_is_open_reaches_what_began_after_it_was_asked_for(service: Service) -> None:
    job = await job_of(service, FINE, FINE, run=False)
    ann = await service.client("ann")
    chosen = await select(ann, filter={"jobId": job, "statuses": ["PENDING", "PROCESSING"]})
    await act(ann, chosen, "cancel")
    running = (await ids(service, job))[0]
    await service.fetch(
        """update penstock.queue set worker = 1, lease = nextval('penstock.lease_numbers'), updated_at = now()
           where task_id = $1""",
        running,
    )
    await drain(service.app)
    asked = await service.fetch("select cancel_at from penstock.queue where task_id = $1", running)
    assert asked[0]["cancel_at"] is not None


async def test_items_that_were_stored_later_are_not_cancelled(service: Service) -> None:
    job = await job_of(service, FINE, run=False)
    ann = await service.client("ann")
    chosen = await select(ann, filter={"jobId": job, "statuses": ["PENDING", "PROCESSING"]})
    await act(ann, chosen, "cancel")
    late = await service.app.enqueue("look_up", {"row": 2, "cells": [FINE]}, owner="ann", job_id=job)
    await drain(service.app)
    await service.app.job_by_id(job).resume(by="ann")
    await drain(service.app)
    assert (await (service.app.job_by_id(job)).counts()).cancelled == 1
    state, _, _ = await late.wait(60)
    assert state.name == "DONE"


async def test_run_again_lets_what_waits_for_its_next_try_start_now(service: Service) -> None:
    item = await service.app.enqueue("add", {"left": 1, "right": 2}, owner="ann", delay=3600)
    ann = await service.client("ann")
    await act(ann, await select(ann, itemIds=[item.id]), "reprocess")
    await drain(service.app)
    state, _, _ = await item.wait(60)
    assert state.name == "DONE"


async def test_run_again_of_what_began_meanwhile_is_noted_for_its_snooze(service: Service) -> None:
    item = await service.app.enqueue("add", {"left": 1, "right": 2}, owner="ann", delay=3600)
    ann = await service.client("ann")
    chosen = await select(ann, itemIds=[item.id])
    await service.fetch("update penstock.queue set worker = 1, lease = nextval('penstock.lease_numbers')")
    await act(ann, chosen, "reprocess")
    await drain(service.app)
    [row] = await service.fetch("select hastened = lease as noted from penstock.queue where task_id = $1", item.id)
    assert row["noted"]


@pytest.mark.parametrize("how", ["picked", "counted", "looked at"])
async def test_a_dry_run_of_run_again_leaves_alone_what_is_due_anyway(
    service: Service, how: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = await job_of(service, FINE, FINE, FINE, FINE, run=False)
    items = await ids(service, job)
    await service.fetch(
        "update penstock.queue set run_at = now() + interval '1 hour' where task_id = any ($1::bigint[])", items[2:]
    )
    ann = await service.client("ann")
    since = {} if how == "counted" else {"since": (datetime.now(UTC) - timedelta(hours=1)).isoformat()}
    asked: dict[str, Any] = {"filter": {"jobId": job, **since}, "except": items[3:]}
    chosen = await select(ann, **({"itemIds": items[:3]} if how == "picked" else asked))
    assert chosen["count"] == 3
    dry = await act(ann, chosen, "reprocess", dryRun=True)
    assert (dry["changes"], dry["byStatus"], dry["estimate"]) == (1, [{"status": "PENDING", "count": 1}], False)
    assert dry["leftAlone"] == [{"status": "PENDING", "count": 2, "reason": selection_actions._DUE}]
    assert (await act(ann, chosen, "cancel", dryRun=True))["changes"] == 3
    monkeypatch.setattr("penstock.console.grids.selections._LOOK", 1)
    if how == "counted":
        bounded = await select(ann, filter={"jobId": job})
        assert (bounded["count"], bounded["estimate"]) == (4, False)
        dry = await act(ann, bounded, "reprocess", dryRun=True)
        assert (dry["changes"], dry["estimate"]) == (1, True)


async def test_an_item_in_whose_place_a_copy_runs_is_left_alone(service: Service) -> None:
    job = await job_of(service, BAD)
    ann = await service.client("ann")
    (old,) = await ids(service, job)
    await ann.patch(f"/api/dead-letters/{old}", json={"input": {"cells": [FINE]}})
    chosen = await select(ann, itemIds=[old])
    dry = await act(ann, chosen, "reprocess", dryRun=True)
    assert dry["leftAlone"] == [{"status": "SKIPPED", "count": 1, "reason": selection_actions._EDITED}]
    doing = await act(ann, chosen, "reprocess")
    await drain(service.app)
    assert (doing["changes"], await runs(service, job)) == (0, [1, 1])
    (batch,) = (await ann.get(f"/api/jobs/{doing['jobId']}/items")).json()["items"]
    assert batch["result"] == {"Changed": "0", "Left alone": "1"}


async def test_of_selections_with_which_nothing_was_done_the_newest_are_kept(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("penstock.console.http.routes.selections.MOST_KEPT", 2)
    job = await job_of(service, BAD)
    ann, root = await service.client("ann"), await service.client("root")
    used = await select(ann, filter={"jobId": job})
    await act(ann, used, "reprocess")
    others = await select(root, filter={"jobId": job})
    made = [await select(ann, filter={"jobId": job}) for _ in range(3)]
    for chosen, client, status in ((used, ann, 200), (others, root, 200), (made[0], ann, 404), (made[1], ann, 200)):
        path = f"/api/selections/{chosen['selectionId']}/actions"
        assert (await client.post(path, json={"action": "cancel", "dryRun": True})).status_code == status


async def test_a_selection_that_somebody_begins_to_use_is_not_forgotten_meanwhile(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("penstock.console.http.routes.selections.MOST_KEPT", 1)
    job = await job_of(service, BAD)
    ann = await service.client("ann")
    used = await select(ann, filter={"jobId": job})
    async with service.app.connection() as connection, connection.transaction():
        assert await selections.use(connection, used["selectionId"])
        further = asyncio.ensure_future(select(ann, filter={"jobId": job}))
        await until_blocked(service)
    forgotten = await further
    await select(ann, filter={"jobId": job})
    for chosen, action, status in ((used, "cancel", 202), (forgotten, "reprocess", 404)):
        path = f"/api/selections/{chosen['selectionId']}/actions"
        assert (await ann.post(path, json={"action": action})).status_code == status


async def until_blocked(service: Service) -> None:
    waits = "select from pg_stat_activity where wait_event_type = 'Lock' and query like '%penstock.selections%'"
    async with asyncio.timeout(60):
        while not await service.fetch(waits):
            await asyncio.sleep(0.01)


async def test_a_selection_over_all_jobs_holds_ones_own_and_an_admins_everybodys(service: Service) -> None:
    anns, bobs = await job_of(service, BAD), await job_of(service, BAD, owner="bob")
    ann, root = await service.client("ann"), await service.client("root")
    refused = await ann.post("/api/selections", json={"filter": {"userId": "all"}})
    assert refused.status_code == 403
    own = await select(ann, filter={"statuses": ["ERROR"]})
    assert own["count"] == 1
    await act(ann, own, "reprocess")
    await drain(service.app)
    assert (await runs(service, anns), await runs(service, bobs)) == ([2], [1])
    everybodys = await select(root, filter={"statuses": ["ERROR"], "userId": "all"})
    assert everybodys["count"] == 2
    await act(root, everybodys, "reprocess")
    await drain(service.app)
    assert (await runs(service, anns), await runs(service, bobs)) == ([3], [2])


async def test_items_of_somebody_else_cannot_be_picked(service: Service) -> None:
    job = await job_of(service, BAD)
    bob = await service.client("bob")
    answer = await bob.post("/api/selections", json={"itemIds": await ids(service, job)})
    assert answer.status_code == 404
    answer = await bob.post("/api/selections", json={"filter": {"jobId": job}})
    assert answer.status_code == 404


async def test_actions_of_before_are_not_among_what_is_chosen_and_are_not_repeated(service: Service) -> None:
    job = await job_of(service, FINE, run=False)
    ann = await service.client("ann")
    told = await act(ann, await select(ann, itemIds=await ids(service, job)), "cancel")
    waiting = await select(ann, filter={"statuses": ["PENDING"]})
    assert waiting["count"] == 1
    await drain(service.app)
    chosen = await select(ann, filter={"statuses": ["DONE", "CANCELLED"]})
    assert chosen["count"] == 1
    everybodys = await select(await service.client("root"), filter={"statuses": ["DONE"], "userId": "all"})
    assert everybodys["count"] == 0
    await service.app.job_by_id(job).resume(by="ann")
    await act(ann, chosen, "reprocess")
    await drain(service.app)
    assert (await runs(service, job), await runs(service, told["jobId"])) == ([2], [1])

    parts = await ids(service, told["jobId"])
    for path, body in (
        ("/api/selections", {"itemIds": parts}),
        ("/api/selections", {"filter": {"jobId": told["jobId"]}}),
        (f"/api/jobs/{told['jobId']}/reprocess", {"scope": "job", "statuses": ["DONE"]}),
        (f"/api/jobs/{told['jobId']}/reprocess", {"scope": "items", "itemIds": parts}),
    ):
        answer = await ann.post(path, json=body)
        assert answer.status_code == 409, answer.text
        assert "It is not repeated" in answer.json()["detail"]


async def test_the_items_of_an_action_are_not_pending_and_not_replayed(service: Service) -> None:
    job = await job_of(service, BAD)
    ann = await service.client("ann")
    told = await act(ann, await select(ann, filter={"jobId": job}), "reprocess")
    (part,) = await ids(service, told["jobId"])
    for statuses in ("PENDING", "PENDING,ERROR"):
        page = (await ann.get("/api/pending", params={"statuses": statuses})).json()
        assert part not in [item["itemId"] for item in page["items"]]
    await service.fetch(
        """with gone as (delete from penstock.queue where task_id = $1 returning task_id, lane, stage),
           counted as (insert into penstock.counts (lane, stage, state, n) select lane, stage, 3, 1 from gone)
           insert into penstock.outcomes (task_id, job_id, lane, stage, status, attempts, run, error)
           select task_id, $2, lane, stage, 3, 20, 1, '{"type": "Broken"}' from gone""",
        part,
        told["jobId"],
    )
    one = await ann.post(f"/api/dead-letters/{part}/replay")
    assert (one.status_code, "It is not repeated" in one.json()["detail"]) == (409, True)
    every = await ann.post("/api/dead-letters/replay", json={"errorType": "Broken"})
    assert (every.json()["matched"], every.json()["replayed"]) == (0, 0)
    with pytest.raises(NotRepeated):
        await steering.reprocess(service.app, told["jobId"], by="ann")


async def test_who_is_no_admin_any_more_cannot_use_what_they_chose_as_one(service: Service) -> None:
    bobs, own = await job_of(service, BAD, owner="bob"), await job_of(service, BAD, owner="root")
    root = await service.client("root")
    everybodys = await select(root, filter={"statuses": ["ERROR"], "userId": "all"})
    picked = await select(root, itemIds=[*await ids(service, bobs), *await ids(service, own)])
    theirs = await select(root, itemIds=await ids(service, own))
    mine = await select(root, filter={"statuses": ["ERROR"]})
    await service.fetch("update penstock.users set role = 'operator' where name = 'root'")
    for chosen in (everybodys, picked):
        answer = await root.post(f"/api/selections/{chosen['selectionId']}/actions", json={"action": "reprocess"})
        assert answer.status_code == 404, answer.text
    for chosen in (theirs, mine):
        assert (await act(root, chosen, "reprocess", dryRun=True))["changes"] == 1
    await service.fetch("delete from penstock.outcomes where job_id = $1", own)
    assert (await act(root, theirs, "reprocess", dryRun=True))["changes"] == 0
    await drain(service.app)
    assert await runs(service, bobs) == [1]


async def test_a_selection_of_yesterday_is_refused_with_what_to_do(service: Service) -> None:
    job = await job_of(service, BAD)
    ann = await service.client("ann")
    chosen = await select(ann, filter={"jobId": job})
    await service.fetch("update penstock.selections set expires_at = now() - interval '1 second'")
    answer = await ann.post(f"/api/selections/{chosen['selectionId']}/actions", json={"action": "cancel"})
    assert answer.status_code == 409
    assert "Choose the items again" in answer.json()["detail"]


async def test_a_range_of_times_is_counted_by_a_bounded_look(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    job = await job_of(service, BAD, BAD, BAD)
    ann = await service.client("ann")
    since = (datetime.now(UTC) - timedelta(hours=1)).isoformat()
    exact = await select(ann, filter={"jobId": job, "since": since})
    assert (exact["count"], exact["estimate"]) == (3, False)
    monkeypatch.setattr("penstock.console.grids.selections._LOOK", 2)
    bounded = await select(ann, filter={"jobId": job, "since": since})
    assert (bounded["count"], bounded["estimate"]) == (2, True)


async def test_more_than_one_look_finds_are_all_taken_once(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(selection_actions, "_BATCH", 2)
    monkeypatch.setattr(selection_actions, "_FOUND_AT_ONCE", 4)
    job = await job_of(service, *[BAD] * 11)
    ann = await service.client("ann")
    told = await act(ann, await select(ann, filter={"jobId": job, "statuses": ["ERROR"]}), "reprocess")
    await drain(service.app)
    assert await runs(service, job) == [2] * 11
    rows = (await ann.get(f"/api/jobs/{told['jobId']}/items", params={"sort": "row"})).json()["items"]
    assert [row["row"] for row in rows] == list(range(1, len(rows) + 1))
    assert sum(int(row["result"]["Changed"] or 0) for row in rows) == 11


async def test_a_group_of_failures_is_listed_in_both_directions_and_run_again(service: Service) -> None:
    job = await job_of(service, *[BAD] * 3, MISSING, FINE)
    await service.fetch(
        """update penstock.outcomes set error = error || '{"message": "another one"}'
           where task_id = (select min(task_id) from penstock.outcomes where job_id = $1 and status = 3)""",
        job,
    )
    ann = await service.client("ann")
    found = await service.fetch(
        "select task_id, error::text as error from penstock.outcomes where job_id = $1 and status = 3 order by 1", job
    )
    group = group_of(orjson.loads(found[1]["error"]))
    path, params = f"/api/jobs/{job}/items", {"group": group, "pageSize": 1}
    first = (await ann.get(path, params=params)).json()
    second = (await ann.get(path, params=params | {"after": first["nextCursor"]})).json()
    third = (await ann.get(path, params=params | {"after": second["nextCursor"]})).json()
    listed = [row["itemId"] for page in (first, second, third) for row in page["items"]]
    assert listed == [found[2]["task_id"], found[1]["task_id"]]
    back = (await ann.get(path, params=params | {"before": second["startCursor"]})).json()
    assert [row["itemId"] for row in back["items"]] == [found[2]["task_id"]]
    assert (await ann.get(path, params={"group": group, "sort": "row"})).status_code == 400

    chosen = await select(ann, filter={"jobId": job, "group": group})
    assert chosen["count"] == 2
    await act(ann, chosen, "reprocess")
    await drain(service.app)
    assert await runs(service, job) == [1, 2, 2, 1, 1]


async def test_two_who_act_on_the_same_items_at_once_run_each_once(service: Service) -> None:
    job = await job_of(service, *[BAD] * 4)
    ann = await service.client("ann")
    one = await select(ann, filter={"jobId": job, "statuses": ["ERROR"]})
    two = await select(ann, itemIds=await ids(service, job))
    await asyncio.gather(act(ann, one, "reprocess"), act(ann, two, "reprocess"))
    await drain(service.app)
    assert await runs(service, job) == [2] * 4


async def test_the_list_over_all_jobs_says_how_far_they_are(service: Service) -> None:
    job = await job_of(service, FINE, BAD)
    ann = await service.client("ann")
    answer = (await ann.get("/api/pending", params={"statuses": "DONE,ERROR"})).json()
    assert [(one["jobId"], one["totalItems"], one["failedItems"]) for one in answer["jobs"]] == [(job, 2, 1)]
    item = answer["items"][0]["itemId"]
    now = (await ann.get("/api/items", params={"ids": item, "jobs": True})).json()
    assert now["jobs"] == answer["jobs"]
