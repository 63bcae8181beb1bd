"""The local products: imports, plans of the look-ups, and a server without pg_trgm."""

import asyncio
import json
from collections.abc import AsyncIterator
from decimal import Decimal
from pathlib import Path
from typing import Any
from uuid import uuid4

import asyncpg
import pytest

from penstock.console.files.refused import FileRefused
from penstock.errors import UsageError
from penstock.extensions import catalogue
from penstock.extensions.catalogue import local_products, products, products_import
from penstock.extensions.catalogue.folding import telling
from penstock.extensions.catalogue.provider import Query
from penstock.extensions.catalogue.understood import Understood
from penstock.storage.database import translated
from penstock.storage.migrate import migrations_of
from penstock.storage.queries import load
from tests.cli.seeing.command_line import CommandLine
from tests.extensions.catalogue_world import World, gtin

MANY = 60_000
_FILL = """
insert into catalogue.products (key, gtin, sku, brand, title, search_brand, search_title)
select 'gtin ' || lpad(n::text, 14, '0'), lpad(n::text, 14, '0'), 'SKU-' || n, 'Brand ' || n % 500, 'x',
       'brand ' || n % 500,
       'brand ' || n % 500 || ' ' || md5((n % 800)::text) || ' ' || md5((n % 901)::text) || ' red ' || n || 'w'
from generate_series(1, $1::int) n
"""


@pytest.fixture
async def world(database_url: str) -> AsyncIterator[World]:
    async with World(database_url) as made:
        yield made


@pytest.fixture
def penstock(database_url: str) -> CommandLine:
    return CommandLine(database_url)


def written(folder: Path, text: str) -> Path:
    path = folder / "products.csv"
    path.write_text(text, encoding="utf-8")
    return path


# ---------------------------------------------------------------- imports


async def test_a_list_imported_again_changes_its_products(world: World, tmp_path: Path):
    header = "EAN;Artikelnr;Händler;Titel;Preis\n"
    known = f"{gtin(1)};A1;Hafen;Bohrer 18 V;19,90 €\n;A2;Hafen;Säge;7\n;A2;Markt;Säge;8\n;;Markt;Hammer;9\n"
    first = await products_import.import_file(world.app, written(tmp_path, header + known))
    assert (first.created, first.changed, first.wrong) == (4, 0, 0)
    second = await products_import.import_file(world.app, written(tmp_path, header + known.replace("19,90", "21,00")))
    assert (second.created, second.changed) == (0, 1)
    [row] = await world.fetch("select * from catalogue.products where gtin = $1", gtin(1))
    assert (row["price"], row["currency"], row["sku"]) == (Decimal("21.0000"), "EUR", "A1")
    assert row["search_title"] == "bohrer 18v"


async def test_a_product_that_is_twice_in_a_list_is_stored_once_as_the_later_says(world: World, tmp_path: Path):
    text = f"gtin,title\n{gtin(1)},Old\n{gtin(1)},New\n"
    done = await products_import.import_file(world.app, written(tmp_path, text))
    assert (done.rows, done.created, done.doubled) == (2, 1, 1)
    assert [row["title"] for row in await world.fetch("select title from catalogue.products")] == ["New"]


async def test_wrong_rows_are_named_and_left_out(world: World, tmp_path: Path):
    lines = [f"{gtin(n)},Product {n},{n}" for n in range(1, 1501)]
    lines[1199] = "123,Odd number,5"
    lines[1299] = f"{gtin(9999)},,5"
    lines[1399] = f"{gtin(9998)},Dear,lots"
    done = await products_import.import_file(world.app, written(tmp_path, "gtin,title,price\n" + "\n".join(lines)))
    assert (done.created, done.wrong) == (1497, 3)
    assert done.told[0].startswith("Row 1,200: gtin: '123' has 3 digits")
    assert done.told[1:] == ["Row 1,300: it has no title", "Row 1,400: price: 'lots' is no price"]


async def test_a_strict_import_stops_at_the_first_wrong_row(world: World, tmp_path: Path):
    lines = [f"{gtin(n)},Product {n}" for n in range(1, 1501)]
    lines[1199] = "123,Odd number"
    with pytest.raises(FileRefused, match=r"Row 1,200: gtin: '123' has 3 digits"):
        await products_import.import_file(world.app, written(tmp_path, "gtin,title\n" + "\n".join(lines)), strict=True)
    assert len(await world.fetch("select id from catalogue.products")) == 1000


async def test_the_command_line_imports_counts_and_finds(penstock: CommandLine, tmp_path: Path):
    path = written(tmp_path, f"Name,Brand,EAN,Price\nCordless Drill,Zephyr,{gtin(3)},12\nSaw,Zephyr,77,3\n")
    ended = await penstock("catalogue", "products", "import", path, "--retailer", "Corner")
    assert "1 new, 0 changed, 0 doubled, 1 wrong." in ended.stdout
    assert "Row 2: gtin: '77' has 2 digits" in ended.stderr
    assert await penstock.json("catalogue", "products", "count") == {"products": 1}
    [found] = await penstock.json("catalogue", "products", "find", "cordles dril")
    assert (found["title"], found["retailer"], found["gtin"]) == ("Cordless Drill", "Corner", gtin(3))
    [found] = await penstock.json("catalogue", "products", "find", gtin(3)[1:])
    assert (found["title"], found["price"]) == ("Cordless Drill", 12.0)
    assert await penstock.json("catalogue", "products", "find", "gramophone") == []
    await penstock("catalogue", "products", "import", path, "--strict", code=2)
    await penstock("catalogue", "products", "import", code=2)
    await penstock("catalogue", "products", "import", path, "--sample", code=2)
    await penstock("catalogue", "products", "import", tmp_path / "missing.csv", code=2)
    nothing = await penstock("catalogue", "products", "import", written(tmp_path, "a,b\n1,2\n"), code=2)
    assert "no column holds titles" in nothing.stderr


async def test_the_sample_is_there_once_however_often_it_is_imported(penstock: CommandLine):
    first = await penstock.json("catalogue", "products", "import", "--sample")
    again = await penstock.json("catalogue", "products", "import", "--sample")
    assert (first["created"], again["created"], again["changed"]) == (300, 0, 0)
    shown = await penstock("catalogue", "sample-file")
    assert shown.stdout.startswith("EAN,Article number,Brand,Product name,Stock\n")


# ---------------------------------------------------------------- finding


async def test_the_same_article_number_of_another_brand_is_no_match(world: World):
    await world.know(
        Understood(title="Saw", brand="Zephyr", sku="100"), Understood(title="Pan", brand="Istria", sku="200")
    )
    async with world.app.connection() as connection:
        for brand, sku, expected in (("zephyr", "100", "Saw"), ("istria", "100", None), (None, "200", "Pan")):
            found = await local_products.find(connection, Query(kind="sku", sku=sku, brand=brand), 0.45)
            assert (found and found.title) == expected


async def test_of_products_with_one_article_number_that_of_the_brand_is_taken(world: World):
    await world.know(
        Understood(title="Saw", sku="100", retailer="one shop"),
        Understood(title="Saw", brand="Zephyr", sku="100", retailer="another shop"),
    )
    async with world.app.connection() as connection:
        for brand, expected in (("zephyr", "Zephyr"), ("istria", None), (None, None)):
            found = await local_products.find(connection, Query(kind="sku", sku="100", brand=brand), 0.45)
            assert found is not None
            assert found.brand == expected


async def test_a_misspelled_title_is_found_by_a_wider_guess(world: World):
    await world.know(Understood(title="Istria Prime Espresso Machine 1350 W", brand="Istria"))
    async with world.app.connection() as connection:
        strict = Query(kind="title", title="espreso mashine")
        assert await local_products.find(connection, strict, 0.45) is None
        found = await local_products.find(
            connection, Query(kind="title", title="prime espreso machine", loose=True), 0.45
        )
        assert found is not None and found.score < 1


# ---------------------------------------------------------------- plans


async def _fill(url: str) -> None:
    connection = await asyncpg.connect(url)
    try:
        await connection.execute(_FILL.replace("$1::int", str(MANY)))
        await connection.execute("vacuum analyze catalogue.products")
    finally:
        await connection.close()


@pytest.fixture(scope="module")
def many_url(module_database_url: str) -> str:
    asyncio.run(_fill(module_database_url))
    return module_database_url


@pytest.fixture
async def many(many_url: str) -> AsyncIterator[asyncpg.Connection]:
    connection = await asyncpg.connect(many_url)
    yield connection
    await connection.close()


async def plan_of(connection: asyncpg.Connection, statement: str, *values: Any) -> tuple[set[str], set[str], int]:
    """Kinds of nodes, indexes used, and the most rows that one node read."""
    [found] = json.loads(await connection.fetchval(f"explain (analyze, format json) {statement}", *values))
    kinds, indexes, most, nodes = set(), set(), 0, [found["Plan"]]
    while nodes:
        node = nodes.pop()
        nodes += node.get("Plans", [])
        kinds.add(node["Node Type"])
        indexes |= {node["Index Name"]} if "Index Name" in node else set()
        read = (
            node["Actual Rows"] + node.get("Rows Removed by Filter", 0) + node.get("Rows Removed by Index Recheck", 0)
        )
        most = max(most, int(read))
    return kinds, indexes, most


@pytest.mark.parametrize(
    ("query", "values", "index"),
    [
        ("by_gtin", ("00000000030000",), {"products_gtin"}),
        ("by_sku", ("SKU-30000", None), {"products_sku"}),
        ("by_trigrams", ("30000w",), {"products_trigrams"}),
    ],
)
async def test_keys_and_trigrams_are_read_from_their_indexes(many: asyncpg.Connection, query, values, index):
    kinds, indexes, _ = await plan_of(many, getattr(load("products", "penstock.extensions.catalogue"), query), *values)
    assert "Seq Scan" not in kinds and indexes == index


async def test_a_title_is_found_by_its_telling_words_without_reading_the_rest(many: asyncpg.Connection):
    title = await many.fetchval("select search_title from catalogue.products where sku = 'SKU-30000'")
    words = telling(title)
    pairs = (words[:2], words[1:], [words[0], words[2]])
    statement = load("products", "penstock.extensions.catalogue").by_title
    kinds, indexes, most = await plan_of(many, statement, title, *pairs, 0.45, 2000)
    assert "Seq Scan" not in kinds and indexes == {"products_words"} and most <= 2000
    [best, *_] = await products.by_title(many, title, 0.45)
    assert (best.sku, best.score) == ("SKU-30000", 1.0)


async def test_brand_and_title_read_at_most_the_products_of_the_brand(many: asyncpg.Connection):
    title = await many.fetchval("select search_title from catalogue.products where sku = 'SKU-30000'")
    statement = load("products", "penstock.extensions.catalogue").by_brand_and_title
    kinds, _, most = await plan_of(many, statement, title, "brand 0", telling(title, most=2), 0.45, 2000)
    assert "Seq Scan" not in kinds and most <= 2000


# ---------------------------------------------------------------- a server without the extension


async def test_a_role_that_may_not_create_the_extension_is_told_what_to_do(bare_url: str):
    role = f"plain_{uuid4().hex[:12]}"
    [step] = migrations_of([catalogue.extension])
    inside = await asyncpg.connect(bare_url)
    try:
        await inside.execute(f"create role {role}")
        await inside.execute(f"set role {role}")
        with pytest.raises(UsageError, match=r"pg_trgm is missing.*`create extension pg_trgm`"), translated():
            await inside.execute(step.sql)
    finally:
        await inside.execute(f"reset role; drop role if exists {role}")
        await inside.close()
