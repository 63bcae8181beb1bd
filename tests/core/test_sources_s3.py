"""Files that come by a bucket, from a server that speaks S3 on loopback."""

import asyncio
import logging
from collections.abc import AsyncIterator, Iterator
from dataclasses import replace
from typing import Any

import boto3
import pytest
from moto.server import ThreadedMotoServer

from penstock import Penstock
from penstock.console.files.sources import scan as scanning
from penstock.console.files.sources.s3 import pinned
from tests.core.source_world import World, make_app, make_world

ROWS = b"name,sku\nchair,1\n"


@pytest.fixture(scope="module")
def endpoint() -> Iterator[str]:
    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    yield f"http://{host}:{port}"
    server.stop()


@pytest.fixture
def bucket(endpoint: str) -> Iterator[Any]:
    made = boto3.resource(
        "s3", endpoint_url=endpoint, aws_access_key_id="key", aws_secret_access_key="secret", region_name="us-east-1"
    ).Bucket("deliveries")
    made.create()
    yield made
    made.objects.delete()
    made.delete()


@pytest.fixture
async def app(database_url: str, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Penstock]:
    monkeypatch.setenv("DROP_KEY", "key")
    monkeypatch.setenv("DROP_SECRET", "hidden-away")
    made = make_app(database_url, private_networks=True)
    async with made:
        yield made


@pytest.fixture
def place(endpoint: str) -> dict[str, Any]:
    return {"bucket": "deliveries", "prefix": "in", "endpoint": endpoint}


async def make_bucket_world(app: Penstock, **parts: Any) -> World:
    return await make_world(app, kind="s3", user_env="DROP_KEY", secret_env="DROP_SECRET", **parts)


def put(bucket: Any, key: str, body: bytes) -> None:
    bucket.put_object(Key=key, Body=body)


def keys(bucket: Any) -> list[str]:
    return sorted(one.key for one in bucket.objects.all())


async def test_an_object_is_submitted_at_the_first_sight_and_only_once(app: Penstock, bucket: Any, place: Any) -> None:
    world = await make_bucket_world(app, place=place, stable_seconds=3600)
    put(bucket, "in/a b.csv", ROWS)
    put(bucket, "in/sub/b.csv", ROWS + b"b,")
    put(bucket, "inside/c.csv", ROWS + b"c,")
    report = await world.scan()
    assert (report.seen, report.submitted, report.problem) == (1, 1, None)
    assert (await world.scan()).submitted == 0
    assert await world.jobs() == ["a b.csv"]


async def test_new_content_of_the_same_size_is_submitted_and_a_copy_is_not(
    app: Penstock, bucket: Any, place: Any
) -> None:
    world = await make_bucket_world(app, place=place)
    put(bucket, "in/a.csv", b"name,sku\nchair,1\n")
    await world.scan()
    put(bucket, "in/a.csv", b"name,sku\ntable,2\n")
    put(bucket, "in/copy.csv", b"name,sku\nchair,1\n")
    report = await world.scan()
    assert (report.submitted, report.duplicate) == (1, 1)
    assert await world.jobs() == ["a.csv", "a.csv"]


async def test_an_object_that_changes_between_listing_and_reading_waits_for_the_next_scan(
    app: Penstock, bucket: Any, place: Any
) -> None:
    world = await make_bucket_world(app, place=place)
    put(bucket, "in/a.csv", ROWS)
    async with scanning.opened(app, world.source) as opened:
        (entry,) = [one async for batch in opened.listing() for one in batch]
        put(bucket, "in/a.csv", ROWS.upper())
        with pytest.raises(Exception, match="another object has its name"):
            _ = [chunk async for chunk in opened.read(entry.path, entry.version)]
        assert await opened.delete(entry.path, entry.version) is False
        bucket.Object("in/a.csv").delete()
        with pytest.raises(Exception, match="gone before"):
            _ = [chunk async for chunk in opened.read(entry.path, entry.version)]


@pytest.mark.parametrize(("after", "left"), [("keep", ["in/a.csv"]), ("delete", []), ("move", ["in/done/a.csv"])])
async def test_an_object_is_kept_deleted_or_moved(
    app: Penstock, bucket: Any, place: Any, after: str, left: list[str]
) -> None:
    target = "done" if after == "move" else None
    world = await make_bucket_world(app, place=place, after=after, target=target, pattern="**/*.csv")
    put(bucket, "in/a.csv", ROWS)
    report = await world.scan()
    assert (report.submitted, report.problem) == (1, None)
    assert keys(bucket) == left
    assert (await world.scan()).submitted == 0


async def test_a_file_that_was_moved_is_not_lost_to_the_next_one_of_its_name(
    app: Penstock, bucket: Any, place: Any
) -> None:
    world = await make_bucket_world(app, place=place, after="move", target="done")
    for body in (b"name\nday one\n", b"name\nday two\n"):
        put(bucket, "in/products.csv", body)
        await world.scan()
    kept = {one.key: one.get()["Body"].read() for one in bucket.objects.all()}
    assert kept == {"in/done/products.csv": b"name\nday one\n", "in/done/products (2).csv": b"name\nday two\n"}


async def test_a_login_comes_from_the_environment_and_is_never_stored(
    app: Penstock, bucket: Any, place: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = await make_bucket_world(app, place=place)
    put(bucket, "in/a.csv", ROWS)
    with monkeypatch.context() as patch:
        patch.delenv("DROP_SECRET")
        report = await world.scan()
    assert report.problem is not None and "DROP_SECRET" in report.problem
    assert (await world.scan()).submitted == 1
    (row,) = await world.fetch("select to_json(s)::text as text from penstock.sources as s")
    assert "hidden-away" not in row["text"]


async def test_without_a_login_nothing_is_signed(app: Penstock, bucket: Any, place: Any) -> None:
    """Nor taken from the machine: a public bucket is read, a private one says no."""
    bucket.Acl().put(ACL="public-read")
    other = bucket.Object("in/b.csv")
    bucket.put_object(Key="in/a.csv", Body=ROWS, ACL="public-read")
    other.put(Body=ROWS + b"b,", ACL="private")
    other.Acl().put(ACL="private")
    report = await (await make_world(app, kind="s3", place=place)).scan()
    assert [(one.path, one.state) for one in report.files] == [("a.csv", "submitted"), ("b.csv", "waiting")]
    assert "403" in str(report.files[1].problem)


async def test_a_bucket_that_is_not_there_is_a_problem_of_the_scan(app: Penstock, endpoint: str) -> None:
    world = await make_bucket_world(app, place={"bucket": "missing", "endpoint": endpoint})
    report = await world.scan()
    assert report.problem is not None and "cannot be listed" in report.problem
    assert "Debug" not in report.problem


async def test_a_listing_that_is_cut_half_way_submits_nothing(app: Penstock, bucket: Any, place: Any) -> None:
    """A key that the library cannot take ends the listing after the pages before it."""
    world = await make_bucket_world(app, place=place)
    put(bucket, "in/a.csv", ROWS)
    put(bucket, "in/b//c.csv", ROWS)
    report = await world.scan()
    assert report.submitted == 0
    assert report.problem is not None and "b//c.csv" in report.problem
    bucket.Object("in/b//c.csv").delete()
    assert (await world.scan()).submitted == 1


async def test_private_endpoints_are_refused_unless_allowed(database_url: str, bucket: Any, place: Any) -> None:
    async with make_app(database_url) as app:
        world = await make_bucket_world(app, place=place)
        report = await world.scan()
    assert report.problem is not None and "PENSTOCK_PRIVATE_NETWORKS" in report.problem


async def test_the_connection_goes_to_the_checked_address_whatever_the_name_means(
    app: Penstock, bucket: Any, place: Any, endpoint: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The name of the endpoint resolves nowhere; only the address that was checked can answer."""
    port = endpoint.rpartition(":")[2]
    world = await make_bucket_world(app, place=place | {"endpoint": f"http://localhost.invalid:{port}"})
    put(bucket, "in/a.csv", ROWS)

    async def checked(host: str, allow_private: bool) -> str:
        assert host == "localhost.invalid"
        return "127.0.0.1"

    monkeypatch.setattr("penstock.console.files.sources.s3.checked_host", checked)
    assert (await world.scan()).submitted == 1


async def test_a_tunnel_leaves_nothing_behind(endpoint: str) -> None:
    async with pinned("127.0.0.1", int(endpoint.rpartition(":")[2])) as proxy:
        port = int(proxy.rpartition(":")[2])
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(b"CONNECT any.example:443 HTTP/1.1\r\n\r\n")
        assert await reader.readuntil(b"\r\n\r\n") == b"HTTP/1.1 200 Connected\r\n\r\n"
    assert await asyncio.wait_for(reader.read(), 60) == b""
    writer.close()
    with pytest.raises(ConnectionRefusedError):
        await asyncio.open_connection("127.0.0.1", port)


async def test_an_endpoint_that_is_no_web_address_is_refused(app: Penstock, place: Any) -> None:
    world = await make_bucket_world(app, place=place)
    for endpoint in ("file:///etc", "127.0.0.1", "http://u:p@127.0.0.1", "http://127.0.0.1:99999"):
        world = World(app, replace(world.source, place=place | {"endpoint": endpoint}))
        report = await world.scan()
        assert report.problem is not None and "will not do" in report.problem
