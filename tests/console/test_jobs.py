"""Jobs over HTTP: sending files, watching them, deciding about them."""

import asyncio
from typing import Any

import pytest

from penstock import Penstock, Snooze
from penstock.console.files.importing import Importing
from penstock.workers.inprocess import InProcessWorker
from tests.console.conftest import Service

CSV = b"name,brand\nbolt,Acme\nmissing,Acme\nbad,Acme\nnut,Acme\n"


async def submit(
    service: Service, data: bytes = CSV, *, who: str = "ann", name: str = "products.csv", **fields: Any
) -> int:
    answer = await (await service.client(who)).post(
        "/api/jobs", files={"file": (name, data)}, data={"pipeline": "look_up", **fields}
    )
    assert answer.status_code == 202, answer.text
    job: int = answer.json()["jobId"]
    return job


async def store(service: Service, job: int) -> Any:
    """What the task `penstock.import` of a worker does."""
    return await Importing(service.app, None, job).run()


async def done(service: Service, job: int) -> None:
    async with InProcessWorker(service.app, only=["look_up"]):
        await service.app.job_by_id(job).wait(timeout=60)


async def test_a_worker_of_another_application_leaves_a_file_to_those_that_have_its_pipeline(service: Service) -> None:
    job = await submit(service)
    await service.fetch("update penstock.imports set state = 'waiting', rows_stored = 0 where job_id = $1", job)
    async with Penstock("another", settings=service.app.settings) as other:
        left = await Importing(other, None, job).run()
    assert isinstance(left, Snooze)
    assert "'another' has no pipeline 'look_up'" in left.reason
    assert (await store(service, job))["rows"] == 4


async def test_rows_of_a_file_become_items_and_are_processed(service: Service) -> None:
    client = await service.client()
    job = await submit(service)
    first = (await client.get(f"/api/jobs/{job}")).json()
    assert (first["queueState"], first["totalItems"], first["import"]["state"]) == ("QUEUED", 4, "stored")
    assert first["columns"] == ["name", "brand"]
    await done(service, job)
    last = (await client.get(f"/api/jobs/{job}")).json()
    assert last["import"]["state"] == "stored"
    assert last["counts"] == {
        "pending": 0,
        "processing": 0,
        "done": 2,
        "error": 1,
        "notFound": 1,
        "skipped": 0,
        "cancelled": 0,
    }
    assert (last["totalItems"], last["processedItems"], last["failedItems"]) == (4, 4, 1)
    assert last["queueState"] == "FAILED"
    assert "cannot be looked up" in last["lastError"]
    page = (await client.get(f"/api/jobs/{job}/items?sort=row&cells=true")).json()
    assert [item["cells"][0] for item in page["items"]] == ["bolt", "missing", "bad", "nut"]
    assert [item["status"] for item in page["items"]] == ["DONE", "NOT_FOUND", "ERROR", "DONE"]
    assert page["items"][0]["result"] == {"Found": "BOLT"}
    assert page["items"][0]["inputSummary"] == {"name": "bolt", "brand": "Acme"}


async def test_rows_of_a_large_file_follow_when_a_worker_stores_them(service: Service) -> None:
    client = await service.client()
    job = await submit(service, b"name\n" + b"".join(b"item %d\n" % n for n in range(150_000)))
    first = (await client.get(f"/api/jobs/{job}")).json()
    assert (first["queueState"], first["totalItems"], first["import"]["state"]) == ("QUEUED", 0, "waiting")
    assert await store(service, job) == {"rows": 150_000, "problem": None}
    last = (await client.get(f"/api/jobs/{job}")).json()
    assert (last["totalItems"], last["import"]["state"], last["import"]["rowsStored"]) == (150_000, "stored", 150_000)
    assert last["import"]["batchRows"] > 64
    assert last["import"]["batchReason"]


async def test_pages_go_through_every_item_once_in_both_orders(service: Service) -> None:
    client = await service.client()
    job = await submit(service, b"name\n" + b"".join(b"item %d\n" % n for n in range(57)))
    await store(service, job)
    for sort in ("-updatedAt", "updatedAt", "row"):
        seen: list[int] = []
        after = ""
        while True:
            answer = await client.get(f"/api/jobs/{job}/items?pageSize=10&sort={sort}{after}")
            page = answer.json()
            seen += [item["itemId"] for item in page["items"]]
            if page["nextCursor"] is None:
                break
            after = f"&after={page['nextCursor']}"
        assert len(seen) == len(set(seen)) == 57
        assert seen == sorted(seen, reverse=sort.startswith("-"))


async def test_pages_go_backwards_over_the_same_items(service: Service) -> None:
    client = await service.client()
    job = await submit(service, b"name\n" + b"".join(b"item %d\n" % n for n in range(25)))
    await store(service, job)
    for sort in ("-updatedAt", "updatedAt", "row"):
        ask = f"/api/jobs/{job}/items?pageSize=10&sort={sort}"
        pages = [(await client.get(ask)).json()]
        while (after := pages[-1]["nextCursor"]) is not None:
            pages.append((await client.get(f"{ask}&after={after}")).json())
        assert pages[0]["previousCursor"] is None
        back = [pages[-1]]
        while (before := back[0]["previousCursor"]) is not None:
            back.insert(0, (await client.get(f"{ask}&before={before}")).json())
        forwards = [item["itemId"] for page in pages for item in page["items"]]
        assert [item["itemId"] for page in back for item in page["items"]] == forwards
        assert len(forwards) == 25


async def test_the_end_of_a_list_can_be_asked_again_when_more_was_stored(service: Service) -> None:
    client = await service.client()
    job = await submit(service, b"name\n" + b"x\n" * 5)
    await store(service, job)
    ask = f"/api/jobs/{job}/items?sort=row&pageSize=10"
    page = (await client.get(ask)).json()
    assert page["nextCursor"] is None and len(page["items"]) == 5
    nothing = (await client.get(f"{ask}&after={page['endCursor']}")).json()
    assert (nothing["items"], nothing["startCursor"], nothing["endCursor"]) == ([], None, None)


async def test_a_list_starts_at_the_row_somebody_asks_for(service: Service) -> None:
    client = await service.client()
    job = await submit(service, b"name\n" + b"".join(b"item %d\n" % n for n in range(1, 41)))
    await store(service, job)
    page = (await client.get(f"/api/jobs/{job}/items?sort=row&fromRow=30&pageSize=5")).json()
    assert [item["row"] for item in page["items"]] == [30, 31, 32, 33, 34]
    before = (await client.get(f"/api/jobs/{job}/items?sort=row&before={page['startCursor']}&pageSize=5")).json()
    assert [item["row"] for item in before["items"]] == [25, 26, 27, 28, 29]
    assert (await client.get(f"/api/jobs/{job}/items?sort=row&fromRow=41")).status_code == 404
    for wrong in ("fromRow=3", f"sort=row&fromRow=3&after={page['endCursor']}", "sort=row&after=a&before=b"):
        assert (await client.get(f"/api/jobs/{job}/items?{wrong}")).status_code == 400


async def test_known_items_are_told_as_they_are_now_and_those_of_others_are_not(service: Service) -> None:
    client = await service.client()
    job = await submit(service, b"name\nfirst\nsecond\n")
    await store(service, job)
    ids = [item["itemId"] for item in (await client.get(f"/api/jobs/{job}/items?sort=row")).json()["items"]]
    asked = f"/api/items?cells=true&ids={ids[1]},{ids[0]},{2**50}"
    found = (await client.get(asked)).json()["items"]
    assert [(one["itemId"], one["cells"]) for one in found] == [(ids[1], ["second"]), (ids[0], ["first"])]
    assert (await (await service.client("bob")).get(asked)).json()["items"] == []
    assert len((await (await service.client("root")).get(asked)).json()["items"]) == 2
    too_many = ",".join(str(n) for n in range(1, 202))
    assert (await client.get(f"/api/items?ids={too_many}")).status_code == 400


async def test_a_cursor_is_worth_nothing_to_others_or_with_other_filters(service: Service) -> None:
    job = await submit(service, b"name\n" + b"x\n" * 5)
    await store(service, job)
    client = await service.client()
    cursor = (await client.get(f"/api/jobs/{job}/items?pageSize=2")).json()["nextCursor"]
    for query in (f"statuses=DONE&after={cursor}", f"sort=row&after={cursor}", "after=AAAA", f"after={cursor[:-1]}~"):
        answer = await client.get(f"/api/jobs/{job}/items?pageSize=2&{query}")
        assert answer.status_code == 400, query
        assert "cursor" in answer.json()["detail"]
    root = await service.client("root")
    assert (await root.get(f"/api/jobs/{job}/items?pageSize=2&after={cursor}")).status_code == 400


async def test_others_do_not_see_the_job_and_admins_are_noted(service: Service) -> None:
    job = await submit(service)
    bob, root = await service.client("bob"), await service.client("root")
    for method, path in (
        ("GET", ""),
        ("GET", "/items"),
        ("POST", "/pause"),
        ("POST", "/resume"),
        ("POST", "/cancel"),
        ("DELETE", ""),
        ("POST", "/kickoff"),
    ):
        assert (await bob.request(method, f"/api/jobs/{job}{path}")).status_code == 404
    assert (await root.get(f"/api/jobs/{job}")).status_code == 200
    noted = await service.fetch("select actor, owner from penstock.audit where action = 'job.look'")
    assert [tuple(row) for row in noted] == [("root", "ann")]
    assert (await bob.get("/api/jobs")).json()["items"] == []
    assert len((await root.get("/api/jobs?userId=all")).json()["items"]) == 1
    assert (await bob.get("/api/jobs?userId=all")).status_code == 403


async def test_pause_holds_the_items_and_resume_lets_them_go(service: Service) -> None:
    client = await service.client()
    job = await submit(service)
    await store(service, job)
    paused = await client.post(f"/api/jobs/{job}/pause", json={"reason": "lunch"})
    assert paused.json() == {"jobId": job, "queueState": "PAUSED"}
    kicked = (await client.post(f"/api/jobs/{job}/kickoff?durationMs=1000")).json()
    assert kicked["processed"] == 0
    item = (await client.get(f"/api/jobs/{job}/items")).json()["items"][0]
    assert item["why"] == "paused by ann: lunch"
    await client.post(f"/api/jobs/{job}/resume")
    kicked = (await client.post(f"/api/jobs/{job}/kickoff?durationMs=10000")).json()
    assert (kicked["processed"], kicked["more"]) == (4, False)


async def test_several_kickoffs_at_once_process_every_item_once(service: Service) -> None:
    client = await service.client()
    job = await submit(service, b"name\n" + b"".join(b"item %d\n" % n for n in range(300)))
    await store(service, job)
    await asyncio.gather(*(client.post(f"/api/jobs/{job}/kickoff?durationMs=10000") for _ in range(4)))
    counts = (await client.get(f"/api/jobs/{job}")).json()["counts"]
    assert counts["done"] == 300
    runs = await service.fetch(
        "select count(*) as n, count(distinct task_id) as t from penstock.outcomes where job_id = $1", job
    )
    assert (runs[0]["n"], runs[0]["t"]) == (300, 300)


async def test_failed_items_are_reprocessed_alone_or_with_their_job(service: Service) -> None:
    client = await service.client()
    job = await submit(service)
    await store(service, job)
    await done(service, job)
    answer = await client.post(f"/api/jobs/{job}/reprocess", json={"scope": "job", "statuses": ["ERROR", "NOT_FOUND"]})
    assert answer.json() == {"started": 2}
    await done(service, job)
    items = (await client.get(f"/api/jobs/{job}/items?statuses=DONE")).json()["items"]
    one = await client.post(f"/api/jobs/{job}/reprocess", json={"scope": "items", "itemIds": [items[0]["itemId"]]})
    assert one.json() == {"started": 1}
    other = await submit(service, who="bob")
    await store(service, other)
    strange = (await service.fetch("select id from penstock.tasks where job_id = $1", other))[0]["id"]
    refused = await client.post(f"/api/jobs/{job}/reprocess", json={"scope": "items", "itemIds": [strange]})
    assert refused.status_code == 404


async def test_without_statuses_what_failed_and_what_was_not_found_runs_again(service: Service) -> None:
    client = await service.client()
    job = await submit(service)
    await store(service, job)
    await done(service, job)
    used_up = "update penstock.outcomes set attempts = 3 where job_id = $1 and status = 4"
    await service.fetch(used_up, job)
    kept = await client.post(f"/api/jobs/{job}/reprocess", json={"scope": "job", "resetAttempts": False})
    assert kept.json() == {"started": 1}
    await done(service, job)
    fresh = await client.post(f"/api/jobs/{job}/reprocess", json={"scope": "job"})
    assert fresh.json() == {"started": 2}
    noted = await service.fetch("select details ->> 'statuses' as s from penstock.audit where action = 'job.reprocess'")
    assert [row["s"] for row in noted] == ['["ERROR", "NOT_FOUND"]'] * 2


async def test_what_waits_for_its_next_try_can_be_started_now(service: Service) -> None:
    client = await service.client()
    job = await submit(service)
    await service.fetch("update penstock.queue set run_at = now() + interval '10 minutes', attempt = 1")
    shown = (await client.get(f"/api/jobs/{job}")).json()
    assert shown["nextDueAt"] is not None
    assert shown["etaSeconds"] is None
    kicked = (await client.post(f"/api/jobs/{job}/kickoff?durationMs=500")).json()
    assert (kicked["processed"], kicked["more"], kicked["nextDueAt"]) == (0, True, shown["nextDueAt"])
    one = (await client.get(f"/api/jobs/{job}/items")).json()["items"][0]["itemId"]
    first = await client.post(f"/api/jobs/{job}/reprocess", json={"scope": "items", "itemIds": [one]})
    assert first.json() == {"started": 1}
    rest = await client.post(f"/api/jobs/{job}/reprocess", json={"scope": "job", "statuses": ["PENDING", "ERROR"]})
    assert rest.json() == {"started": 3}
    await done(service, job)
    assert (await client.get(f"/api/jobs/{job}")).json()["processedItems"] == 4


async def test_the_same_idempotency_key_gives_the_same_job_for_one_user(service: Service) -> None:
    async def send(who: str) -> Any:
        answer = await (await service.client(who)).post(
            "/api/jobs", files={"file": ("a.csv", CSV)}, data={"pipeline": "look_up"}, headers={"Idempotency-Key": "k1"}
        )
        return answer.json()

    answers = await asyncio.gather(*(send("ann") for _ in range(8)))
    assert len({answer["jobId"] for answer in answers}) == 1
    assert sum(answer["created"] for answer in answers) == 1
    assert (await send("bob"))["jobId"] != answers[0]["jobId"]
    assert (await service.fetch("select count(*) as n from penstock.files"))[0]["n"] == 2


async def test_a_file_that_was_sent_before_is_noticed(service: Service) -> None:
    first = await submit(service)
    client = await service.client()
    answer = await client.post("/api/jobs", files={"file": ("copy.csv", CSV)}, data={"pipeline": "look_up"})
    assert answer.json()["duplicateOf"] == first
    bob = await (await service.client("bob")).post(
        "/api/jobs", files={"file": ("x.csv", CSV)}, data={"pipeline": "look_up"}
    )
    assert bob.json()["duplicateOf"] is None


async def test_rows_may_come_as_json(service: Service) -> None:
    client = await service.client()
    body = {"pipeline": "look_up", "items": [{"name": "bolt", "size": 3}, {"name": "nut", "colour": None}]}
    job = (await client.post("/api/jobs", json=body)).json()["jobId"]
    shown = (await client.get(f"/api/jobs/{job}")).json()
    assert (shown["type"], shown["columns"], shown["totalItems"]) == ("rows", ["name", "size", "colour"], 2)
    plain = (await client.post("/api/jobs", json={"pipeline": "add", "items": [{"left": 1, "right": 2}]})).json()[
        "jobId"
    ]
    assert (await client.get(f"/api/jobs/{plain}")).json()["totalItems"] == 1
    wrong = await client.post("/api/jobs", json={"pipeline": "add", "items": [{"left": 1, "right": 2}, {"left": "x"}]})
    assert wrong.status_code == 400
    assert "row 2" in wrong.json()["detail"]


async def test_an_owner_with_too_much_open_has_to_wait(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    job = await submit(service)
    await store(service, job)
    limited = service.app.settings.model_copy(update={"owner_max_jobs": 1})
    service.app.use(limited, service.app.events)
    client = await service.client()
    answer = await client.post("/api/jobs", files={"file": ("a.csv", CSV)}, data={"pipeline": "look_up"})
    assert answer.status_code == 429
    assert answer.headers["retry-after"] == "60"


async def test_pending_shows_the_open_items_of_all_jobs_of_one_owner(service: Service) -> None:
    for who in ("ann", "ann", "bob"):
        await store(service, await submit(service, who=who))
    client = await service.client()
    page = (await client.get("/api/pending?pageSize=100")).json()
    assert len(page["items"]) == 8
    assert {item["status"] for item in page["items"]} == {"PENDING"}
    assert len((await client.get("/api/pending?pageSize=100&jobType=xlsx")).json()["items"]) == 0
    root = await service.client("root")
    assert len((await root.get("/api/pending?pageSize=100&userId=all")).json()["items"]) == 12
    assert (await client.get("/api/pending?userId=all")).status_code == 403


async def test_pending_items_are_listed_by_how_long_they_wait_in_both_directions(service: Service) -> None:
    """Over jobs whose items wait since different times, and with ties, which the id breaks."""
    jobs = [await submit(service) for _ in range(3)]
    await service.fetch(
        "update penstock.queue set updated_at = date_trunc('hour', now()) - (task_id % 4) * interval '1 minute'"
    )
    longest = [
        row["task_id"] for row in await service.fetch("select task_id from penstock.queue order by updated_at, task_id")
    ]
    client = await service.client()
    pages, after = [], ""
    while True:
        page = (await client.get(f"/api/pending?pageSize=5{after}")).json()
        pages.append(page)
        if page["nextCursor"] is None:
            break
        after = f"&after={page['nextCursor']}"
    assert [item["itemId"] for page in pages for item in page["items"]] == longest
    assert {item["jobId"] for page in pages for item in page["items"]} == set(jobs)
    back = (await client.get(f"/api/pending?pageSize=5&before={pages[-1]['startCursor']}")).json()
    assert [item["itemId"] for item in back["items"]] == [item["itemId"] for item in pages[-2]["items"]]


async def test_pending_shows_items_of_every_open_job_however_many_there_are(service: Service) -> None:
    """More than 1,000 newer jobs do not hide an old one: neither from the list nor from a selection of all."""
    old = await submit(service)
    await service.fetch(
        """
        with made as (
            insert into penstock.jobs (pipeline, owner, name) select 'look_up', 'ann', 'j' from generate_series(1, 1100)
            returning id
        ), opened as (
            insert into penstock.lanes (pipeline, key, job_id, owner)
            select 'look_up', 'job:' || id, id, 'ann' from made
            returning id, job_id
        ), stored as (
            insert into penstock.tasks (entry, job_id, owner, input)
            select s.id, o.job_id, 'ann', '{"row": 1, "cells": ["a"]}'
            from opened o cross join penstock.stages s where s.pipeline = 'look_up' returning id, job_id, entry
        ), counted as (
            insert into penstock.counts (lane, stage, state, n)
            select o.id, s.entry, 0, 1 from opened o join stored s using (job_id)
        )
        insert into penstock.queue (task_id, lane, stage, updated_at)
        select s.id, o.id, s.entry, now() + interval '1 hour' from stored s join opened o using (job_id)
        """
    )
    client = await service.client()
    page = (await client.get("/api/pending?pageSize=5")).json()
    assert [item["jobId"] for item in page["items"]][:4] == [old] * 4
    chosen = (await client.post("/api/selections", json={"filter": {"statuses": ["PENDING"]}})).json()
    assert (chosen["count"], chosen["estimate"]) == (1104, False)
    await service.fetch(
        "insert into penstock.outcomes (task_id, job_id, lane, stage, status, attempts, run, finished_at)"
        " select task_id, $1, lane, stage, 3, 1, 1, updated_at"
        " from penstock.queue join penstock.tasks t on t.id = task_id where t.job_id = $1",
        old,
    )
    await service.fetch("delete from penstock.queue where task_id in (select task_id from penstock.outcomes)")
    ended = (await client.get("/api/pending?pageSize=5&statuses=ERROR")).json()
    assert [item["jobId"] for item in ended["items"]] == [old] * 4


async def test_a_deleted_job_is_gone_at_once_and_its_rows_soon(service: Service) -> None:
    from penstock.upkeep.duties import remove_deleted, sweep_cancelled

    client = await service.client()
    job = await submit(service)
    await store(service, job)
    assert (await client.delete(f"/api/jobs/{job}")).status_code == 204
    for path in ("", "/items"):
        assert (await client.get(f"/api/jobs/{job}{path}")).status_code == 404
    assert (await client.get("/api/jobs")).json()["items"] == []
    async with service.app.connection() as connection:
        await sweep_cancelled(connection, events=service.app.events)
        for _ in range(2):
            await remove_deleted(connection, settled_seconds=0)
    assert await service.fetch("select 1 from penstock.tasks where job_id is not null") == []
    for table in ("jobs", "imports", "files", "file_chunks", "outcomes", "lanes where job_id is not null"):
        assert await service.fetch(f"select 1 from penstock.{table}") == []


@pytest.mark.parametrize(
    ("name", "data", "says"),
    [
        ("a.csv", b"", "empty"),
        ("a.csv", b"name,brand\n", "no rows"),
        ("a.csv", b"name,name\nx,y\n", "both called"),
        ("a.csv", b"%PDF-1.7 something", "PDF"),
        ("a.csv", b"a,b\n\x00,1\n", "NUL"),
        ("a.csv", b'a,b\n1,2\n3,"never closed\n', "Row 2"),
        ("a.csv", b"a,b\n1,2\n3," + b"x" * 70_000, "Row 2"),
        ("a.csv", (",".join(f"c{n}" for n in range(3000)) + "\n" + "1\n").encode(), "columns"),
    ],
)
async def test_a_file_that_cannot_be_read_is_refused_at_once(
    service: Service, name: str, data: bytes, says: str
) -> None:
    client = await service.client()
    answer = await client.post("/api/jobs", files={"file": (name, data)}, data={"pipeline": "look_up"})
    assert answer.status_code == 400
    assert says in answer.json()["detail"]
    assert await service.fetch("select 1 from penstock.files") == []


async def test_a_bad_row_ends_the_import_and_the_rows_before_it_stay(service: Service) -> None:
    rows = b"name\n" + b"".join(b"item %d\n" % n for n in range(200_000)) + b'"never closed\n'
    job = await submit(service, rows)
    result = await store(service, job)
    assert result["rows"] == 200_000
    shown = (await (await service.client()).get(f"/api/jobs/{job}")).json()
    assert shown["import"]["state"] == "failed"
    assert shown["import"]["problem"]["row"] == 200_001
    assert "200,000 rows before it are stored" in shown["import"]["problem"]["detail"]
    assert shown["totalItems"] == 200_000


async def test_wrong_requests_are_told_what_is_wrong(service: Service) -> None:
    client = await service.client()
    job = await submit(service)
    for path, status in (
        (f"/api/jobs/{job}/items?statuses=WAITING", 400),
        (f"/api/jobs/{job}/items?pageSize=1000000000", 422),
        (f"/api/jobs/{job}/items?sort=name", 422),
        ("/api/jobs/0", 422),
        ("/api/jobs/99999", 404),
        ("/api/jobs/99999999999999999999", 422),
    ):
        answer = await client.get(path)
        assert answer.status_code == status, path
        assert answer.headers["content-type"] == "application/problem+json"
    unknown = await client.post("/api/jobs", json={"pipeline": "nothing", "items": [{}]})
    assert (unknown.status_code, "look_up" in unknown.json()["detail"]) == (400, True)
    outside = await client.post("/api/jobs", json={"pipeline": "look_up", "fileRef": "/etc/passwd"})
    assert outside.status_code == 400
    assert (await (await service.client("eve")).post("/api/jobs", json={})).status_code == 403
