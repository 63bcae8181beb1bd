"""The HTTP provider against a server on loopback that answers in every way servers do."""

import asyncio
import gzip
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any

import pytest

from penstock.config import load
from penstock.errors import InvalidSetting
from penstock.extensions.catalogue import http_provider
from penstock.extensions.catalogue.http_options import HttpOptions
from penstock.lifecycle import State
from penstock.testing import drain
from tests.extensions.catalogue_world import World, gtin
from tests.extensions.loopback import Answer, Loopback, as_json

PATHS = "title=name, price=offers[0].price, currency=offers[0].currency, retailer=offers[0].shop, url=link"
GOOD = {
    "name": "Zephyr Drill",
    "offers": [{"price": "12,50", "currency": "EUR", "shop": "Corner"}],
    "link": "https://a.example",
}
Answering = Callable[..., Any]


@pytest.fixture
def answering(database_url: str) -> Answering:
    """``async with answering(function, **settings) as (world, server):``"""

    @asynccontextmanager
    async def make(answer: Callable[[str], Answer], **settings: Any) -> AsyncIterator[tuple[World, Loopback]]:
        async with Loopback(answer) as server:
            given = {
                "catalogue_http_url": server.url("/v1/items?q={text}"),
                "catalogue_http_paths": PATHS,
                "catalogue_http_per_second": 1000.0,
                "private_networks": True,
            } | settings
            async with World(database_url, **given) as world:
                yield world, server

    return make


async def test_what_the_local_products_do_not_know_is_asked_over_http(answering: Answering):
    async with answering(lambda target: as_json(GOOD), catalogue_http_cost=0.25) as (world, server):
        job_id = await world.submit(["ean", "title"], [[gtin(5), "Zephyr & Sons drill? #1/2"]])
        await drain(world.app)
        [outcome] = await world.outcomes(job_id)
        columns = outcome["result"]["columns"]
        assert columns["Matched title"] == "Zephyr Drill"
        assert (columns["Price"], columns["Currency"], columns["Retailer"]) == (12.5, "EUR", "Corner")
        assert columns["URL"] == "https://a.example"
        assert outcome["result"]["provenance"]["Price"]["provider"] == "http"
        assert [one.target for one in server.asked] == [f"/v1/items?q={gtin(5)}"]
        events = await world.fetch("select provider, hit, cost::float8 from catalogue.search_events order by id")
        assert [tuple(row) for row in events] == [("local", False, 0), ("http", True, 0.25)]


async def test_the_order_of_the_job_counts_and_turns_with_the_attempts(answering: Answering):
    async with answering(lambda target: Answer(status=404)) as (world, _):
        job_id = await world.submit(["ean"], [[gtin(5)]], providers=["http", "local"])
        assert (await drain(world.app, advance=True)).ended == {State.NOT_FOUND: 1}
        rows = await world.fetch("select provider from catalogue.search_events where job_id = $1 order by id", job_id)
        assert [row["provider"] for row in rows] == ["http", "local", "local", "http", "http", "local"]


@pytest.mark.parametrize(("cell", "asked"), [("../../admin?k=2&a=b#c %2e", 1), ("..", 0), (".", 0)])
async def test_no_cell_can_change_the_address(answering: Answering, cell: str, asked: int):
    async with answering(lambda target: Answer(status=404), catalogue_http_url=None) as (world, server):
        template = {"catalogue_http_url": server.url("/x/{sku}?k=1")}
        world.app.use(world.app.settings.model_copy(update=template), world.app.events)
        await world.submit(["sku"], [[cell]], providers=["http"])
        await drain(world.app)
        assert len(server.asked) == asked
        for one in server.asked:
            assert one.target.startswith("/x/") and one.target.endswith("?k=1")
            assert not set("/?&=#") & set(one.target.removeprefix("/x/").removesuffix("?k=1"))


@pytest.mark.parametrize(
    "headers",
    [
        {"Retry-After": "37"},
        {"Retry-After": "a date"},
        {"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "37"},
    ],
)
async def test_429_waits_as_asked_burns_nothing_and_slows_everybody(answering: Answering, headers):
    if headers == {"Retry-After": "a date"}:
        headers = {"Retry-After": format_datetime(datetime.now(UTC) + timedelta(seconds=37), usegmt=True)}
    async with answering(lambda target: Answer(status=429, headers=dict(headers))) as (world, server):
        await world.submit(["ean"], [[gtin(1)], [gtin(2)], [gtin(3)]])
        drained = await drain(world.app)
        assert (drained.ended, drained.waiting) == ({}, 3)
        assert len(server.asked) == 1
        rows = await world.fetch(
            "select attempt, extract(epoch from run_at - now())::float8 as left from penstock.queue"
        )
        assert all(row["attempt"] == 0 and 25 < row["left"] <= 38 for row in rows)
        [limit] = await world.fetch("select key from penstock.limits")
        assert limit["key"] == f"catalogue.http 127.0.0.1:{server.port}"
        [event] = await world.fetch("select hit, error from catalogue.search_events where provider = 'http'")
        assert event["hit"] is None and "slow down" in event["error"]


@pytest.mark.parametrize("status", [500, 502, 503, 408])
async def test_a_server_in_trouble_is_asked_again_later(answering: Answering, status: int):
    answers = [Answer(status=status), as_json(GOOD)]
    async with answering(lambda target: answers.pop(0)) as (world, _):
        job_id = await world.submit(["ean"], [[gtin(1)]])
        drained = await drain(world.app, advance=True)
        assert (drained.released, drained.done) == (1, 1)
        assert (await world.asked(job_id))[("http", "gtin", None, 1)] == 1


@pytest.mark.parametrize("status", [400, 401, 403, 418])
async def test_a_refusal_ends_the_task_with_what_to_check(answering: Answering, status: int):
    async with answering(lambda target: Answer(status=status)) as (world, _):
        job_id = await world.submit(["ean"], [[gtin(1)]])
        await drain(world.app)
        [outcome] = await world.outcomes(job_id)
        assert f"127.0.0.1 answered {status}. Check PENSTOCK_CATALOGUE_HTTP_URL" in outcome["error"]["message"]


async def test_an_answer_that_takes_too_long_has_failed(answering: Answering):
    held = asyncio.Event()
    async with answering(lambda target: Answer(held=held), catalogue_http_timeout_seconds=0.2) as (world, _):
        await world.submit(["ean"], [[gtin(1)]])
        assert (await drain(world.app)).released == 1
        [attempt] = await world.fetch("select error ->> 'message' as said from penstock.attempts")
        assert "took longer than 0.2 s" in attempt["said"]
        held.set()


async def test_an_answer_that_drips_has_failed_as_well(answering: Answering):
    body = b'{"name": "' + b"x" * 1000 + b'"}'
    async with answering(lambda target: Answer(body=body, drip=0.05), catalogue_http_timeout_seconds=0.3) as (world, _):
        await world.submit(["ean"], [[gtin(1)]])
        async with asyncio.timeout(60):
            assert (await drain(world.app)).released == 1


@pytest.mark.parametrize("packed", [False, True])
async def test_an_answer_that_is_too_large_is_not_read_to_its_end(answering: Answering, packed: bool):
    body = b'{"name": "' + b"x" * 5_000_000 + b'"}'
    answer = Answer(body=gzip.compress(body), headers={"Content-Encoding": "gzip"}) if packed else Answer(body=body)
    async with answering(lambda target: answer) as (world, _):
        job_id = await world.submit(["ean"], [[gtin(1)]])
        await drain(world.app)
        [outcome] = await world.outcomes(job_id)
        assert "larger than 1,048,576 bytes" in outcome["error"]["message"]


@pytest.mark.parametrize("body", [b"", b"<html>", b'{"name": ', b"\xff\xfe", b"NaN"])
async def test_an_answer_that_is_no_json_is_worth_another_try(answering: Answering, body: bytes):
    answers = [Answer(body=body), as_json(GOOD)]
    async with answering(lambda target: answers.pop(0)) as (world, _):
        await world.submit(["ean"], [[gtin(1)]])
        assert (await drain(world.app, advance=True)).done == 1


@pytest.mark.parametrize(
    "data",
    [{}, [], None, 3, {"name": None}, {"name": {"deep": 1}}, {"offers": []}, {"name": " "}, {"offers": {"0": 1}}],
)
async def test_an_answer_without_title_and_price_is_a_miss(answering: Answering, data: Any):
    async with answering(lambda target: as_json(data), max_attempts_not_found=1) as (world, _):
        await world.submit(["ean"], [[gtin(1)]])
        assert (await drain(world.app)).ended == {State.NOT_FOUND: 1}


async def test_odd_values_are_left_out_and_a_script_is_no_link(answering: Answering):
    odd = {
        "name": "A\x00B\u202e",
        "offers": [{"price": True, "currency": ["EUR"], "shop": 7}],
        "link": "javascript:alert(1)",
    }
    async with answering(lambda target: as_json(odd)) as (world, _):
        job_id = await world.submit(["ean"], [[gtin(1)]])
        await drain(world.app)
        [outcome] = await world.outcomes(job_id)
        columns = outcome["result"]["columns"]
        assert columns["Matched title"].startswith("AB")
        assert (columns["Price"], columns["Currency"], columns["Retailer"], columns["URL"]) == (None, None, "7", None)


async def test_a_redirect_on_the_same_server_is_followed(answering: Answering):
    def answer(target: str) -> Answer:
        return as_json(GOOD) if target == "/new" else Answer(status=302, headers={"Location": "/new"})

    async with answering(answer) as (world, server):
        await world.submit(["ean"], [[gtin(1)]])
        assert (await drain(world.app)).done == 1
        assert len(server.asked) == 2


@pytest.mark.parametrize("place", ["other", "file:///etc/passwd", "//127.0.0.2/x", "http://[", "loop"])
async def test_a_redirect_to_anywhere_else_is_refused(answering: Answering, place: str):
    async with Loopback(lambda target: as_json(GOOD)) as other:
        target = {"other": other.url("/v1"), "loop": "/again"}.get(place, place)
        headers = {"Location": target}
        async with answering(lambda target: Answer(status=307, headers=headers)) as (world, _):
            job_id = await world.submit(["ean"], [[gtin(1)]])
            await drain(world.app)
            [outcome] = await world.outcomes(job_id)
            assert outcome["status"] == State.ERROR
            assert "redirect" in outcome["error"]["message"]
        assert other.asked == []


async def test_private_addresses_are_not_asked_unless_allowed(answering: Answering):
    async with answering(lambda target: as_json(GOOD), private_networks=False) as (world, server):
        await world.submit(["ean"], [[gtin(1)]])
        await drain(world.app)
        assert server.asked == []
        [attempt] = await world.fetch("select error ->> 'message' as said from penstock.attempts")
        assert "PENSTOCK_PRIVATE_NETWORKS" in attempt["said"]


async def test_after_failures_in_a_row_nobody_asks_until_one_question_is_answered(
    answering: Answering, monkeypatch: pytest.MonkeyPatch
):
    broken, passed = True, 0.0
    monkeypatch.setattr(http_provider, "monotonic", lambda: time.monotonic() + passed)

    def answer(target: str) -> Answer:
        return Answer(status=500) if broken else as_json(GOOD)

    async with answering(answer, catalogue_http_circuit_failures=3, catalogue_http_circuit_seconds=3600) as (
        world,
        server,
    ):
        await world.submit(["ean"], [[gtin(n)] for n in range(1, 11)])
        drained = await drain(world.app)
        assert len(server.asked) == 3
        rows = await world.fetch("select count(*) filter (where attempt = 0) as fresh from penstock.queue")
        assert (drained.waiting, rows[0]["fresh"]) == (10, 7)
        broken, passed = False, 3600.0
        async with asyncio.timeout(60):
            while (await drain(world.app, advance=True)).waiting:
                pass
        assert len(await world.fetch("select task_id from penstock.outcomes where status = $1", State.DONE)) == 10


async def test_no_more_questions_at_once_than_allowed(answering: Answering):
    from penstock import worker

    async with answering(lambda target: as_json(GOOD, pause=0.03), catalogue_http_concurrency=2) as (world, server):
        job_id = await world.submit(["ean"], [[gtin(n)] for n in range(1, 41)])
        async with worker(world.app):
            await world.app.job_by_id(job_id).wait(60)
        assert len(server.asked) == 40
        assert server.most_at_once <= 2
        events = await world.fetch("select id from catalogue.search_events where provider = 'http' and hit")
        assert len(events) == 40


async def test_headers_carry_secrets_from_variables_of_their_own(answering: Answering, monkeypatch):
    monkeypatch.setenv("SHOP_KEY", "s3cret")
    headers = "Authorization: Bearer $SHOP_KEY | X-Shop: 7"
    async with answering(lambda target: as_json(GOOD), catalogue_http_headers=headers) as (world, server):
        await world.submit(["ean"], [[gtin(1)]])
        await drain(world.app)
        [asked] = server.asked
        assert (asked.headers["authorization"], asked.headers["x-shop"]) == ("Bearer s3cret", "7")


@pytest.mark.parametrize(
    ("name", "value", "problem"),
    [
        ("url", "ftp://a.example/{gtin}", "begin with https"),
        ("url", "https://{gtin}.example/", "host has to be fixed"),
        ("url", "https://a.example/", "has to hold one or more"),
        ("url", "https://a.example/{gtin.__class__}", "has to hold one or more"),
        ("url", "https://a.example/{gtin!r}", "has to hold one or more"),
        ("url", "https://a.example/{gtin", "will not do"),
        ("url", "https://me:pass@a.example/{gtin}", "a login belongs"),
        ("headers", "nonsense", "Name: value"),
        ("headers", "X: $NOT_THERE", "no such variable"),
        ("paths", "colour=a", "the fields are"),
        ("paths", "price=a[", "is no path"),
        ("paths", "url=a", "title or price is needed"),
    ],
)
def test_settings_that_make_no_sense_are_refused_with_the_reason(name, value, problem):
    given = {"catalogue_http_url": "https://a.example/{gtin}", f"catalogue_http_{name}": value}
    with pytest.raises(InvalidSetting, match=problem) as raised:
        HttpOptions.of(load(**given), {})
    assert "pass" not in str(raised.value) or name != "url"


def test_headers_do_not_show_in_a_representation():
    options = HttpOptions.of(
        load(catalogue_http_url="https://a.example/{gtin}", catalogue_http_headers="K: $K"), {"K": "s3cret"}
    )
    assert "s3cret" not in repr(options)
