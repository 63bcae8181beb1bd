"""Searches over HTTP: what is asked, what is answered, and who finds whose articles."""

from collections.abc import AsyncIterator
from typing import Any

import pytest

from penstock.testing import drain
from tests.console.conftest import Service
from tests.extensions import articles_service

TEXTS = {
    "Repairing a bicycle": "A flat tyre is mended with a patch. The chain needs oil after rain.",
    "Baking bread": "Flour, water, salt and yeast make a dough. It rises overnight before it is baked.",
    "Planting tomatoes": "Young plants go outside after the last frost. They need sun and a stick to climb.",
}


@pytest.fixture
async def service(database_url: str) -> AsyncIterator[Service]:
    async with articles_service.serving(database_url) as made:
        yield made


async def filled(service: Service, name: str = "ann", **more: Any) -> None:
    for title, content in TEXTS.items():
        answer = await (await service.client(name)).post(
            "/api/articles", json={"title": title, "content": content} | more
        )
        assert answer.status_code == 201, answer.text


async def searched(service: Service, q: str, name: str = "ann", **more: Any) -> Any:
    answer = await (await service.client(name)).get("/api/search", params={"q": q} | more)
    assert answer.status_code == 200, answer.text
    return answer.json()


async def test_an_article_just_saved_is_found_by_its_words_and_marked_so(service: Service):
    await filled(service)
    found = await searched(service, "chain oil")
    first = found["items"][0]
    assert (first["slug"], first["chip"], first["stale"]) == ("repairing-a-bicycle", "waiting", False)
    assert first["score"]["semantic"] is None
    assert first["score"]["keyword"]["rank"] == 1
    assert {name: found["coverage"][name] for name in ("indexed", "stale", "pending", "total", "generation")} == {
        "indexed": 0,
        "stale": 0,
        "pending": 3,
        "total": 3,
        "generation": "first",
    }


async def test_an_embedded_article_is_found_by_meaning_with_its_passage_marked(service: Service):
    await filled(service)
    await drain(service.app)
    found = await searched(service, "mended flat tyre")
    assert (found["mode"], found["askedMode"], found["notice"]) == ("hybrid", "hybrid", None)
    assert found["coverage"]["indexed"] == 3
    first = found["items"][0]
    assert (first["slug"], first["author"], first["chip"]) == ("repairing-a-bicycle", "ann", "indexed")
    assert first["score"]["semantic"]["rank"] == 1
    assert 0 < first["score"]["semantic"]["similarity"] <= 1.001
    passage = first["passage"]
    marked = {passage["text"][mark["from"] : mark["to"]].lower() for mark in passage["marks"]}
    assert {"flat", "tyre"} <= marked
    assert passage["revision"] == 1
    assert found["tookMs"]


@pytest.mark.parametrize("mode", ["semantic", "keyword"])
async def test_each_mode_tells_only_its_own_part_of_the_score(service: Service, mode: str):
    await filled(service)
    await drain(service.app)
    found = await searched(service, "bread dough", mode=mode)
    assert found["mode"] == mode
    assert found["items"][0]["slug"] == "baking-bread"
    other = "keyword" if mode == "semantic" else "semantic"
    assert all(one["score"][other] is None for one in found["items"])
    assert all(one["score"][mode] is not None for one in found["items"])


async def test_a_cursor_goes_on_and_belongs_to_its_query(service: Service):
    await filled(service)
    await drain(service.app)
    whole = [one["slug"] for one in (await searched(service, "plants dough chain", mode="keyword"))["items"]]
    assert len(whole) == 3
    seen, after = [], None
    while True:
        more = {} if after is None else {"after": after}
        page = await searched(service, "plants dough chain", mode="keyword", limit=1, **more)
        seen += [one["slug"] for one in page["items"]]
        if (after := page["nextCursor"]) is None:
            break
        ann, bob = await service.client("ann"), await service.client("bob")
        wrong = {"q": "plants", "mode": "keyword", "after": after}
        assert (await ann.get("/api/search", params=wrong)).status_code == 400
        assert (await bob.get("/api/search", params=wrong | {"q": "plants dough chain"})).status_code == 400
    assert seen == whole


async def test_others_find_what_is_shared_and_nothing_else(service: Service):
    await filled(service)
    ann = await service.client("ann")
    await ann.put("/api/articles/baking-bread", json={"visibility": "shared"})
    await drain(service.app)
    for mode in ("hybrid", "semantic", "keyword"):
        found = await searched(service, "dough chain frost", "bob", mode=mode)
        assert {one["slug"] for one in found["items"]} <= {"baking-bread"}, mode
    assert (await searched(service, "dough", "eve"))["items"][0]["slug"] == "baking-bread"
    assert (await searched(service, "chain", "root", mode="keyword"))["items"] == []
    everything = await searched(service, "chain", "root", mode="keyword", userId="all")
    assert [one["slug"] for one in everything["items"]] == ["repairing-a-bicycle"]
    (noted,) = await service.fetch("select action from penstock.audit where actor = 'root'")
    assert noted["action"] == "articles.search_all"


async def test_filters_by_author_and_time_leave_others_out(service: Service):
    await filled(service, visibility="shared")
    (moment,) = await service.fetch("select now() at time zone 'utc' as at")
    since = f"{moment['at'].isoformat()}Z"
    answer = await (await service.client("bob")).post(
        "/api/articles", json={"title": "Rye bread", "content": "Rye flour makes a dark bread.", "visibility": "shared"}
    )
    assert answer.status_code == 201
    for more, slugs in (
        ({"author": "bob"}, {"rye-bread"}),
        ({"author": "ann"}, {"baking-bread"}),
        ({"since": since}, {"rye-bread"}),
        ({"until": since}, {"baking-bread"}),
    ):
        found = await searched(service, "bread", mode="keyword", **more)
        assert {one["slug"] for one in found["items"]} == slugs, more


async def test_more_like_this_leaves_the_article_itself_out(service: Service):
    await filled(service)
    rolls = {"title": "Baking rolls", "content": "Rolls are small breads of dough, yeast and flour, baked in an hour."}
    assert (await (await service.client()).post("/api/articles", json=rolls)).status_code == 201
    await drain(service.app)
    found = (await (await service.client()).get("/api/articles/baking-bread/similar")).json()
    slugs = [one["slug"] for one in found["items"]]
    assert slugs[0] == "baking-rolls"
    assert "baking-bread" not in slugs


@pytest.mark.parametrize(
    ("params", "status", "told"),
    [
        ({}, 422, "q"),
        ({"q": ""}, 422, "q"),
        ({"q": " \t"}, 400, "empty"),
        ({"q": "x" * 10_240}, 422, "at most 1000 characters"),
        ({"q": "a\0b"}, 422, "q"),
        ({"q": "a", "mode": "magic"}, 422, "mode"),
        ({"q": "a", "limit": 0}, 422, "limit"),
        ({"q": "a", "limit": 101}, 422, "limit"),
        ({"q": "a", "since": "yesterday"}, 422, "since"),
        ({"q": "a", "after": "mine"}, 400, "cursor"),
    ],
)
async def test_a_wrong_question_is_refused_with_the_reason(service: Service, params: Any, status: int, told: str):
    answer = await (await service.client()).get("/api/search", params=params)
    assert (answer.status_code, told in answer.json()["detail"]) == (status, True), answer.text


@pytest.mark.parametrize("q", ["'", '"', "a & | ! (", ":*", "\\", "%_", "🚲", "the", "-", "a" * 1000, "💡 " * 300])
async def test_no_sign_in_a_query_breaks_the_search(service: Service, q: str):
    await filled(service)
    for mode in ("hybrid", "semantic", "keyword"):
        await searched(service, q, mode=mode)


async def test_while_the_embedder_is_away_words_answer_and_say_so(service: Service, monkeypatch: pytest.MonkeyPatch):
    await filled(service)
    await drain(service.app)

    async def away(*args: Any, **more: Any) -> Any:
        from penstock.extensions.articles.errors import EmbedderBusy

        raise EmbedderBusy("it does not answer")

    embedder = service.api.state.article_search.embedders.get("builtin")
    monkeypatch.setattr(type(embedder), "embed", away)
    found = await searched(service, "a query that nobody has asked before: yeast")
    assert (found["mode"], found["askedMode"]) == ("keyword", "hybrid")
    assert found["notice"]
    assert [one["slug"] for one in found["items"]] == ["baking-bread"]
