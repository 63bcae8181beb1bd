"""Several stages: what one hands to the next, and starting again from the middle."""

from collections.abc import Mapping
from typing import Any

import orjson
import pytest

from penstock import (
    Context,
    RetryPolicy,
    State,
)
from penstock.errors import NotKnown, UsageError

QUICK = RetryPolicy(base_seconds=0.01)


async def test_a_pipeline_hands_each_result_to_the_next_stage_and_keeps_it(app, working):
    site = app.pipeline("site")

    @site.stage("fetch")
    async def fetch(url: str) -> dict:
        return {"page": url}

    @site.stage("count", max_attempts=2, retry=QUICK)
    async def count(ctx: Context, page: dict) -> int:
        if ctx.attempt == 1:
            raise ConnectionError
        return len(page["page"])

    @site.stage("report")
    def report(length) -> str:
        return f"{length} letters"

    async with working():
        task = await site.enqueue(url="abc")
        assert await task.result(60) == "3 letters"
        async with app.connection() as connection:
            kept = await connection.fetch(
                "select s.name, c.result from penstock.checkpoints c"
                " join penstock.stages s on s.id = c.stage order by c.at"
            )
    assert [(row["name"], row["result"]) for row in kept] == [("fetch", '{"page": "abc"}'), ("count", "3")]


async def test_a_task_can_start_again_from_a_later_stage(app, working):
    runs = []
    pipe = app.pipeline("pipe")

    @pipe.stage("first")
    async def first(n: int) -> int:
        runs.append("first")
        return n + 1

    @pipe.stage("second")
    async def second(n) -> int:
        runs.append("second")
        return n * 10

    async with working():
        task = await pipe.enqueue(n=1)
        assert await task.result(60) == 20
        await task.reprocess(from_stage="second")
        assert await task.result(60) == 20
        await task.reprocess(from_stage="first")
        assert await task.result(60) == 20
    assert runs == ["first", "second", "second", "first", "second"]


async def test_a_later_stage_also_finds_the_result_before_it_in_ctx(app, working):
    pipe = app.pipeline("pipe")

    @pipe.stage("one")
    async def one(n: int) -> int:
        return n + 1

    @pipe.stage("two")
    async def two(ctx: Context, n) -> list:
        return [n, ctx.previous]

    async with working():
        assert await (await pipe.enqueue(n=1)).result(60) == [2, 2]


async def test_starting_again_from_a_stage_that_does_not_exist_is_refused(app, working):
    @app.task()
    async def plain():
        return 1

    async with working():
        task = await plain.enqueue()
        await task.result(60)
        with pytest.raises(NotKnown, match=r"'tpyo'.*Known: plain"):
            await task.reprocess(from_stage="tpyo")
        assert await task.result(60) == 1


async def test_the_number_of_attempts_of_one_task_holds_for_all_its_stages(app, working):
    runs = []
    pipe = app.pipeline("pipe")

    @pipe.stage("one")
    async def one():
        return None

    @pipe.stage("two", max_attempts=5, retry=QUICK)
    async def two():
        runs.append(1)
        raise ValueError

    async with working():
        assert (await (await pipe.options(max_attempts=2).enqueue()).wait(60))[0] is State.ERROR
    assert len(runs) == 2


async def test_a_pipeline_checks_the_options_of_its_jobs_before_they_are_stored(app) -> None:
    def at_most_ten(options: Mapping[str, Any]) -> Mapping[str, Any]:
        if options.get("pages", 1) > 10:
            raise UsageError(f"pages = {options['pages']}: use 1 to 10.")
        return {"pages": 1, **options}

    pipeline = app.pipeline("crawl", check_options=at_most_ten)

    @pipeline.stage()
    async def read(url: str) -> None: ...

    async with app:
        with pytest.raises(UsageError, match="pages = 11"):
            await pipeline.enqueue_many([{"url": "a"}], metadata={"options": {"pages": 11}})
        with pytest.raises(UsageError, match="options"):
            await pipeline.enqueue_many([{"url": "a"}], metadata={"options": "many"})
        async with app.connection() as connection:
            assert await connection.fetch("select from penstock.jobs") == []
            job = await pipeline.enqueue_many([{"url": "a"}], metadata={"note": "x", "options": {"depth": 2}})
            stored = await connection.fetchval("select metadata::text from penstock.jobs where id = $1", job.id)
        assert orjson.loads(stored) == {"note": "x", "options": {"pages": 1, "depth": 2}}
