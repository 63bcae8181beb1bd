"""Pure parts of article search: slugs, chunks, batches and their splitting."""

import asyncio
import itertools
from datetime import UTC, datetime

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.errors import InvalidSetting
from penstock.extensions.articles.articles import Operation, numbered, slug_of
from penstock.extensions.articles.chunking import Chunker, parse
from penstock.extensions.articles.drafts import parse as parse_markdown
from penstock.extensions.articles.embedders.embedder import received
from penstock.extensions.articles.errors import EmbedderBusy, EmbedderMisconfigured, TextRefused
from penstock.extensions.articles.indexing.indexer import Batcher, embed_drafts
from penstock.extensions.articles.indexing.order import Embedded, Order
from penstock.extensions.articles.indexing.storing import ArticleInWork, CurrentText

# ---------------------------------------------------------------- slugs


@pytest.mark.parametrize(
    ("title", "slug"),
    [
        ("How to bleed a radiator", "how-to-bleed-a-radiator"),
        ("  Ärger mit Öl & Straße!  ", "arger-mit-ol-strasse"),
        ("日本語の題", "日本語の題"),
        ("हिन्दी", "हिन्दी"),
        ("???", "article"),
        ("a_b__c", "a-b-c"),
        ("x" * 200, "x" * 80),
        ("word " * 40, ("word-" * 16).rstrip("-")),
    ],
)
def test_a_slug_is_made_of_the_words_of_the_title(title, slug):
    assert slug_of(title) == slug


def test_the_first_article_of_a_title_has_no_number():
    assert [numbered("a", 1), numbered("a", 2)] == ["a", "a-2"]


@given(st.text(max_size=300))
def test_any_title_gives_a_slug_that_fits_an_address(title):
    slug = slug_of(title)
    assert 0 < len(slug) <= 80 and "/" not in slug and "?" not in slug and not any(sign.isspace() for sign in slug)


# ---------------------------------------------------------------- chunks

PARAGRAPH = "One sentence about pumps. Another about valves! Is there a third? "


def test_a_short_text_is_one_chunk_with_its_title():
    (chunk,) = Chunker().cut("Pumps", "They move water.")
    assert (chunk.starts, chunk.ends, chunk.text) == (0, 16, "Pumps\nThey move water.")


def test_a_text_without_content_is_its_title():
    (chunk,) = Chunker().cut("Pumps", " \n\n ")
    assert (chunk.starts, chunk.ends, chunk.text) == (0, 0, "Pumps")


def test_a_heading_starts_a_new_chunk_and_stands_before_all_chunks_of_its_section():
    content = f"# Water\n\n{PARAGRAPH * 3}\n\n## Hot\n\n{PARAGRAPH * 8}"
    chunks = Chunker(size=300, overlap=0).cut("House", content)
    hot = [chunk for chunk in chunks if chunk.starts >= content.index("## Hot")]
    assert len(hot) > 1
    assert all(chunk.text.startswith("House\nWater › Hot\n") for chunk in hot)
    assert not any("Hot" in chunk.text for chunk in chunks if chunk not in hot)


def test_a_hash_inside_a_fence_is_no_heading():
    chunks = Chunker().cut("Shell", "```\n# not a heading\nls\n```\n\nAfter it.")
    assert [chunk.text.splitlines()[1] for chunk in chunks] == ["```"]


def test_a_chunk_repeats_whole_sentences_of_the_one_before():
    content = " ".join(f"Sentence number {number} says something about pipes." for number in range(40))
    chunks = Chunker(size=400, overlap=120).cut("Pipes", content)
    for before, after in itertools.pairwise(chunks):
        assert 0 < before.ends - after.starts <= 120
        assert content[after.starts :].startswith("Sentence")


@given(
    st.text(alphabet=st.sampled_from(list("ab .!?\n#`é\t。-")), max_size=1500),
    st.integers(100, 400),
    st.integers(0, 50),
)
def test_every_character_that_is_no_space_is_in_a_chunk_and_no_chunk_is_too_long(content, size, overlap):
    chunks = Chunker(size=size, overlap=overlap).cut("T", content)
    covered = set().union(*(range(chunk.starts, chunk.ends) for chunk in chunks))
    assert {place for place, sign in enumerate(content) if not sign.isspace()} <= covered
    assert all(chunk.ends - chunk.starts <= size for chunk in chunks)
    starts = [chunk.starts for chunk in chunks]
    assert starts == sorted(starts) and len({(chunk.starts, chunk.ends) for chunk in chunks}) == len(chunks)


def test_a_word_without_end_is_cut_all_the_same_and_quickly():
    chunks = Chunker().cut("T", "x" * 1_000_000)
    assert len(chunks) == pytest.approx(1_000_000 / 700, rel=0.01)


@pytest.mark.parametrize(
    "content",
    ["# a" + " " * 900_000 + "b", "# " + "[a" * 450_000, "# " + "*a" * 450_000, "# " + "`a " * 300_000, "." * 900_000],
    ids=["blanks", "links", "stars", "ticks", "points"],
)
def test_a_text_that_is_made_to_be_slow_is_read_and_cut_quickly(content):
    """Work that grows with the square of the text would take hours."""
    assert parse_markdown(content).content
    assert Chunker().cut("T", content)


def test_a_chunker_is_kept_as_text_and_read_back():
    assert parse(str(Chunker(size=500, overlap=50))) == Chunker(size=500, overlap=50)
    with pytest.raises(InvalidSetting, match="build a new generation"):
        parse("other/9 1+2")
    with pytest.raises(InvalidSetting, match="half the chunk size"):
        Chunker(size=500, overlap=251)


# ---------------------------------------------------------------- batches


def _order(article: int) -> Order:
    return Order(article=article, revision=1, generation=1, operation=Operation.CREATE)


def _done(article: int) -> Embedded:
    return Embedded(revision=article, chunks=1, reused=0)


async def test_what_is_asked_for_at_one_time_goes_in_one_batch_and_each_gets_its_own_answer():
    batches = []

    async def work(orders):
        batches.append(len(orders))
        return [ValueError("bad") if order.article == 3 else _done(order.article) for order in orders]

    batcher = Batcher(work, most=4)
    answers = await asyncio.gather(*(batcher.submit(_order(number)) for number in range(6)), return_exceptions=True)
    assert batches == [4, 2]
    assert isinstance(answers[3], ValueError)
    assert [answer.revision for answer in answers if isinstance(answer, Embedded)] == [0, 1, 2, 4, 5]


async def test_an_order_whose_handler_gave_up_is_left_out():
    begun, go = asyncio.Event(), asyncio.Event()
    seen = []

    async def work(orders):
        seen.append([order.article for order in orders])
        begun.set()
        await go.wait()
        return [_done(order.article) for order in orders]

    batcher = Batcher(work, most=1)
    first = asyncio.create_task(batcher.submit(_order(1)))
    await begun.wait()
    second, third = (asyncio.create_task(batcher.submit(_order(number))) for number in (2, 3))
    await asyncio.sleep(0)
    second.cancel()
    go.set()
    await asyncio.gather(first, third)
    assert seen == [[1], [3]]


async def test_a_batch_that_nobody_waits_for_any_more_does_not_hold_up_the_next():
    begun, stopped = asyncio.Event(), asyncio.Event()

    async def work(orders):
        if orders[0].article == 1:
            begun.set()
            try:
                await asyncio.Event().wait()
            finally:
                stopped.set()
        return [_done(order.article) for order in orders]

    batcher = Batcher(work, most=1)
    first = asyncio.create_task(batcher.submit(_order(1)))
    await begun.wait()
    second = asyncio.create_task(batcher.submit(_order(2)))
    await asyncio.sleep(0)
    first.cancel()
    async with asyncio.timeout(60):
        assert (await second).revision == 2
    assert stopped.is_set()
    assert (await batcher.submit(_order(3))).revision == 3


async def test_a_batch_that_breaks_fails_all_its_orders_and_the_next_goes_on():
    async def work(orders):
        if orders[0].article == 1:
            raise ZeroDivisionError
        return [_done(order.article) for order in orders]

    batcher = Batcher(work, most=2)
    with pytest.raises(ZeroDivisionError):
        await batcher.submit(_order(1))
    assert (await batcher.submit(_order(2))).revision == 2


# ---------------------------------------------------------------- splitting


class Provider:
    """Fails for texts that hold a word; remembers what it was asked."""

    def __init__(self, error: Exception, word: str = "bad") -> None:
        self.error, self.word, self.asked = error, word, []

    async def embed(self, texts):
        self.asked.append(len(texts))
        if any(self.word in text for text in texts):
            raise self.error
        return np.ones((len(texts), 2), dtype=np.float32)


def _drafts(*texts: str) -> list[ArticleInWork]:
    made = []
    for number, text in enumerate(texts):
        wanted = CurrentText(
            id=number,
            revision=1,
            unwanted=False,
            title=text,
            content="",
            digest=b"",
            saved_at=datetime.now(UTC),
            indexed_revision=None,
            indexed_digest=None,
            read_at=datetime.now(UTC),
        )
        made.append(ArticleInWork(wanted=wanted, chunks=Chunker().cut(text, ""), known=[None]))
    return made


async def test_one_bad_text_of_many_is_found_and_the_rest_is_embedded():
    drafts = _drafts(*["fine"] * 20, "bad", *["fine"] * 11)
    provider = Provider(TextRefused("too odd"))
    await embed_drafts(drafts, provider.embed)
    assert [number for number, draft in enumerate(drafts) if draft.error is not None] == [20]
    assert all(draft.made is not None for number, draft in enumerate(drafts) if number != 20)
    assert len(provider.asked) <= 11


async def test_one_text_that_makes_the_provider_fail_is_found_too():
    drafts = _drafts("fine", "fine", "bad", "fine")
    await embed_drafts(drafts, Provider(EmbedderBusy("500", reached=True)).embed)
    assert [draft.error is None for draft in drafts] == [True, True, False, True]


async def test_a_provider_that_always_fails_is_not_asked_for_every_text():
    drafts = _drafts(*["bad"] * 64)
    provider = Provider(EmbedderBusy("500", reached=True))
    await embed_drafts(drafts, provider.embed)
    assert all(isinstance(draft.error, EmbedderBusy) for draft in drafts)
    assert len(provider.asked) <= 8


@pytest.mark.parametrize("error", [EmbedderBusy("away"), EmbedderMisconfigured("no key")])
async def test_what_no_smaller_batch_can_change_is_asked_once(error):
    drafts = _drafts(*["bad"] * 8)
    provider = Provider(error)
    await embed_drafts(drafts, provider.embed)
    assert provider.asked == [8]
    assert all(draft.error is error for draft in drafts)


async def test_what_was_embedded_before_the_provider_went_away_is_kept():
    drafts = _drafts("fine", "fine", "bad", "bad")
    await embed_drafts(drafts, Provider(EmbedderBusy("500", reached=True)).embed)
    assert [draft.made is not None for draft in drafts] == [True, True, False, False]
    assert [draft.error is not None for draft in drafts] == [False, False, True, True]


def test_a_vector_is_read_as_postgresql_sends_it():
    sent = bytes.fromhex("0000000100000000000002bc0000000200000001000000043f80000000000004c0000000")
    assert received([sent], 2).tolist() == [[1.0, -2.0]]
