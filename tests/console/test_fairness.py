"""One owner's hundred thousand items do not hold up another's single one."""

from penstock.console.files.importing import Importing
from penstock.workers.inprocess import InProcessWorker
from tests.console.conftest import Service

ROWS = 100_000
_TRIES = 3
_MOST_BEFORE = 100

# Of one job, those that started after the task of the other job was stored and before it started.
_STARTED_BETWEEN = """
    select count(*) as n from penstock.outcomes o where o.job_id = $1 and o.result::float8 between
        (select extract(epoch from t.created_at)::float8 from penstock.tasks t where t.job_id = $2) and $3::float8
"""


async def test_a_single_item_is_not_overtaken_by_a_hundred_thousand_slow_ones(service: Service) -> None:
    ann, bob = await service.client("ann"), await service.client("bob")
    rows = b"name\n" + b"".join(b"item %d, padded to be a large file\n" % n for n in range(ROWS))
    answer = await ann.post("/api/jobs", files={"file": ("many.csv", rows)}, data={"pipeline": "slow"})
    many = answer.json()["jobId"]
    await Importing(service.app, None, many).run()
    before = []
    async with InProcessWorker(service.app, only=["slow"]):
        while not (await ann.get(f"/api/jobs/{many}")).json()["processedItems"]:
            pass
        for number in range(_TRIES):
            one = await bob.post(
                "/api/jobs", files={"file": ("one.csv", b"name\n%d\n" % number)}, data={"pipeline": "slow"}
            )
            job = one.json()["jobId"]
            await service.app.job_by_id(job).wait(timeout=60)
            item = (await bob.get(f"/api/jobs/{job}/items")).json()["items"][0]
            (row,) = await service.fetch(_STARTED_BETWEEN, many, job, item["result"])
            before.append(row["n"])
        counts = (await ann.get(f"/api/jobs/{many}")).json()["counts"]
    assert counts["pending"] > ROWS // 2, "the large job was still waiting"
    # Claimed before it came, or served in turn with it; how long that takes is for the machine to say.
    assert max(before) <= _MOST_BEFORE, before
