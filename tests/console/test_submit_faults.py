"""What goes wrong while work is taken in, and what must not come of it."""

import asyncio
from typing import Any

import asyncpg
import pytest

from penstock.application import Penstock
from penstock.console.files import submit as submitting
from penstock.console.files.importing import Importing
from penstock.console.files.submit import Submission, submit_file, submit_items
from penstock.errors import LimitReached
from penstock.model import Snooze
from penstock.storage import imports
from tests.console.conftest import Service

LARGE = b"name\n" + b"".join(b"item %d\n" % n for n in range(150_000))


async def chunks(data: bytes) -> Any:
    yield data


async def test_a_file_stays_when_the_answer_to_the_commit_of_its_job_is_lost(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    create = submitting._create

    async def answer_lost(*arguments: Any) -> Any:
        await create(*arguments)
        raise asyncpg.ConnectionDoesNotExistError("connection was closed in the middle of operation")

    monkeypatch.setattr(submitting, "_create", answer_lost)
    submission = Submission(owner="ann", pipeline="look_up", idempotency_key="k")
    with pytest.raises(asyncpg.ConnectionDoesNotExistError):
        await submit_file(service.app, submission, chunks(LARGE))
    monkeypatch.undo()
    again = await submit_file(service.app, submission, chunks(LARGE))
    assert not again.created
    assert await Importing(service.app, None, again.job_id).run() == {"rows": 150_000, "problem": None}


async def test_a_file_that_lost_a_part_fails_the_import_instead_of_ending_it_early(service: Service) -> None:
    done = await submit_file(service.app, Submission(owner="ann", pipeline="look_up"), chunks(LARGE))
    await service.fetch("delete from penstock.file_chunks where number = 1")
    result = await Importing(service.app, None, done.job_id).run()
    assert "not whole any more" in result["problem"]["detail"]
    shown = (await (await service.client()).get(f"/api/jobs/{done.job_id}")).json()
    assert shown["import"]["state"] == "failed"
    assert "not whole" in shown["lastError"]


async def test_rows_that_another_worker_has_stored_are_not_stored_again(service: Service) -> None:
    done = await submit_file(service.app, Submission(owner="ann", pipeline="look_up"), chunks(LARGE))
    batch: dict[str, Any] = {"rows": 10, "bytes_read": 100, "why": "a batch"}
    async with service.app.connection() as connection:
        assert await imports.advance(connection, done.job_id, before=0, **batch)
        assert not await imports.advance(connection, done.job_id, before=0, **batch)
        assert await imports.advance(connection, done.job_id, before=10, **batch)


async def test_no_further_rows_of_a_cancelled_job_are_stored(service: Service) -> None:
    done = await submit_file(service.app, Submission(owner="ann", pipeline="look_up"), chunks(LARGE))
    await service.fetch("update penstock.jobs set cancelled_at = now() where id = $1", done.job_id)
    async with service.app.connection() as connection:
        assert not await imports.advance(connection, done.job_id, before=0, rows=10, bytes_read=100, why="a batch")


async def test_a_deleted_job_gives_its_idempotency_key_free(service: Service) -> None:
    client = await service.client()
    body, headers = {"pipeline": "add", "items": [{"left": 1, "right": 2}]}, {"Idempotency-Key": "k1"}
    first = (await client.post("/api/jobs", json=body, headers=headers)).json()["jobId"]
    await client.delete(f"/api/jobs/{first}")
    second = (await client.post("/api/jobs", json=body, headers=headers)).json()
    assert second["created"]
    assert (await client.get(f"/api/jobs/{second['jobId']}")).status_code == 200


async def test_submissions_at_the_same_moment_share_the_owners_limit(service: Service) -> None:
    service.app.use(service.app.settings.model_copy(update={"owner_max_jobs": 3}), service.app.events)

    async def send() -> bool:
        try:
            await submit_items(service.app, Submission(owner="ann", pipeline="add"), [{"left": 1, "right": 2}])
        except LimitReached:
            return False
        return True

    assert sum(await asyncio.gather(*(send() for _ in range(12)))) == 3


async def test_files_whose_rows_are_still_to_come_count_and_so_do_the_rows_that_are_sent(service: Service) -> None:
    app: Penstock = service.app
    app.use(app.settings.model_copy(update={"owner_max_jobs": 2, "owner_max_items": 5}), app.events)
    for _ in range(2):
        await submit_file(app, Submission(owner="ann", pipeline="look_up"), chunks(LARGE))
    with pytest.raises(LimitReached, match="2 unfinished jobs"):
        await submit_file(app, Submission(owner="ann", pipeline="look_up"), chunks(LARGE))
    with pytest.raises(LimitReached, match="6 unfinished items"):
        await submit_items(app, Submission(owner="bob", pipeline="add"), [{"left": 1, "right": 2}] * 6)


async def test_an_import_waits_while_its_owner_has_too_much_open(service: Service) -> None:
    app: Penstock = service.app
    done = await submit_file(app, Submission(owner="ann", pipeline="look_up"), chunks(LARGE))
    app.use(app.settings.model_copy(update={"owner_max_items": 1000, "ingest_max_rows": 500}), app.events)
    assert isinstance(await Importing(app, None, done.job_id).run(), Snooze)
    app.use(app.settings.model_copy(update={"owner_max_items": 10_000_000, "ingest_max_rows": 20_000}), app.events)
    assert await Importing(app, None, done.job_id).run() == {"rows": 150_000, "problem": None}


@pytest.mark.parametrize(
    ("body", "status", "says"),
    [
        (b'{"pipeline":"look_up","items":[' + b"{}," * 600_000 + b"{}]}", 413, "objects and lists"),
        (
            b'{"pipeline":"look_up","items":[{'
            + b",".join(b'"k%d":1' % n for n in range(1900))
            + b"}"
            + b",{}" * 5000
            + b"]}",
            400,
            "cells",
        ),
        (b'{"pipeline":"look_up","items":[{"n":123456789012345678901234567890}]}', 422, "cannot be kept exactly"),
        (b'{"pipeline":"look_up","items":[{"n":1.00000000000000000001}]}', 422, "cannot be kept exactly"),
        (b'{"pipeline":"look_up","items":[{"n":1e999}]}', 400, ""),
    ],
)
async def test_a_body_that_stands_for_very_much_or_cannot_be_kept_is_refused(
    service: Service, body: bytes, status: int, says: str
) -> None:
    client = await service.client()
    answer = await client.post("/api/jobs", content=body, headers={"Content-Type": "application/json"})
    assert answer.status_code == status
    assert says in answer.json()["detail"]


async def test_a_small_file_of_very_many_rows_is_left_to_a_worker(service: Service) -> None:
    done = await submit_file(service.app, Submission(owner="ann", pipeline="look_up"), chunks(b"a\n" + b"x\n" * 30_000))
    state = await service.fetch("select state, rows_stored from penstock.imports where job_id = $1", done.job_id)
    assert tuple(state[0]) == ("waiting", 0)


async def test_no_more_slices_run_at_once_than_were_allowed(service: Service) -> None:
    client = await service.client()
    job = (await client.post("/api/jobs", json={"pipeline": "slow", "items": [{"name": "x"}] * 200})).json()["jobId"]
    answers = await asyncio.gather(*(client.post(f"/api/jobs/{job}/kickoff?durationMs=500") for _ in range(12)))
    statuses = [answer.status_code for answer in answers]
    assert statuses.count(200) == 8
    assert statuses.count(429) == 4


async def test_a_fault_of_the_driver_is_a_503_also_where_nobody_translated_it(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def tripped(*_: Any, **__: Any) -> Any:
        raise asyncpg.InternalClientError("cannot switch to state 12")

    client = await service.client()
    job = (await client.post("/api/jobs", json={"pipeline": "add", "items": [{"left": 1, "right": 2}]})).json()["jobId"]
    monkeypatch.setattr(service.api.state.ground.slices, "run", tripped)
    answer = await client.post(f"/api/jobs/{job}/kickoff")
    assert answer.status_code == 503
    assert answer.headers["retry-after"] == "2"
