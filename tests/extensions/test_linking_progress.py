"""What holds a run up, and how long it still takes."""

import re
from datetime import timedelta

import pytest

from penstock.control import limits
from penstock.extensions.linking import matching, progress, standing
from penstock.extensions.linking.progress import Progress
from penstock.extensions.linking.stages import SEARCH
from penstock.testing import drain
from tests.extensions.linking_world import OWNER, LinkingWorld, linking_world
from tests.extensions.test_linking_matching import small

ROWS = [{"name": f"Somebody {number}"} for number in range(20)]


@pytest.fixture(autouse=True)
def served(monkeypatch: pytest.MonkeyPatch) -> None:
    """A worker that is there and does nothing."""

    async def serving(connection: object, pipeline: str) -> standing.Serving:
        return standing.Serving(paused=False, served=True)

    monkeypatch.setattr(standing, "serving", serving)


async def seen(there: LinkingWorld, project_id: int) -> Progress:
    return await progress.read(there.linking, project_id)


async def test_a_source_that_is_away_is_named_with_its_port_and_the_next_try(database_url: str) -> None:
    async with linking_world(database_url, small(), linking_endpoint="http://127.0.0.1:9/w/api.php") as there:
        project = await there.project(ROWS)
        await there.start(project.id)
        await drain(there.app, only=[SEARCH])
        found = await seen(there, project.id)
        assert found.cause is not None
        assert found.cause.startswith("127.0.0.1:9 cannot be reached (ConnectError). Check that it runs, and PENSTOCK_")
        assert re.search(r": 20 requests try again, the next (now|in \d+ s)$", found.cause), found.cause
        assert await there.value("select count(*) from penstock.queue where run_at > now() + interval '46 s'") == 0
        later = "update penstock.queue q set run_at = now() + $1 from penstock.stages s where s.id = q.stage"
        async with there.app.connection() as connection:
            await connection.execute(later, timedelta(hours=1))
        next_in = re.search(r"the next in (\d+) s", str((await seen(there, project.id)).cause))
        assert next_in is not None and 3000 < int(next_in[1]) <= 3600
        assert await matching.hasten(there.linking, project.id, by=OWNER) == 20
        assert await there.value("select count(*) from penstock.queue where run_at > now()") == 0
        assert "the next now" in str((await seen(there, project.id)).cause)


async def test_one_failure_among_many_successes_holds_nothing_up(
    database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with linking_world(database_url, small()) as there:
        project = await there.project(ROWS)
        await there.start(project.id)
        async with there.app.connection() as connection:
            await connection.execute(
                "update penstock.queue set attempt = 1 where task_id = (select min(task_id) from penstock.queue)"
            )

        async def lately(connection: object, job_id: int, seconds: float) -> int:
            return int(100 * seconds)

        monkeypatch.setattr(standing, "ended_lately", lately)
        found = await seen(there, project.id)
        assert found.cause is None
        assert found.per_second == pytest.approx(100, rel=0.05)
        assert found.eta_seconds == pytest.approx(0.2, rel=0.05)


async def test_the_limit_is_told_from_four_fifths_of_it_on(database_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    async with linking_world(database_url, small(), linking_per_second=5.0) as there:
        project = await there.project(ROWS)
        await there.start(project.id)
        pace = [3.0]

        async def lately(connection: object, job_id: int, seconds: float) -> float:
            return pace[0] * seconds

        monkeypatch.setattr(standing, "ended_lately", lately)
        assert (await seen(there, project.id)).cause is None
        pace[0] = 4.5
        found = await seen(there, project.id)
        assert found.cause == "limited to 5 requests a second by the source"
        assert found.eta_seconds == pytest.approx(20 / 4.5)


async def test_a_block_is_told_and_added_to_the_time_that_is_left(
    database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with linking_world(database_url, small()) as there:
        project = await there.project(ROWS)
        await there.start(project.id)

        async def lately(connection: object, job_id: int, seconds: float) -> float:
            return 10 * seconds

        monkeypatch.setattr(standing, "ended_lately", lately)
        async with there.app.connection() as connection:
            await connection.execute(
                "update penstock.limits set blocked_until = now() + interval '6000 s', blocked_reason = 'maxlag'"
                " where key = 'linking:wikidata'"
            )
        found = await seen(there, project.id)
        blocked = re.fullmatch(r"blocked for (\d+) s: maxlag", str(found.cause))
        assert blocked is not None and 5400 < int(blocked[1]) <= 6000, found.cause
        assert found.eta_seconds == pytest.approx(int(blocked[1]) + 2, abs=0.6)


async def test_without_any_pace_there_is_no_telling(database_url: str) -> None:
    async with linking_world(database_url, small()) as there:
        project = await there.project(ROWS)
        await there.start(project.id)
        assert (await seen(there, project.id)).eta_seconds is None
        await limits.configure(there.app, "linking:wikidata", 7.0, 1, by=OWNER)
        assert (await seen(there, project.id)).cause is None
