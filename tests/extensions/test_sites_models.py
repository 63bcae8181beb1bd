"""Models behind endpoints, against a server on loopback that answers in every way such servers do."""

import asyncio
import json
import logging
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from penstock.lifecycle import State
from penstock.testing import drain
from tests.extensions.model_world import KEY, Called, ModelServer, ModelWorld, Said, raw, refuses, says, table

Asking = Callable[..., Any]


@pytest.fixture
def asking(database_url: str, tmp_path: Path) -> Asking:
    """``async with asking(function, **fields of the model) as (world, server):``; the model is called gpt."""

    @asynccontextmanager
    async def make(
        answer: Callable[[Called], Said], settings: dict[str, Any] | None = None, **fields: Any
    ) -> AsyncIterator[tuple[ModelWorld, ModelServer]]:
        async with ModelServer(answer) as server:
            tables = [table("gpt", **({"url": server.url} | fields))]
            async with ModelWorld(database_url, tmp_path, tables, **(settings or {})) as world:
                yield world, server

    return make


async def test_every_prompt_is_asked_as_often_as_wanted_and_each_answer_is_kept(asking: Asking):
    price = {"input_price": 1.0, "output_price": 2.0}
    async with asking(lambda called: says(f"About {called.prompt}"), temperature=0.5, max_tokens=50, **price) as (
        world,
        server,
    ):
        task = await world.ask(["bread?", "cake?"], ["gpt"], samples=3)
        assert (await drain(world.app)).done == 1
        given = world.given[task]
        assert [(one.text, one.sample) for one in given] == [
            (f"About {text}", sample) for text in ("bread?", "cake?") for sample in (1, 2, 3)
        ]
        assert {(one.tokens_in, one.tokens_out, one.problem) for one in given} == {(10, 20, None)}
        assert given[0].cost == pytest.approx((10 * 1 + 20 * 2) / 1e6)
        assert sorted(one.cost for one in await world.stored(task)) == [one.cost for one in given]
        assert await world.spent() == [pytest.approx(6 * given[0].cost, abs=1e-15)]
        assert len(server.calls) == 6 and server.tokens == 180
        sent = server.calls[0].body
        assert (sent["model"], sent["temperature"], sent["max_tokens"]) == ("gpt-large", 0.5, 50)
        assert server.calls[0].headers["host"] == f"127.0.0.1:{server.port}"


async def test_the_next_visit_asks_only_what_is_missing(asking: Asking):
    count = 0

    def answer(called: Called) -> Said:
        nonlocal count
        count += 1
        return refuses(500) if count == 2 else says("fine")

    async with asking(answer, concurrency=1) as (world, server):
        task = await world.ask(["a", "b", "c"], ["gpt"])
        drained = await drain(world.app, advance=True)
        assert (drained.done, drained.released) == (1, 1)
        assert [call.prompt for call in server.calls] == ["a", "b", "c", "b"]
        assert [one.text for one in world.given[task]] == ["fine"] * 3


@pytest.mark.parametrize("status", [401, 403, 404, 402])
async def test_a_refused_key_or_model_costs_one_call_and_is_the_problem_of_all_its_cells(asking: Asking, status: int):
    async with asking(lambda called: refuses(status, f"bad {KEY}"), input_price=1.0) as (world, server):
        task = await world.ask([f"prompt {number}" for number in range(10)], ["gpt"], samples=3)
        assert (await drain(world.app, advance=True)).done == 1
        assert len(server.calls) == 1
        given = world.given[task]
        assert len(given) == 30 and all(one.text is None and one.problem for one in given)
        assert len({one.problem for one in given}) == 1 and str(status) in (given[0].problem or "")
        assert await world.spent() == [0.0]


async def test_a_wrong_key_shows_nowhere(asking: Asking, caplog: pytest.LogCaptureFixture):
    caplog.set_level(logging.DEBUG)
    async with asking(lambda called: says("never")) as (world, server):
        server.key = "another"
        task = await world.ask(["a"], ["gpt"])
        await drain(world.app, advance=True)
        [given] = world.given[task]
        assert "TEST_MODEL_KEY" in (given.problem or "") and server.calls[0].key == KEY
        rows = await world.fetch("select row_to_json(a)::text as stored from website_analysis.answers a")
        rows += await world.fetch("select row_to_json(o)::text as stored from penstock.outcomes o")
        shown = [row["stored"] for row in rows] + [caplog.text, str(world.given), repr(world.models.__dict__)]
        assert not [text for text in shown if KEY in text]


async def test_a_key_inside_an_answer_is_masked_however_json_spells_it(asking: Asking):
    spelt = "".join(f"\\u{ord(sign):04x}" for sign in KEY)
    body = json.dumps({"choices": [{"message": {"content": "Your key is HERE."}}]}).replace("HERE", spelt)
    async with asking(lambda called: raw(body.encode())) as (world, _):
        task = await world.ask(["a"], ["gpt"])
        assert (await drain(world.app, advance=True)).done == 1
        assert [one.text for one in world.given[task]] == ["Your key is ***."]


async def test_a_key_that_is_not_set_ends_the_model_without_a_call(asking: Asking):
    async with asking(lambda called: says("never")) as (world, server):
        world.environment = {}
        task = await world.ask(["a", "b"], ["gpt"])
        await drain(world.app)
        assert server.calls == []
        assert all("The variable TEST_MODEL_KEY" in (one.problem or "") for one in world.given[task])


async def test_429_waits_as_asked_burns_no_attempt_and_slows_everybody(asking: Asking):
    async with asking(lambda called: refuses(429, Retry_After="37")) as (world, server):
        for number in range(3):
            await world.ask([f"a{number}", f"b{number}"], ["gpt"])
        drained = await drain(world.app)
        assert (drained.ended, drained.waiting) == ({}, 3)
        assert len(server.calls) == 1
        rows = await world.fetch(
            "select attempt, extract(epoch from run_at - now())::float8 as left from penstock.queue"
        )
        assert all(row["attempt"] == 0 and 25 < row["left"] <= 38 for row in rows)
        blocked = await world.fetch("select key from penstock.limits where blocked_until > now()")
        assert [row["key"] for row in blocked] == ["model:gpt:requests"]


@pytest.mark.parametrize("what", ["requests", "tokens"])
async def test_a_good_answer_that_was_the_last_of_the_budget_slows_everybody(asking: Asking, what: str):
    spent = {f"X-RateLimit-Remaining-{what}": "0", f"x-ratelimit-reset-{what}": "1m2s", "x-ratelimit-limit-tokens": "9"}
    async with asking(lambda called: says("fine", headers=spent)) as (world, server):
        await world.ask(["a", "b"], ["gpt"])
        assert (await drain(world.app)).waiting == 1
        assert len(server.calls) == 1
        [row] = await world.fetch(
            "select key, extract(epoch from blocked_until - now())::float8 as left from penstock.limits"
            " where blocked_until > now()"
        )
        assert row["key"] == f"model:gpt:{what}" and 50 < row["left"] <= 62


async def test_an_account_without_credit_is_no_throttle(asking: Asking):
    async with asking(lambda called: refuses(429, "You exceeded your quota", "insufficient_quota")) as (world, server):
        task = await world.ask(["a", "b"], ["gpt"])
        assert (await drain(world.app)).done == 1
        assert len(server.calls) == 1
        assert "no credit" in (world.given[task][0].problem or "")


async def test_an_endpoint_that_throttles_for_ever_ends_as_a_problem(asking: Asking, monkeypatch):
    monkeypatch.setattr("penstock.extensions.sites.models.openai.PATIENCE", 2)
    headers = {"Retry_After": "0.05"}
    async with asking(lambda called: refuses(429, **headers)) as (world, server):
        task = await world.ask(["a", "b"], ["gpt"])
        async with asyncio.timeout(60):
            while (await drain(world.app, advance=True)).waiting:
                pass
        assert all("slow down" in (one.problem or "") for one in world.given[task])
        assert len(server.calls) <= 8


TROUBLE = {
    "500": lambda: refuses(500),
    "503": lambda: refuses(503),
    "not JSON": lambda: raw(b"<html>busy</html>"),
    "another shape": lambda: raw(b'{"result": []}'),
    "a list": lambda: raw(b"[1]"),
    "no choices": lambda: raw(b'{"choices": []}'),
    "choice without message": lambda: raw(b'{"choices": [{"text": "x"}]}'),
    "content that is a number": lambda: raw(b'{"choices": [{"message": {"content": 7}}]}'),
    "broken UTF-8": lambda: raw(b'{"choices": [{"message": {"content": "\xff"}}]}'),
    "cut half-way": lambda: says("x" * 500, cut=100),
    "cut at once": lambda: says("x", cut=0),
    "too large": lambda: says("x" * 2_000_000),
}


@pytest.mark.parametrize("name", TROUBLE)
async def test_trouble_is_tried_again_and_noted_in_the_last_attempt(asking: Asking, name: str):
    async with asking(lambda called: says("fine") if called.prompt == "good" else TROUBLE[name](), input_price=1.0) as (
        world,
        server,
    ):
        task = await world.ask(["bad", "good"], ["gpt"])
        drained = await drain(world.app, advance=True)
        assert (drained.ended, drained.released) == ({State.DONE: 1}, 2)
        bad, good = world.given[task]
        assert bad.text is None and "127.0.0.1" in (bad.problem or "") and good.text == "fine"
        assert [call.prompt for call in server.calls].count("good") == 1
        assert len(server.calls) == 4


@pytest.mark.parametrize("how", ["hangs", "drips"])
async def test_an_answer_that_takes_too_long_has_failed_and_counts_as_spent(asking: Asking, how: str):
    """Dripping: no single wait is long, only all of them."""
    held = asyncio.Event()

    def answer(called: Called) -> Said:
        return says("late", held=held) if how == "hangs" else says("late", drip=0.05)

    async with asking(answer, timeout_seconds=0.3, output_price=1000.0, max_tokens=100) as (world, _):
        await world.ask(["a"], ["gpt"])
        assert (await drain(world.app)).released == 1
        [attempt] = await world.fetch("select error ->> 'message' as said from penstock.attempts")
        assert "took longer than 0.3 s" in attempt["said"]
        assert await world.spent() == [pytest.approx(0.1)]
        held.set()


async def test_a_slow_answer_is_waited_for(asking: Asking):
    async with asking(lambda called: says("slow", pause=0.3), timeout_seconds=60) as (world, _):
        task = await world.ask(["a"], ["gpt"])
        assert (await drain(world.app)).done == 1
        assert world.given[task][0].took_ms >= 300


async def test_an_endpoint_that_is_not_there_costs_nothing(asking: Asking):
    async with asking(lambda called: says("x"), url="http://127.0.0.1:9/v1", output_price=9.0) as (world, _):
        task = await world.ask(["a"], ["gpt"])
        assert (await drain(world.app, advance=True)).done == 1
        assert "cannot be reached" in (world.given[task][0].problem or "")
        assert await world.spent() == [0.0]


async def test_an_endpoint_that_is_down_is_left_alone_after_failures_in_a_row(asking: Asking):
    async with asking(lambda called: refuses(500), concurrency=1) as (world, server):
        task = await world.ask([f"prompt {number}" for number in range(30)], ["gpt"])
        assert (await drain(world.app, advance=True)).done == 1
        assert len(server.calls) == 5
        assert len(world.given[task]) == 30 and all(one.problem for one in world.given[task])


async def test_a_question_that_is_refused_is_one_cell_but_three_in_a_row_end_the_model(asking: Asking):
    def answer(called: Called) -> Said:
        return refuses(400, "too\nlong") if called.prompt.startswith("bad") else says("fine")

    async with asking(answer, concurrency=1) as (world, server):
        task = await world.ask(["bad 1", "good 1", "bad 2", "bad 3", "bad 4", "good 2", "good 3"], ["gpt"])
        assert (await drain(world.app)).done == 1
        assert len(server.calls) == 5
        texts = [one.text for one in world.given[task]]
        assert texts == [None, "fine", None, None, None, None, None]
        assert "(400) (too long)" in (world.given[task][0].problem or "")


@pytest.mark.parametrize(
    ("said", "text", "problem"),
    [
        (says("half an ans", finish="length"), "half an ans", None),
        (says("partly", finish="content_filter"), None, "filter"),
        (says(None, finish="length"), None, "max_tokens"),
        (says(""), None, "empty"),
        (says(None), None, "empty"),
        (says("a\0b"), "ab", None),
        (raw(b'{"choices": [{"message": {"content": null, "refusal": "I cannot"}}]}'), None, "refused.*I cannot"),
        (raw(b'{"choices": [{"message": {"content": [{"type": "text", "text": "parts"}]}}]}'), "parts", None),
    ],
)
async def test_refusals_and_odd_endings_are_answers(asking: Asking, said: Said, text: str | None, problem: str | None):
    async with asking(lambda called: said) as (world, server):
        task = await world.ask(["a"], ["gpt"])
        assert (await drain(world.app)).done == 1
        [given] = world.given[task]
        assert given.text == text and len(server.calls) == 1
        if problem is None:
            assert given.problem is None
        else:
            import re

            assert re.search(problem, given.problem or "")
        assert given.details.get("cut", False) == (b'"length"' in said.body)


@pytest.mark.parametrize("usage", ["missing", "negative"])
async def test_tokens_that_nobody_counted_are_estimated_and_marked(asking: Asking, usage: str):
    said = says("word " * 40, usage=False) if usage == "missing" else says("word " * 40, tokens_in=-5, tokens_out=-5)
    async with asking(lambda called: said, output_price=1.0) as (world, _):
        task = await world.ask(["a"], ["gpt"])
        await drain(world.app)
        [given] = world.given[task]
        assert given.details["tokens_estimated"] is True
        assert 40 <= given.tokens_out <= 80 and given.tokens_in > 0 and given.cost > 0


async def test_no_more_calls_at_once_than_allowed_whatever_the_number_of_sites(asking: Asking):
    from penstock import worker

    two, calls = asyncio.Event(), []

    def answer(called: Called) -> Said:
        calls.append(called)
        if len(calls) == 2:
            two.set()
        return says("x", held=two, pause=0.02)  # time for a third one to come

    async with asking(answer, concurrency=2) as (world, server):
        tasks = [await world.ask([f"{site} {number}" for number in range(6)], ["gpt"]) for site in range(5)]
        async with worker(world.app):
            async with asyncio.timeout(60):
                while len(world.given) < len(tasks):
                    await asyncio.sleep(0.05)
        assert len(server.calls) == 30 and server.most_at_once == 2


async def test_a_question_larger_than_the_burst_of_tokens_is_asked_all_the_same(asking: Asking):
    long = "word " * 5_000
    async with asking(lambda called: says("fine"), tokens_per_minute=60, requests_per_minute=600, max_tokens=5) as (
        world,
        _,
    ):
        task = await world.ask([long], ["gpt"])
        assert (await drain(world.app)).done == 1
        assert world.given[task][0].text == "fine"
        rows = await world.fetch("select key, rate, burst from penstock.limits order by key")
        assert [tuple(row) for row in rows] == [("model:gpt:requests", 10.0, 50), ("model:gpt:tokens", 1.0, 15)]


async def test_the_rate_of_the_file_is_kept_and_the_rest_waits_in_the_queue(asking: Asking):
    async with asking(lambda called: says("fine"), requests_per_minute=1) as (world, server):
        await world.ask([f"prompt {number}" for number in range(10)], ["gpt"])
        drained = await drain(world.app)
        assert (drained.done, drained.waiting) == (0, 1)
        assert len(server.calls) == 1
        [row] = await world.fetch("select attempt from penstock.queue")
        assert row["attempt"] == 0


async def test_a_private_endpoint_is_asked_only_where_a_setting_allows_it(asking: Asking):
    settings = {"sites_allowed_hosts": "other.example"}
    async with asking(lambda called: says("x"), settings, key_variable=None) as (world, server):
        task = await world.ask(["a", "b"], ["gpt"])
        assert (await drain(world.app)).done == 1
        assert server.calls == []
        said = world.given[task][0].problem or ""
        assert "PENSTOCK_SITES_ALLOWED_HOSTS" in said and "PENSTOCK_PRIVATE_NETWORKS" in said


@pytest.mark.parametrize("how", ["port", "private networks"])
async def test_a_private_endpoint_may_be_allowed_by_port_or_with_the_whole_network(asking: Asking, how: str):
    async with ModelServer(lambda called: says("x"), key=None) as local:
        allowed = {"sites_allowed_hosts": f"127.0.0.1:{local.port}"}
        settings = allowed if how == "port" else {"sites_allowed_hosts": "", "private_networks": True}
        async with asking(lambda called: says("x"), settings, url=local.url) as (world, _):
            await world.ask(["a"], ["gpt"])
            assert (await drain(world.app)).done == 1
            assert len(local.calls) == 1


async def test_a_redirect_is_not_followed(asking: Asking):
    async with asking(lambda called: Said(status=307, headers={"Location": "http://127.0.0.1:1/"})) as (world, server):
        task = await world.ask(["a"], ["gpt"])
        assert (await drain(world.app)).done == 1
        assert len(server.calls) == 1 and "elsewhere" in (world.given[task][0].problem or "")
