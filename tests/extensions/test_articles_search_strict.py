"""Quotes, OR and exclusions: the best hit first, nothing empty without a word, and bounded whatever is asked."""

from collections.abc import AsyncIterator
from types import SimpleNamespace
from typing import Any

import asyncpg
import pytest

from penstock.extensions.articles import keyword
from penstock.extensions.articles.near.filter import Filter
from penstock.extensions.articles.searching import Answer, Question, search
from tests.extensions.article_world import OWNER, World, article_world
from tests.extensions.test_articles_search_keyword import ids, large, saved, vocabulary

__all__ = ["large"]


@pytest.fixture
async def world(database_url: str) -> AsyncIterator[World]:
    async with article_world(database_url, articles_batch_size=64) as made:
        yield made


async def asked(world: World, text: str, mode: Any = "keyword") -> Answer:
    return await search(world.search, Question(text=text, mode=mode, viewer=OWNER))


def slugs(answer: Answer) -> list[str]:
    return [hit.slug for hit in answer.hits]


async def found(connection: asyncpg.Connection, text: str) -> keyword.Found:
    words = await keyword.understand(connection, "english", text)
    return await keyword.find(connection, words, "english", wanted=Filter(), limit=200)


# ---------------------------------------------------------------- the best first


@pytest.mark.parametrize("text", ['"opening hours"', "opening hours -spam", '"opening hours" OR zebra'])
async def test_the_title_comes_first_however_many_newer_ones_have_it_in_their_text(
    connection: asyncpg.Connection, text: str
):
    title = await saved(connection, "Opening hours", "We are there from nine to five.")
    for number in range(260):
        await saved(connection, f"Report {number}", f"In passing: the opening hours of shop {number} were told.")
    assert (await ids(connection, text))[0] == title


@pytest.mark.parametrize("text", ['"opening hours"', "opening hours -spam"])
async def test_the_title_comes_first_by_words_and_meaning_together(world: World, text: str):
    await world.save("Opening hours", "We are there from nine to five.")
    for number in range(30):
        await world.save(
            f"Report {number}", f"In passing: the opening hours of shop {number} were told. Then it rained."
        )
    await world.drain()
    for mode in ("keyword", "hybrid"):
        assert slugs(await asked(world, text, mode))[0] == "opening-hours"


async def test_words_in_any_order_do_not_make_a_phrase(connection: asyncpg.Connection):
    phrase = await saved(connection, "A", "the red pump, and o'brien's red-hot valve of o'brien's pump")
    await saved(connection, "B", "a pump that is red, o'brien, hot and red")
    assert await ids(connection, '"red pump"') == [phrase]
    assert await ids(connection, 'valve OR "red-hot"') == [phrase]
    assert await ids(connection, "\"o'brien's pump\"") == [phrase]
    assert await ids(connection, 'red -"red pump"') != [phrase]


# ---------------------------------------------------------------- nothing empty without a word


async def test_an_alternative_that_only_excludes_is_left_out_and_said(world: World):
    await world.save("Refunds", "All about the qqrefund.")
    await world.save("Other", "Nothing of it.")
    await world.drain()
    for mode in ("keyword", "hybrid"):
        for text in ("qqrefund OR -spam", "-spam OR qqrefund"):
            answer = await asked(world, text, mode)
            assert slugs(answer)[0] == "refunds"
            assert answer.notice == keyword.LEFT_OUT
    wide = await asked(world, "qqrefund OR the -spam")
    assert (slugs(wide), wide.notice) == (["refunds"], keyword.TOO_WIDE)


@pytest.mark.parametrize("mode", ["keyword", "hybrid"])
@pytest.mark.parametrize("text", ["-spam", '-"red pump" -spam', "-spam OR -eggs"])
async def test_a_query_that_only_excludes_says_so(world: World, mode: str, text: str):
    await world.save("Refunds", "All about it.")
    await world.drain()
    answer = await asked(world, text, mode)
    assert (answer.hits, answer.notice) == ([], keyword.ONLY_EXCLUDES)


async def test_a_query_that_fits_nothing_as_it_is_written_is_answered_by_its_words_and_that_is_said(world: World):
    await world.save("Immunity", "Immunity of the herd lasts for months. Few papers say more about it.")
    await world.save("Rivets", "Sheets of metal are joined by rivets.")
    await world.drain()
    for text in (
        'what is "herd immunity" - explained?',
        '"how long" does immunity last',
        'is immunity "a thing"',
        "immunity -dash papers -immune",
    ):
        for mode in ("keyword", "hybrid"):
            answer = await asked(world, text, mode)
            assert (slugs(answer)[:1], answer.notice) == (["immunity"], keyword.NOTHING_FITS), (text, mode)


async def test_quotes_and_dashes_that_find_something_need_no_notice(world: World):
    await world.save("Phrase", "It is about herd immunity against covid-19.")
    await world.save("Apart", "The immunity of a herd against the flu.")
    await world.drain()
    for mode in ("keyword", "hybrid"):
        for text in ('"herd immunity"', "immunity -flu", '"covid-19"'):
            answer = await asked(world, text, mode)
            assert (slugs(answer), answer.notice) == (["phrase"], None), (text, mode)
        within_word = await asked(world, "covid-19 immunity", mode)
        assert (slugs(within_word)[0], within_word.notice) == ("phrase", None), mode


def test_the_meaning_of_a_query_is_without_what_it_excludes():
    assert keyword.meant('"red pump" OR valve -loud -"very old"') == "red pump valve"
    assert keyword.meant("a pump or something - else") == "a pump or something - else"


# ---------------------------------------------------------------- bounded


@pytest.mark.parametrize(
    "text",
    [
        '"' + " ".join(f"w{number}" for number in range(13)) + '"',
        " OR ".join(f'"w{number} x"' for number in range(9)),
        " OR ".join(f"w{number}" for number in range(33)),
        'x -"' + " ".join(f"w{number}" for number in range(13)) + '"',
        "-y " + "-".join(f"w{number}" for number in range(12)),
    ],
)
async def test_more_phrases_and_words_than_are_looked_for_become_words_and_that_is_said(
    connection: asyncpg.Connection, text: str
):
    there = await saved(connection, "There", "x w1 and w2")
    answer = await found(connection, text)
    assert answer.words.notice == keyword.TOO_MUCH
    assert [one.article_id for one in answer.hits] == [there]


async def test_as_many_as_are_allowed_are_looked_for(connection: asyncpg.Connection):
    there = await saved(connection, "There", " ".join(f"w{number}" for number in range(12)))
    for text in ('"' + " ".join(f"w{n}" for n in range(12)) + '"', " OR ".join(f'"w{n} w{n + 1}"' for n in range(8))):
        answer = await found(connection, text)
        assert answer.words.notice is None and answer.words.strict is not None
        assert [one.article_id for one in answer.hits] == [there]


async def test_a_query_that_takes_too_long_is_answered_by_its_words(world: World, monkeypatch: pytest.MonkeyPatch):
    await world.save("Apart", "the hours of an opening")
    await world.drain()
    slow = keyword._strict.ranked.replace("count(*) as looked", "count(*) as looked, pg_sleep(3600)")
    assert slow != keyword._strict.ranked
    monkeypatch.setattr(
        keyword,
        "_strict",
        SimpleNamespace(ranked=slow, read=keyword._strict.read, hurry=keyword._strict.hurry, fitting=""),
    )
    for mode in ("keyword", "hybrid"):
        answer = await asked(world, '"opening hours"', mode)
        assert (slugs(answer), answer.notice) == (["apart"], keyword.TOO_SLOW)
    # What was set for that query is gone with it.
    assert await world.value("show statement_timeout") != f"{keyword.TIMEOUT_MS}ms"


async def test_among_many_articles_few_are_compared_and_that_is_said(large: asyncpg.Connection):
    words, _ = vocabulary(20_000)
    common = f'"{words[0]} {words[1]} {words[0]} {words[1]} {words[0]}"'
    answer = await found(large, common)
    assert answer.words.notice in (f"{keyword.NOT_ALL} {keyword.NOTHING_FITS}", keyword.TOO_SLOW)
    plan = await plan_of(large, f'"{words[50]} {words[400]}"')
    assert "Bitmap Index Scan on articles_words" in plan, plan
    assert "Bitmap Index Scan on articles_title_words" in plan, plan
    assert "Seq Scan on articles" not in plan, plan
    excluded = await found(large, f"{words[0]} -{words[1]}")
    fit = "select count(*) from article_search.articles where words @@ websearch_to_tsquery('english', $1)"
    assert len(excluded.hits) == min(await large.fetchval(fit, f"{words[0]} -{words[1]}"), 200)


async def plan_of(connection: asyncpg.Connection, text: str) -> str:
    understood = await keyword.understand(connection, "english", text)
    assert understood.strict is not None
    values: list[Any] = ["english", understood.strict.search, understood.strict.loose, understood.strict.loose]
    values += [understood.text, [keyword.quoted(one) for one in understood.lexemes], understood.weights]
    values += ["ada", None, None, None, 2000, 250, 250, 200]
    return "\n".join(row[0] for row in await connection.fetch("explain " + keyword._strict.ranked, *values))
