"""Search as a whole: what is found, what is said when something is missing, and that nothing makes it fail."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from datetime import timedelta
from typing import Any

import numpy as np
import pytest

from penstock.errors import ThrottledError, UsageError
from penstock.extensions.articles import generations
from penstock.extensions.articles.embedders.embedder import Purpose, Vectors
from penstock.extensions.articles.embedders.local import BuiltinEmbedder
from penstock.extensions.articles.errors import EmbedderBusy, EmbedderMisconfigured, TextRefused
from penstock.extensions.articles.fusion import fuse, hopeful
from penstock.extensions.articles.generations import Generation
from penstock.extensions.articles.keyword import KeywordHit
from penstock.extensions.articles.near import Passage
from penstock.extensions.articles.searching import Answer, Question, search, similar
from penstock.extensions.articles.statistics import Counted, breakdown, count_coverage
from tests.extensions.article_world import OWNER, World, article_world


class Broken:
    """Embedders that answer no query."""

    def __init__(self, error: Exception | None) -> None:
        self._error = error
        self.name, self.model, self.dimensions = "builtin", "l2-supercat-256/1", 256

    async def for_generation(self, generation: Generation) -> "Broken":
        return self

    async def embed(self, texts: Sequence[str], *, purpose: Purpose) -> Vectors:
        if self._error is None:
            await asyncio.Event().wait()
            raise AssertionError
        raise self._error

    async def close(self) -> None: ...


@pytest.fixture
async def world(database_url: str) -> AsyncIterator[World]:
    async with article_world(database_url) as made:
        yield made


@asynccontextmanager
async def broken(world: World, error: Exception | None) -> AsyncIterator[None]:
    kept, world.search.embedders = world.search.embedders, Broken(error)  # type: ignore[assignment]
    try:
        yield
    finally:
        world.search.embedders = kept


async def asked(world: World, text: str, **more: Any) -> Answer:
    return await search(world.search, Question(text=text, **{"viewer": OWNER, **more}))


def slugs(answer: Answer) -> list[str]:
    return [hit.slug for hit in answer.hits]


async def fill(world: World) -> None:
    await world.save("Keeping bread fresh", "A loaf stays soft for days in a linen bag. Do not put it into the fridge.")
    await world.save("Bicycle brakes", "When the brake pads are worn, the wheel takes longer to stop.")
    await world.save("Tomatoes on the balcony", "Plants in pots want water every morning and much sun.")


# ---------------------------------------------------------------- what is found


async def test_meaning_finds_what_shares_no_word_and_words_find_what_is_not_embedded(world: World):
    await fill(world)
    await world.drain()
    await world.save("Brakes of lorries", "Air pressure presses the shoes.")
    meant = await asked(world, "bike stopping distance")
    assert meant.mode == "hybrid" and meant.notice is None
    assert "bicycle-brakes" in slugs(meant)[:2]
    worded = await asked(world, "lorries")
    fresh = worded.hits[0]
    assert fresh.slug == "brakes-of-lorries"
    assert fresh.chip == "waiting"
    assert fresh.score.semantic is None and fresh.score.keyword.rank == 1
    assert (worded.coverage.indexed, worded.coverage.pending, worded.coverage.total) == (3, 1, 4)
    assert worded.coverage.generation == "first"
    only = await asked(world, "lorries", mode="semantic")
    assert "brakes-of-lorries" not in slugs(only)
    await world.drain()
    assert "brakes-of-lorries" in slugs(await asked(world, "lorries", mode="semantic"))


async def test_what_is_no_word_finds_nothing_and_other_words_for_it_do(world: World):
    await fill(world)
    for number in range(45):
        await world.save(
            f"Note {number}", f"About {['rivers', 'books', 'taxes', 'music', 'goats'][number % 5]} and more."
        )
    await world.drain()
    # The second comes as near as 0.18 to one of them.
    for no_word in ("zzqqxx", "swdbpsd"):
        assert slugs(await asked(world, no_word)) == []
    assert slugs(await asked(world, "cyclist"))[0] == "bicycle-brakes"


async def test_passages_are_marked_in_characters_by_their_stems(world: World):
    text = "Vorwort. " * 100 + "Größere Pumpen pumping Wässer 😀 and pumps."
    await world.save("Unrelated", text)
    hit = (await asked(world, "pump größere", mode="keyword")).hits[0]
    marked = [hit.passage.text[one.from_ : one.to] for one in hit.passage.marks]
    assert marked == ["Größere", "pumping", "pumps"]
    assert text[hit.passage.starts :].startswith(hit.passage.text)


async def test_a_stale_article_shows_the_text_that_was_embedded_unless_the_new_one_has_the_words(world: World):
    await fill(world)
    await world.drain()
    await world.edit("bicycle-brakes", content="Now this is about a xylophone.")
    old = next(h for h in (await asked(world, "worn pads stop the wheel", mode="semantic")).hits if h.stale)
    assert old.chip == "stale"
    assert "brake pads" in old.passage.text and old.passage.revision == 1
    new = next(h for h in (await asked(world, "brakes xylophone")).hits if h.slug == "bicycle-brakes")
    assert new.stale and "xylophone" in new.passage.text and new.passage.revision == 2
    assert (await asked(world, "x y")).coverage.stale == 1


async def test_others_private_articles_are_neither_found_nor_like_one(world: World):
    await world.save("Secret pumps", "Pumps nobody knows.", owner="bob")
    await world.share("Open pumps", "Pumps that all know.", owner="bob")
    mine = await world.save("My pumps", "Pumps of mine.")
    await world.drain()
    for mode in ("hybrid", "semantic", "keyword"):
        assert set(slugs(await asked(world, "pumps", mode=mode))) == {"open-pumps", "my-pumps"}
    assert len((await asked(world, "pumps", viewer=None)).hits) == 3
    assert slugs(await asked(world, "pumps", author="bob")) == ["open-pumps"]
    assert slugs(await similar(world.search, mine.article, OWNER)) == ["open-pumps"]
    later = mine.article.updated_at + timedelta(hours=1)
    assert (await asked(world, "pumps", since=later)).hits == []
    assert len((await asked(world, "pumps", until=later)).hits) == 2


async def test_pages_fit_together(world: World):
    for number in range(25):
        await world.save(f"Pump {number}", "The same text about pumps.")
    await world.drain()
    seen: list[str] = []
    place: int | None = 0
    while place is not None:
        page = await asked(world, "pumps", after=place, limit=10)
        seen += slugs(page)
        place = page.next
    assert len(seen) == len(set(seen)) == 25
    assert seen == slugs(await asked(world, "pumps", limit=100))


async def test_who_excludes_a_word_means_it_for_every_hit(world: World):
    await world.save("Black coffee", "Strong and hot.")
    await world.save("Decaf coffee", "For the evening.")
    await world.drain()
    assert slugs(await asked(world, "coffee -decaf")) == ["black-coffee"]


async def test_like_an_article_by_its_vectors_or_by_its_words(world: World):
    await fill(world)
    first = await world.save("Disc brakes of a bicycle", "Pads press on the disc, the wheel stops.")
    by_words = await similar(world.search, first.article, OWNER)
    assert by_words.mode == "keyword" and by_words.notice and "not embedded yet" in by_words.notice
    assert slugs(by_words)[0] == "bicycle-brakes"
    await world.drain()
    by_meaning = await similar(world.search, first.article, OWNER)
    assert by_meaning.mode == "semantic" and by_meaning.notice is None
    assert slugs(by_meaning)[0] == "bicycle-brakes"
    assert first.article.slug not in slugs(by_meaning)


# ---------------------------------------------------------------- when something is missing


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (EmbedderBusy("The endpoint answered 503."), "does not work at the moment"),
        (EmbedderMisconfigured("Set the key."), "is not set up right"),
        (ThrottledError("slow down", key="articles:builtin"), "asks for fewer requests"),
        (TextRefused("no"), "does not work"),
        (RuntimeError("boom"), "failed (RuntimeError)"),
    ],
)
@pytest.mark.parametrize("mode", ["hybrid", "semantic"])
async def test_without_the_embedder_words_answer_and_say_so(world: World, error: Exception, said: str, mode: str):
    await fill(world)
    await world.drain()
    async with broken(world, error):
        answer = await asked(world, "brakes", mode=mode)
    assert (answer.mode, answer.asked_mode) == ("keyword", mode)
    assert answer.notice and said in answer.notice and "words alone" in answer.notice
    assert slugs(answer) == ["bicycle-brakes"]


async def test_an_embedder_that_hangs_is_not_waited_for(database_url: str):
    async with article_world(database_url, articles_query_timeout_seconds=0.2) as world:
        await fill(world)
        await world.drain()
        async with broken(world, None):
            answer = await asyncio.wait_for(asked(world, "brakes"), 60)
    assert answer.mode == "keyword" and answer.notice and "within 0.2 s" in answer.notice
    assert slugs(answer) == ["bicycle-brakes"]


async def test_an_index_without_any_vector_is_said(world: World):
    await fill(world)
    answer = await asked(world, "brakes", mode="semantic")
    assert answer.mode == "keyword" and answer.notice and "No article is embedded" in answer.notice
    assert slugs(answer) == ["bicycle-brakes"]


@pytest.mark.parametrize("text", ["", "  \n", "a" * 1001, "a\0b", "\ud800"])
def test_what_cannot_be_a_query_is_refused_with_a_sentence(text: str):
    with pytest.raises(UsageError, match=r"^The query .*\.$"):
        Question(text=text, viewer=OWNER)


async def test_a_generation_that_vanishes_in_the_middle_fails_no_search(world: World):
    await fill(world)
    await world.drain()
    await world.value("create table article_search.vectors_2 (like article_search.vectors_1)")
    await world.value("insert into article_search.vectors_2 select * from article_search.vectors_1")
    await world.value(
        "insert into article_search.indexed (article_id, generation, revision, digest, chunks) "
        "select article_id, 2, revision, digest, chunks from article_search.indexed"
    )
    real = world.search.near.nearest
    switched = False

    async def nearest(connection: Any, generation: Generation, *rest: Any, **more: Any) -> list[Passage]:
        nonlocal switched
        if not switched:
            switched = True
            await world.value("update article_search.generations set state = 'dropped' where id = 1")
            await world.value("drop table article_search.vectors_1")
            await world.value(
                "insert into article_search.generations "
                "(name, embedder, model, dimensions, chunker, state, created_by) "
                "select 'second', embedder, model, dimensions, chunker, 'active', 'ada' "
                "from article_search.generations where id = 1"
            )
        world.search.near._kept.clear()
        return await real(connection, generation, *rest, **more)

    world.search.near.nearest = nearest  # type: ignore[method-assign]
    answer = await asked(world, "bike stopping", mode="semantic")
    assert answer.coverage.generation == "second"
    assert slugs(answer)[0] == "bicycle-brakes"


# ---------------------------------------------------------------- coverage


async def test_coverage_is_exact_and_its_breakdown_says_why(world: World):
    await fill(world)
    await world.drain()
    await world.save("Waits", "text")
    await world.save("Unwanted", "text", skip_embedding=True)
    await world.edit("bicycle-brakes", content="other")
    async with world.app.connection() as connection:
        generation = await generations.active(connection)
        covered = await count_coverage(connection, generation)
        why = await breakdown(connection, generation)
    assert (covered.indexed, covered.stale, covered.pending, covered.total) == (2, 1, 2, 5)
    assert (why.waiting, why.failed, why.missing) == (1, 0, 1)
    world.switch.error = TextRefused("no")
    await world.drain()
    async with world.app.connection() as connection:
        why = await breakdown(connection, generation)
    assert (why.waiting, why.failed, why.missing) == (0, 1, 1)


async def test_a_slow_count_is_told_again_for_a_while(world: World):
    await fill(world)
    world.search.counted = Counted(world.app)
    async with world.app.connection() as connection:
        generation = await generations.active(connection)
        first = await count_coverage(connection, generation)
        world.search.counted.put(generation, first, 5.0)
        await world.save("One more")
        assert await world.search.counted.coverage(connection, generation) == first
        world.search.counted.put(generation, first, 0.001)
        assert (await world.search.counted.coverage(connection, generation)).total == 4


# ---------------------------------------------------------------- fusing


async def test_how_much_words_weigh_is_what_the_embedder_says(world: World, monkeypatch: pytest.MonkeyPatch):
    await world.save("Bicycle brakes", "When the pads are worn, the wheel takes longer to stop.")
    await world.save("Distance of the moon", "It is far.")
    await world.drain()
    order = {}
    for weight in (0.01, 10.0):
        monkeypatch.setattr(BuiltinEmbedder, "words_weight", weight)
        order[weight] = slugs(await asked(world, "bike stopping distance"))
    assert order == {
        0.01: ["bicycle-brakes", "distance-of-the-moon"],
        10.0: ["distance-of-the-moon", "bicycle-brakes"],
    }


def passage(article_id: int, similarity: float) -> Passage:
    return Passage(article_id=article_id, ordinal=0, revision=1, starts=0, ends=1, similarity=similarity)


def test_what_both_lists_have_comes_first_and_ties_go_to_the_words():
    semantic = [passage(1, 0.9), passage(2, 0.8), passage(3, 0.7)]
    keyword = [KeywordHit(article_id=4, score=2.0), KeywordHit(article_id=3, score=1.0)]
    fused = fuse(semantic, keyword, words_weight=1.0)
    assert [one.article_id for one in fused] == [3, 4, 1, 2]
    assert fused[0].score.semantic.rank == 3 and fused[0].score.keyword.rank == 2
    assert fused[2].score.keyword is None
    tied = fuse([], [KeywordHit(article_id=9, score=1.0), KeywordHit(article_id=8, score=1.0)], slowness=1e9)
    assert [one.article_id for one in tied] == [8, 9]


def test_hopeless_passages_are_cut():
    assert [one.article_id for one in hopeful([passage(1, 0.8), passage(2, 0.5), passage(3, 0.05)])] == [1, 2]
    assert hopeful([passage(1, 0.14)]) == []
    assert [one.article_id for one in hopeful([passage(1, 0.16)])] == [1]
    assert hopeful([passage(1, 0.24)], without_words=True) == []
    assert [one.article_id for one in hopeful([passage(1, 0.3)], without_words=True)] == [1]
    assert np.isfinite(fuse([], [KeywordHit(article_id=1, score=1.0)])[0].score.fused)
