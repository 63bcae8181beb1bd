"""The index over HTTP: what it tells, and the moves of admins."""

import io
import zipfile
from collections.abc import AsyncIterator
from typing import Any

import pytest

from penstock.testing import drain
from tests.console.conftest import Service
from tests.extensions import articles_service


@pytest.fixture
async def service(database_url: str) -> AsyncIterator[Service]:
    async with articles_service.serving(database_url) as made:
        yield made


async def saved(service: Service, count: int = 1, name: str = "ann", **more: Any) -> None:
    for n in range(count):
        body = {"title": f"Article {n}", "content": f"Text number {n}."} | more
        answer = await (await service.client(name)).post("/api/articles", json=body)
        assert answer.status_code == 201, answer.text


async def test_the_index_tells_all_of_it_on_one_screen(service: Service):
    await saved(service, 2)
    await drain(service.app)
    await saved(service, 1, skipEmbedding=True)
    await saved(service, 1)
    found = (await (await service.client("eve")).get("/api/article-index")).json()
    assert found["enabled"] is True
    assert (found["coverage"]["indexed"], found["coverage"]["pending"], found["coverage"]["total"]) == (2, 2, 4)
    assert found["breakdown"] == {"waiting": 1, "failed": 0, "missing": 1}
    queue = found["queue"]
    assert (queue["pending"], queue["completed"], queue["total"]) == (1, 2, 3)
    assert found["freshness"]["measured"] == 2
    assert [(one["name"], one["state"]) for one in found["generations"]] == [("first", "active")]
    assert [(one["name"], one["ready"]) for one in found["embedders"]] == [("builtin", True)]
    assert found["alerts"] == []


async def test_tasks_are_those_of_ones_own_articles_by_status(service: Service):
    await saved(service, 2)
    await drain(service.app)
    await saved(service, 1, name="bob")
    ann, root = await service.client("ann"), await service.client("root")
    found = (await ann.get("/api/article-index/tasks", params={"status": "completed", "pageSize": 1})).json()
    rest = (
        await ann.get(
            "/api/article-index/tasks", params={"status": "completed", "pageSize": 1, "after": found["nextCursor"]}
        )
    ).json()
    assert [one["slug"] for one in found["items"] + rest["items"]] == ["article-1", "article-0"]
    assert rest["nextCursor"] is None
    first = found["items"][0]
    assert (first["operation"], first["status"], first["generation"], first["attempts"]) == (
        "create",
        "completed",
        "first",
        1,
    )
    assert (await ann.get("/api/article-index/tasks", params={"status": "pending"})).json()["items"] == []
    assert (await ann.get("/api/article-index/tasks", params={"userId": "all"})).status_code == 403
    assert len((await root.get("/api/article-index/tasks", params={"userId": "all"})).json()["items"]) == 3


async def test_a_dry_run_counts_and_a_reindex_is_a_job(service: Service):
    await saved(service, 3, skipEmbedding=True)
    root = await service.client("root")
    dry = await root.post("/api/article-index/reindex", json={"scope": "missing", "dryRun": True})
    assert (dry.status_code, dry.json()["jobId"], dry.json()["articles"]) == (200, None, 3)
    assert await service.fetch("select from penstock.tasks") == []
    started = await root.post("/api/article-index/reindex", json={"scope": "missing"})
    assert (started.status_code, started.json()["articles"]) == (202, 3)
    job = (await root.get(f"/api/jobs/{started.json()['jobId']}")).json()
    assert "Re-index missing" in job["name"]
    again = await root.post("/api/article-index/reindex", json={"scope": "missing"})
    assert again.status_code == 409, again.text
    await drain(service.app)
    nothing = await root.post("/api/article-index/reindex", json={"scope": "missing"})
    assert (nothing.status_code, nothing.json()["jobId"], nothing.json()["articles"]) == (202, None, 0)
    assert (await root.get("/api/article-index")).json()["coverage"]["indexed"] == 3
    unknown = await root.post("/api/article-index/reindex", json={"scope": "all", "generation": 99})
    assert unknown.status_code == 404


async def test_completed_tasks_are_cleared_and_articles_stay(service: Service):
    await saved(service, 2)
    await drain(service.app)
    root = await service.client("root")
    cleared = await root.post("/api/article-index/clear", json={"olderThanDays": 0})
    assert (cleared.status_code, cleared.json()) == (200, {"cleared": 2})
    found = (await root.get("/api/article-index")).json()
    assert (found["queue"]["total"], found["coverage"]["indexed"]) == (0, 2)
    (noted,) = await service.fetch("select action from penstock.audit where actor = 'root'")
    assert noted["action"] == "articles.clear"


async def test_failed_embeddings_are_started_again(service: Service):
    await saved(service, 1)
    await service.fetch(
        """with gone as (delete from penstock.queue returning task_id, lane, stage),
           counted as (insert into penstock.counts (lane, stage, state, n) select lane, stage, 3, 1 from gone)
           insert into penstock.outcomes (task_id, lane, stage, status, attempts, run, error)
           select task_id, lane, stage, 3, 1, 1, jsonb_build_object(
               'type', 'EmbedderMisconfigured', 'class', 'permanent', 'message', 'The key is missing.') from gone"""
    )
    root = await service.client("root")
    embedding = (await root.get("/api/articles/article-0")).json()["embedding"]
    assert (embedding["chip"], embedding["status"], embedding["category"]) == ("failed", "failed", "configuration")
    assert embedding["error"] == "The key is missing."
    other = await root.post("/api/article-index/retry-failed", json={"category": "data"})
    assert other.json() == {"retried": 0}
    assert (await root.post("/api/article-index/retry-failed")).json() == {"retried": 1}
    await drain(service.app)
    assert (await root.get("/api/articles/article-0")).json()["embedding"]["chip"] == "indexed"


async def test_a_generation_is_built_compared_switched_to_rolled_back_and_dropped(service: Service):
    await saved(service, 3)
    await drain(service.app)
    root, ann = await service.client("root"), await service.client("ann")
    made = await root.post(
        "/api/article-index/generations", json={"name": "short", "chunkCharacters": 300, "overlap": 0}
    )
    assert (made.status_code, made.json()["state"]) == (202, "building")
    place = f"/api/article-index/generations/{made.json()['id']}"
    assert (await root.delete("/api/article-index/generations/1")).status_code == 409
    await drain(service.app, advance=True)
    states = {one["name"]: one["state"] for one in (await ann.get("/api/article-index/generations")).json()["items"]}
    assert states == {"first": "active", "short": "ready"}
    query = {"query": "text number 1", "expected": ["article-1"]}
    assert (await ann.post("/api/article-index/queries", json=query)).status_code == 201
    compared = (await root.get(f"{place}/comparison", params={"with": 1})).json()
    assert (compared["a"]["name"], compared["b"]["name"], compared["totals"]["queries"]) == ("short", "first", 1)
    assert compared["queries"][0]["expectedFoundA"] == 1
    assert (await root.post(f"{place}/switch")).json()["state"] == "active"
    found = (await ann.get("/api/search", params={"q": "number 1"})).json()
    assert found["coverage"]["generation"] == "short"
    assert (await root.post("/api/article-index/generations/roll-back")).json()["name"] == "first"
    assert (await root.delete(place)).json()["state"] == "dropped"
    assert (await root.post(f"{place}/switch")).status_code == 409
    assert (await root.post("/api/article-index/generations/99/switch")).status_code == 404
    noted = await service.fetch("select action from penstock.audit where actor = 'root' order by id")
    assert [row["action"] for row in noted] == [
        "generation.build",
        "generation.compare",
        "generation.switch",
        "generation.roll_back",
        "generation.drop",
    ]


@pytest.mark.parametrize(
    ("body", "status", "told"),
    [
        ({"name": "x", "embedder": "nobody"}, 400, "nobody"),
        ({"name": "first"}, 400, "first"),
        ({"name": "x", "chunkCharacters": 200, "overlap": 150}, 400, "overlap"),
        ({"name": ""}, 422, "name"),
    ],
)
async def test_a_generation_that_cannot_be_built_is_refused(service: Service, body: Any, status: int, told: str):
    answer = await (await service.client("root")).post("/api/article-index/generations", json=body)
    assert (answer.status_code, told in answer.json()["detail"]) == (status, True), answer.text
    assert len(await service.fetch("select from article_search.generations")) == 1


async def test_a_roll_back_is_no_generation_to_drop(service: Service):
    answer = await (await service.client("root")).delete("/api/article-index/generations/roll-back")
    assert (answer.status_code, answer.headers["Allow"]) == (405, "POST")


async def test_saved_queries_belong_to_who_saved_them(service: Service):
    ann, bob, root = [await service.client(name) for name in ("ann", "bob", "root")]
    made = (await ann.post("/api/article-index/queries", json={"query": "light", "expected": ["lamps"]})).json()
    again = (await ann.post("/api/article-index/queries", json={"query": "light", "expected": []})).json()
    assert (again["id"], again["expected"]) == (made["id"], [])
    assert (await bob.get("/api/article-index/queries")).json()["items"] == []
    assert (await bob.delete(f"/api/article-index/queries/{made['id']}")).status_code == 404
    assert len((await root.get("/api/article-index/queries", params={"userId": "all"})).json()["items"]) == 1
    assert (await ann.delete(f"/api/article-index/queries/{made['id']}")).status_code == 204
    assert (await ann.post("/api/article-index/queries", json={"query": "  "})).status_code == 400


async def test_files_become_articles_and_again_only_what_differs(service: Service):
    ann = await service.client()
    data = b"title,content\nLamps,They give light.\nStoves,They give heat.\n,No title.\n"
    form = {"visibility": "shared"}
    first = await ann.post("/api/articles/import", files={"file": ("a.csv", data, "text/csv")}, data=form)
    assert first.status_code == 202, first.text
    told = first.json()
    assert (told["created"], told["updated"], told["unchanged"], told["refusedCount"]) == (2, 0, 0, 1)
    assert told["refused"][0]["why"]
    assert (await (await service.client("bob")).get("/api/articles/lamps")).json()["content"] == "They give light."
    assert (await ann.get(f"/api/jobs/{told['jobId']}")).status_code == 200
    again = await ann.post("/api/articles/import", files={"file": ("a.csv", data, "text/csv")}, data=form)
    assert (again.json()["jobId"], again.json()["unchanged"]) == (None, 2)


async def test_a_zip_of_markdown_is_taken(service: Service):
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("notes/lamps.md", "# Lamps\n\nThey give light.\n")
        archive.writestr("notes/stoves.md", "They give heat.\n")
    ann = await service.client()
    answer = await ann.post("/api/articles/import", files={"file": ("notes.zip", packed.getvalue())})
    assert (answer.status_code, answer.json()["created"]) == (202, 2), answer.text


@pytest.mark.parametrize(
    ("files", "data", "status", "told"),
    [
        ({"file": ("a.exe", b"MZ")}, {}, 400, "a.exe"),
        ({"file": ("a.zip", b"PK no zip")}, {}, 400, "zip"),
        ({"other": ("a.md", b"# A")}, {}, 400, "file"),
        ({"file": ("a.md", b"# A\n\nb")}, {"visibility": "public"}, 422, "visibility"),
        ({"file": ("a.md", b"# A\n\nb")}, {"owner": "root"}, 422, "owner"),
    ],
)
async def test_a_file_that_is_nothing_is_refused(service: Service, files: Any, data: Any, status: int, told: str):
    answer = await (await service.client()).post("/api/articles/import", files=files, data=data)
    assert (answer.status_code, told in answer.json()["detail"]) == (status, True), answer.text
    assert await service.fetch("select from article_search.articles") == []


async def test_an_import_that_is_no_form_is_refused(service: Service):
    answer = await (await service.client()).post("/api/articles/import", json={"file": "x"})
    assert answer.status_code == 415


async def test_a_wrong_embedders_file_is_told_and_the_index_is_shown(database_url: str, tmp_path: Any):
    file = tmp_path / "embedders.toml"
    file.write_text("[[embedder]]\nname = 3\n")
    async with articles_service.serving(database_url, articles_embedders_file=file) as service:
        answer = await (await service.client("eve")).get("/api/article-index")
        assert answer.status_code == 200, answer.text
        assert any(one["problem"] for one in answer.json()["embedders"])
