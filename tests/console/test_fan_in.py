"""What a job calls when it has ended, as people see it; and the file of a job, which belongs to its end."""

import asyncio
import json
import os
from typing import Any

from penstock.core.background import Enqueueable
from penstock.core.enqueue import EnqueueOptions, callback_of
from penstock.events import Events
from penstock.failpoints import Failpoints
from penstock.storage import callbacks
from penstock.upkeep.firing import FanIn
from tests.console.conftest import Service
from tests.console.test_jobs import done, submit
from tests.warm import warm_starts


def add(service: Service, **options: Any) -> Enqueueable[Any, Any]:
    return Enqueueable(service.app, service.app.pipelines["add"], EnqueueOptions(**options))


async def look(service: Service) -> int:
    async with service.app.connection() as connection:
        return (await FanIn(events=Events(), failpoints=Failpoints()).run_once(connection))["called"]


async def shown(database_url: str, job: int, *options: str) -> str:
    env = {**os.environ, "PENSTOCK_DATABASE_URL": database_url}
    ran = await asyncio.to_thread(warm_starts().run, ["jobs", "show", str(job), *options], env=env)
    assert ran.returncode == 0, ran.stderr
    return ran.stdout


async def test_a_job_says_what_it_will_call_and_what_it_called(service: Service, database_url: str) -> None:
    client = await service.client()
    plain = await add(service, owner="ann").enqueue_many([{"left": 1, "right": 2}])
    assert (await client.get(f"/api/jobs/{plain.id}")).json()["callback"] is None
    job = await add(service, owner="ann").enqueue_many([], then=add(service), then_arguments={"left": 1, "right": 2})
    before = (await client.get(f"/api/jobs/{job.id}")).json()
    assert before["callback"] == {"pipeline": "add", "taskId": None, "calledBackAt": None, "problem": None}
    assert "add, when every task has ended" in await shown(database_url, job.id)
    assert await look(service) == 1
    after = (await client.get(f"/api/jobs/{job.id}")).json()
    task = after["callback"]["taskId"]
    assert after["queueState"] == "DONE"
    assert after["callback"]["calledBackAt"] > before["createdAt"]
    assert (await client.get(f"/api/tasks/{task}")).json()["input"] == {"left": 1, "right": 2}
    assert f"as task {task}" in await shown(database_url, job.id)
    assert json.loads(await shown(database_url, job.id, "-o", "json"))["callback"]["task_id"] == task
    assert (await (await service.client("bob")).get(f"/api/jobs/{job.id}")).status_code == 404


async def test_a_job_of_a_file_ends_with_the_last_row_of_the_file(service: Service) -> None:
    job = await submit(service)
    then = callback_of(service.app.pipelines["add"], {"left": 1, "right": 2}, EnqueueOptions())
    async with service.app.connection() as connection:
        assert await callbacks.set_callback(connection, job, then.stored) is not None
        await connection.execute("update penstock.imports set state = 'storing' where job_id = $1", job)
        await done(service, job)
        assert await look(service) == 0, "rows may still come"
        await connection.execute("update penstock.imports set state = 'stored' where job_id = $1", job)
    assert await look(service) == 1
