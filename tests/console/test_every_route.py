"""Every route of the OpenAPI document, called by every actor. What they get is written in ``matrix.ROWS``."""

import asyncio
from datetime import timedelta
from pathlib import Path
from typing import Any

import httpx2
import pytest

from penstock.console.http.app import create
from penstock.testing import drain
from tests.console import service_app
from tests.console import world as worlds
from tests.console.conftest import Service
from tests.console.matrix import ACTORS, INSIDE, OK, ROWS, Row
from tests.console.world import World

_CALL_SECONDS = 60.0
_METHODS = ("get", "put", "post", "delete", "patch", "head", "options", "trace")


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Sources may read from it; set before the service reads its settings."""
    monkeypatch.setenv("PENSTOCK_FILE_ROOTS", str(tmp_path))


def _routes() -> set[tuple[str, str]]:
    paths = create(service_app.make()).openapi()["paths"]
    return {(method.upper(), path) for path, methods in paths.items() for method in methods if method in _METHODS}


def routes_with_a_body() -> set[tuple[str, str]]:
    paths = create(service_app.make()).openapi()["paths"]
    return {
        (method.upper(), path)
        for path, methods in paths.items()
        for method in methods
        if "requestBody" in methods[method]
    }


def test_every_route_has_a_row_and_every_row_a_route() -> None:
    for method, path in sorted(_routes() - ROWS.keys()):
        pytest.fail(
            f"{method} {path} has no row in tests/console/matrix.py. Add ({method!r}, {path!r}): Row(access=…) there: "
            "who may call it, the ids of its path, and a body that works for ann."
        )
    assert sorted(ROWS.keys() - _routes()) == [], "rows of tests/console/matrix.py whose route is gone: remove them"


async def test_every_actor_gets_from_every_route_what_the_matrix_says(service: Service) -> None:
    """One world for all; whoever is refused comes before whoever may, so that nothing was changed for them."""
    world = await worlds.make(service)
    clients = await _clients(service)
    wrong = []
    for (method, path), row in ROWS.items():
        for actor in ACTORS:
            expected = row.expected(actor)
            if row.endless and expected == OK:
                continue
            answer = await _call(clients[actor], world, method, path, row)
            if not _fits(answer, expected):
                wanted = "success" if expected == OK else expected
                wrong.append(f"{actor}: {method} {path} gave {answer.status_code}, not {wanted}: {answer.text[:200]}")
    assert wrong == []


async def test_a_method_that_an_address_does_not_answer_is_told_so_and_never_taken_for_an_id(service: Service) -> None:
    client = await service.client("root")
    # People choose the ids of articles, so that one may be called "import".
    plain = {path for _, path in _routes() if "{" not in path} - {"/api/articles/import"}
    missing = sorted(
        {(method, path) for method in ("GET", "PUT", "POST", "DELETE", "PATCH") for path in plain} - _routes()
    )
    answers = {(method, path): await client.request(method, path) for method, path in missing}
    assert {asked: answer.text for asked, answer in answers.items() if answer.status_code != 405} == {}
    assert all(answer.headers["allow"] for answer in answers.values())


async def test_a_bad_request_is_answered_without_building_the_openapi_document(service: Service) -> None:
    """Building it takes more than a second of the event loop."""
    client = await service.client("root")
    refused = await client.post("/api/users", json={"name": ""}), await client.delete("/api/users")
    assert [answer.status_code for answer in refused] == [422, 405]
    assert service.api.openapi_schema is None


async def test_what_is_refused_was_not_done(service: Service) -> None:
    """bob's and eve's calls with ann's ids leave no trace but their own failures."""
    world = await worlds.make(service)
    clients = await _clients(service)
    before = await _standing(service)
    for (method, path), row in ROWS.items():
        ids = await row.ids(world) if row.ids else {}
        before = await _standing(service)
        for actor in ACTORS:
            if row.expected(actor) != OK:
                await _call(clients[actor], world, method, path, row, ids)
        assert await _standing(service) == before, f"{method} {path}"


async def test_an_id_of_ann_inside_a_body_of_bob_is_not_there(service: Service) -> None:
    anns, bobs = await worlds.make(service), await worlds.make(service, "bob")
    bob = await service.client("bob")
    before = await _standing(service)
    wrong = []
    for one in INSIDE:
        ids = await one.ids(bobs, anns)
        answer = await bob.request(one.method, one.path.format(**ids), json=one.body(ids))
        if answer.status_code != 404:
            wrong.append(f"{one.method} {one.path} gave {answer.status_code}: {answer.text[:200]}")
    assert wrong == []
    assert await _standing(service) == before


async def test_a_file_of_ann_inside_an_input_of_bob_is_not_read(service: Service) -> None:
    """Submitted as JSON, and written into a row that failed: both end with an error. Own files are still read."""
    world = await worlds.make(service)
    anns_file, anns_item = await world.image("ann")
    bobs_file, bobs_item = await world.image("bob", name="bad.png")
    bob = await service.client("bob")
    theirs, own = ({"row": 1, "image": {"file_id": one, "name": "lamp.png"}} for one in (anns_file, bobs_file))
    sent = await bob.post("/api/jobs", json={"pipeline": "show", "items": [theirs]})
    assert sent.status_code == 202, sent.text
    (submitted,) = await service.fetch("select id from penstock.tasks where job_id = $1", sent.json()["jobId"])
    await drain(service.app)
    edited = await _edit(bob, bobs_item, theirs)
    await drain(service.app)
    for item_id in (submitted["id"], edited):
        seen = (await bob.get(f"/api/tasks/{item_id}")).text
        assert "secret of ann" not in seen
        assert f"there is no file {anns_file} in this job. Upload it again." in seen
    mended = await _edit(bob, edited, own)
    await drain(service.app)
    assert "secret of bob" in (await bob.get(f"/api/tasks/{mended}")).text
    assert "secret of ann" in (await (await service.client("ann")).get(f"/api/tasks/{anns_item}")).text


async def _edit(client: httpx2.AsyncClient, item_id: int, new_input: Any) -> int:
    answer = await client.patch(f"/api/dead-letters/{item_id}", json={"input": new_input})
    assert answer.status_code == 200, answer.text
    copy: int = answer.json()["itemId"]
    return copy


async def test_a_cursor_of_ann_is_worth_nothing_to_others(service: Service) -> None:
    world = await worlds.make(service)
    for _ in range(2):
        await world.job()
        await world.dead_letter()
        await world.token()
    ann, bob = await service.client("ann"), await service.client("bob")
    seen = 0
    for method, path in ROWS:
        if method != "GET" or "{" in path:
            continue
        answer = await ann.get(path, params={"pageSize": 1}) if path != "/api/stream" else None
        cursor = answer.json().get("nextCursor") if answer is not None and _is_json(answer) else None
        if cursor is not None:
            seen += 1
            assert (await ann.get(path, params={"pageSize": 1, "after": cursor})).status_code == 200, path
            assert (await bob.get(path, params={"pageSize": 1, "after": cursor})).status_code == 400, path
    assert seen >= 2


async def test_a_session_that_lasts_is_let_in_where_the_expired_one_is_not(service: Service) -> None:
    lasting = await service.signed_in()
    assert (await lasting.get("/api/me")).json()["name"] == "ann"
    assert (await (await service.signed_in(lasts=timedelta(seconds=-1))).get("/api/me")).status_code == 401


async def _clients(service: Service) -> dict[str, httpx2.AsyncClient]:
    await service.add_user("former", "operator")
    await service.fetch(
        "update penstock.tokens set revoked_at = now() where user_id = (select id from penstock.users where name = $1)",
        "former",
    )
    # The revoked token was ann's: whoever forgets to look at the revocation lets it do everything.
    await service.fetch(
        """update penstock.tokens set user_id = (select id from penstock.users where name = 'ann')
           where user_id = (select id from penstock.users where name = 'former')"""
    )
    return {
        "anonymous": await service.client(None),
        "revoked": await service.client("former"),
        "expired": await service.signed_in(lasts=timedelta(seconds=-1)),
        **{name: await service.client(name) for name in ("eve", "bob", "ann", "root")},
    }


async def _call(
    client: httpx2.AsyncClient, world: World, method: str, path: str, row: Row, ids: Any = None
) -> httpx2.Response:
    if ids is None:
        ids = await row.ids(world) if row.ids else {}
    await world.fresh_limit()
    more: dict[str, Any] = {}
    if row.body is not None:
        more["json"] = row.body(world)
    if row.files is not None:
        more["files"] = row.files(world)
    # An endless answer that was refused to nobody would hang here.
    async with asyncio.timeout(_CALL_SECONDS):
        return await client.request(method, path.format(**ids), params=dict(row.query(world)), **more)


def _fits(answer: httpx2.Response, expected: int) -> bool:
    if expected == OK:
        return 200 <= answer.status_code < 400 or answer.status_code == 409
    return answer.status_code == expected


def _is_json(answer: httpx2.Response) -> bool:
    return answer.headers.get("content-type", "").startswith("application/json")


async def _standing(service: Service) -> list[Any]:
    """What refused calls must not change, summed up."""
    return [
        tuple(row)
        for row in await service.fetch(
            """select (select count(*) from penstock.tasks), (select count(*) from penstock.jobs),
                      (select count(*) from penstock.outcomes), (select count(*) from penstock.queue),
                      (select count(*) from penstock.attempts), (select count(*) from penstock.audit),
                      (select count(*) from penstock.users),
                      (select count(*) from penstock.tokens where revoked_at is null),
                      (select count(*) from penstock.sessions where revoked_at is null),
                      (select count(*) from penstock.preferences),
                      (select count(*) from penstock.users where password_hash is not null),
                      (select count(*) from penstock.jobs where paused_at is not null or cancelled_at is not null),
                      (select count(*) from penstock.stages where paused_at is not null),
                      (select count(*) from article_search.revisions),
                      (select string_agg(concat(p.id, p.name, p.run, p.deleted_at), ',' order by p.id)
                       from record_linking.projects p),
                      (select string_agg(concat(r.id, r.state, r.note), ',' order by r.id)
                       from record_linking.records r),
                      (select count(*) from article_search.saved_queries),
                      (select string_agg(id || state, ',' order by id) from article_search.generations),
                      (select string_agg(name || role, ',' order by name) from penstock.users)"""
        )
    ]
