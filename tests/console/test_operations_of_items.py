"""Dead letters, groups of errors and single items over HTTP: seen and moved by their owners only."""

import csv
import io
import json
import time
from dataclasses import replace
from pathlib import Path

import httpx2

from penstock.console.files.export import csv_file
from penstock.console.files.export.layout import layout_of
from penstock.insight import items
from penstock.storage import outcomes
from penstock.testing import drain
from tests.console import world as worlds
from tests.console.conftest import Service
from tests.console.test_export import as_csv, as_sheets
from tests.storage import promises


async def test_an_item_is_shown_whole_to_its_owner(service: Service) -> None:
    world = await worlds.make(service)
    ann = await service.client("ann")
    for state, item_id in world.items.items():
        item = (await ann.get(f"/api/tasks/{item_id}")).json()
        assert (item["itemId"], item["status"], item["owner"]) == (item_id, state, "ann")
        assert (await ann.get(f"/api/tasks/{item_id}/why")).json()["status"] == state
    failed = (await ann.get(f"/api/tasks/{world.items['ERROR']}")).json()
    assert failed["error"]["message"] == "it cannot be looked up"
    assert failed["input"] == {"row": 2, "cells": ["bad"]}


async def test_a_task_of_no_job_is_not_among_the_items_that_are_asked_for(service: Service) -> None:
    world = await worlds.make(service)
    of_job, of_none = world.items["DONE"], await world.waiting()
    answer = await (await service.client("ann")).get(f"/api/items?ids={of_none},{of_job}&jobs=true")
    assert answer.status_code == 200, answer.text
    assert [item["itemId"] for item in answer.json()["items"]] == [of_job]


async def test_others_find_nothing_and_an_admins_look_is_noted(service: Service) -> None:
    world = await worlds.make(service)
    item_id = world.items["ERROR"]
    for name in ("bob", "eve"):
        assert (await (await service.client(name)).get(f"/api/tasks/{item_id}")).status_code == 404
        assert (await (await service.client(name)).get(f"/api/tasks/{item_id}/why")).status_code == 404
    for _ in range(2):
        assert (await (await service.client("root")).get(f"/api/tasks/{item_id}")).status_code == 200
    noted = await service.fetch("select actor, action, object, owner from penstock.audit")
    assert [tuple(row) for row in noted] == [("root", "task.look", str(item_id), "ann")]


async def test_an_item_without_an_owner_is_the_admins(service: Service) -> None:
    world = await worlds.make(service)
    item_id = await world.dead_letter(owner=None)
    assert (await (await service.client("ann")).get(f"/api/tasks/{item_id}")).status_code == 404
    assert (await (await service.client("root")).get(f"/api/tasks/{item_id}")).status_code == 200
    assert (await (await service.client("ann")).post(f"/api/dead-letters/{item_id}/replay")).status_code == 404


async def test_dead_letters_are_listed_page_by_page_for_their_owner(service: Service) -> None:
    world = await worlds.make(service)
    expected = [world.items["ERROR"], *[await world.dead_letter() for _ in range(4)]]
    await world.dead_letter(owner="bob")
    ann = await service.client("ann")
    seen, cursor = [], None
    while True:
        page = (
            await ann.get("/api/dead-letters", params={"pageSize": 2, **({"after": cursor} if cursor else {})})
        ).json()
        seen += [item["itemId"] for item in page["items"]]
        if (cursor := page["nextCursor"]) is None:
            break
    assert seen == expected[::-1]
    (of_job,) = (await ann.get(f"/api/dead-letters?jobId={world.job_id}")).json()["items"]
    assert (of_job["itemId"], of_job["errorType"], of_job["inputSummary"]) == (
        expected[0],
        "PermanentError",
        '{"row":2,"cells":["bad"]}',
    )
    assert (await (await service.client("bob")).get(f"/api/dead-letters?jobId={world.job_id}")).status_code == 404
    assert (await ann.get("/api/dead-letters?userId=all")).status_code == 403
    everybody = (await (await service.client("root")).get("/api/dead-letters?userId=all")).json()["items"]
    assert {item["owner"] for item in everybody} == {"ann", "bob"}


async def test_a_dead_letter_is_replayed_once(service: Service) -> None:
    item_id = (await worlds.make(service)).items["ERROR"]
    ann = await service.client("ann")
    assert (await ann.post(f"/api/dead-letters/{item_id}/replay")).json() == {"itemId": item_id}
    again = await ann.post(f"/api/dead-letters/{item_id}/replay")
    assert (again.status_code, again.json()["state"]) == (409, "PENDING")


async def test_an_edited_dead_letter_runs_with_its_new_input(service: Service) -> None:
    item_id = (await worlds.make(service)).items["ERROR"]
    ann = await service.client("ann")
    wrong = await ann.patch(f"/api/dead-letters/{item_id}", json={"input": {"row": 2}})
    assert wrong.status_code == 400
    edited = (await ann.patch(f"/api/dead-letters/{item_id}", json={"input": {"row": 2, "cells": ["lamp"]}})).json()
    assert edited["replaces"] == item_id
    await drain(service.app)
    assert (await ann.get(f"/api/tasks/{edited['itemId']}")).json()["result"]["columns"] == {"Found": "LAMP"}
    assert (await ann.get(f"/api/tasks/{item_id}")).json()["status"] == "SKIPPED"


async def test_a_row_that_was_edited_is_exported_once_and_not_run_again(service: Service, tmp_path: Path) -> None:
    world = await worlds.make(service)
    ann = await service.client("ann")
    before = await as_csv(service, world.job_id)
    old = world.items["ERROR"]
    await ann.patch(f"/api/dead-letters/{old}", json={"input": {"row": 2, "cells": ["lamp"]}})
    await drain(service.app)
    for rows in (
        await as_csv(service, world.job_id),
        next(iter((await as_sheets(service, world.job_id, tmp_path)).values())),
    ):
        assert len(rows) == len(before)
        assert [row[0] for row in rows] == ["lamp" if row[0] == "bad" else row[0] for row in before]
        assert [row for row in rows if "LAMP" in row]
        assert not [row for row in rows if "ERROR" in row or "edited" in str(row)]
    again = await ann.post(f"/api/jobs/{world.job_id}/reprocess", json={"scope": "job", "statuses": ["SKIPPED"]})
    assert again.status_code == 200, again.text
    assert (await ann.get(f"/api/tasks/{old}")).json()["status"] == "SKIPPED"


async def test_a_row_that_is_edited_while_an_export_runs_is_in_the_file_as_it_was(service: Service) -> None:
    world = await worlds.make(service)
    ann = await service.client("ann")
    layout = await layout_of(service.app, world.job_id)
    edit = await ann.patch(f"/api/dead-letters/{world.items['ERROR']}", json={"input": {"cells": ["lamp"]}})
    # The second: as if its number had been taken before the export began, and it became visible afterwards.
    for begun in (layout, replace(layout, last_id=edit.json()["itemId"])):
        data = b"".join([part async for part in csv_file.stream(service.app, begun)])
        rows = list(csv.DictReader(io.StringIO(data.decode(), newline="")))
        assert len(rows) == layout.rows
        (edited,) = [row for row in rows if "edited and replayed" in row["Error"]]
        assert (next(iter(edited.values())), edited["Status"]) == ("bad", "SKIPPED")


async def test_what_was_skipped_or_not_found_is_edited_once_as_what_failed_is(service: Service) -> None:
    world = await worlds.make(service)
    ann = await service.client("ann")
    job = f"/api/jobs/{world.job_id}"
    was = (await ann.get(job)).json()
    for state in ("NOT_FOUND", "SKIPPED"):
        old = world.items["ERROR"]
        await service.fetch(
            """with moved as (update penstock.outcomes set status = $2 where task_id = $1 returning lane, stage)
               insert into penstock.counts (lane, stage, state, n)
               select lane, stage, state, n from moved cross join (values (3, -1), ($2, 1)) as change (state, n)""",
            old,
            4 if state == "NOT_FOUND" else 5,
        )
        edited = await ann.patch(f"/api/dead-letters/{old}", json={"input": {"cells": ["bad"]}})
        assert edited.status_code == 200, edited.text
        again = await ann.patch(f"/api/dead-letters/{old}", json={"input": {"cells": ["bad"]}})
        assert (again.status_code, again.json()["state"]) == (409, "REPLACED")
        assert f"task {edited.json()['itemId']}" in again.json()["detail"]
        await drain(service.app)
        now = (await ann.get(job)).json()
        assert (now["totalItems"], now["counts"]) == (was["totalItems"], was["counts"])
        await _kept(service)
        world.items["ERROR"] = edited.json()["itemId"]
    lanes = await service.fetch("select key from penstock.lanes where job_id = $1", world.job_id)
    assert [row["key"] for row in lanes] == [f"job:{world.job_id}"]


async def _kept(service: Service) -> None:
    async with service.app.connection() as connection:
        assert not await promises.broken(connection)


async def _rows(client: httpx2.AsyncClient, job_id: int, **query: object) -> list[tuple[int, int]]:
    """(row, item) in the order of the file, two to a page."""
    found, more = [], {"sort": "row", "pageSize": 2, **query}
    while True:
        page = (await client.get(f"/api/jobs/{job_id}/items", params=more)).json()
        found += [(item["row"], item["itemId"]) for item in page["items"]]
        if page["nextCursor"] is None:
            return found
        more = {"sort": "row", "pageSize": 2, "after": page["nextCursor"]}


async def test_an_edited_row_is_there_once_and_in_its_place(service: Service) -> None:
    world = await worlds.make(service)
    ann = await service.client("ann")
    job = f"/api/jobs/{world.job_id}"
    first = world.items["ERROR"]
    was = (await ann.get(job)).json()
    places = dict(await _rows(ann, world.job_id))
    number = next(row for row, item in places.items() if item == first)
    # The number of the row is the file's, whatever was sent, and a copy may fail and be edited in its turn.
    second = (await ann.patch(f"/api/dead-letters/{first}", json={"input": {"row": 99, "cells": ["bad"]}})).json()
    waiting = (await ann.get(job)).json()
    assert (waiting["totalItems"], waiting["counts"]["error"]) == (was["totalItems"], was["counts"]["error"] - 1)
    await drain(service.app)
    third = (await ann.patch(f"/api/dead-letters/{second['itemId']}", json={"input": {"cells": ["lamp"]}})).json()
    await drain(service.app)
    now = (await ann.get(job)).json()
    assert now["totalItems"] == was["totalItems"]
    assert sum(now["counts"].values()) == now["totalItems"]
    assert now["counts"]["skipped"] == was["counts"]["skipped"]
    await _kept(service)
    copy = third["itemId"]
    assert dict(await _rows(ann, world.job_id)) == places | {number: copy}
    assert [row for row, _ in await _rows(ann, world.job_id)] == sorted(places)
    for row, item in (places | {number: copy}).items():
        assert (await _rows(ann, world.job_id, fromRow=row))[0] == (row, item)
    async with service.app.connection() as connection:
        assert await items.id_now_of_row(connection, world.job_id, number) == copy
    beside = (await ann.get(f"{job}/items/{copy}/neighbours")).json()
    assert (beside["previous"], beside["next"]) == (places.get(number - 1), places.get(number + 1))
    listed = [item["itemId"] for item in (await ann.get(f"{job}/items?statuses=SKIPPED")).json()["items"]]
    assert not {first, second["itemId"]} & set(listed)
    known = (await ann.get(f"/api/items?ids={first},{copy}")).json()["items"]
    assert [item["replacedBy"] for item in known] == [second["itemId"], None]


async def test_an_edited_row_stays_when_retention_has_taken_what_it_replaces(service: Service) -> None:
    world = await worlds.make(service)
    ann = await service.client("ann")
    old = world.items["ERROR"]
    was = (await ann.get(f"/api/jobs/{world.job_id}")).json()["totalItems"]
    copy = (await ann.patch(f"/api/dead-letters/{old}", json={"input": {"cells": ["lamp"]}})).json()["itemId"]
    await service.fetch("update penstock.outcomes set finished_at = now() - interval '9 days' where task_id = $1", old)
    async with service.app.connection() as connection:
        gone = await outcomes.expire(connection, 8 * 86_400.0, 8 * 86_400.0, 100, single_seconds=8 * 86_400.0)
        assert gone.count == 1
    await _kept(service)
    assert copy in [item for _, item in await _rows(ann, world.job_id)]
    assert (await ann.get(f"/api/jobs/{world.job_id}")).json()["totalItems"] == was
    assert len(await as_csv(service, world.job_id)) == was + 1


async def test_where_retention_took_the_copy_the_row_it_was_made_of_is_listed_and_exported(service: Service) -> None:
    world = await worlds.make(service)
    ann = await service.client("ann")
    old = world.items["ERROR"]
    copy = (await ann.patch(f"/api/dead-letters/{old}", json={"input": {"cells": ["bad"]}})).json()["itemId"]
    await drain(service.app)
    await service.fetch("update penstock.outcomes set finished_at = now() - interval '9 days' where task_id = $1", copy)
    async with service.app.connection() as connection:
        gone = await outcomes.expire(connection, 30 * 86_400.0, 8 * 86_400.0, 100, single_seconds=30 * 86_400.0)
        assert gone.count == 1
    await _kept(service)
    listed = [item for _, item in await _rows(ann, world.job_id)]
    assert old in listed
    assert len(await as_csv(service, world.job_id)) == len(listed) + 1


async def test_rows_that_were_edited_before_their_copies_stood_for_them_are_counted_once_after_the_upgrade(
    service: Service,
) -> None:
    world = await worlds.make(service)
    ann = await service.client("ann")
    job = f"/api/jobs/{world.job_id}"
    was = (await ann.get(job)).json()["totalItems"]
    old = world.items["ERROR"]
    await ann.patch(f"/api/dead-letters/{old}", json={"input": {"cells": ["lamp"]}})
    # As the version before left it.
    await service.fetch(
        """with old as (update penstock.outcomes set job_id = $2 where task_id = $1 returning lane, stage)
           insert into penstock.counts (lane, stage, state, n)
           select lane, stage, state, n from old
           cross join (values (0, 1), (5, 1), (15, 1), (10, -1)) as change (state, n)""",
        old,
        world.job_id,
    )
    assert (await ann.get(job)).json()["totalItems"] == was + 1
    migration = (Path(outcomes.__file__).parent / "migrations/0014_edits_looks_and_uses.sql").read_text()
    (mends,) = [one for one in migration.split(";") if "update penstock.outcomes" in one]
    await service.fetch(mends)
    assert (await ann.get(job)).json()["totalItems"] == was
    await _kept(service)


async def test_an_input_that_cannot_be_stored_is_refused(service: Service) -> None:
    item_id = (await worlds.make(service)).items["ERROR"]
    ann = await service.client("ann")
    for text in (
        '{"row": 1, "cells": ["\\u0000"]}',
        '{"row": 1, "cells": ["\\ud800"]}',
        '{"row": 1, "cells": [1e400]}',
    ):
        answer = await ann.patch(
            f"/api/dead-letters/{item_id}",
            content=f'{{"input": {text}}}',
            headers={"content-type": "application/json"},
        )
        assert answer.status_code in (400, 422), text
    too_large = await ann.patch(f"/api/dead-letters/{item_id}", json={"input": {"row": 1, "cells": ["x" * 70_000]}})
    assert too_large.status_code == 413


async def test_all_that_match_are_replayed_after_a_dry_run_and_no_others(service: Service) -> None:
    world = await worlds.make(service)
    await service.fetch("delete from penstock.outcomes where task_id = $1", world.items["ERROR"])
    mine = [await world.dead_letter(message=f"no answer of shop {n}") for n in range(3)]
    other = await world.dead_letter(message="something else")
    bobs = await world.dead_letter(owner="bob", message="no answer of shop 9")
    ann = await service.client("ann")
    groups = (await ann.get("/api/errors")).json()
    group = next(one for one in groups["items"] if one["count"] == 3)
    asked = {"group": group["groupId"], "pipeline": "look_up"}
    counted = (await ann.post("/api/dead-letters/replay", json={**asked, "dryRun": True})).json()
    assert (counted["matched"], counted["replayed"], counted["dryRun"]) == (3, 0, True)
    first = (await ann.post("/api/dead-letters/replay", json={**asked, "most": 2})).json()
    rest = (await ann.post("/api/dead-letters/replay", json={**asked, "most": 2, "after": first["nextCursor"]})).json()
    assert first["replayed"] + rest["replayed"] == 3
    states = await service.fetch(
        "select task_id, state from penstock.task_states where task_id = any($1)", [*mine, other, bobs]
    )
    assert {row["task_id"] for row in states if row["state"] == "ERROR"} == {other, bobs}
    assert {row["task_id"] for row in states if row["state"] == "PENDING"} == set(mine)


async def test_a_canary_that_does_not_end_leaves_the_others_dead(service: Service) -> None:
    world = await worlds.make(service)
    ann = await service.client("ann")
    mine = {await world.dead_letter(message="no answer") for _ in range(3)} | {world.items["ERROR"]}
    asked = {"pipeline": "look_up", "canary": True, "canarySeconds": 0.3, "most": 2}
    answer = (await ann.post("/api/dead-letters/replay", json=asked)).json()
    assert (answer["replayed"], answer["stopped"], answer["nextCursor"]) == (1, True, None)
    assert answer["canary"]["state"] is None and answer["canary"]["itemId"] in mine
    dead = await service.fetch("select task_id from penstock.outcomes where status = 3")
    assert mine - {row["task_id"] for row in dead} == {answer["canary"]["itemId"]}


async def test_a_replay_is_no_faster_than_asked_and_holds_no_request_for_long(service: Service) -> None:
    world = await worlds.make(service)
    ann = await service.client("ann")
    for _ in range(4):
        await world.dead_letter(message="no answer")
    began = time.monotonic()
    asked = {"pipeline": "look_up", "perSecond": 4, "most": 4}
    answer = (await ann.post("/api/dead-letters/replay", json=asked)).json()
    assert answer["replayed"] == 4 and not answer["stopped"] and answer["canary"] is None
    assert time.monotonic() - began >= 0.7
    slow = await ann.post("/api/dead-letters/replay", json={"perSecond": 2, "most": 1000})
    assert slow.status_code == 400 and "Ask for 120 at a time" in slow.text
    for wrong in ({"perSecond": 0}, {"canarySeconds": 31}, {"stopAfter": 0}):
        assert (await ann.post("/api/dead-letters/replay", json=wrong)).status_code in (400, 422)


async def test_others_jobs_and_everybodys_letters_cannot_be_replayed(service: Service) -> None:
    world = await worlds.make(service)
    bob = await service.client("bob")
    assert (await bob.post("/api/dead-letters/replay", json={"jobId": world.job_id})).status_code == 404
    assert (await bob.post("/api/dead-letters/replay", json={"userId": "all"})).status_code == 403
    assert (await bob.post("/api/dead-letters/replay", json={})).json()["matched"] == 0
    assert (await bob.post("/api/dead-letters/replay", json={"owner": "ann"})).status_code == 422


async def test_errors_that_differ_in_ids_only_are_one_group(service: Service) -> None:
    world = await worlds.make(service)
    await service.fetch("delete from penstock.outcomes where task_id = $1", world.items["ERROR"])
    told = [
        "order 17 of 6f1c9a3e-8b1d-4f43-9d52-0c3a1d0c6b5e: status 503",
        "order 2,891 of 00000000-8b1d-4f43-9d52-0c3a1d0c6b5e: status 500",
        "order 3 of  sku-AB12: status 404",
    ]
    ids = [await world.dead_letter(message=message) for message in told]
    await world.dead_letter(message="another thing")
    await world.dead_letter(owner="bob", message=told[0])
    seen = (await (await service.client("ann")).get("/api/errors?hours=1")).json()
    assert (seen["failures"], seen["complete"], [one["count"] for one in seen["items"]]) == (4, True, [3, 1])
    group = seen["items"][0]
    assert group["message"] == "order <n> of <id>: status <n>"
    assert group["example"] == told[-1]
    assert (group["exampleItemId"], group["stages"], group["type"]) == (ids[-1], ["look_up"], "PermanentError")
    assert group["firstSeen"] < group["lastSeen"]
    assert (len(group["trend"]), sum(group["trend"])) == (24, 3)
    assert group["trend"][-1] > 0
    everybody = (await (await service.client("root")).get("/api/errors?userId=all")).json()
    assert [one["count"] for one in everybody["items"]] == [4, 1]


async def test_errors_of_a_job_are_its_owners(service: Service) -> None:
    world = await worlds.make(service)
    await world.dead_letter()
    asked = f"/api/errors?jobId={world.job_id}"
    assert (await (await service.client("ann")).get(asked)).json()["failures"] == 1
    assert (await (await service.client("bob")).get(asked)).status_code == 404


async def test_the_overview_shows_no_letters_of_others(service: Service) -> None:
    await worlds.make(service)
    assert len((await (await service.client("ann")).get("/api/overview")).json()["newestDeadLetters"]) == 1
    assert (await (await service.client("bob")).get("/api/overview")).json()["newestDeadLetters"] == []


async def test_a_time_is_taken_only_with_its_zone(service: Service) -> None:
    ann = await service.client("ann")
    for since in ("yesterday", "2026-11-15", "1763199000", "2026-11-15T09:30:00", "\0"):
        assert (await ann.get("/api/dead-letters", params={"since": since})).status_code == 422, since
    for since in ("2026-11-15T09:30:00Z", "0001-01-01T00:00:00+05:00", "9999-12-31T23:59:59-10:00"):
        assert (await ann.get("/api/dead-letters", params={"since": since})).status_code == 200, since


async def test_an_unknown_field_with_a_broken_name_is_refused_and_not_a_fault(service: Service) -> None:
    ann = await service.client("ann")
    answer = await ann.post(
        "/api/dead-letters/replay", content=b'{"\\ud800": 1}', headers={"content-type": "application/json"}
    )
    assert answer.status_code == 422
    assert json.loads(answer.content)["fields"]
