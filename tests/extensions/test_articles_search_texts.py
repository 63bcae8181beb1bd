"""What of a text is found by its words: accents however they are written, and long texts to their end."""

import unicodedata
from collections.abc import AsyncIterator

import asyncpg
import pytest

from penstock.extensions.articles import passages
from penstock.extensions.articles.searching import Answer, Question, search
from tests.extensions.article_world import OWNER, World, article_world
from tests.extensions.test_articles_search_keyword import ids, saved

APART = unicodedata.normalize("NFD", "Ein Café für Ärzte. ")


@pytest.fixture
async def world(database_url: str) -> AsyncIterator[World]:
    async with article_world(database_url) as made:
        yield made


async def asked(world: World, text: str) -> Answer:
    return await search(world.search, Question(text=text, mode="keyword", viewer=OWNER))


def marked(answer: Answer) -> list[str]:
    shown = answer.hits[0].passage
    return [shown.text[one.from_ : one.to] for one in shown.marks]


# ---------------------------------------------------------------- accents


@pytest.mark.parametrize("content", ["NFC", "NFD"])
@pytest.mark.parametrize("query", ["NFC", "NFD"])
async def test_accents_meet_whether_they_are_composed_or_not(connection: asyncpg.Connection, content, query):
    there = await saved(connection, unicodedata.normalize(content, "Ärzte"), unicodedata.normalize(content, "Café"))
    for word in ("café", "ärzte", '"ärzte café"', "café -tee"):
        assert await ids(connection, unicodedata.normalize(query, word)) == [there], word


async def test_a_text_with_accents_apart_is_shown_and_marked_like_any_other(world: World):
    text = "Vorwort. " * 200 + APART
    await world.save("Unrelated", text)
    answer = await asked(world, "ärzte café")
    assert [unicodedata.normalize("NFC", word) for word in marked(answer)] == ["Café", "Ärzte"]
    assert text[answer.hits[0].passage.starts :].startswith(answer.hits[0].passage.text)


def test_a_word_with_accents_apart_is_one_word():
    text = unicodedata.normalize("NFD", "ein Résumé hier")
    assert [text[start:end] for start, end in passages.ranges(text, ["résumé"])] == [
        unicodedata.normalize("NFD", "Résumé")
    ]


# ---------------------------------------------------------------- long texts


async def test_a_text_with_too_many_words_is_read_nearly_as_far_as_it_fits(connection: asyncpg.Connection):
    words = [f"w{number:07d}" for number in range(100_000)]
    there = await saved(connection, "Long", " ".join(words))
    read = await connection.fetchval("select length(words) from article_search.articles where id = $1", there)
    with pytest.raises(asyncpg.ProgramLimitExceededError):
        await connection.fetchval("select to_tsvector('english', $1)", " ".join(words[: int(read * 1.03)]))
    assert await ids(connection, words[read - 10]) == [there]


async def test_a_text_that_fits_is_read_to_its_end(connection: asyncpg.Connection):
    there = await saved(connection, "Long", "water and valves " * 55_000 + "needle")
    assert await ids(connection, "needle") == [there]


async def test_the_passage_is_found_behind_the_first_piece_that_is_read(world: World):
    text = "Nothing of it here. " * 20_000 + "Then the needle glitters. " + "More. " * 1000
    await world.save("Long", text)
    answer = await asked(world, "needles")
    shown = answer.hits[0].passage
    assert marked(answer) == ["needle"]
    assert shown.text.startswith("Then the needle")
    assert text[shown.starts :].startswith(shown.text)


async def test_a_word_across_the_edge_of_two_pieces_is_shown(world: World):
    edge = passages._MOST_READ
    await world.save("Long", "x " * (edge // 2 - 2) + "needle. " + "y " * 50_000)
    assert marked(await asked(world, "needle")) == ["needle"]


async def test_a_text_that_has_the_word_in_its_title_alone_shows_its_beginning(world: World):
    await world.save("Needle", "First words. " * 30_000)
    shown = (await asked(world, "needle")).hits[0].passage
    assert shown.text.startswith("First words.") and shown.starts == 0 and shown.marks == []
