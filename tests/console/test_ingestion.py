"""Sources and scans over HTTP."""

import json
import os
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from penstock.config import Settings
from penstock.console.files import importing
from penstock.console.http.app import create
from tests.console import service_app
from tests.console.conftest import Service

ROWS = b"name,sku\nchair,1\n"
SOURCES = "/api/ingestion/sources"


@pytest.fixture
def drop(tmp_path: Path) -> Path:
    folder = tmp_path / "drop"
    folder.mkdir()
    (folder / "a.csv").write_bytes(ROWS)
    return folder


@pytest.fixture
async def service(database_url: str, tmp_path: Path) -> AsyncIterator[Service]:
    """As everywhere, and with a folder that files may come from."""
    app = service_app.make(Settings(database_url=database_url, log_level="warning", file_roots=(tmp_path,)))
    importing.install(app)
    api = create(app)
    async with api.router.lifespan_context(api):
        made = Service(app, api)
        for name, role in (("ann", "operator"), ("bob", "operator"), ("eve", "viewer"), ("root", "admin")):
            await made.add_user(name, role)
        async with made._open:
            yield made


def body(drop: Path, **more: Any) -> dict[str, Any]:
    return {
        "name": "drop",
        "kind": "folder",
        "place": {"path": str(drop)},
        "pattern": "*.csv",
        "owner": "ann",
        "pipeline": "look_up",
        "stableSeconds": 0,
    } | more


async def added(service: Service, drop: Path, **more: Any) -> dict[str, Any]:
    answer = await (await service.client("root")).post(SOURCES, json=body(drop, **more))
    assert answer.status_code == 201, answer.text
    made: dict[str, Any] = answer.json()
    return made


async def settle(service: Service) -> None:
    await service.fetch("update penstock.sightings set first_seen_at = now() - interval '1 hour'")


async def test_an_admin_adds_a_source_and_its_owner_scans_it(service: Service, drop: Path) -> None:
    made = await added(service, drop, stableSeconds=600)
    assert (made["owner"], made["createdBy"], made["place"]["path"]) == ("ann", "root", str(drop))
    ann = await service.client("ann")
    first = (await ann.post("/api/ingestion/scan", json={})).json()["sources"][0]
    assert (first["seen"], first["waiting"], first["submitted"]) == (1, 1, 0)
    await settle(service)
    (second,) = (await ann.post("/api/ingestion/scan", json={"source": "drop"})).json()["sources"]
    assert (second["submitted"], second["files"][0]["path"]) == (1, "a.csv")
    job_id = second["files"][0]["jobId"]
    assert (await service.fetch("select owner from penstock.jobs where id = $1", job_id))[0]["owner"] == "ann"
    files = (await ann.get(f"{SOURCES}/drop/files")).json()
    assert [(one["path"], one["state"], one["jobId"]) for one in files["items"]] == [("a.csv", "submitted", job_id)]


async def test_a_test_and_a_dry_run_show_what_is_there_and_take_nothing(service: Service, drop: Path) -> None:
    await added(service, drop)
    ann = await service.client("ann")
    tested = (await ann.post(f"{SOURCES}/drop/test")).json()
    dry = (await ann.post("/api/ingestion/scan", json={"source": "drop", "dryRun": True})).json()["sources"][0]
    assert tested == dry
    assert (tested["dryRun"], tested["seen"], tested["files"][0]["state"]) == (True, 1, "new")
    assert await service.fetch("select from penstock.sightings") == []


async def test_only_admins_add_and_remove_sources(service: Service, drop: Path) -> None:
    for name in ("eve", "ann"):
        answer = await (await service.client(name)).post(SOURCES, json=body(drop))
        assert answer.status_code == 403
    await added(service, drop)
    assert (await (await service.client("ann")).delete(f"{SOURCES}/drop")).status_code == 403
    assert (await (await service.client("root")).delete(f"{SOURCES}/drop")).status_code == 204
    assert (await (await service.client("root")).delete(f"{SOURCES}/drop")).status_code == 404


async def test_others_sources_are_not_there(service: Service, drop: Path) -> None:
    await added(service, drop)
    bob = await service.client("bob")
    assert (await bob.get(SOURCES)).json()["items"] == []
    assert (await bob.post("/api/ingestion/scan", json={})).json() == {"sources": []}
    missing = await bob.post("/api/ingestion/scan", json={"source": "nothing"})
    for answer in (
        await bob.post("/api/ingestion/scan", json={"source": "drop"}),
        await bob.post(f"{SOURCES}/drop/test"),
        await bob.get(f"{SOURCES}/drop/files"),
    ):
        assert answer.status_code == missing.status_code == 404
        assert answer.json()["detail"] == missing.json()["detail"].replace("nothing", "drop")
    root = await service.client("root")
    assert [one["name"] for one in (await root.get(SOURCES)).json()["items"]] == ["drop"]


async def test_what_is_done_to_sources_is_audited(service: Service, drop: Path) -> None:
    await added(service, drop)
    root = await service.client("root")
    await root.post(f"{SOURCES}/drop/test")
    await root.post("/api/ingestion/scan", json={"source": "drop"})
    await root.get(f"{SOURCES}/drop/files")
    await root.delete(f"{SOURCES}/drop")
    rows = await service.fetch("select action, object, owner from penstock.audit where kind = 'source' order by id")
    assert [tuple(row) for row in rows] == [
        ("source.add", "drop", "ann"),
        ("source.test", "drop", "ann"),
        ("source.scan", "drop", "ann"),
        ("source.show", "drop", "ann"),
        ("source.remove", "drop", "ann"),
    ]


async def test_pages_of_sources_and_files_go_on_where_they_ended(service: Service, drop: Path) -> None:
    for number in range(3):
        await added(service, drop, name=f"s{number}")
        (drop / f"{number}.csv").write_bytes(ROWS)
    ann = await service.client("ann")
    first = (await ann.get(SOURCES, params={"pageSize": 2})).json()
    second = (await ann.get(SOURCES, params={"pageSize": 2, "after": first["nextCursor"]})).json()
    assert [one["name"] for one in first["items"] + second["items"]] == ["s0", "s1", "s2"]
    assert second["nextCursor"] is None
    await ann.post("/api/ingestion/scan", json={"source": "s0"})
    seen, after = [], None
    for _ in range(4):
        page = (
            await ann.get(f"{SOURCES}/s0/files", params={"pageSize": 1} | ({"after": after} if after else {}))
        ).json()
        seen += [one["path"] for one in page["items"]]
        after = page["nextCursor"]
    assert sorted(seen) == ["0.csv", "1.csv", "2.csv", "a.csv"]
    assert after is None


@pytest.mark.parametrize(
    ("change", "status", "said"),
    [
        ({"place": {"path": "/etc"}}, 400, "PENSTOCK_FILE_ROOTS"),
        ({"place": {"path": "/tmp/\0"}}, 422, "place.path"),
        ({"place": {"bucket": "x"}}, 400, "needs path"),
        ({"place": {"secret": "x"}}, 422, "secret"),
        ({"kind": "gopher"}, 422, "kind"),
        ({"pipeline": "nothing"}, 400, "nothing"),
        ({"owner": "nobody"}, 400, "nobody"),
        ({"after": "move", "target": "../.."}, 400, "target"),
        ({"stableSeconds": 1e400}, 422, "stableSeconds"),
        ({"secretEnv": "a b", "userEnv": "c"}, 400, "environment variable"),
        ({"options": {"a": "\0"}}, 400, "NUL"),
        ({"options": {"header": "yes"}}, 400, "header"),
        ({"options": {"a": "\ud800"}}, 400, "options"),
        ({"name": "\ud800"}, 422, "name"),
        ({"pattern": ""}, 400, "pattern"),
        ({"createdBy": "ann"}, 422, "createdBy"),
    ],
)
async def test_a_source_that_will_not_do_is_refused_by_its_part(
    service: Service, drop: Path, change: dict[str, Any], status: int, said: str
) -> None:
    text = json.dumps(body(drop, **change)).replace("Infinity", "1e400")
    headers = {"Content-Type": "application/json"}
    answer = await (await service.client("root")).post(SOURCES, content=text, headers=headers)
    assert (answer.status_code, said in answer.text) == (status, True), answer.text


async def test_a_name_is_given_once(service: Service, drop: Path) -> None:
    await added(service, drop)
    answer = await (await service.client("root")).post(SOURCES, json=body(drop))
    assert answer.status_code == 400
    assert "already" in answer.json()["detail"]


async def test_a_place_that_cannot_be_reached_is_part_of_the_answer(service: Service, drop: Path) -> None:
    await added(service, drop, kind="s3", place={"bucket": "b", "endpoint": "http://169.254.169.254"})
    answer = await (await service.client("ann")).post("/api/ingestion/scan", json={"source": "drop"})
    assert answer.status_code == 200
    assert "PENSTOCK_PRIVATE_NETWORKS" in answer.json()["sources"][0]["problem"]


async def test_a_folder_that_went_away_is_part_of_the_answer(service: Service, drop: Path) -> None:
    await added(service, drop)
    os.rename(drop, drop.parent / "elsewhere")
    answer = await (await service.client("ann")).post("/api/ingestion/scan", json={})
    assert answer.status_code == 200
    assert "allowed folders" in answer.json()["sources"][0]["problem"]
    (listed,) = (await (await service.client("ann")).get(SOURCES)).json()["items"]
    assert listed["problem"] is not None and listed["scannedAt"] is None
