"""A product list through the whole pipeline, on real PostgreSQL."""

from collections import Counter
from collections.abc import AsyncIterator
from decimal import Decimal

import pytest

from penstock.extensions.catalogue import sample
from penstock.extensions.catalogue.enrich import RESULT_COLUMNS
from penstock.extensions.catalogue.understood import Understood
from penstock.lifecycle import State
from penstock.testing import drain
from tests.extensions.catalogue_world import World, gtin


@pytest.fixture
async def world(database_url: str) -> AsyncIterator[World]:
    async with World(database_url) as made:
        yield made


def product(number: int) -> Understood:
    return Understood(
        title=f"Zephyr Cordless Drill model{number:04d} {number + 10} V",
        brand="Zephyr",
        sku=f"ZD-{number:04d}",
        gtin=gtin(number),
        price=Decimal("19.99") + number,
        currency="EUR",
        retailer="Corner Shop",
        url=f"https://shop.example/{number}",
    )


def row(number: int) -> list[str]:
    """A fifth each: by GTIN, by article number, by brand and title, unknown, empty."""
    match number % 5:
        case 0:
            return [gtin(number), "", "", "whatever it is called", "3"]
        case 1:
            return ["", f"zd-{number:04d}", "", "", "4"]
        case 2:
            return ["", "", "ZEPHYR", f"cordless drill Model{number:04d} {number + 10}V", "5"]
        case 3:
            return ["", "", "Nobody", f"Imaginary gramophone unheard{number}", "6"]
        case _:
            return ["", "", "Zephyr", "", "7"]


async def test_two_hundred_rows_end_as_they_should_with_every_question_on_record(world: World):
    await world.know(*(product(number) for number in range(200)))
    job_id = await world.submit(["EAN", "Artikelnummer", "Marke", "Bezeichnung", "Lager"], [row(n) for n in range(200)])
    drained = await drain(world.app, advance=True)
    assert drained.ended == {State.DONE: 120, State.NOT_FOUND: 40, State.SKIPPED: 40}
    outcomes = await world.outcomes(job_id)
    for number, outcome in enumerate(outcomes):
        if number % 5 > 2:
            continue
        columns = outcome["result"]["columns"]
        assert columns["Matched title"] == product(number).title
        assert columns["Match"] == ("gtin", "sku", "brand+title")[number % 5]
        assert (columns["Price"], columns["Currency"]) == (pytest.approx(19.99 + number), "EUR")
    assert await world.asked(job_id) == Counter(
        {
            ("local", "gtin", True, 1): 40,
            ("local", "sku", True, 1): 40,
            ("local", "brand+title", True, 1): 40,
            ("local", "brand+title", False, 1): 40,
            ("local", "title", False, 1): 40,
            ("local", "title", False, 2): 40,
            ("local", "title", False, 3): 40,
        }
    )


async def test_every_value_says_where_it_came_from(world: World):
    await world.know(product(1))
    job_id = await world.submit(["gtin"], [[gtin(1)]])
    await drain(world.app)
    [outcome] = await world.outcomes(job_id)
    result = outcome["result"]
    assert result["normalized"] == {"gtin": gtin(1)}
    filled = {heading for heading, value in result["columns"].items() if value is not None}
    assert set(result["provenance"]) == filled
    [event] = await world.fetch("select at from catalogue.search_events")
    said = {"provider": "local", "query": f"gtin {gtin(1)}", "at": event["at"].isoformat()}
    assert all(source == said for source in result["provenance"].values())
    assert set(result["columns"]) <= set(RESULT_COLUMNS)


async def test_a_second_attempt_asks_in_another_way_and_finds(world: World):
    await world.know(Understood(title="Brunnhild Terra Electric Kettle 1.7 l", brand="Brunnhild", price=Decimal(40)))
    job_id = await world.submit(
        ["Product name", "Brand"], [["Terra Electric Kettle, 1.5 l, red edition 77", "Brunhild"]]
    )
    first = await drain(world.app)
    assert (first.released, first.waiting, first.ended) == (1, 1, {})
    assert (await drain(world.app, advance=True)).done == 1
    [outcome] = await world.outcomes(job_id)
    assert outcome["result"]["columns"]["Matched title"] == "Brunnhild Terra Electric Kettle 1.7 l"
    texts = [row["query"] for row in await world.fetch("select query from catalogue.search_events order by id")]
    assert len(texts) == len(set(texts)) and len(texts) >= 3


async def test_a_row_that_is_not_found_waits_minutes_and_says_what_was_tried(database_url: str):
    async with World(database_url, catalogue_again_seconds=600, max_attempts_not_found=2) as world:
        job_id = await world.submit(["title"], [["Perpetual Motion Machine"]])
        await drain(world.app)
        [waiting] = await world.fetch("select extract(epoch from run_at - now())::float8 as left from penstock.queue")
        assert 500 < waiting["left"] <= 600
        assert (await drain(world.app, advance=True)).ended == {State.NOT_FOUND: 1}
        [outcome] = await world.outcomes(job_id)
        assert "title perpetual motion machine (local)" in outcome["error"]["message"]


async def test_a_drill_of_600_watts_is_not_the_one_of_500(world: World):
    await world.know(Understood(title="Zephyr Hammer Drill 500 W", brand="Zephyr"))
    job_id = await world.submit(["title", "brand"], [["Hammer Drill 600 W", "Zephyr"]])
    await drain(world.app)
    assert sum((await world.asked(job_id)).values()) == 2
    assert await world.outcomes(job_id) == []


async def test_of_two_products_that_fit_alike_none_is_taken(world: World):
    await world.know(*(Understood(title=f"Zephyr Desk Lamp {watts} W", brand="Zephyr") for watts in (51, 12)))
    job_id = await world.submit(["title", "brand"], [["Desk Lamp", "Zephyr"], ["Desk Lamp 12W", "Zephyr"]])
    await drain(world.app, advance=True)
    unclear, clear = await world.outcomes(job_id)
    assert unclear["status"] == State.NOT_FOUND
    assert clear["result"]["columns"]["Matched title"] == "Zephyr Desk Lamp 12 W"


async def test_what_cannot_be_looked_up_is_skipped_with_the_reason(world: World):
    job_id = await world.submit(["EAN", "Menge"], [["4006381333930", "2"]])
    await drain(world.app)
    [outcome] = await world.outcomes(job_id)
    assert outcome["status"] == State.SKIPPED
    assert "the check digit of '4006381333930' is wrong; it would be 1" in outcome["error"]["message"]


@pytest.mark.parametrize(
    ("columns", "options", "sentence"),
    [
        (["a", "b"], {}, "No column of this file was recognised"),
        (["a", "b"], {"roles": {"title": "c"}}, "was given to the column 'c'; the file has: a, b"),
        (["a", "b"], {"roles": {"colour": "a"}}, "There is no role 'colour'"),
        (["title"], {"providers": ["http"]}, "Set PENSTOCK_CATALOGUE_HTTP_URL"),
        (["title"], {"providers": "local"}, "has to be a list of names"),
    ],
)
async def test_wrong_options_end_in_an_error_that_says_what_to_do(world: World, columns, options, sentence):
    job_id = await world.submit(columns, [["x", "y"]], **options)
    await drain(world.app)
    [outcome] = await world.outcomes(job_id)
    assert outcome["status"] == State.ERROR
    assert sentence in outcome["error"]["message"]


async def test_given_roles_count_before_headings(world: World):
    await world.know(product(7))
    job_id = await world.submit(["Name", "Nummer"], [["something else", "ZD-0007"]], roles={"sku": "Nummer"})
    await drain(world.app)
    [outcome] = await world.outcomes(job_id)
    assert outcome["result"]["columns"]["Match"] == "sku"


async def test_search_events_are_kept_as_long_as_the_items_of_jobs(world: World):
    await world.know(product(1))
    await world.submit(["gtin"], [[gtin(1)], [gtin(1)]])
    deleted = await world.submit(["gtin"], [[gtin(1)]])
    await drain(world.app)
    await world.fetch("update catalogue.search_events set at = now() - interval '31 days' where id % 2 = 0")
    await world.fetch("delete from penstock.jobs where id = $1", deleted)
    for settings, left in ((world.app.settings, 2), (world.app.settings.model_copy(update={"retention_days": 30}), 1)):
        world.app.use(settings, world.app.events)
        await world.app.enqueue("catalogue.forget")
        await drain(world.app)
        assert len(await world.fetch("select id from catalogue.search_events")) == left


async def test_search_events_within_the_retention_stay(world: World):
    await world.know(product(1))
    await world.submit(["gtin"], [[gtin(1)], [gtin(1)]])
    await drain(world.app)
    world.app.use(world.app.settings.model_copy(update={"retention_days": 30}), world.app.events)
    await world.fetch("update catalogue.search_events set at = now() - interval '29 days'")
    await world.app.enqueue("catalogue.forget")
    await drain(world.app)
    assert len(await world.fetch("select id from catalogue.search_events")) == 2


async def test_the_sample_file_finds_the_sample_products(world: World):
    await world.know(*sample.products())
    lines = [line.split(",") for line in sample.file().splitlines()]
    await world.submit(lines[0], lines[1:])
    drained = await drain(world.app, advance=True)
    assert drained.ended == {State.DONE: 40, State.NOT_FOUND: 1, State.SKIPPED: 1}
