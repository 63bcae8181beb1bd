"""A match is verified before it is believed: against the row's title, brand and numbers, whoever found it."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest

from penstock.extensions.catalogue.understood import Understood
from penstock.extensions.catalogue.verifying import numbers_differ
from penstock.lifecycle import State
from penstock.testing import drain
from tests.extensions.catalogue_world import World, gtin
from tests.extensions.loopback import Answer, Loopback, as_json

DRILL = ["", "", "Zephyr", "Hammer Drill 600 W keyless"]
COLUMNS = ["EAN", "SKU", "Brand", "Title"]
Answering = Callable[..., Any]


@pytest.fixture
def answering(database_url: str) -> Answering:
    """``async with answering(what the provider answers to a text) as (world, server):``"""

    @asynccontextmanager
    async def make(answer: Callable[[str], dict[str, Any] | None]) -> AsyncIterator[tuple[World, Loopback]]:
        def answered(target: str) -> Answer:
            found = answer(target)
            return Answer(status=404) if found is None else as_json(found)

        async with Loopback(answered) as server:
            settings = {
                "catalogue_http_url": server.url("/items?q={text}"),
                "catalogue_http_per_second": 1000.0,
                "private_networks": True,
                "max_attempts_not_found": 1,
            }
            async with World(database_url, **settings) as world:
                yield world, server

    return make


@pytest.mark.parametrize(
    ("row", "answer", "match", "score"),
    [
        (DRILL, {"title": "Zephyr Hammer Drill 600W keyless"}, "brand+title", 1.0),
        (DRILL, {"title": "Hammer Drill 600 W keyless, with case", "brand": "Zephyr"}, "brand+title", 0.75),
        (DRILL, {"title": "Zephyr drill", "gtin": gtin(7)}, None, None),
        (DRILL, {"title": "Zephyr Garden Hose 25 m"}, None, None),
        (DRILL, {"title": "Zephyr Hammer Drill 500 W keyless"}, None, None),
        (DRILL, {"title": "Hammer Drill 600 W keyless", "brand": "Corvane"}, None, None),
        (DRILL, {"price": 9.9}, None, None),
        # By number: what repeats the number is sure, whatever it is called; what holds another one is something else.
        ([gtin(7), "", "", "whatever it is called"], {"title": "Zephyr Drill", "gtin": gtin(7)[1:]}, "gtin", 1.0),
        ([gtin(7), "", *DRILL[2:]], {"title": "Zephyr Hammer Drill 600 W keyless", "gtin": gtin(8)}, None, None),
        ([gtin(7), "", *DRILL[2:]], {"title": "Zephyr Hammer Drill"}, "gtin", 0.6),
        ([gtin(7), "", *DRILL[2:]], {"title": "Garden Hose"}, None, None),
        ([gtin(7), "", "", ""], {"title": "Zephyr Drill"}, "gtin", 0.5),
        (["", "ZD-0007", "Zephyr", ""], {"title": "Drill", "brand": "Zephyr", "sku": "zd 0007"}, "sku", 1.0),
        (["", "ZD-0007", "Zephyr", ""], {"title": "Drill", "brand": "Zephyr", "sku": "ZD-0008"}, None, None),
        (["", "ZD-0007", "Zephyr", ""], {"title": "Drill", "brand": "Corvane", "sku": "ZD-0007"}, None, None),
        # A GTIN that is no GTIN says nothing, and neither does an article number that is only a placeholder.
        (["", "N/A", "", "Oak table"], {"title": "Iron bolt", "sku": "n/a"}, None, None),
        (["", "-", "", "Oak table"], {"title": "Iron bolt", "sku": "/"}, None, None),
        ([gtin(7), "", *DRILL[2:]], {"title": "Zephyr Hammer Drill 600 W keyless", "gtin": "n/a"}, "gtin", 1.0),
    ],
)
async def test_an_answer_over_http_is_held_against_the_row(
    answering: Answering, row: list[str], answer: dict[str, Any], match: str | None, score: float | None
):
    async with answering(lambda target: answer) as (world, _):
        job_id = await world.submit(COLUMNS, [row], providers=["http"])
        await drain(world.app)
        [outcome] = await world.outcomes(job_id)
        if match is None:
            assert outcome["status"] == State.NOT_FOUND
        else:
            columns = outcome["result"]["columns"]
            assert (columns["Match"], columns["Score"]) == (match, pytest.approx(score, abs=0.1))


@pytest.mark.parametrize(
    ("asked", "known", "differ"),
    [
        ("sony turntable pslx350h", "sony ps lx350h belt drive turntable", False),
        ("sony ps lx350h belt drive turntable", "sony turntable pslx350h", False),
        ("drill 12v", "drill 512v", True),
        ("drill 600w", "drill 500w", True),
        ("drill", "drill 500w", False),
    ],
)
def test_a_model_number_is_the_same_in_one_piece_and_in_several(asked: str, known: str, differ: bool):
    assert numbers_differ(asked, known) is differ


async def test_a_wider_guess_widens_what_is_asked_and_not_what_is_believed(answering: Answering):
    async with answering(lambda target: {"title": "Zephyr Hammer Drill 500 W keyless"}) as (world, server):
        world.app.use(world.app.settings.model_copy(update={"max_attempts_not_found": 3}), world.app.events)
        await world.submit(COLUMNS, [DRILL], providers=["http"])
        assert (await drain(world.app, advance=True)).ended == {State.NOT_FOUND: 1}
        assert len(server.asked) == 4


async def test_an_equal_gtin_in_the_answer_confirms_a_match_by_title(answering: Answering):
    def answer(target: str) -> dict[str, Any] | None:
        return None if gtin(7) in target else {"title": "Zephyr Drill", "gtin": gtin(7)}

    async with answering(answer) as (world, _):
        job_id = await world.submit(COLUMNS, [[gtin(7), "", "", "Hammer Drill keyless 600 W"]], providers=["http"])
        await drain(world.app)
        [outcome] = await world.outcomes(job_id)
        columns = outcome["result"]["columns"]
        assert (columns["Matched title"], columns["Match"], columns["Score"]) == ("Zephyr Drill", "gtin", 1.0)


async def test_why_an_answer_was_not_believed_stands_in_the_reason(answering: Answering):
    async with answering(lambda target: {"title": "Zephyr Hammer Drill 500 W", "gtin": gtin(8)}) as (world, _):
        job_id = await world.submit(
            COLUMNS, [[gtin(7), "", "", "Zephyr Hammer Drill 500 W"], DRILL], providers=["http"]
        )
        await drain(world.app)
        other_gtin, other_numbers = await world.outcomes(job_id)
        assert f"(http: it has the GTIN {gtin(8)})" in other_gtin["error"]["message"]
        assert "(http: the numbers in its title differ)" in other_numbers["error"]["message"]


async def test_a_local_product_with_another_gtin_is_not_taken_for_its_title(database_url: str):
    async with World(database_url, max_attempts_not_found=1) as world:
        await world.know(
            Understood(title="Zephyr Hammer Drill 600 W", brand="Zephyr", gtin=gtin(8)),
            Understood(title="Zephyr Hammer Drill 600 W, keyless", brand="Zephyr", retailer="Corner"),
            Understood(title="Corvane Desk Lamp 12 W", brand="Corvane", gtin=gtin(9), sku="CL-12"),
        )
        rows = [
            [gtin(7), "", "Zephyr", "Hammer Drill 600 W"],  # the closest has another GTIN; the next one has none
            [gtin(7), "", "Corvane", "Desk Lamp 12 W"],
            [gtin(7), "CL-12", "Corvane", ""],
            ["", "", "Corvane", "Desk Lamp 12 W"],
        ]
        job_id = await world.submit(COLUMNS, rows)
        await drain(world.app)
        found = await world.outcomes(job_id)
        assert [one["status"] for one in found] == [State.DONE, State.NOT_FOUND, State.NOT_FOUND, State.DONE]
        assert found[0]["result"]["columns"]["Matched title"] == "Zephyr Hammer Drill 600 W, keyless"


async def test_an_exact_number_at_a_later_provider_wins_over_a_title_at_an_earlier_one(answering: Answering):
    shop = {gtin(7): {"title": "Zephyr Drill 600", "gtin": gtin(7)}}
    async with answering(lambda target: shop.get(target.rpartition("=")[2])) as (world, server):
        await world.know(
            Understood(title="Zephyr Hammer Drill 600 W", brand="Zephyr"),
            Understood(title="Corvane Desk Lamp 12 W", brand="Corvane", gtin=gtin(9)),
        )
        rows = [
            [gtin(7), "", "Zephyr", "Hammer Drill 600 W"],  # http knows the number, local a title like that
            [gtin(6), "", "Zephyr", "Hammer Drill 600 W"],  # nobody knows the number
            [gtin(9), "", "Corvane", "Desk Lamp"],  # local knows the number
            ["", "", "Zephyr", "Hammer Drill 600 W"],  # there is no number
        ]
        job_id = await world.submit(COLUMNS, rows)
        await drain(world.app)
        found = [one["result"] for one in await world.outcomes(job_id)]
        assert [(one["columns"]["Match"], one["provenance"]["Match"]["provider"]) for one in found] == [
            ("gtin", "http"),
            ("brand+title", "local"),
            ("gtin", "local"),
            ("brand+title", "local"),
        ]
        # One question over HTTP where local does not know the number, none where it does or where there is no number.
        assert [one.target for one in server.asked] == [f"/items?q={gtin(7)}", f"/items?q={gtin(6)}"]
