"""Files that come by FTP, from a real server on loopback whose link can be cut."""

import os
import ssl
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import aioftp
import pytest

from penstock import Penstock
from penstock.console.files.sources import ftp
from penstock.console.files.sources import scan as scanning
from tests.core.certificate import self_signed
from tests.core.source_world import make_app, make_world

ROWS = b"name,sku\nchair,1\n"


@dataclass
class Faults:
    """What the server does wrong at the moment."""

    cut_reading_at: int | None = None
    short: bool = False
    cut_listing_after: int | None = None
    read: dict[int, int] = field(default_factory=dict)


def cut_link(connection: Any) -> None:
    """Both lines, without a word."""
    connection.command_connection.writer.transport.abort()
    raise ConnectionResetError("cut")


def faulty(faults: Faults) -> type[aioftp.PathIO]:
    class FaultyPathIO(aioftp.PathIO):
        async def read(self, file: Any, *values: Any) -> Any:
            if faults.cut_reading_at is None:
                return await super().read(file, *values)
            if file.tell() >= faults.cut_reading_at:
                if faults.short:
                    return b""
                cut_link(self.connection)
            return await super().read(file, faults.cut_reading_at - file.tell())

        def list(self, path: Path) -> Any:
            return self._listed(super().list(path))

        async def _listed(self, entries: Any) -> Any:
            count = 0
            async for entry in entries:
                if faults.cut_listing_after is not None and count >= faults.cut_listing_after:
                    cut_link(self.connection)
                count += 1
                yield entry

    return FaultyPathIO


@pytest.fixture
def faults() -> Faults:
    return Faults()


@pytest.fixture
def served(tmp_path: Path) -> Path:
    folder = tmp_path / "ftp"
    (folder / "in").mkdir(parents=True)
    return folder


@pytest.fixture
async def server(served: Path, faults: Faults) -> AsyncIterator[aioftp.Server]:
    user = aioftp.User("ann", "hidden-away", base_path=served)
    made = aioftp.Server([user], path_io_factory=faulty(faults))
    await made.start("127.0.0.1", 0)
    yield made
    await made.close()


@pytest.fixture
async def app(database_url: str, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Penstock]:
    monkeypatch.setenv("FTP_USER", "ann")
    monkeypatch.setenv("FTP_PASSWORD", "hidden-away")
    async with make_app(database_url, private_networks=True) as made:
        yield made


def parts(server: aioftp.Server, **more: Any) -> dict[str, Any]:
    place = {"host": "127.0.0.1", "port": server.server_port, "path": "/in"} | more.pop("place", {})
    return {"kind": "ftp", "place": place, "user_env": "FTP_USER", "secret_env": "FTP_PASSWORD"} | more


async def test_a_file_is_submitted_once_it_has_settled(app: Penstock, server: aioftp.Server, served: Path) -> None:
    world = await make_world(app, **parts(server))
    (served / "in" / "a b.csv").write_bytes(ROWS)
    first = await world.scan()
    assert (first.seen, first.waiting, first.problem) == (1, 1, None)
    await world.let_settle()
    assert (await world.scan()).submitted == 1
    assert (await world.scan_settled()).submitted == 0
    assert await world.jobs() == ["a b.csv"]


async def test_two_versions_of_one_second_never_pass_for_one(
    app: Penstock, server: aioftp.Server, served: Path
) -> None:
    """The server tells seconds only, so no file is taken within a second of its first sight, whatever was asked."""
    world = await make_world(app, **parts(server, stable_seconds=0))
    (served / "in" / "a.csv").write_bytes(ROWS)
    await world.scan()
    assert (await world.scan()).submitted == 0
    await world.let_settle()
    assert (await world.scan()).submitted == 1
    (served / "in" / "a.csv").write_bytes(ROWS.replace(b"1", b"2"))
    os.utime(served / "in" / "a.csv", (1_000_000_000, 1_000_000_000))
    assert (await world.scan_settled()).submitted == 1


@pytest.mark.parametrize("short", [False, True])
async def test_a_link_cut_at_nine_tenths_leaves_no_job_and_is_tried_again(
    app: Penstock, server: aioftp.Server, served: Path, faults: Faults, short: bool
) -> None:
    """``short``: the server says that it was all."""
    world = await make_world(app, **parts(server))
    body = b"name,sku\n" + b"chair,1\n" * 100_000
    (served / "in" / "a.csv").write_bytes(body)
    (served / "in" / "b.csv").write_bytes(ROWS)
    faults.cut_reading_at, faults.short = len(body) * 9 // 10, short
    report = await world.scan_settled()
    assert (report.failed, report.submitted) == (1, 1), "the other file still comes through"
    assert await world.jobs() == ["b.csv"]
    assert len(await world.fetch("select from penstock.files")) == 1
    assert await world.problem_of("a.csv") != "None"
    faults.cut_reading_at = None
    assert (await world.scan()).submitted == 1
    assert await world.jobs() == ["b.csv", "a.csv"]


async def test_a_listing_that_is_cut_submits_nothing(
    app: Penstock, server: aioftp.Server, served: Path, faults: Faults
) -> None:
    world = await make_world(app, **parts(server))
    for number in range(5):
        (served / "in" / f"{number}.csv").write_bytes(ROWS + b"%d," % number)
    await world.scan()
    await world.let_settle()
    faults.cut_listing_after = 3
    report = await world.scan()
    assert (report.submitted, report.gone) == (0, 0)
    assert report.problem is not None and "to its end" in report.problem
    faults.cut_listing_after = None
    assert (await world.scan()).submitted == 5


async def test_a_file_that_vanishes_is_noted(app: Penstock, server: aioftp.Server, served: Path) -> None:
    world = await make_world(app, **parts(server))
    (served / "in" / "a.csv").write_bytes(ROWS)
    async with scanning.opened(app, world.source) as place:
        (entry,) = [one async for batch in place.listing() for one in batch]
        (served / "in" / "a.csv").unlink()
        with pytest.raises(Exception, match="gone before"):
            _ = [chunk async for chunk in place.read(entry.path, entry.version)]
        assert await place.delete(entry.path, entry.version) is False


async def test_a_file_that_grows_while_it_is_read_is_not_taken(
    app: Penstock, server: aioftp.Server, served: Path
) -> None:
    world = await make_world(app, **parts(server))
    (served / "in" / "a.csv").write_bytes(ROWS)
    async with scanning.opened(app, world.source) as place:
        (entry,) = [one async for batch in place.listing() for one in batch]
        reading = place.read(entry.path, entry.version)
        await anext(reading)
        (served / "in" / "a.csv").write_bytes(ROWS + b"table,2\n")
        with pytest.raises(Exception, match="changed while it was read"):
            _ = [chunk async for chunk in reading]


@pytest.mark.parametrize(("after", "left"), [("delete", []), ("move", ["in/done/sub/a.csv"])])
async def test_a_file_is_deleted_or_moved(
    app: Penstock, server: aioftp.Server, served: Path, after: str, left: list[str]
) -> None:
    target = "done" if after == "move" else None
    world = await make_world(app, **parts(server, after=after, target=target, pattern="**/*.csv"))
    (served / "in" / "sub").mkdir()
    (served / "in" / "sub" / "a.csv").write_bytes(ROWS)
    report = await world.scan_settled()
    assert (report.submitted, report.cleared, report.problem) == (1, 1, None)
    assert [str(path.relative_to(served)) for path in served.rglob("*") if path.is_file()] == left
    assert (await world.scan()).seen == 0


async def test_a_wrong_password_is_a_problem_of_the_scan_and_is_not_shown(
    app: Penstock, server: aioftp.Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = await make_world(app, **parts(server))
    monkeypatch.setenv("FTP_PASSWORD", "a-wrong-one")
    report = await world.scan()
    assert report.problem is not None and "a-wrong-one" not in report.problem


async def test_a_private_host_is_refused_unless_allowed(database_url: str, server: aioftp.Server) -> None:
    async with make_app(database_url) as app:
        report = await (await make_world(app, **parts(server))).scan()
    assert report.problem is not None and "PENSTOCK_PRIVATE_NETWORKS" in report.problem


async def test_data_comes_from_the_checked_address_whatever_the_server_says(
    app: Penstock, server: aioftp.Server, served: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A server that answers PASV with the address of somebody else does not get us to speak to him."""
    world = await make_world(app, **parts(server))
    (served / "in" / "a.csv").write_bytes(ROWS)
    real = ftp._Client._open_connection
    asked = []

    async def lied_to(self: Any) -> tuple[str, int]:
        return "192.0.2.1", (await aioftp.Client._do_pasv(self))[1]

    async def opened(self: Any, host: str, port: int) -> Any:
        asked.append(host)
        return await real(self, host, port)

    monkeypatch.setattr(ftp._Client, "_do_epsv", lied_to)
    monkeypatch.setattr(ftp._Client, "_open_connection", opened)
    assert (await world.scan_settled()).submitted == 1
    assert "192.0.2.1" in asked


@pytest.mark.parametrize("trusted", [True, False])
async def test_tls_is_checked_by_the_name_of_the_host(
    app: Penstock, served: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, trusted: bool
) -> None:
    certificate, key = self_signed(tmp_path, name="localhost" if trusted else "elsewhere.example")
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(certificate, key)
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))

    async def first_family(host: str, allow_private: bool) -> str:
        return "127.0.0.1"

    monkeypatch.setattr(ftp, "checked_host", first_family)
    server = aioftp.Server([aioftp.User("ann", "hidden-away", base_path=served)], ssl=context)
    await server.start("127.0.0.1", 0)
    (served / "in" / "a.csv").write_bytes(ROWS)
    try:
        world = await make_world(app, **parts(server, place={"host": "localhost", "tls": "implicit"}))
        report = await world.scan_settled()
    finally:
        await server.close()
    assert report.submitted == (1 if trusted else 0)
    assert trusted or (report.problem is not None and "certificate" in report.problem.lower())
