"""Several models, several visits: everything that can be answered is, nothing twice, and in the same order."""

from pathlib import Path

import asyncpg
import pytest

from penstock.extensions.sites import answers
from penstock.extensions.sites.findings import Answer, Evidence
from penstock.testing import drain
from tests.extensions.model_world import Called, ModelServer, ModelWorld, Said, refuses, says, table

TEXTS = [f"prompt {number}" for number in range(6)]


async def test_a_throttled_model_does_not_hold_up_the_others(database_url: str, tmp_path: Path):
    def answer(called: Called) -> Said:
        return refuses(429, Retry_After="30") if called.body["model"] == "busy-large" else says("fine")

    async with ModelServer(answer) as server:
        tables = [table("busy", server.url), table("ready", server.url)]
        async with ModelWorld(database_url, tmp_path, tables) as world:
            task = await world.ask(TEXTS, ["busy", "ready"])
            assert (await drain(world.app)).waiting == 1
            assert [one.model for one in await world.stored(task)] == ["ready"] * 6
            [row] = await world.fetch(
                "select attempt, extract(epoch from run_at - now())::float8 as left from penstock.queue"
            )
            assert row["attempt"] == 0 and 20 < row["left"] <= 31


async def test_a_model_that_is_down_does_not_hold_up_the_others_and_ends_as_a_problem(
    database_url: str, tmp_path: Path
):
    async with ModelServer(lambda called: says("fine")) as server:
        tables = [table("down", "http://127.0.0.1:9/v1"), table("ready", server.url)]
        async with ModelWorld(database_url, tmp_path, tables) as world:
            task = await world.ask(TEXTS, ["down", "ready"], samples=2)
            drained = await drain(world.app, advance=True)
            assert (drained.done, drained.released) == (1, 2)
            given = world.given[task]
            assert [(one.model, one.sample, one.text) for one in given] == [
                (name, sample, text)
                for name, text in (("down", None), ("ready", "fine"))
                for _ in TEXTS
                for sample in (1, 2)
            ]
            assert all("127.0.0.1" in (one.problem or "") for one in given[:12])
            assert len(server.calls) == 12


async def test_the_offline_model_answers_beside_endpoints(database_url: str, tmp_path: Path):
    async with ModelServer(lambda called: says("fine")) as server:
        async with ModelWorld(database_url, tmp_path, [table("gpt", server.url)]) as world:
            task = await world.ask(TEXTS[:2], ["gpt", "offline"])
            assert (await drain(world.app)).done == 1
            assert [one.model for one in world.given[task]] == ["gpt", "gpt", "offline", "offline"]


async def test_a_site_with_more_questions_than_time_goes_on_later_and_burns_nothing(database_url: str, tmp_path: Path):
    async with ModelServer(lambda called: says("fine", pause=0.1)) as server:
        tables = [table("gpt", server.url, concurrency=1)]
        async with ModelWorld(database_url, tmp_path, tables, sites_model_timeout_seconds=0.5) as world:
            task = await world.ask(TEXTS, ["gpt"])
            drained = await drain(world.app, advance=True)
            assert drained.done == 1 and drained.released >= 1
            assert [call.prompt for call in server.calls] == TEXTS
            assert [one.text for one in world.given[task]] == ["fine"] * 6
            rows = await world.fetch("select cause from penstock.attempts")
            assert {row["cause"] for row in rows} == {"throttled"}


async def test_the_same_prompt_or_model_twice_is_asked_once(database_url: str, tmp_path: Path):
    async with ModelServer(lambda called: says("fine")) as server:
        async with ModelWorld(database_url, tmp_path, [table("gpt", server.url)]) as world:
            task = await world.ask(["a", "a", "b"], ["gpt", "gpt"])
            await drain(world.app)
            assert len(server.calls) == 2 and len(world.given[task]) == 2


# ---------------------------------------------------------------- the table


def made(text: str | None, *, model: str = "gpt", sample: int = 1, version: str = "1", **more: object) -> Answer:
    given = {"prompt": "p", "model": model, "sample": sample, "text": text, "cost": 0.5} | more
    return Answer(**given, details={"version": version})  # type: ignore[arg-type]


async def test_an_answer_is_read_as_it_was_stored(connection: asyncpg.Connection):
    evidence = (Evidence(sentence="We bake.", page="https://bakery.example/", similarity=0.75),)
    answer = made("Bread", tokens_in=3, tokens_out=4, took_ms=5, evidence=evidence)
    await answers.store(connection, 1, 1, answer)
    assert await answers.stored(connection, 1, 1) == [answer] == await answers.of_task(connection, 1)
    assert await answers.stored(connection, 1, 2) == []


async def test_the_first_answer_stays_and_a_problem_makes_room_for_a_text(connection: asyncpg.Connection):
    await answers.store(connection, 1, 1, made(None, problem="down"))
    await answers.store(connection, 1, 1, made("first\0\ud800"))
    await answers.store(connection, 1, 1, made("second"))
    await answers.store(connection, 1, 1, made(None, problem="later"))
    assert [one.text for one in await answers.stored(connection, 1, 1)] == ["first?"]


async def test_answers_of_earlier_runs_are_used_again_where_the_version_is_the_same(connection: asyncpg.Connection):
    await answers.store(connection, 1, 1, made("old"))
    await answers.store(connection, 1, 1, made("another version", sample=2, version="0"))
    await answers.store(connection, 1, 1, made(None, sample=3, problem="down"))
    await answers.store(connection, 1, 1, made("from the site", model="offline"))
    await answers.store(connection, 2, 1, made("another site", sample=4))
    versions = {"gpt": "1", "offline": "1"}
    assert await answers.reuse(connection, 1, 2, versions) == 1
    [again] = await answers.stored(connection, 1, 2)
    assert (again.text, again.cost, again.details) == ("old", 0.0, {"version": "1", "reused_from_run": 1})
    await answers.store(connection, 1, 2, made("new", sample=2))
    assert await answers.reuse(connection, 1, 3, versions) == 2
    found = {one.sample: one for one in await answers.stored(connection, 1, 3)}
    assert found[1].details["reused_from_run"] == 1 and found[2].details["reused_from_run"] == 2
    assert await answers.reuse(connection, 1, 3, versions) == 0


async def test_of_the_answers_of_earlier_runs_the_newest_is_used_again(connection: asyncpg.Connection):
    for run in (1, 2):
        await answers.store(connection, 1, run, made(f"run {run}"))
    assert await answers.reuse(connection, 1, 3, {"gpt": "1"}) == 1
    assert [one.text for one in await answers.stored(connection, 1, 3)] == ["run 2"]


@pytest.mark.parametrize("run", [1, 2])
async def test_people_see_the_newest_run_that_has_answers(connection: asyncpg.Connection, run: int):
    for number in range(1, run + 1):
        await answers.store(connection, 1, number, made(f"run {number}"))
    assert [one.text for one in await answers.of_task(connection, 1)] == [f"run {run}"]
