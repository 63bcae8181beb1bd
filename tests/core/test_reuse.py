"""Running again from a stage: earlier results are kept, later ones are used again while their input is the same."""

from typing import Any

from penstock import Context, Penstock
from penstock.core.arguments import Arguments
from penstock.model import Claimed
from penstock.storage import checkpoints


def pipeline_of_three(app: Penstock, *, version: str | None = "1") -> tuple[Any, list[str], dict[str, Any]]:
    """``site["text"]`` is what the first stage finds; ``runs`` notes which stages were computed."""
    runs: list[str] = []
    site: dict[str, Any] = {"text": "spring"}
    pipe = app.pipeline("pipe")

    @pipe.stage("read", version=version)
    async def read(url: str) -> dict[str, Any]:
        runs.append("read")
        return {"b": site["text"], "a": url}

    @pipe.stage("form", version=version)
    async def form(ctx: Context, found: dict[str, Any]) -> dict[str, Any]:
        runs.append("form")
        return {"question": found["b"], "run": ctx.run}

    @pipe.stage("ask", version=version)
    async def ask(ctx: Context, formed: dict[str, Any]) -> list[Any]:
        runs.append("ask")
        return [formed["question"], (await ctx.result_of("read"))["a"], ctx.input["url"]]

    return pipe, runs, site


async def test_a_run_from_the_first_stage_computes_only_that_when_it_finds_the_same(app, working):
    pipe, runs, _ = pipeline_of_three(app)
    async with working():
        task = await pipe.enqueue(url="u")
        assert await task.result(60) == ["spring", "u", "u"]
        await task.reprocess(from_stage="read")
        assert await task.result(60) == ["spring", "u", "u"]
        async with app.connection() as connection:
            kept = await connection.fetch(
                "select s.name, c.run, c.reused_from, c.version from penstock.checkpoints c"
                " join penstock.stages s on s.id = c.stage order by c.run, s.position"
            )
    assert runs == ["read", "form", "ask", "read"]
    assert [tuple(row) for row in kept] == [
        ("read", 1, None, "1"),
        ("form", 1, None, "1, after read"),
        ("ask", 1, None, "1, after form"),
        ("read", 2, None, "1"),
        ("form", 2, 1, "1, after read"),
    ]


async def test_a_changed_result_is_computed_with_by_every_later_stage(app, working):
    pipe, runs, site = pipeline_of_three(app)
    async with working():
        task = await pipe.enqueue(url="u")
        await task.result(60)
        site["text"] = "autumn"
        await task.reprocess(from_stage="read")
        assert (await task.result(60))[0] == "autumn"
        site["text"] = "spring"  # as in the first run: what that made is still there
        await task.reprocess(from_stage="read")
        assert (await task.result(60))[0] == "spring"
    assert runs == ["read", "form", "ask"] * 2 + ["read"]


async def test_a_stage_that_somebody_asks_for_is_computed(app, working):
    pipe, runs, _ = pipeline_of_three(app)
    async with working():
        task = await pipe.enqueue(url="u")
        await task.result(60)
        await task.reprocess(from_stage="form")  # its result holds the run: the last stage has a new input
        await task.result(60)
        await task.reprocess(from_stage="ask")
        await task.result(60)
    assert runs == ["read", "form", "ask", "form", "ask", "ask"]


async def test_of_several_results_for_the_same_input_the_newest_is_used_again(app, working):
    pipe, runs, _ = pipeline_of_three(app)
    async with working():
        task = await pipe.enqueue(url="u")
        await task.result(60)
        await task.reprocess(from_stage="form")
        await task.result(60)
        await task.reprocess(from_stage="read")
        await task.result(60)
        async with app.connection() as connection:
            reused = await connection.fetchval(
                "select reused_from from penstock.checkpoints where run = 3 and reused_from > 0"
            )
    assert runs == ["read", "form", "ask", "form", "ask", "read"]
    assert reused == 2


async def test_a_later_stage_finds_the_newest_result_of_an_earlier_one(app, working):
    seen: list[Any] = []
    pipe = app.pipeline("pipe")

    @pipe.stage("one")
    async def one(ctx: Context, n: int) -> int:
        return n + ctx.run

    @pipe.stage("two")
    async def two(n: int) -> int:
        return n

    @pipe.stage("three")
    async def three(ctx: Context, n: int) -> None:
        seen.append(await ctx.result_of("one"))

    async with working():
        task = await pipe.enqueue(n=10)
        await task.result(60)
        await task.reprocess(from_stage="one")
        await task.result(60)
    assert seen == [11, 12]


async def test_a_large_result_is_fetched_when_its_task_begins_and_used_again_like_a_small_one(app, working):
    pipe, runs, site = pipeline_of_three(app)
    site["text"] = "".join(f"{number:x}" for number in range(60_000))
    async with working():
        task = await pipe.enqueue(url="u")
        assert (await task.result(60))[0] == site["text"]
        await task.reprocess(from_stage="read")
        assert (await task.result(60))[0] == site["text"]
    assert runs == ["read", "form", "ask", "read"]


async def test_a_large_result_does_not_come_with_the_claim(app, connection):
    pipe, _, _ = pipeline_of_three(app)
    await app.open()
    task = await pipe.enqueue(url="u")
    stage = app.stage_ids[("pipe", "form")]
    for size, deferred in ((1_000, False), (200_000, True)):
        await connection.execute("delete from penstock.checkpoints")
        text = "".join(f"{number * 7919:x}" for number in range(size))[:size]
        await connection.execute(
            "insert into penstock.checkpoints (task_id, stage, run, result) values ($1, $2, 1, to_jsonb($3::text))",
            task.id,
            app.stage_ids[("pipe", "read")],
            text,
        )
        claimed = Claimed.of(task_id=task.id, lease=1, stage=stage)
        origin = checkpoints.Origin(app.stage_ids[("pipe", "read")], "1")
        await checkpoints.earlier(connection, [claimed], [origin])
        assert claimed.earlier.deferred is deferred
        assert (claimed.earlier.previous is None) is deferred


async def test_a_result_of_other_code_is_not_used_again(app, working, monkeypatch):
    pipe, runs, _ = pipeline_of_three(app)
    async with working():
        task = await pipe.enqueue(url="u")
        await task.result(60)
    object.__setattr__(pipe.pipeline.stages[2], "version", "2")
    async with working():
        await task.reprocess(from_stage="read")
        await task.result(60)
    assert runs == ["read", "form", "ask", "read", "ask"]


async def test_a_stage_that_lost_the_one_before_it_is_computed_with_its_new_input(app, working):
    pipe, runs, _ = pipeline_of_three(app)
    async with working():
        task = await pipe.enqueue(url="u")
        await task.result(60)
    shorter = [pipe.pipeline.stages[0], pipe.pipeline.stages[2]]
    pipe.pipeline.stages[:] = shorter

    async def ask(found: dict[str, Any]) -> Any:
        runs.append("ask")
        return found["a"]

    object.__setattr__(shorter[1], "function", ask)
    object.__setattr__(shorter[1], "arguments", Arguments("ask", ask, Context))
    async with working():
        await task.reprocess(from_stage="read")
        assert await task.result(60) == "u"
    assert runs == ["read", "form", "ask", "read", "ask"]


async def test_nothing_is_a_result_that_can_be_used_again(app, working):
    runs: list[str] = []
    pipe = app.pipeline("pipe")

    @pipe.stage("one", version="1")
    async def one(n: int) -> int:
        runs.append("one")
        return n

    @pipe.stage("two", version="1")
    async def two(n: int) -> None:
        runs.append("two")

    async with working():
        task = await pipe.enqueue(n=1)
        await task.result(60)
        await task.reprocess(from_stage="one")
        assert await task.result(60) is None
    assert runs == ["one", "two", "one"]


async def test_without_a_version_nothing_is_used_again(app, working):
    pipe, runs, _ = pipeline_of_three(app, version=None)
    async with working():
        task = await pipe.enqueue(url="u")
        await task.result(60)
        await task.reprocess(from_stage="read")
        await task.result(60)
    assert runs == ["read", "form", "ask"] * 2


async def test_a_task_that_never_reached_a_stage_starts_where_it_ended(app, working):
    seen: list[Any] = []
    fails = [True]
    pipe = app.pipeline("pipe")

    @pipe.stage("one", max_attempts=1)
    async def one(n: int) -> int:
        if fails[0]:
            raise ValueError("not yet")
        return n

    @pipe.stage("two")
    async def two(n: int) -> int:
        seen.append(n)
        return n

    async with working():
        task = await pipe.enqueue(n=7)
        await task.wait(60)
        fails[0] = False
        await task.reprocess(from_stage="two")
        assert await task.result(60) == 7
    assert seen == [7]
