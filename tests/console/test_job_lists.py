"""Lists of jobs by what people look for, with the reason why one takes as long as it does."""

from typing import Any

from penstock.workers.inprocess import InProcessWorker
from tests.console.conftest import Service
from tests.console.test_jobs import done, submit


async def ids(service: Service, query: str = "", who: str = "ann") -> list[int]:
    answer = await (await service.client(who)).get(f"/api/jobs{query}")
    assert answer.status_code == 200, answer.text
    return [job["jobId"] for job in answer.json()["items"]]


async def shown(service: Service, job: int) -> dict[str, Any]:
    """As the list and the page of the job tell it; they have to agree."""
    client = await service.client()
    (listed,) = [one for one in (await client.get("/api/jobs")).json()["items"] if one["jobId"] == job]
    detail: dict[str, Any] = (await client.get(f"/api/jobs/{job}")).json()
    assert (listed["etaCause"], listed["queueState"]) == (detail["etaCause"], detail["queueState"])
    return detail


async def test_jobs_are_found_by_state_pipeline_and_a_word_of_their_name(service: Service) -> None:
    ended = await submit(service, name="lamps.csv")
    await done(service, ended)
    waiting = await submit(service, name="100%_cotton.csv")
    paused = await submit(service, name="bolts.csv")
    client = await service.client()
    await client.post(f"/api/jobs/{paused}/pause")
    other = (await client.post("/api/jobs", json={"pipeline": "add", "items": [{"left": 1, "right": 2}]})).json()
    assert await ids(service) == [other["jobId"], paused, waiting, ended]
    assert await ids(service, "?state=FAILED") == [ended]
    assert await ids(service, "?state=PAUSED") == [paused]
    assert await ids(service, "?state=QUEUED") == [other["jobId"], waiting]
    assert await ids(service, "?state=CANCELLED") == []
    assert await ids(service, "?pipeline=add") == [other["jobId"]]
    assert await ids(service, "?q=LAMPS") == [ended]
    assert await ids(service, "?q=0%25_c") == [waiting]
    assert await ids(service, "?q=b%25s") == []
    assert await ids(service, "?q=s.csv&state=PAUSED&pipeline=look_up") == [paused]
    assert await ids(service, "?q=lamps", who="bob") == []
    assert await ids(service, "?q=lamps&userId=all", who="root") == [ended]
    assert (await client.get("/api/jobs?state=LOST")).status_code == 422


async def test_pages_of_a_filtered_list_hold_every_job_once(service: Service) -> None:
    client = await service.client()
    made = [await submit(service, b"name\nlamp\n", name=f"{n}.csv") for n in range(7)]
    for job in made[::2]:
        await client.post(f"/api/jobs/{job}/pause")
    for query, wanted in (("state=PAUSED", made[::2]), ("state=QUEUED", made[1::2]), ("q=.csv", made)):
        seen: list[int] = []
        after = ""
        while True:
            page = (await client.get(f"/api/jobs?pageSize=2&{query}{after}")).json()
            seen += [job["jobId"] for job in page["items"]]
            assert len(page["items"]) <= 2
            if page["nextCursor"] is None:
                break
            after = f"&after={page['nextCursor']}"
        assert seen == wanted[::-1], query
    cursor = (await client.get("/api/jobs?pageSize=2&state=PAUSED")).json()["nextCursor"]
    assert (await client.get(f"/api/jobs?pageSize=2&state=QUEUED&after={cursor}")).status_code == 400


async def test_a_job_says_what_holds_it_up(service: Service) -> None:
    client = await service.client()
    job = await submit(service)
    assert (await shown(service, job))["etaCause"] == "no live worker for stage look_up"
    await client.post(f"/api/jobs/{job}/pause", json={"reason": "lunch"})
    paused = await shown(service, job)
    assert (paused["etaCause"], paused["etaSeconds"]) == ("paused by ann: lunch", None)
    await client.post(f"/api/jobs/{job}/resume")
    await client.post("/api/stages/look_up/look_up/pause", json={"reason": "the shop is closed"})
    assert (await shown(service, job))["etaCause"] == "stage look_up is paused by ann: the shop is closed"
    await client.post("/api/stages/look_up/look_up/resume")
    await done(service, job)
    ended = await shown(service, job)
    assert (ended["etaCause"], ended["etaSeconds"], ended["perSecond"] is None) == (None, None, False)


async def test_a_limit_that_throttles_a_job_is_its_cause(service: Service) -> None:
    """The first in line met a limit; a worker lives, so the limit is what holds it up."""
    job = await submit(service, b"name\nlamp\n")
    async with InProcessWorker(service.app, only=["add"]):
        # A worker that serves another stage would not do; this one is told to serve both.
        await service.fetch("update penstock.workers set stages = array(select id from penstock.stages)")
        await service.fetch("insert into penstock.limits (key, rate) values ('wikidata', 5)")
        await service.fetch(
            """insert into penstock.attempts (task_id, stage, run, attempt, burned, cause, error)
               select q.task_id, q.stage, 1, 1, false, 'throttled', '{"key": "wikidata"}' from penstock.queue q
               join penstock.tasks t on t.id = q.task_id where t.job_id = $1""",
            job,
        )
        assert (await shown(service, job))["etaCause"] == "limited by wikidata 5/s"


async def test_a_pace_says_nothing_where_the_next_one_is_due_later(service: Service) -> None:
    job = await submit(service, b"name\nlamp\nsofa\n")
    async with InProcessWorker(service.app, only=["add"]):
        await service.fetch("update penstock.workers set stages = array(select id from penstock.stages)")
        await service.fetch(
            """update penstock.queue set run_at = now() + interval '9 minutes', attempt = 1, max_attempts = 3
               where task_id in (select id from penstock.tasks where job_id = $1)""",
            job,
        )
        waiting = await shown(service, job)
        assert (waiting["etaCause"], waiting["etaSeconds"]) == ("try 2 of 3 in 9 min", None)


async def test_a_page_of_a_job_tells_its_file_and_how_it_is_kept(service: Service) -> None:
    client = await service.client()
    job = await submit(service, b"name\nlamp\n", name="lamps.csv")
    detail = (await client.get(f"/api/jobs/{job}")).json()
    assert detail["file"]["name"] == "lamps.csv"
    assert detail["file"]["sizeBytes"] == 10
    assert len(detail["file"]["sha256"]) == 64
    assert (detail["priority"], detail["retentionDays"], detail["cancelledBy"]) == (0, None, None)
