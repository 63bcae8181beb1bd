"""Files that come by a folder: each content once, whatever happens to it on the way."""

import asyncio
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import psutil
import pytest

from penstock import Penstock
from penstock.console.files.refused import FileRefused
from penstock.console.files.sources import folder, ledger, registry
from penstock.console.files.sources import scan as scanning
from penstock.console.files.sources.scan import scan_all
from penstock.console.storage import sightings
from penstock.console.storage.sightings import Seen
from penstock.errors import UsageError
from penstock.workers.inprocess import InProcessWorker
from tests.core.source_world import BY, Meddled, World, make_app, make_world

ROWS = b"name,sku\nchair,1\n"


@pytest.fixture
async def app(database_url: str, tmp_path: Path) -> AsyncIterator[Penstock]:
    made = make_app(database_url, file_roots=(tmp_path,))
    async with made:
        yield made


@pytest.fixture
def drop(tmp_path: Path) -> Path:
    folder = tmp_path / "drop"
    folder.mkdir()
    return folder


@pytest.fixture
async def world(app: Penstock, drop: Path) -> World:
    return await make_world(app, kind="folder", place={"path": str(drop)})


def meddle(monkeypatch: pytest.MonkeyPatch, act: Any) -> None:
    """Every place that is opened from now on lets ``act`` loose between listing and reading."""
    real = scanning.opened

    @asynccontextmanager
    async def opened(app: Penstock, source: Any) -> AsyncIterator[Any]:
        async with real(app, source) as place:
            yield Meddled(place, act)

    monkeypatch.setattr(scanning, "opened", opened)


async def test_a_file_waits_until_it_has_been_the_same_for_long_enough(world: World, drop: Path) -> None:
    (drop / "a.csv").write_bytes(ROWS)
    first, second = await world.scan(), await world.scan()
    assert (first.new, first.waiting, second.waiting) == (1, 1, 1)
    assert await world.jobs() == []
    await world.let_settle()
    assert (await world.scan()).submitted == 1
    assert await world.jobs() == ["a.csv"]
    assert (await world.scan()).submitted == 0


async def test_a_half_written_file_starts_its_wait_anew_with_each_piece(world: World, drop: Path) -> None:
    with (drop / "a.csv").open("wb") as writing:
        for piece in (ROWS, b"table,2\n", b"lamp,3\n"):
            await world.let_settle()
            writing.write(piece)
            writing.flush()
            report = await world.scan()
            assert (report.submitted, report.waiting) == (0, 1)
    await world.let_settle()
    assert (await world.scan()).submitted == 1
    # The versions that were never whole are not remembered.
    assert await world.states() == {"a.csv": ["submitted"]}


async def test_a_renamed_file_is_not_submitted_again(world: World, drop: Path) -> None:
    (drop / "a.csv").write_bytes(ROWS)
    await world.scan_settled()
    (drop / "a.csv").rename(drop / "b.csv")
    report = await world.scan_settled()
    assert (report.submitted, report.duplicate) == (0, 1)
    assert await world.jobs() == ["a.csv"]
    assert "'a.csv'" in await world.problem_of("b.csv")


async def test_other_content_of_the_same_size_and_time_is_submitted(world: World, drop: Path) -> None:
    (drop / "a.csv").write_bytes(b"name,sku\nchair,1\n")
    before = (drop / "a.csv").stat()
    await world.scan_settled()
    with (drop / "a.csv").open("r+b") as writing:  # in place: the same inode
        writing.write(b"name,sku\ntable,2\n")
    os.utime(drop / "a.csv", ns=(before.st_atime_ns, before.st_mtime_ns))
    after = (drop / "a.csv").stat()
    assert (after.st_size, after.st_mtime_ns, after.st_ino) == (before.st_size, before.st_mtime_ns, before.st_ino)
    assert (await world.scan_settled()).submitted == 1
    assert await world.jobs() == ["a.csv", "a.csv"]


async def test_a_touched_file_with_the_same_content_makes_no_second_job(world: World, drop: Path) -> None:
    (drop / "a.csv").write_bytes(ROWS)
    await world.scan_settled()
    (drop / "a.csv").touch()
    assert (await world.scan_settled()).duplicate == 1
    assert await world.jobs() == ["a.csv"]


async def test_a_file_that_vanishes_between_listing_and_reading_is_noted(
    world: World, drop: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (drop / "a.csv").write_bytes(ROWS)
    await world.scan()
    await world.let_settle()
    real = sightings.take

    async def take_and_lose(*values: Any, **options: Any) -> Any:
        taken = await real(*values, **options)
        (drop / "a.csv").unlink(missing_ok=True)
        return taken

    monkeypatch.setattr(sightings, "take", take_and_lose)
    report = await world.scan()
    assert (report.gone, report.submitted, report.problem) == (1, 0, None)
    assert await world.states() == {"a.csv": ["gone"]}
    assert "gone before" in await world.problem_of("a.csv")


async def test_a_file_that_goes_before_it_settled_is_noted_and_may_come_back(world: World, drop: Path) -> None:
    (drop / "a.csv").write_bytes(ROWS)
    await world.scan()
    (drop / "a.csv").rename(drop / "away.tmp")
    assert (await world.scan()).gone == 1
    (drop / "away.tmp").rename(drop / "a.csv")
    assert (await world.scan_settled()).submitted == 1


async def test_a_file_that_came_back_starts_its_wait_anew(world: World) -> None:
    seen = Seen(path="a.csv", version="1", size_bytes=1)
    source = world.source.id
    async with world.app.connection() as connection:
        await sightings.observe(connection, source, 1, [seen])
        await connection.execute("update penstock.sightings set first_seen_at = now() - interval '1 hour'")
        assert await sightings.miss(connection, source, 2) == ["a.csv"]
        await sightings.observe(connection, source, 3, [seen])
        wanted: dict[str, Any] = {"stable_seconds": 60.0, "hold_seconds": 60.0, "limit": 1}
        assert await sightings.take(connection, source, 3, **wanted) == []
        await connection.execute("update penstock.sightings set first_seen_at = now() - interval '1 hour'")
        assert len(await sightings.take(connection, source, 3, **wanted)) == 1


async def test_a_file_that_was_settled_meanwhile_is_not_held_again(world: World, drop: Path) -> None:
    (drop / "a.csv").write_bytes(ROWS)
    await world.scan()
    (row,) = await world.fetch("select id from penstock.sightings")
    async with world.app.connection() as connection:
        assert await sightings.hold(connection, row["id"], b"content")
        await sightings.settle(connection, row["id"], state="refused")
        assert not await sightings.hold(connection, row["id"], b"content")
    assert await world.states() == {"a.csv": ["refused"]}


async def test_a_file_written_to_while_it_is_read_leaves_no_job(
    world: World, drop: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (drop / "a.csv").write_bytes(ROWS)

    def write(path: str) -> None:
        with (drop / path).open("r+b") as writing:
            writing.write(b"NAME")

    with monkeypatch.context() as patch:
        meddle(patch, write)
        report = await world.scan_settled()
    assert (report.failed, report.submitted) == (1, 0)
    assert await world.jobs() == []
    assert await world.fetch("select from penstock.files") == []
    assert (await world.scan_settled()).submitted == 1


async def test_an_empty_file_is_refused_with_the_reason_and_makes_no_rows(world: World, drop: Path) -> None:
    (drop / "a.csv").write_bytes(b"")
    report = await world.scan_settled()
    assert (report.refused, report.submitted) == (1, 0)
    assert "empty" in await world.problem_of("a.csv")
    assert (await world.scan()).refused == 0, "refused once, not at every scan"


async def test_a_listing_that_is_cut_submits_nothing(world: World, drop: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(5):
        (drop / f"{number}.csv").write_bytes(ROWS + b"%d,\n" % number)
    await world.scan()
    await world.let_settle()
    with monkeypatch.context() as patch:
        patch.setattr("penstock.console.files.sources.folder.BATCH", 2)
        patch.setattr("penstock.console.files.sources.folder._entry", _fails_after(3))
        report = await world.scan()
    assert report.submitted == 0
    assert report.gone == 0, "what was not listed is not gone"
    assert report.problem is not None and "cannot be listed" in report.problem
    assert (await registry.find(world.app, "drop")).problem == report.problem
    assert (await world.scan()).submitted == 5


def _fails_after(count: int) -> Any:
    real, seen = folder._entry, []

    def entry(path: str, one: Any) -> Any:
        seen.append(path)
        if len(seen) > count:
            raise OSError(5, "Input/output error")
        return real(path, one)

    return entry


async def test_two_scanners_at_once_submit_each_content_once(world: World, drop: Path) -> None:
    for number in range(12):
        # Every content stands there under two names.
        for name in ("a", "b"):
            (drop / f"{name}{number}.csv").write_bytes(ROWS + b"%d,\n" % number)
    await world.scan()
    await world.let_settle()
    await asyncio.gather(world.scan(), world.scan(), world.scan())
    await world.scan()
    assert len(await world.jobs()) == 12
    counted = [state for states in (await world.states()).values() for state in states]
    assert (counted.count("submitted"), counted.count("duplicate")) == (12, 12)


@pytest.mark.parametrize("renamed", [False, True])
async def test_a_scanner_that_dies_between_submit_and_ledger_doubles_no_job(
    world: World, drop: Path, monkeypatch: pytest.MonkeyPatch, renamed: bool
) -> None:
    (drop / "a.csv").write_bytes(ROWS)
    await world.scan()
    await world.let_settle()

    class Killed(BaseException):
        pass

    async def die(*values: Any, **options: Any) -> None:
        raise Killed

    with monkeypatch.context() as patch:
        patch.setattr(ledger, "_settle", die)
        with pytest.raises(Killed):
            await world.scan()
    assert len(await world.jobs()) == 1
    assert (await world.scan()).submitted == 0, "the file is held by the one who died"
    if renamed:
        (drop / "a.csv").rename(drop / "b.csv")
    await world.let_settle()
    await world.scan_settled()
    assert len(await world.jobs()) == 1
    assert (await world.states())["b.csv" if renamed else "a.csv"] == ["submitted"]


async def test_a_hundred_thousand_known_files_are_scanned_without_writing_a_row(
    world: World, drop: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In bounded memory: the listing is never longer than one batch."""

    class Large:
        settling_seconds = 0.05

        async def listing(self) -> AsyncIterator[list[Seen]]:
            for start in range(0, 100_000, 1000):
                yield [Seen(path=f"{n}.csv", version="1", size_bytes=17) for n in range(start, start + 1000)]

    @asynccontextmanager
    async def opened(app: Penstock, source: Any) -> AsyncIterator[Any]:
        yield Large()

    monkeypatch.setattr(scanning, "opened", opened)
    world.source = replace(world.source, stable_seconds=3600)
    statements = []
    real = sightings.observe

    async def observe(*values: Any) -> int:
        statements.append(len(values[3]))
        return await real(*values)

    monkeypatch.setattr(sightings, "observe", observe)
    assert (await world.scan()).new == 100_000
    assert statements == [1000] * 100
    await world.fetch("update penstock.sightings set state = 'submitted', sha256 = key, cleared_at = now()")
    written = await world.fetch("select count(*) from penstock.sightings where scan <> 1")
    before_bytes = psutil.Process().memory_info().rss
    report = await world.scan()
    grown_bytes = psutil.Process().memory_info().rss - before_bytes
    assert (report.seen, report.new, report.waiting) == (100_000, 0, 0)
    assert written == await world.fetch("select count(*) from penstock.sightings where scan <> 1")
    assert grown_bytes < 16 * 1024 * 1024


@pytest.mark.parametrize(("after", "target"), [("delete", None), ("move", "done")])
async def test_a_file_leaves_its_place_only_when_its_job_is_stored(
    app: Penstock, drop: Path, monkeypatch: pytest.MonkeyPatch, after: str, target: str | None
) -> None:
    world = await make_world(
        app, kind="folder", place={"path": str(drop)}, after=after, target=target, pattern="**/*.csv"
    )
    (drop / "sub").mkdir()
    (drop / "sub" / "a.csv").write_bytes(ROWS)

    async def refuse(*values: Any) -> None:
        raise UsageError("no")

    with monkeypatch.context() as patch:
        patch.setattr(ledger, "submit_file", refuse)
        await world.scan_settled()
    assert (drop / "sub" / "a.csv").exists()
    report = await world.scan()
    assert (report.submitted, report.cleared, report.problem) == (1, 1, None)
    assert not (drop / "sub" / "a.csv").exists()
    left = [str(path.relative_to(drop)) for path in drop.rglob("*") if path.is_file()]
    assert left == ([] if target is None else ["done/sub/a.csv"])
    assert (await world.scan()).seen == 0, "what was moved away is not seen again"


async def test_a_file_that_took_the_name_is_neither_moved_nor_deleted(app: Penstock, drop: Path) -> None:
    world = await make_world(app, kind="folder", place={"path": str(drop)}, after="delete")
    (drop / "a.csv").write_bytes(ROWS)
    async with scanning.opened(app, world.source) as place:
        (entry,) = [one async for batch in place.listing() for one in batch]
        (drop / "new").write_bytes(b"name\nnewer\n")
        (drop / "new").rename(drop / "a.csv")
        assert await place.delete(entry.path, entry.version) is False
        assert (drop / "a.csv").read_bytes() == b"name\nnewer\n"


async def test_a_move_writes_over_nothing(app: Penstock, drop: Path) -> None:
    world = await make_world(app, kind="folder", place={"path": str(drop)}, after="move", target="done")
    (drop / "done").mkdir()
    (drop / "done" / "a.csv").write_bytes(b"earlier")
    (drop / "a.csv").write_bytes(ROWS)
    assert (await world.scan_settled()).cleared == 1
    assert (drop / "done" / "a.csv").read_bytes() == b"earlier"
    assert sorted(path.read_bytes() for path in (drop / "done").iterdir()) == sorted([b"earlier", ROWS])


async def test_links_are_not_followed(world: World, drop: Path, tmp_path: Path) -> None:
    (tmp_path / "secret.csv").write_bytes(ROWS)
    (drop / "link.csv").symlink_to(tmp_path / "secret.csv")
    os.mkfifo(drop / "pipe.csv")
    assert (await world.scan_settled()).seen == 0


async def test_a_folder_that_became_a_link_is_not_read_through(app: Penstock, drop: Path, tmp_path: Path) -> None:
    world = await make_world(app, kind="folder", place={"path": str(drop)}, pattern="*/*.csv")
    for parent in (drop / "sub", tmp_path / "elsewhere"):
        parent.mkdir()
        (parent / "a.csv").write_bytes(ROWS)
    await world.scan()
    await world.let_settle()
    async with scanning.opened(app, world.source) as place:
        (entry,) = [one async for batch in place.listing() for one in batch]
        (drop / "sub").rename(drop / "old")
        (drop / "sub").symlink_to(tmp_path / "elsewhere")
        with pytest.raises(Exception, match="gone before"):
            _ = [chunk async for chunk in place.read(entry.path, entry.version)]


async def test_a_folder_outside_of_the_roots_is_refused(app: Penstock, tmp_path: Path) -> None:
    with pytest.raises(FileRefused, match="PENSTOCK_FILE_ROOTS"):
        await make_world(app, kind="folder", place={"path": "/etc"})


@pytest.mark.parametrize(
    ("parts", "problem"),
    [
        ({"name": "Has Spaces"}, "its name"),
        ({"kind": "gopher"}, "its kind"),
        ({"place": {}}, "needs path"),
        ({"place": {"path": "/tmp", "password": "x"}}, "has no password"),
        ({"pattern": "**/**/x"}, "at most one"),
        ({"after": "move"}, "a target belongs"),
        ({"after": "move", "target": "../out"}, "inside the place"),
        ({"after": "move", "target": "/out"}, "inside the place"),
        ({"stable_seconds": -1}, "stable seconds"),
        ({"stable_seconds": float("nan")}, "stable seconds"),
        ({"secret_env": "not a name", "user_env": "A"}, "no name of an environment variable"),
        ({"secret_env": "A"}, "belong together"),
        ({"owner": "nobody"}, "no user 'nobody'"),
        ({"pipeline": "unknown"}, "No task or pipeline"),
    ],
)
async def test_a_source_that_cannot_work_is_refused(
    app: Penstock, drop: Path, parts: dict[str, Any], problem: str
) -> None:
    with pytest.raises(UsageError, match=problem):
        await make_world(app, **({"kind": "folder", "place": {"path": str(drop)}} | parts))


async def test_a_dry_run_says_what_is_there_and_writes_nothing(world: World, drop: Path) -> None:
    (drop / "a.csv").write_bytes(ROWS)
    (drop / "a.txt").write_bytes(ROWS)
    report = await world.preview()
    assert (report.seen, report.new, [one.path for one in report.files]) == (1, 1, ["a.csv"])
    assert await world.fetch("select from penstock.sightings") == []
    await world.scan_settled()
    assert [one.state for one in (await world.preview()).files] == ["submitted"]


async def test_a_source_added_anew_takes_its_files_anew(world: World, drop: Path) -> None:
    (drop / "a.csv").write_bytes(ROWS)
    await world.scan_settled()
    await registry.remove(world.app, "drop", by=BY)
    again = await make_world(world.app, kind="folder", place={"path": str(drop)})
    assert (await again.scan_settled()).submitted == 1
    assert len(await again.jobs()) == 2


async def test_the_task_scans_every_enabled_source(app: Penstock, drop: Path) -> None:
    scanning.install(app)
    await app.close()
    await app.open()
    world = await make_world(app, kind="folder", place={"path": str(drop)})
    await make_world(app, name="off", kind="folder", place={"path": str(drop)}, enabled=False)
    (drop / "a.csv").write_bytes(ROWS)
    await scan_all(app)
    await world.let_settle()
    async with InProcessWorker(app):
        task = await app.enqueue(scanning.TASK)
        reports = await task.result(timeout=60)
    assert [(one["source"], one["submitted"]) for one in reports] == [("drop", 1)]


async def test_a_scan_with_a_deadline_says_that_there_is_more(world: World, drop: Path) -> None:
    (drop / "a.csv").write_bytes(ROWS)
    await world.scan()
    await world.let_settle()
    report = await scanning.scan(world.app, world.source, limit_seconds=0)
    assert (report.submitted, report.more, report.waiting) == (0, True, 1)
