"""Search by words: what is found, in which order, and at what cost."""

import random
from typing import Any

import asyncpg
import pytest

from penstock.extensions.articles import keyword
from penstock.extensions.articles.keyword import weighed
from penstock.extensions.articles.near.filter import Filter
from penstock.storage.queries import load

EVERYBODY = Filter()
MANY = 6000
_FILL = """
insert into article_search.articles (slug, title, owner, visibility, words)
select 'a' || n, t, 'ada', 'shared', article_search.words_of('english', t, c)
from unnest($1::text[], $2::text[]) with ordinality as texts (t, c, n)
"""


async def saved(connection: asyncpg.Connection, title: str, content: str = "", owner: str = "ada") -> int:
    found: int = await connection.fetchval(
        "insert into article_search.articles (slug, title, owner, words) "
        "values (gen_random_uuid()::text, $1, $3, article_search.words_of('english', $1, $2)) returning id",
        title,
        content,
        owner,
    )
    return found


async def ids(connection: asyncpg.Connection, text: str, wanted: Filter = EVERYBODY, limit: int = 200) -> list[int]:
    words = await keyword.understand(connection, "english", text)
    found = await keyword.find(connection, words, "english", wanted=wanted, limit=limit)
    return [one.article_id for one in found.hits]


async def test_a_word_in_the_title_beats_any_number_in_the_text(connection: asyncpg.Connection):
    text = await saved(connection, "Of something else", "valve " * 200)
    title = await saved(connection, "The valve", "Nothing more. " * 300)
    assert await ids(connection, "valve") == [title, text]


async def test_any_word_may_match_and_all_words_rank_above(connection: asyncpg.Connection):
    one = await saved(connection, "Turbine", "A wheel.")
    apart = await saved(connection, "First", "The cooling of rooms has nothing to do with a turbine in a valley.")
    phrase = await saved(connection, "Second", "Good turbine cooling is an art.")
    await saved(connection, "Third", "Nothing of it.")
    assert await ids(connection, "turbine cooling") == [phrase, apart, one]


async def test_a_rare_word_counts_more_than_a_common_one(connection: asyncpg.Connection):
    common = [await saved(connection, f"No {n}", "water runs") for n in range(30)]
    rare = await saved(connection, "No 99", "an impeller runs")
    assert (await ids(connection, "impeller water"))[0] == rare
    assert set(await ids(connection, "impeller water")) == {rare, *common}


async def test_quotes_exclusions_and_alternatives_are_strict(connection: asyncpg.Connection):
    phrase = await saved(connection, "A", "the red pump is loud")
    apart = await saved(connection, "B", "a pump that is red")
    green = await saved(connection, "C", "a green valve")
    assert await ids(connection, '"red pump"') == [phrase]
    assert set(await ids(connection, "red -loud")) == {apart}
    assert set(await ids(connection, "loud or green")) == {phrase, green}
    assert set(await ids(connection, "-green")) <= {phrase, apart}
    # In a sentence it is only a word.
    assert set(await ids(connection, "is it a pump or something else in green")) == {phrase, apart, green}


@pytest.mark.parametrize(
    "text", ["the of", "'", "\\", "&|!()<->:*", '"', "-", "''\\'' \\\\", "a" * 1000, "😀", '"" OR -']
)
async def test_odd_queries_find_nothing_and_do_no_harm(connection: asyncpg.Connection, text: str):
    await saved(connection, "Title", "text")
    assert await ids(connection, text) == []


async def test_signs_inside_words_are_taken_as_they_are(connection: asyncpg.Connection):
    there = await saved(connection, "Paths", r"see C:\temp\o'brien and http://example.com/o'hara?x=1")
    assert await ids(connection, "http://example.com/o'hara?x=1") == [there]


async def test_the_filter_hides_what_is_private_to_others(connection: asyncpg.Connection):
    own, other = await saved(connection, "Pump", owner="ada"), await saved(connection, "Pump", owner="bob")
    assert set(await ids(connection, "pump")) == {own, other}
    assert await ids(connection, "pump", Filter(viewer="ada")) == [own]
    assert await ids(connection, "pump", Filter(author="bob")) == [other]
    now = await connection.fetchval("select now()")
    assert await ids(connection, "pump", Filter(since=now)) == []
    assert set(await ids(connection, "pump", Filter(until=now))) == {own, other}


async def test_the_filter_hides_what_changed_after_its_end(connection: asyncpg.Connection):
    moment = await connection.fetchval("select clock_timestamp()")
    await saved(connection, "Pump")
    await saved(connection, "Well", "A pump brings the water up.")
    assert await ids(connection, "pump", Filter(until=moment)) == []


async def test_before_the_first_analyze_the_articles_are_counted(connection: asyncpg.Connection):
    for number in range(7):
        await saved(connection, f"No {number}", "water")
    assert await connection.fetchval("select reltuples from pg_class where relname = 'articles'") < 0
    assert (await keyword.understand(connection, "english", "water")).articles == 7
    assert (await keyword.telling(connection, 1, 5)).articles == 7


def test_common_words_are_ranked_by_but_not_searched_for():
    words = weighed("x", [("rare", None), ("some", 0.01), ("every", 0.9)], articles=20_000, rare=0.005)
    assert words.searches == ("'rare'", "'some'")
    assert words.counted
    assert words.weights[0] > words.weights[1] > words.weights[2]
    common = weighed("x", [("some", 0.5), ("every", 0.9)], articles=20_000, rare=0.005)
    assert common.searches == ("'some' & 'every'", "'some'")
    assert not common.counted


# ---------------------------------------------------------------- at size


def vocabulary(size: int) -> tuple[list[str], list[float]]:
    letters = random.Random(7)
    words = ["".join(letters.choices("abcdefgiklmnoprstu", k=letters.randint(4, 9))) for _ in range(size)]
    return words, [1 / (rank + 3) for rank in range(size)]


@pytest.fixture
async def large(connection: asyncpg.Connection) -> asyncpg.Connection:
    words, weights = vocabulary(20_000)
    chance = random.Random(11)
    again: list[str] = []
    titles = [" ".join(chance.choices(words, weights, k=5)) for _ in range(MANY)]
    texts = [" ".join(chance.choices(words, weights, k=120)) for _ in range(MANY)]
    # An index is built faster than it is kept while rows come in.
    for name in ("articles_words", "articles_title_words"):
        made = await connection.fetchval("select pg_get_indexdef($1::text::regclass)", f"article_search.{name}")
        await connection.execute(f"drop index article_search.{name}")
        again.append(made)
    await connection.execute(_FILL, titles, texts)
    for statement in again:
        await connection.execute(statement)
    await connection.execute("vacuum analyze article_search.articles")
    return connection


async def test_searches_among_many_articles_stay_on_the_indexes_and_quick(large: asyncpg.Connection):
    """One fill for all three: it is what takes the time."""
    words, weights = vocabulary(20_000)
    chance = random.Random(13)
    asked = [" ".join(chance.choices(words, weights, k=chance.randint(1, 8))) for _ in range(60)]
    asked += [words[0], " ".join(words[:3]), " ".join(words[:60]), f"{words[0]} OR {words[1]}"]
    for text in asked:
        assert await ids(large, text)

    plan = await plan_of(large, f"{words[50]} {words[4000]}")
    assert "Bitmap Index Scan on articles_words" in plan, plan
    assert "Bitmap Index Scan on articles_title_words" in plan, plan
    assert "Seq Scan on articles" not in plan, plan

    # Nearly every text has it; those with it in their title come first all the same.
    best = await ids(large, words[0], limit=10)
    titles = await large.fetch("select title from article_search.articles where id = any ($1::bigint[])", best)
    assert all(words[0] in row["title"] for row in titles) and len(titles) == 10


async def plan_of(connection: asyncpg.Connection, text: str) -> str:
    understood = await keyword.understand(connection, "english", text)
    query = load("keyword", "penstock.extensions.articles").ranked
    values: list[Any] = ["english", understood.text, understood.searches]
    values += [[keyword.quoted(one) for one in understood.lexemes], understood.weights, "ada", None, None, None]
    values += [2000, 250, 200, understood.articles]
    return "\n".join(row[0] for row in await connection.fetch("explain " + query, *values))
