"""Saving articles: at once, whole or not at all, whatever becomes of the embedding."""

import asyncio
from collections.abc import AsyncIterator

import pytest

from penstock.errors import NotKnown, PayloadTooLarge, ThrottledError, UsageError
from penstock.extensions.articles import articles, generations, writing
from penstock.extensions.articles.articles import NewArticle, Operation, Visibility
from penstock.extensions.articles.chunking import Chunker
from penstock.extensions.articles.errors import EmbedderBusy, EmbedderMisconfigured, TextRefused
from penstock.extensions.articles.indexing import storing
from penstock.extensions.articles.indexing.order import Embedded, Needless, Order
from penstock.extensions.articles.indexing.storing import ArticleInWork, CurrentText
from penstock.extensions.articles.searching import Question, search
from penstock.extensions.articles.writing import ArticleChanged, reserve_slugs, save_many
from penstock.lifecycle import State
from tests.extensions.article_world import OWNER, World, article_world

LONG = "\n\n".join(f"Paragraph {number} is about the pump of house {number}. " * 8 for number in range(12))


@pytest.fixture
async def world(database_url: str) -> AsyncIterator[World]:
    async with article_world(database_url) as found:
        yield found


async def test_an_article_is_stored_with_its_revision_and_its_task(world: World) -> None:
    saved = await world.save("Pumps", "They move water.", message="first")
    assert (saved.created, saved.article.slug, saved.article.revision) == (True, "pumps", 1)
    stored = await world.article("pumps")
    assert stored == saved.article
    (task,) = saved.tasks
    assert stored is not None and stored.task_id == task
    found = await world.app.task_by_id(task).details()
    assert found["input"] == {"article": stored.id, "revision": 1, "generation": 1, "operation": "create"}
    assert (found["state"], found["max_attempts"], found["owner"]) == ("PENDING", 4, OWNER)


async def test_ten_thousand_articles_of_one_title_have_ten_thousand_slugs(world: World) -> None:
    job = await world.app.store_many(
        world.app.pipelines["articles"], [], options=_options(), name="import", metadata={}
    )
    async with world.app.connection() as connection:
        for _ in range(20):
            news = [NewArticle(title="Same", content="x", owner=OWNER, author=OWNER) for _ in range(500)]
            await save_many(world.search, connection, news, job_id=job.id)
    assert (await world.save("Same", "y")).article.slug == "same-10001"
    assert await world.value("select count(distinct slug) from article_search.articles") == 10_001


async def test_a_title_that_looks_like_the_number_of_another_takes_the_next_one(world: World) -> None:
    assert [(await world.save(title)).article.slug for title in ("Foo 2", "Foo", "Foo", "Foo 2")] == [
        "foo-2",
        "foo",
        "foo-3",
        "foo-2-2",
    ]


async def test_articles_of_one_title_that_are_saved_at_one_time_all_get_a_slug(world: World) -> None:
    saved = await asyncio.gather(*(world.save("Same title", str(number)) for number in range(8)))
    assert len({one.article.slug for one in saved}) == 8


@pytest.mark.parametrize(
    ("title", "content", "sentence"),
    [
        ("", "x", "title is empty"),
        (" \n", "x", "title is empty"),
        ("x" * 301, "x", "301 characters"),
        ("x", "a\0b", "NUL character at place 1"),
        ("x", "a\ud800", "lone surrogate"),
    ],
)
async def test_what_cannot_be_an_article_is_refused_with_a_sentence(
    world: World, title: str, content: str, sentence: str
) -> None:
    with pytest.raises(UsageError, match=sentence):
        await world.save(title, content)
    assert await world.value("select count(*) from article_search.articles") == 0


async def test_a_text_of_50_mb_is_too_large(world: World) -> None:
    with pytest.raises(PayloadTooLarge, match="50,000,000 characters; at most 1,000,000"):
        await world.save("Large", "x" * 50_000_000)


async def test_a_text_with_more_words_than_a_tsvector_can_hold_is_stored(world: World) -> None:
    content = " ".join(f"{number:x}zq{number * 7919:x}" for number in range(66_000))
    assert 900_000 < len(content) < 1_000_000
    saved = await world.save("Words", content)
    stored = await world.article(saved.article.slug)
    assert stored is not None and stored.content == content
    words = await world.value("select length(words) from article_search.articles where id = $1", stored.id)
    assert words > 10_000


async def test_an_edit_is_a_new_revision_and_the_old_ones_stay_readable(world: World) -> None:
    slug = (await world.save("Pumps", "one", message="m1")).article.slug
    saved = await world.edit(slug, content="two", message="m2", by="bob")
    assert (saved.article.revision, saved.article.author, saved.article.message) == (2, "bob", "m2")
    async with world.app.connection() as connection:
        listed = await articles.revisions(connection, saved.article, viewer=None, limit=10)
        first = await articles.revision(connection, saved.article, 1, viewer=None)
        none = await articles.revision(connection, saved.article, 9, viewer=None)
    assert [(one.revision, one.message, one.author) for one in listed] == [(2, "m2", "bob"), (1, "m1", OWNER)]
    assert first is not None and (first.content, none) == ("one", None)


async def test_another_title_keeps_the_slug(world: World) -> None:
    slug = (await world.save("Pumps", "one")).article.slug
    assert (await world.edit(slug, title="Valves")).article.slug == slug


async def test_a_save_of_the_same_text_makes_no_revision_and_no_task(world: World) -> None:
    slug = (await world.save("Pumps", "one")).article.slug
    saved = await world.edit(slug, content="one", visibility=Visibility.SHARED)
    assert (saved.changed, saved.tasks, saved.article.revision) == (False, (), 1)
    stored = await world.article(slug)
    assert stored is not None and stored.visibility is Visibility.SHARED
    assert await world.value("select count(*) from penstock.tasks") == 1


async def test_the_second_of_two_editors_gets_the_newer_revision(world: World) -> None:
    slug = (await world.save("Pumps", "one")).article.slug
    await world.edit(slug, content="two", revision=1, by="bob")
    with pytest.raises(ArticleChanged, match="you edited revision 1, the current one is 2 by bob") as caught:
        await world.edit(slug, content="three", revision=1)
    assert (caught.value.current.content, caught.value.current.revision) == ("two", 2)
    stored = await world.article(slug)
    assert stored is not None and stored.content == "two"


async def test_of_editors_at_one_time_one_wins_and_the_others_are_told(world: World) -> None:
    slug = (await world.save("Pumps", "one")).article.slug
    edits = [world.edit(slug, content=f"by {number}", revision=1) for number in range(6)]
    done = await asyncio.gather(*edits, return_exceptions=True)
    assert sum(isinstance(one, ArticleChanged) for one in done) == 5
    stored = await world.article(slug)
    assert stored is not None and stored.revision == 2


async def test_an_unknown_slug_is_named(world: World) -> None:
    with pytest.raises(NotKnown, match="no article 'nowhere'"):
        await world.edit("nowhere", content="x")
    with pytest.raises(NotKnown, match="no article 'nowhere'"):
        await world.delete("nowhere")


async def test_an_article_can_be_saved_without_an_embedding(world: World) -> None:
    saved = await world.save("Pumps", "one", skip_embedding=True)
    assert (saved.tasks, saved.article.task_id) == ((), None)
    assert await world.value("select count(*) from penstock.tasks") == 0


async def test_the_priority_of_an_embedding_is_the_one_that_was_asked_for(world: World) -> None:
    for priority in ("low", "normal", "high"):
        await world.save(priority, priority, priority=priority)
    await world.drain()
    assert [text.split("\n")[0] for text in world.switch.texts] == ["high", "normal", "low"]
    with pytest.raises(UsageError, match="use high, normal, low"):
        await world.save("x", priority="urgent")


# ---------------------------------------------------------------- what the task does


async def test_an_embedding_stores_the_chunks_of_the_current_text(world: World) -> None:
    saved = await world.save("Pumps", LONG)
    assert (await world.drain()).done == 1
    rows = await world.vectors(saved.article.id)
    assert len(rows) > 3
    assert [row["ordinal"] for row in rows] == list(range(len(rows)))
    assert all(len(row["embedding"]) == 256 for row in rows)
    assert await world.indexed_revision(saved.article.id) == 1
    outcome = await world.app.task_by_id(saved.tasks[0]).details()
    assert outcome["created_at"].isoformat() <= outcome["result"].pop("started_at") <= outcome["updated_at"].isoformat()
    assert outcome["result"] == {"columns": {"Revision": 1, "Chunks": len(rows), "Reused": 0}}


async def test_ten_quick_edits_make_one_embedding_of_the_last_version(world: World) -> None:
    slug = (await world.save("Pumps", "text 0")).article.slug
    for number in range(1, 11):
        await world.edit(slug, content=f"text {number}")
    drained = await world.drain()
    assert drained.ended == {State.SKIPPED: 10, State.DONE: 1}
    assert world.switch.texts == ["Pumps\ntext 10"]


async def test_an_edit_during_the_embedding_is_embedded_too(world: World) -> None:
    saved = await world.save("Pumps", "old")

    async def edited(texts: list[str]) -> None:
        world.switch.before = None
        await world.edit(saved.article.slug, content="new")

    world.switch.before = edited
    await world.drain()
    assert world.switch.texts == ["Pumps\nold", "Pumps\nnew"]
    assert await world.indexed_revision(saved.article.id) == 2
    assert len(await world.vectors(saved.article.id)) == 1


async def test_an_older_version_never_overwrites_a_newer_one(world: World) -> None:
    """The older embedding is slow: when it comes to store, the newer one is there."""
    saved = await world.save("Pumps", "old")
    older = Order(article=saved.article.id, revision=1, generation=1, operation=Operation.CREATE)

    async def overtaken(texts: list[str]) -> None:
        world.switch.before = None
        await world.edit(saved.article.slug, content="new")
        newer = Order(article=saved.article.id, revision=2, generation=1, operation=Operation.UPDATE)
        assert isinstance(
            await type(world.search.indexer)(world.app, world.search.embedders).carry_out(newer), Embedded
        )

    world.switch.before = overtaken
    outcome = await world.search.indexer.carry_out(older)
    assert isinstance(outcome, Needless) and "newer version" in outcome.reason
    (row,) = await world.vectors(saved.article.id)
    assert row["revision"] == 2


async def test_a_delete_wins_over_a_late_embedding(world: World) -> None:
    saved = await world.save("Pumps", "old")

    async def deleted(texts: list[str]) -> None:
        world.switch.before = None
        await world.delete(saved.article.slug)

    world.switch.before = deleted
    await world.drain()
    assert await world.vectors(saved.article.id) == []
    assert await world.indexed_revision(saved.article.id) is None
    assert await world.article(saved.article.slug) is None
    assert await world.value("select count(*) from article_search.revisions") == 0


async def test_a_deleted_article_leaves_no_vectors(world: World) -> None:
    saved = await world.save("Pumps", LONG)
    await world.drain()
    assert await world.delete(saved.article.slug) == 1
    assert (await world.drain()).done == 1
    assert await world.vectors(saved.article.id) == []


async def test_unchanged_text_is_not_embedded_again(world: World) -> None:
    slug = (await world.save("Pumps", "one")).article.slug
    await world.drain()
    await world.edit(slug, content="two")
    await world.edit(slug, content="one")
    await world.drain()
    assert world.switch.texts == ["Pumps\none"]
    article = await world.article(slug)
    assert article is not None and await world.indexed_revision(article.id) == 3


async def test_chunks_that_did_not_change_keep_their_vectors(world: World) -> None:
    slug = (await world.save("Pumps", LONG)).article.slug
    await world.drain()
    first = len(world.switch.texts)
    saved = await world.edit(slug, content=LONG + "\n\nOne more line at the end.")
    await world.drain()
    assert 0 < len(world.switch.texts) - first < first / 2
    rows = await world.vectors(saved.article.id)
    assert len(rows) >= first and {row["revision"] for row in rows} == {2}


async def test_the_old_vectors_serve_until_the_new_ones_are_there(world: World) -> None:
    saved = await world.save("Pumps", "one")
    await world.drain()
    world.switch.error = EmbedderBusy("away")
    await world.edit(saved.article.slug, content="two")
    await world.drain()
    assert await world.indexed_revision(saved.article.id) == 1
    assert len(await world.vectors(saved.article.id)) == 1


@pytest.mark.parametrize(
    ("error", "category", "calls"),
    [
        (EmbedderBusy("away"), "transient", 4),
        (MemoryError("no more"), "resource", 4),
        (EmbedderMisconfigured("set the key"), "configuration", 1),
        (TextRefused("too odd"), "data", 1),
    ],
)
async def test_a_failed_embedding_is_tried_as_often_as_its_category_deserves_and_leaves_the_article_alone(
    world: World, error: Exception, category: str, calls: int
) -> None:
    world.switch.error = error
    saved = await world.save("Pumps", "one")
    before = await world.article("pumps")
    assert (await world.drain()).failed == 1
    assert world.switch.calls == calls
    assert await world.article("pumps") == before
    assert {said["category"] for said in world.heard("articles.failed")} == {category}
    (outcome,) = await world.fetch("select status from penstock.outcomes where task_id = $1", saved.tasks[0])
    assert outcome["status"] == State.ERROR


async def test_being_asked_to_slow_down_burns_no_attempt(world: World) -> None:
    times = 0

    async def throttled(texts: list[str]) -> None:
        nonlocal times
        times += 1
        if times <= 6:
            raise ThrottledError("slow down", retry_after=0.01, key="articles:builtin")

    world.switch.before = throttled
    await world.save("Pumps", "one")
    assert (await world.drain()).done == 1
    assert times == 7


async def test_without_the_queue_the_embedding_is_made_in_the_request(database_url: str) -> None:
    async with article_world(database_url, articles_enabled=False) as world:
        saved = await world.save("Pumps", "one")
        assert (saved.tasks, saved.note) == ((), None)
        assert await world.indexed_revision(saved.article.id) == 1
        world.switch.error = EmbedderBusy("It is away.")
        broken = await world.edit(saved.article.slug, content="two")
        assert broken.article.revision == 2 and broken.note is not None and "It is away." in broken.note
        await world.delete(saved.article.slug)
        assert await world.vectors(saved.article.id) == []
        assert await world.value("select count(*) from penstock.tasks") == 0


async def test_a_batch_embeds_many_articles_in_one_call_and_finds_the_bad_one(database_url: str) -> None:
    async with article_world(database_url, articles_batch_size=8) as world:
        saved = [await world.save(f"Article {number}", f"text {number}") for number in range(8)]
        world.switch.error, world.switch.marker = TextRefused("too odd"), "text 5"
        orders = [Order(article=one.article.id, revision=1, generation=1, operation=Operation.CREATE) for one in saved]
        done = await asyncio.gather(*map(world.search.indexer.carry_out, orders), return_exceptions=True)
        assert [isinstance(one, TextRefused) for one in done] == [number == 5 for number in range(8)]
        assert await world.value("select count(*) from article_search.indexed") == 7
        assert world.switch.calls == 7


async def test_a_text_that_came_back_is_embedded_again_where_another_was_stored_meanwhile(world: World) -> None:
    """Revision 3 is what revision 1 was, and is found unchanged; before that is noted, revision 2 is stored."""
    saved = await world.save("Pumps", "A")
    await world.drain()
    await world.edit(saved.article.slug, content="B")
    wanted = await _wanted(world, saved.article.id)
    assert wanted.revision == 2
    await world.edit(saved.article.slug, content="A")
    async with world.app.connection() as connection:
        (generation,) = await generations.live(connection)
        current = (await storing.wanted(connection, [saved.article.id], 1))[saved.article.id]
        assert (current.revision, current.indexed_digest) == (3, current.digest)
        chunks = Chunker().cut(wanted.title, wanted.content)
        vectors = await (await world.search.embedders.for_generation(generation)).embed(["B"], purpose="query")
        await storing.store(
            connection, generation, [ArticleInWork(wanted=wanted, chunks=chunks, known=list(vectors), measured=True)]
        )
        assert await storing.unchanged(connection, generation, [current]) == set()
    await world.drain()
    (row,) = await world.vectors(saved.article.id)
    assert row["digest"] == Chunker().cut("Pumps", "A")[0].digest
    assert await world.indexed_revision(saved.article.id) == 3


async def _wanted(world: World, article_id: int) -> CurrentText:
    async with world.app.connection() as connection:
        return (await storing.wanted(connection, [article_id], 1))[article_id]


async def test_an_edit_without_embedding_says_so_to_the_embedding_before_it(world: World) -> None:
    saved = await world.save("Pumps", "A")
    await world.edit(saved.article.slug, content="B", skip_embedding=True)
    await world.drain()
    assert [one["reason"] for one in world.heard("articles.skipped")] == [
        "there is a newer version, which was saved without an embedding"
    ]


async def test_only_saves_tell_how_fresh_the_index_is(world: World) -> None:
    saved = await world.save("Pumps", "A")
    await world.drain()
    query = "select waited_ms from article_search.indexed where article_id = $1"
    assert await world.value(query, saved.article.id) is not None
    # A time that no second measurement gives.
    await world.value(
        "update article_search.indexed set waited_ms = 86400000 where article_id = $1 returning 1", saved.article.id
    )
    again = Order(article=saved.article.id, revision=None, generation=1, operation=Operation.REINDEX, force=True)
    assert isinstance(await world.search.indexer.carry_out(again), Embedded)
    assert await world.value(query, saved.article.id) == 86_400_000
    other = await world.save("Valves", "B", skip_embedding=True)
    missing = Order(article=other.article.id, revision=None, generation=1, operation=Operation.REINDEX)
    assert isinstance(await world.search.indexer.carry_out(missing), Embedded)
    assert await world.value(query, other.article.id) is None


async def test_the_generation_that_is_searched_is_embedded_before_the_others(world: World) -> None:
    async with world.app.connection() as connection, connection.transaction():
        await generations.insert(
            connection,
            name="other",
            embedder="builtin",
            model="l2-supercat-256/1",
            dimensions=256,
            chunker=str(Chunker(size=300, overlap=0)),
            by="tests",
        )
    saved = [await world.save(f"Pumps {number}", "A") for number in range(3)]
    assert [len(one.tasks) for one in saved] == [2, 2, 2]
    await world.drain()
    embedded = [one["generation"] for one in world.heard("articles.embedded")]
    assert embedded == [1, 1, 1, 2, 2, 2]


async def test_others_read_a_shared_article_from_the_revision_on_that_was_shared(world: World) -> None:
    slug = (await world.save("Pay", "secret 12345")).article.slug
    await world.drain()
    shared = (await world.edit(slug, content="public words", visibility=Visibility.SHARED)).article
    assert shared == await world.article(slug)
    assert shared.shared_from == 2
    for mode in ("semantic", "hybrid"):
        found = await search(world.search, Question(text="secret 12345", mode=mode, viewer="bob"))  # type: ignore[arg-type]
        assert found.hits == []
        own = await search(world.search, Question(text="secret 12345", mode=mode, viewer=OWNER))  # type: ignore[arg-type]
        assert [hit.slug for hit in own.hits] == [slug]
    (hit,) = (await search(world.search, Question(text="public words", viewer="bob"))).hits
    assert "secret" not in hit.passage.text and hit.score.semantic is None
    await world.drain()
    (hit,) = (await search(world.search, Question(text="public words", viewer="bob"))).hits
    assert hit.score.semantic is not None
    hidden = (await world.edit(slug, visibility=Visibility.PRIVATE)).article
    assert hidden.shared_from is None and hidden == await world.article(slug)


# ---------------------------------------------------------------- many at once


async def test_an_import_is_stored_with_its_tasks_in_one_job_and_again_only_where_it_changed(world: World) -> None:
    job = await world.app.store_many(
        world.app.pipelines["articles"], [], options=_options(), name="import", metadata={}
    )

    def news(text: str) -> list[NewArticle]:
        return [
            NewArticle(
                title=f"T{number}",
                content=text if number == 3 else "same",
                owner=OWNER,
                author=OWNER,
                source=f"s{number}",
            )
            for number in range(10)
        ]

    async with world.app.connection() as connection:
        first = await save_many(world.search, connection, news("one"), job_id=job.id)
        again = await save_many(world.search, connection, news("two"), job_id=job.id)
    assert (len(first.created), len(again.created), len(again.updated), again.unchanged) == (10, 0, 1, 9)
    stored = await world.article("t3")
    assert stored is not None and (stored.revision, stored.content) == (2, "two")
    given = await world.value(
        "select (input ->> 'revision')::integer from penstock.tasks where id = $1", stored.task_id
    )
    assert given == 2
    drained = await world.drain()
    assert drained.ended == {State.DONE: 10, State.SKIPPED: 1}
    assert await world.value("select count(*) from article_search.indexed") == 10


async def test_an_import_that_is_run_again_after_it_was_cancelled_queues_what_is_not_indexed(world: World) -> None:
    pipeline = world.app.pipelines["articles"]
    news = [NewArticle(title=f"T{n}", content="x", owner=OWNER, author=OWNER, source=f"s{n}") for n in range(5)]
    jobs = []
    for _ in range(3):
        job = await world.app.store_many(pipeline, [], options=_options(), name="import", metadata={})
        async with world.app.connection() as connection:
            jobs.append((job, await save_many(world.search, connection, news, job_id=job.id)))
        if len(jobs) == 1:
            await job.cancel(by="tests")
    assert [saved.queued for _, saved in jobs] == [5, 5, 5]
    await world.drain()
    assert await world.value("select count(*) from article_search.indexed") == 5
    async with world.app.connection() as connection:
        assert (await save_many(world.search, connection, news, job_id=jobs[1][0].id)).queued == 0


async def test_an_import_changes_the_visibility_only_where_it_says_so(world: World) -> None:
    async def stored(visibility: Visibility, *, enforced: bool, text: str = "x") -> None:
        new = NewArticle(
            title="T", content=text, owner=OWNER, author=OWNER, source="s", visibility=visibility, enforced=enforced
        )
        async with world.app.connection() as connection:
            await save_many(world.search, connection, [new], job_id=None)

    async def seen() -> tuple[str, int | None]:
        article = await world.article("t")
        assert article is not None
        return article.visibility.value, article.shared_from

    await stored(Visibility.SHARED, enforced=True)
    await stored(Visibility.PRIVATE, enforced=False, text="y")
    assert await seen() == ("shared", 1)
    await stored(Visibility.PRIVATE, enforced=True, text="z")
    assert await seen() == ("private", None)
    await stored(Visibility.SHARED, enforced=True, text="w")
    assert await seen() == ("shared", 4)


async def test_an_import_does_not_make_others_wait_for_a_slug(world: World) -> None:
    news = [NewArticle(title="Introduction", content="x", owner=OWNER, author=OWNER) for _ in range(3)]
    async with world.app.connection() as connection:
        slugs = await reserve_slugs(connection, news)
        async with connection.transaction():
            await save_many(world.search, connection, news, job_id=None, slugs=slugs)
            async with asyncio.timeout(60):
                assert (await world.save("Introduction", "y")).article.slug == "introduction-4"
    assert await world.value("select count(*) from article_search.articles") == 4


async def test_a_place_that_is_too_long_for_an_index_is_known_again(world: World) -> None:
    new = NewArticle(title="T", content="x", owner=OWNER, author=OWNER, source=f"http://example.com/{'q' * 9000}")
    async with world.app.connection() as connection:
        first = await save_many(world.search, connection, [new], job_id=None)
        again = await save_many(world.search, connection, [new], job_id=None)
    assert (len(first.created), len(again.created), again.unchanged) == (1, 0, 1)


def _options():
    from penstock import EnqueueOptions

    return EnqueueOptions(owner=OWNER)


async def test_every_operation_on_an_article_is_logged(world: World) -> None:
    slug = (await world.save("Pumps", "one")).article.slug
    await world.edit(slug, content="two")
    await world.drain()
    await world.delete(slug)
    await world.drain()
    assert [one["operation"] for one in world.heard("articles.saved")] == ["create", "update"]
    assert len(world.heard("articles.deleted")) == len(world.heard("articles.skipped")) == 1
    assert [one["operation"] for one in world.heard("articles.embedded")] == ["update", "delete"]


def test_the_digest_of_a_text_knows_where_the_title_ends() -> None:
    assert writing.digest_of("a", "b\nc") != writing.digest_of("a\nb", "c")
