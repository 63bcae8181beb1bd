"""How a job went: its timeline, the size of its claims, and the neighbours of an item."""

from penstock.workers.inprocess import InProcessWorker
from tests.console.conftest import Service
from tests.console.test_jobs import done, submit


async def test_the_timeline_tells_what_happened_and_who_did_it(service: Service) -> None:
    client = await service.client()
    job = await submit(service)
    await client.post(f"/api/jobs/{job}/pause", json={"reason": "lunch"})
    during = (await client.get(f"/api/jobs/{job}/timeline")).json()
    assert [one["what"] for one in during["events"]].count("paused") == 1
    assert during["minutes"] == []
    await client.post(f"/api/jobs/{job}/resume")
    await done(service, job)
    await client.post(f"/api/jobs/{job}/export")
    told = (await client.get(f"/api/jobs/{job}/timeline")).json()
    assert sorted(one["what"] for one in told["events"]) == sorted(
        ["created", "stored", "paused", "resumed", "first_ended", "failed", "exported"]
    )
    assert [one["at"] for one in told["events"]] == sorted(one["at"] for one in told["events"])
    (paused,) = [one for one in told["events"] if one["what"] == "paused"]
    assert (paused["by"], paused["detail"]) == ("ann", "lunch")
    assert (sum(one["done"] for one in told["minutes"]), sum(one["failed"] for one in told["minutes"])) == (3, 1)
    assert (told["complete"], told["countedSince"]) == (True, None)


async def test_a_timeline_counts_a_bounded_number_of_endings_and_says_since_when(service: Service) -> None:
    client = await service.client()
    job = await submit(service, b"name\n" + b"lamp\n" * 6001)
    await service.fetch(
        """with ended as (
               delete from penstock.queue q using penstock.tasks t where t.id = q.task_id and t.job_id = $1
               returning q.task_id, q.lane, q.stage)
           insert into penstock.outcomes (task_id, job_id, lane, stage, status, attempts, run, finished_at)
           select task_id, $1, lane, stage, 2, 1, 1,
                  date_trunc('minute', now()) - (row_number() over (order by task_id)) / 1000 * interval '1 minute'
           from ended""",
        job,
    )
    told = (await client.get(f"/api/jobs/{job}/timeline")).json()
    counted = sum(one["done"] for one in told["minutes"])
    assert 3000 <= counted <= 5000
    assert told["countedSince"] is not None
    assert all(one["minute"] >= told["countedSince"] for one in told["minutes"])
    assert {one["done"] for one in told["minutes"]} <= {999, 1000}


async def test_the_slice_says_why_claims_have_their_size(service: Service) -> None:
    client = await service.client()
    job = await submit(service)
    before = (await client.get(f"/api/jobs/{job}/slice")).json()
    assert [stage["sentence"] for stage in before["stages"]] == ["No live worker serves this stage."]
    assert (before["targetMs"], before["claimMin"], before["claimMax"]) == (5000, 10, 1000)
    async with InProcessWorker(service.app, only=["look_up"]):
        await service.app.job_by_id(job).wait(timeout=60)
        status = """{"stages": {"look_up": {"claim": {"size": 40, "reason": "a task takes 48.0 ms; 40 fill the slice"},
                     "ewma_ms": 48.0, "processors": {"idle": 10}, "cpu_factor": 0.5}}}"""
        await service.fetch("update penstock.workers set status = $1::text::jsonb", status)
        (stage,) = (await client.get(f"/api/jobs/{job}/slice")).json()["stages"]
    assert stage["sentence"] == (
        "Claims 40 ahead: one takes 48 ms, the target is 5 s of work for each of 10 processors; "
        "that is cut short now, as processors of the machine are short."
    )
    (worker,) = stage["workers"]
    assert (worker["size"], worker["ewmaMs"], worker["cpuFactor"]) == (40, 48.0, 0.5)
    assert worker["reason"] == "a task takes 48.0 ms; 40 fill the slice"


async def test_items_know_their_neighbours_in_the_file_and_in_a_filtered_list(service: Service) -> None:
    client = await service.client()
    job = await submit(service, b"name\nlamp\nbad\nbolt\nbad\n")
    rows = [one["itemId"] for one in (await client.get(f"/api/jobs/{job}/items?sort=row")).json()["items"]]
    await done(service, job)

    async def beside(item: int, query: str = "") -> tuple[int | None, int | None]:
        found = (await client.get(f"/api/jobs/{job}/items/{item}/neighbours{query}")).json()
        return found["previous"], found["next"]

    assert await beside(rows[0]) == (None, rows[1])
    assert await beside(rows[2]) == (rows[1], rows[3])
    assert await beside(rows[3]) == (rows[2], None)
    ask = f"/api/jobs/{job}/items?statuses=ERROR"
    first, second = [one["itemId"] for one in (await client.get(ask)).json()["items"]]
    failed = "?statuses=ERROR&sort=-updatedAt"
    assert await beside(first, failed) == (None, second)
    assert await beside(second, failed) == (first, None)
    assert (await client.get(f"/api/jobs/{job}/items/{2**40}/neighbours")).status_code == 404


async def test_one_item_that_waits_is_cancelled_and_then_cannot_be_again(service: Service) -> None:
    client = await service.client()
    job = await submit(service)
    (first, *_) = [one["itemId"] for one in (await client.get(f"/api/jobs/{job}/items?sort=row")).json()["items"]]
    assert (await client.post(f"/api/tasks/{first}/cancel")).json() == {"itemId": first, "status": "CANCELLED"}
    again = await client.post(f"/api/tasks/{first}/cancel")
    assert again.status_code == 409
    assert again.json()["state"] == "CANCELLED"


async def test_the_history_of_an_item_names_stages_and_workers(service: Service) -> None:
    client = await service.client()
    job = await submit(service, b"name\nbad\n")
    await done(service, job)
    (item,) = (await client.get(f"/api/jobs/{job}/items")).json()["items"]
    told = (await client.get(f"/api/tasks/{item['itemId']}")).json()
    assert told["workerName"]
    again = {"scope": "items", "itemIds": [item["itemId"]]}
    assert (await client.post(f"/api/jobs/{job}/reprocess", json=again)).json() == {"started": 1}
    (noted,) = (await client.get(f"/api/tasks/{item['itemId']}")).json()["history"]
    assert (noted["stageName"], noted["cause"], noted["workerName"]) == ("look_up", "reprocess", told["workerName"])
