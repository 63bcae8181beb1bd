"""Lists of articles over HTTP: pages both ways, and known ones as they are now."""

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


async def saved(service: Service, title: str, name: str = "ann", **more: Any) -> None:
    body = {"title": title, "content": f"About {title}."} | more
    answer = await (await service.client(name)).post("/api/articles", json=body)
    assert answer.status_code == 201, answer.text


async def page(service: Service, name: str = "ann", **query: Any) -> Any:
    answer = await (await service.client(name)).get("/api/articles", params=query)
    assert answer.status_code == 200, answer.text
    return answer.json()


def slugs(found: Any) -> list[str]:
    return [one["slug"] for one in found["items"]]


@pytest.mark.parametrize(
    ("name", "filters"),
    [("ann", {}), ("ann", {"author": "ann"}), ("bob", {"author": "ann"}), ("root", {"userId": "all"})],
)
async def test_pages_go_down_and_up_again_over_every_row_once(service: Service, name: str, filters: dict[str, str]):
    for number in range(7):
        await saved(service, f"n{number}", visibility="shared")
    down = [await page(service, name, pageSize=3, **filters)]
    while cursor := down[-1]["nextCursor"]:
        down.append(await page(service, name, pageSize=3, after=cursor, **filters))
    assert [slugs(one) for one in down] == [["n6", "n5", "n4"], ["n3", "n2", "n1"], ["n0"]]
    up = await page(service, name, pageSize=3, before=down[-1]["startCursor"], **filters)
    assert slugs(up) == ["n3", "n2", "n1"]
    assert up["previousCursor"] is not None
    up = await page(service, name, pageSize=3, before=up["previousCursor"], **filters)
    assert (slugs(up), up["previousCursor"]) == (["n6", "n5", "n4"], None)


@pytest.mark.parametrize(("name", "filters"), [("ann", {}), ("root", {"userId": "all"})])
async def test_articles_that_changed_at_one_moment_are_paged_once_each(
    service: Service, name: str, filters: dict[str, str]
):
    for number in range(5):
        author, visibility = ("ann", "private") if number % 2 else ("bob", "shared")
        await saved(service, f"n{number}", author, visibility=visibility)
    await service.fetch("update article_search.articles set updated_at = now()")
    down = [await page(service, name, pageSize=2, **filters)]
    while cursor := down[-1]["nextCursor"]:
        down.append(await page(service, name, pageSize=2, after=cursor, **filters))
    assert [slugs(one) for one in down] == [["n4", "n3"], ["n2", "n1"], ["n0"]]
    up = await page(service, name, pageSize=2, before=down[-1]["startCursor"], **filters)
    assert slugs(up) == ["n2", "n1"]


async def test_what_changed_since_a_page_stands_before_it(service: Service):
    for title in ("old", "older"):
        await saved(service, title)
    first = await page(service)
    assert (first["previousCursor"], slugs(first)) == (None, ["older", "old"])
    nothing = await page(service, before=first["startCursor"])
    assert (slugs(nothing), nothing["startCursor"], nothing["endCursor"]) == ([], None, None)
    await (await service.client()).put("/api/articles/old", json={"content": "changed"})
    await saved(service, "new")
    assert slugs(await page(service, before=first["startCursor"])) == ["new", "old"]


async def test_one_sees_ones_own_and_shared_ones_in_one_order(service: Service):
    await saved(service, "a", "ann")
    await saved(service, "b", "bob", visibility="shared")
    await saved(service, "c", "bob")
    await saved(service, "d", "ann", visibility="shared")
    assert slugs(await page(service, "ann")) == ["d", "b", "a"]
    assert slugs(await page(service, "bob")) == ["d", "c", "b"]
    assert slugs(await page(service, "eve")) == ["d", "b"]
    assert slugs(await page(service, "root", userId="all")) == ["d", "c", "b", "a"]


async def test_a_page_has_one_direction(service: Service):
    await saved(service, "a")
    cursor = (await page(service))["startCursor"]
    answer = await (await service.client()).get("/api/articles", params={"after": cursor, "before": cursor})
    assert (answer.status_code, "not both" in answer.json()["detail"]) == (400, True)


async def test_known_articles_are_told_as_they_are_now_to_who_may_see_them(service: Service):
    await saved(service, "mine")
    await saved(service, "theirs", "bob")
    await drain(service.app)
    asked = {"slug": ["mine", "theirs", "gone"]}
    found = (await (await service.client("ann")).get("/api/articles-now", params=asked)).json()
    assert [(one["slug"], one["embedding"]["chip"]) for one in found["items"]] == [("mine", "indexed")]
    every = (await (await service.client("root")).get("/api/articles-now", params=asked)).json()
    assert sorted(slugs(every)) == ["mine", "theirs"]
    (noted,) = await service.fetch("select actor from penstock.audit where action = 'articles.look_at_all'")
    assert noted["actor"] == "root"
    for refused in ({}, {"slug": ["x"] * 201}):
        assert (await (await service.client()).get("/api/articles-now", params=refused)).status_code == 422


async def test_the_index_names_the_jobs_that_fill_it(service: Service):
    await saved(service, "a")
    await drain(service.app)
    root = await service.client("root")
    assert (await root.get("/api/article-index")).json()["filling"] == []
    started = (await root.post("/api/article-index/reindex", json={"scope": "all", "force": True})).json()
    await root.post(f"/api/jobs/{started['jobId']}/pause", json={"reason": "lunch"})
    found = (await (await service.client("eve")).get("/api/article-index")).json()["filling"]
    assert found == [{"jobId": started["jobId"], "scope": "all", "generation": "first", "paused": True, "left": 1}]


async def test_a_generation_says_how_much_it_stands_for(service: Service):
    await saved(service, "a")
    await drain(service.app)
    await saved(service, "b", skipEmbedding=True)
    found = (await (await service.client("eve")).get("/api/article-index/generations/1")).json()
    assert (found["name"], found["chunks"]) == ("first", 1)
    assert (found["coverage"]["indexed"], found["coverage"]["total"]) == (1, 2)
    assert (await (await service.client()).get("/api/article-index/generations/99")).status_code == 404
    assert (await (await service.client("root")).get("/api/article-index/generations/roll-back")).status_code == 405
