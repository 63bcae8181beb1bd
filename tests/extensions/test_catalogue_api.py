"""`/api/catalogues`: found by whom, and where each value came from."""

from collections.abc import AsyncIterator
from typing import Any

import httpx2
import pytest

from penstock.application import Penstock
from penstock.config import Settings
from penstock.console.http.actor import hashed
from penstock.console.http.app import create
from penstock.console.storage import tokens, users
from penstock.control import tasks
from penstock.extensions import catalogue
from penstock.extensions.catalogue import products_import, search_events
from penstock.extensions.catalogue.api import keys_of
from penstock.extensions.catalogue.search_events import SearchEvent
from penstock.extensions.catalogue.understood import Understood
from penstock.testing import drain

LAMP = Understood(title="Alder Desk Lamp 5 W", brand="Alder", sku="AL-5", url="https://shop.example/lamp")
LIST = b"Name,Brand,Article no,Shelf\nAlder Desk Lamp 5 W,Alder,AL-5,7\nNobody knows this,,,8\n,,,9\n"


class Desk:
    def __init__(self, app: Penstock, clients: dict[str, httpx2.AsyncClient]) -> None:
        self.app = app
        self.clients = clients

    async def get(self, path: str, name: str = "ann", status: int = 200, **query: Any) -> Any:
        answer = await self.clients[name].get(path, params=query)
        assert answer.status_code == status, answer.text
        return answer.json()

    async def submit(self, data: bytes = LIST, **fields: str) -> int:
        answer = await self.clients["ann"].post(
            "/api/jobs", files={"file": ("list.csv", data)}, data={"pipeline": "catalogue", **fields}
        )
        assert answer.status_code == 202, answer.text
        job_id: int = answer.json()["jobId"]
        return job_id


@pytest.fixture
async def desk(database_url: str) -> AsyncIterator[Desk]:
    settings = Settings(
        database_url=database_url,
        log_level="warning",
        max_attempts_not_found=1,
        catalogue_http_headers="X: $NO_SUCH_KEY",
    )
    app = Penstock("desk", settings=settings)
    enricher = catalogue.install(app)
    api = create(app)
    async with api.router.lifespan_context(api):
        clients = {}
        for name, role in (("ann", "operator"), ("bob", "operator"), ("root", "admin")):
            async with app.connection() as connection:
                user = await users.create(connection, name=name, role=role)
                assert user is not None
                await tokens.create(
                    connection, user_id=user.id, name="t", hash=hashed(name * 9), hint="t", expires_at=None
                )
            clients[name] = httpx2.AsyncClient(
                transport=httpx2.ASGITransport(app=api),
                base_url="http://service",
                headers={"Authorization": f"Bearer {name * 9}"},
            )
        await products_import.store(app, enumerate([LAMP], start=1), strict=True)
        yield Desk(app, clients)
        for client in clients.values():
            await client.aclose()
        await enricher.close()


async def test_a_list_says_what_was_found_and_by_whom(desk: Desk) -> None:
    job_id = await desk.submit()
    await drain(desk.app)
    (listed,) = (await desk.get("/api/catalogues"))["items"]
    assert listed["jobId"] == job_id
    assert (listed["counts"]["done"], listed["counts"]["notFound"], listed["counts"]["skipped"]) == (1, 1, 1)
    body = await desk.get(f"/api/catalogues/{job_id}")
    (local,) = body["answers"]
    assert (local["provider"], local["hits"], local["unanswered"]) == ("local", 1, 0)
    assert local["asked"] == local["hits"] + local["misses"]
    assert body["answersComplete"] is True
    assert body["roles"] == {"title": "Name", "brand": "Brand", "sku": "Article no"}
    assert (body["providers"], body["providersChosen"]) == (["local", "http"], False)


async def test_a_product_says_which_provider_gave_which_value_and_what_was_asked(desk: Desk) -> None:
    job_id = await desk.submit(options='{"providers": ["local"]}')
    await drain(desk.app)
    items = (await desk.get(f"/api/jobs/{job_id}/items", sort="row"))["items"]
    found = await desk.get(f"/api/catalogues/{job_id}/items/{items[0]['itemId']}")
    assert (found["row"], found["status"], found["match"], found["score"]) == (1, "DONE", "sku", 1)
    fields = {one["column"]: one for one in found["fields"]}
    assert fields["Matched title"]["value"] == LAMP.title
    assert fields["Matched title"]["provider"] == "local"
    assert fields["Matched title"]["query"] == "sku AL-5"
    assert fields["Matched title"]["at"] is not None
    assert fields["Price"]["provider"] is None
    assert list(fields)[:3] == ["Matched title", "Matched brand", "Price"]
    assert [(one["column"], one["role"]) for one in found["cells"]] == [
        ("Name", "title"),
        ("Brand", "brand"),
        ("Article no", "sku"),
        ("Shelf", None),
    ]
    assert [(one["query"], one["hit"]) for one in found["questions"]] == [("sku AL-5", True)]
    missed = await desk.get(f"/api/catalogues/{job_id}/items/{items[1]['itemId']}")
    assert missed["status"] == "NOT_FOUND"
    assert "nothing found" in missed["reason"]
    assert {one["hit"] for one in missed["questions"]} == {False}
    skipped = await desk.get(f"/api/catalogues/{job_id}/items/{items[2]['itemId']}")
    assert "no title" in skipped["reason"]
    assert (await desk.get(f"/api/catalogues/{job_id}"))["providersChosen"] is True


async def test_what_was_not_found_says_when_it_is_looked_for_again(desk: Desk) -> None:
    job = await desk.submit()
    await drain(desk.app)
    assert (await desk.get(f"/api/catalogues/{job}"))["looksAgainAt"] is None
    (item,) = (await desk.get(f"/api/jobs/{job}/items", statuses="NOT_FOUND"))["items"]
    assert item["looksAgainAt"] is None
    async with desk.app.connection() as connection:
        await tasks.reprocess(desk.app, [item["itemId"]], by="ann")
        await connection.execute(
            """with waiting as (update penstock.queue set attempt = 1, run_at = now() + interval '9 minutes'
                                where task_id = $1 returning task_id, stage, run_at, run)
               insert into penstock.attempts (task_id, stage, run, attempt, burned, cause, next_run_at)
               select task_id, stage, run, 1, true, 'not_found', run_at from waiting""",
            item["itemId"],
        )
    (waiting,) = (await desk.get(f"/api/jobs/{job}/items", statuses="PENDING"))["items"]
    assert waiting["why"].startswith("not found; looks again in 9 min")
    assert waiting["looksAgainAt"] == (await desk.get(f"/api/catalogues/{job}"))["looksAgainAt"] is not None


async def test_what_is_somebody_elses_or_no_catalogue_is_not_there(desk: Desk) -> None:
    job_id = await desk.submit()
    other = await desk.submit(b"Name\nLamp\n")
    (item, *_) = (await desk.get(f"/api/jobs/{other}/items"))["items"]
    await desk.get(f"/api/catalogues/{job_id}", name="bob", status=404)
    await desk.get(f"/api/catalogues/{job_id}/items/{item['itemId']}", status=404)
    assert (await desk.get("/api/catalogues", name="bob"))["items"] == []
    await desk.get("/api/catalogues", name="bob", status=403, userId="all")
    assert len((await desk.get("/api/catalogues", name="root", userId="all"))["items"]) == 2


async def test_jobs_of_other_pipelines_are_no_catalogues(desk: Desk) -> None:
    async with desk.app.connection() as connection:
        other = await connection.fetchval(
            "insert into penstock.jobs (pipeline, owner, metadata) values ('other', 'ann', '{}') returning id"
        )
    await desk.get(f"/api/catalogues/{other}", status=404)
    assert (await desk.get("/api/catalogues"))["items"] == []


async def test_pages_of_lists_go_on_where_they_ended(desk: Desk) -> None:
    made = [await desk.submit(b"Name\nLamp %d\n" % number) for number in range(3)]
    first = await desk.get("/api/catalogues", pageSize=2)
    second = await desk.get("/api/catalogues", pageSize=2, after=first["nextCursor"])
    assert [one["jobId"] for one in [*first["items"], *second["items"]]] == made[::-1]
    assert second["nextCursor"] is None


async def test_providers_say_whether_they_are_set_up_and_which_keys_are_missing(desk: Desk) -> None:
    local, http = (await desk.get("/api/catalogues/providers"))["items"]
    assert (local["name"], local["ready"]) == ("local", True)
    assert (http["name"], http["ready"]) == ("http", False)
    assert "PENSTOCK_CATALOGUE_HTTP_URL" in http["problem"]
    assert http["keys"] == [{"header": "X", "variable": "NO_SUCH_KEY", "present": False}]
    await desk.submit()
    await drain(desk.app)
    local, _ = (await desk.get("/api/catalogues/providers"))["items"]
    assert local["lately"]["hits"] == 1


async def test_what_went_wrong_at_a_provider_is_shown_to_admins(desk: Desk) -> None:
    event = SearchEvent(
        task_id=1, job_id=1, attempt=1, provider="local", query="title Lamp", hit=None, ms=1.0, error="it hangs"
    )
    async with desk.app.connection() as connection:
        await search_events.append(connection, [event])
    for name, told in (("ann", None), ("root", "it hangs")):
        local, _ = (await desk.get("/api/catalogues/providers", name))["items"]
        assert (local["lately"]["unanswered"], local["lately"]["lastError"]) == (1, told)


async def test_the_shop_of_the_demonstration_is_a_provider_where_it_is_served(desk: Desk) -> None:
    desk.app.use(desk.app.settings.model_copy(update={"sample_url": "http://127.0.0.1:9"}), desk.app.events)
    shop = (await desk.get("/api/catalogues/providers"))["items"][-1]
    assert (shop["name"], shop["ready"], shop["address"]) == ("sample", True, "http://127.0.0.1:9")
    listed = (await desk.get("/api/pipelines"))["items"]
    (option,) = next(one for one in listed if one["name"] == "catalogue")["options"]
    assert (option["choices"], option["default"]) == (["local", "sample"], ["local"])


def test_keys_are_told_by_name_and_never_by_value() -> None:
    settings = Settings(catalogue_http_headers="Authorization: Bearer $SHOP_KEY | X-Client: 7")
    (key,) = keys_of(settings, {"SHOP_KEY": "secret"})
    assert key.model_dump() == {"header": "Authorization", "variable": "SHOP_KEY", "present": True}
