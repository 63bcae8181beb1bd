"""Articles over HTTP: saved at once, seen by whom they should be, and never lost to a second editor."""

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

import pytest

from penstock.extensions.articles import api
from penstock.testing import drain
from tests.console.conftest import Service
from tests.extensions import articles_service


@pytest.fixture
async def service(database_url: str) -> AsyncIterator[Service]:
    async with articles_service.serving(database_url) as made:
        yield made


async def saved(service: Service, name: str = "ann", **more: Any) -> Any:
    body = {"title": "Lamps", "content": "Lamps give light in the evening."} | more
    answer = await (await service.client(name)).post("/api/articles", json=body)
    assert answer.status_code == 201, answer.text
    return answer.json()


async def test_a_new_article_is_there_at_once_with_a_task_that_waits(service: Service):
    made = await saved(service, message="first try", embeddingPriority="high")
    assert (made["slug"], made["revision"], made["author"], made["visibility"]) == ("lamps", 1, "ann", "private")
    assert (made["embedding"]["chip"], made["embedding"]["status"]) == ("waiting", "pending")
    (row,) = await service.fetch("select id, owner from penstock.tasks where id = any($1::bigint[])", made["taskIds"])
    assert (row["id"], row["owner"]) == (made["embedding"]["taskId"], "ann")
    found = (await (await service.client()).get("/api/articles/lamps")).json()
    assert (found["content"], found["message"], found["editedBy"]) == (
        "Lamps give light in the evening.",
        "first try",
        "ann",
    )


async def test_the_answer_says_where_the_article_is_also_for_other_scripts(service: Service):
    answer = await (await service.client()).post("/api/articles", json={"title": "Лампы", "content": "Свет."})
    place = answer.headers["Location"]
    assert place.isascii()
    assert (await (await service.client()).get(place)).json()["title"] == "Лампы"


async def test_an_embedded_article_says_so(service: Service):
    await saved(service)
    await drain(service.app)
    found = (await (await service.client()).get("/api/articles/lamps")).json()["embedding"]
    assert (found["chip"], found["status"], found["indexedRevision"]) == ("indexed", "completed", 1)
    assert found["embeddedAt"] is not None


async def test_a_save_that_skips_the_embedding_has_no_task(service: Service):
    made = await saved(service, skipEmbedding=True)
    assert (made["taskIds"], made["embedding"]["chip"], made["embedding"]["status"]) == ([], "missing", "none")
    assert await service.fetch("select from penstock.tasks") == []


async def test_the_second_of_two_editors_gets_what_the_first_one_wrote(service: Service):
    await saved(service)
    ann, root = await service.client("ann"), await service.client("root")
    first = await root.put("/api/articles/lamps", json={"content": "Lamps are bright.", "revision": 1})
    assert (first.status_code, first.json()["revision"]) == (200, 2)
    second = await ann.put("/api/articles/lamps", json={"content": "Lamps are warm.", "revision": 1})
    assert second.status_code == 409
    current = second.json()["current"]
    assert current["updatedAt"]
    assert {name: current[name] for name in ("revision", "title", "content", "author")} == {
        "revision": 2,
        "title": "Lamps",
        "content": "Lamps are bright.",
        "author": "root",
    }
    merged = await ann.put("/api/articles/lamps", json={"content": "Lamps are warm.", "revision": 2})
    assert (merged.status_code, merged.json()["revision"]) == (200, 3)


async def test_editors_who_save_at_the_same_time_do_not_overwrite_each_other(service: Service):
    await saved(service)
    ann = await service.client("ann")
    answers = await asyncio.gather(
        *(ann.put("/api/articles/lamps", json={"content": f"Text {n}.", "revision": 1}) for n in range(5))
    )
    assert sorted(answer.status_code for answer in answers) == [200, 409, 409, 409, 409]
    winner = next(answer.request for answer in answers if answer.status_code == 200)
    text = (await ann.get("/api/articles/lamps")).json()["content"]
    assert text.encode() in winner.content


async def test_without_a_revision_the_newest_text_is_replaced(service: Service):
    await saved(service)
    ann = await service.client()
    for n in (2, 3):
        assert (await ann.put("/api/articles/lamps", json={"content": f"Text {n}."})).json()["revision"] == n


async def test_a_save_of_the_same_text_changes_nothing(service: Service):
    await saved(service)
    again = (await (await service.client()).put("/api/articles/lamps", json={"title": "Lamps"})).json()
    assert (again["changed"], again["revision"], again["taskIds"]) == (False, 1, [])


async def test_every_text_that_an_article_had_can_be_read(service: Service):
    await saved(service, message="begun")
    ann = await service.client()
    for n in (2, 3):
        await ann.put("/api/articles/lamps", json={"content": f"Text {n}.", "message": f"change {n}"})
    first = (await ann.get("/api/articles/lamps/revisions", params={"pageSize": 2})).json()
    rest = (await ann.get("/api/articles/lamps/revisions", params={"pageSize": 2, "after": first["nextCursor"]})).json()
    told = [(one["revision"], one["message"]) for one in first["items"] + rest["items"]]
    assert told == [(3, "change 3"), (2, "change 2"), (1, "begun")]
    assert rest["nextCursor"] is None
    assert (await ann.get("/api/articles/lamps/revisions/2")).json()["content"] == "Text 2."
    missing = await ann.get("/api/articles/lamps/revisions/9")
    assert (missing.status_code, "the newest is 3" in missing.json()["detail"]) == (404, True)


async def test_a_deleted_article_is_gone_with_its_revisions(service: Service):
    await saved(service)
    ann = await service.client()
    gone = await ann.delete("/api/articles/lamps")
    assert gone.json() == {"slug": "lamps", "revisions": 1}
    for path in ("", "/revisions", "/revisions/1", "/similar"):
        assert (await ann.get(f"/api/articles/lamps{path}")).status_code == 404
    assert (await ann.delete("/api/articles/lamps")).status_code == 404
    assert (await ann.put("/api/articles/lamps", json={"content": "New."})).status_code == 404


async def test_pages_of_articles_go_on_where_they_ended(service: Service):
    for n in range(5):
        await saved(service, title=f"Article {n}")
    ann, bob = await service.client("ann"), await service.client("bob")
    seen, after = [], None
    while True:
        page = (await ann.get("/api/articles", params={"pageSize": 2} | ({"after": after} if after else {}))).json()
        seen += [one["title"] for one in page["items"]]
        if (after := page["nextCursor"]) is None:
            break
        assert (await bob.get("/api/articles", params={"after": after})).status_code == 400
        assert (await ann.get("/api/articles", params={"after": after, "author": "ann"})).status_code == 400
    assert seen == [f"Article {n}" for n in (4, 3, 2, 1, 0)]


async def test_a_shared_article_is_read_by_all_and_changed_by_its_owner(service: Service):
    await saved(service, visibility="shared")
    bob, eve = await service.client("bob"), await service.client("eve")
    for client in (bob, eve):
        found = (await client.get("/api/articles/lamps")).json()
        assert found["author"] == "ann"
        assert found["embedding"]["taskId"] is None, "what ann's tasks do is her business"
        assert [one["slug"] for one in (await client.get("/api/articles")).json()["items"]] == ["lamps"]
        revisions = (await client.get("/api/articles/lamps/revisions")).json()["items"]
        assert [one["taskId"] for one in revisions] == [None]
    refused = await bob.put("/api/articles/lamps", json={"content": "Mine."})
    assert (refused.status_code, "belongs to ann" in refused.json()["detail"]) == (403, True)
    assert (await bob.delete("/api/articles/lamps")).status_code == 403
    assert (await (await service.client("ann")).get("/api/articles/lamps")).json()["revision"] == 1


async def test_an_admin_reads_and_changes_what_is_private_and_that_is_noted(service: Service):
    await saved(service)
    root, bob = await service.client("root"), await service.client("bob")
    assert (await bob.get("/api/articles/lamps")).status_code == 404
    assert (await bob.put("/api/articles/lamps", json={"content": "Mine."})).status_code == 404
    assert (await root.get("/api/articles")).json()["items"] == []
    assert len((await root.get("/api/articles", params={"userId": "all"})).json()["items"]) == 1
    assert (await bob.get("/api/articles", params={"userId": "all"})).status_code == 403
    await root.get("/api/articles/lamps")
    await root.put("/api/articles/lamps", json={"content": "Lamps are bright."})
    await root.delete("/api/articles/lamps")
    noted = await service.fetch("select action, object, owner from penstock.audit where actor = 'root' order by id")
    assert [tuple(row) for row in noted] == [
        ("articles.look_at_all", None, None),
        ("article.look", "lamps", "ann"),
        ("article.update", "lamps", "ann"),
        ("article.delete", "lamps", "ann"),
    ]


async def test_every_save_is_in_the_audit_log_with_it(service: Service):
    await saved(service)
    ann = await service.client("ann")
    await ann.put("/api/articles/lamps", json={"content": "Lamps are bright."})
    await ann.put("/api/articles/lamps", json={"content": "Lamps are bright."})
    await ann.put("/api/articles/lamps", json={"visibility": "shared"})
    assert (await ann.put("/api/articles/lamps", json={"content": "Late.", "revision": 1})).status_code == 409
    await ann.delete("/api/articles/lamps")
    noted = await service.fetch(
        "select action, object, owner, (details->>'revision')::int from penstock.audit where actor = 'ann' order by id"
    )
    assert [tuple(row) for row in noted] == [
        ("article.create", "lamps", "ann", 1),
        ("article.update", "lamps", "ann", 2),
        ("article.update", "lamps", "ann", 2),
        ("article.delete", "lamps", "ann", 2),
    ]


@pytest.mark.parametrize(
    ("body", "status", "told"),
    [
        ({"title": "", "content": "x"}, 422, "title"),
        ({"title": "  ", "content": "x"}, 400, "title is empty"),
        ({"content": "x"}, 422, "title"),
        ({"title": "x"}, 422, "content"),
        ({"title": "x" * 301, "content": "x"}, 422, "title"),
        ({"title": "x", "content": "a\0b"}, 422, "content"),
        ({"title": "a\ud800b", "content": "x"}, 422, "half a character"),
        ({"title": "x", "content": "y" * 1_000_001}, 413, "1,000,001 characters"),
        ({"title": "x", "content": "y", "owner": "root"}, 422, "owner"),
        ({"title": "x", "content": "y", "embeddingPriority": "urgent"}, 422, "embeddingPriority"),
        ({"title": "x", "content": "y", "visibility": "public"}, 422, "visibility"),
        ([], 422, "object"),
    ],
)
async def test_what_cannot_be_an_article_is_refused_with_the_reason(
    service: Service, body: Any, status: int, told: str
):
    headers = {"Content-Type": "application/json"}
    answer = await (await service.client()).post("/api/articles", content=json.dumps(body), headers=headers)
    assert (answer.status_code, told in answer.json()["detail"]) == (status, True), answer.text
    assert await service.fetch("select from article_search.articles") == []


@pytest.mark.parametrize(
    ("data", "kind", "status", "told"),
    [
        (b"\x89PNG\r\n\x1a\n\xff\xfe", "application/json", 400, "not UTF-8"),
        (b"{", "application/json", 400, "not JSON"),
        (b"", "application/json", 400, "not JSON"),
        (b"\x89PNG", "image/png", 415, "application/json"),
        (b"[" * 100_000, "application/json", 400, "not JSON"),
    ],
)
async def test_a_body_that_is_no_json_is_refused(service: Service, data: bytes, kind: str, status: int, told: str):
    for method, path in (("POST", "/api/articles"), ("PUT", f"/api/articles/{(await saved(service))['slug']}")):
        answer = await (await service.client()).request(method, path, content=data, headers={"Content-Type": kind})
        assert (answer.status_code, told in answer.json()["detail"]) == (status, True), answer.text


async def test_fifty_megabytes_are_refused_before_they_are_read(service: Service):
    sent = 0

    async def endless() -> AsyncIterator[bytes]:
        nonlocal sent
        for _ in range(50):
            sent += 1
            yield b"x" * 1024 * 1024

    ann = await service.client()
    headers = {"Content-Type": "application/json"}
    announced = await ann.post("/api/articles", content=endless(), headers=headers | {"Content-Length": "52428800"})
    assert (announced.status_code, sent) == (413, 0)
    unannounced = await ann.post("/api/articles", content=endless(), headers=headers)
    assert unannounced.status_code == 413
    assert sent < 10


async def test_an_unknown_article_is_told_by_its_name(service: Service):
    answer = await (await service.client()).get("/api/articles/nowhere")
    assert (answer.status_code, "'nowhere'" in answer.json()["detail"]) == (404, True)


async def test_the_service_looks_for_trouble_by_itself_also_after_a_look_that_failed(
    database_url: str, monkeypatch: pytest.MonkeyPatch
):
    looked, twice = [], asyncio.Event()

    async def watch(app: Any) -> list[Any]:
        looked.append(app)
        if len(looked) == 1:
            raise RuntimeError("the first look fails")
        twice.set()
        return []

    monkeypatch.setattr(api, "_WATCH_SECONDS", 0.01)
    monkeypatch.setattr(api.alerts, "watch", watch)
    async with articles_service.serving(database_url) as service:
        async with asyncio.timeout(60):
            await twice.wait()
        assert looked[0] is service.app
    left = [one for one in asyncio.all_tasks() if "_watch" in repr(one.get_coro())]
    assert left == [], "it ends with the service"


@pytest.mark.parametrize("pipeline", ["articles", "articles.build", "articles.cleanup"])
async def test_nobody_submits_embeddings_of_others_as_jobs(service: Service, pipeline: str):
    made = await saved(service, title="Layoffs planned for March")
    order = {"article": 1, "operation": "reindex", "revision": None, "generation": 1, "force": True}
    answer = await (await service.client("bob")).post("/api/jobs", json={"pipeline": pipeline, "items": [order]})
    assert answer.status_code == 400, answer.text
    assert "No task or pipeline is called" in answer.json()["detail"]
    assert made["slug"] not in answer.text
    assert await service.fetch("select id from penstock.jobs") == []


async def test_an_embedding_that_failed_is_replayed_as_it_is_and_not_edited(service: Service):
    made = await saved(service)
    await service.fetch("update article_search.generations set embedder = 'gone'")
    await drain(service.app)
    client = await service.client("ann")
    task = made["embedding"]["taskId"]
    answer = await client.patch(f"/api/dead-letters/{task}", json={"input": {"article": 7, "operation": "reindex"}})
    assert answer.status_code == 400, answer.text
    assert "made by code and not edited" in answer.json()["detail"]


async def test_others_do_not_read_what_an_article_said_before_it_was_shared(service: Service):
    await saved(service, title="Pay", content="secret 12345")
    ann, bob = await service.client("ann"), await service.client("bob")
    changed = await ann.put("/api/articles/pay", json={"content": "public", "visibility": "shared"})
    assert changed.status_code == 200, changed.text
    assert (await bob.get("/api/articles/pay/revisions/2")).json()["content"] == "public"
    assert (await bob.get("/api/articles/pay/revisions/1")).status_code == 404
    assert [one["revision"] for one in (await bob.get("/api/articles/pay/revisions")).json()["items"]] == [2]
    assert (await ann.get("/api/articles/pay/revisions/1")).json()["content"] == "secret 12345"
