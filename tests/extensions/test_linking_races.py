"""What others do between two steps of a run is seen; what became old is asked for again."""

import asyncio
from typing import Any

import pytest

from penstock.extensions.linking import cache, candidates, matching, records, saving, standing, watching
from penstock.extensions.linking.record import RecordState
from penstock.extensions.linking.stages import FETCH, SEARCH
from tests.extensions.linking_world import OWNER, LinkingWorld, linking_world
from tests.extensions.test_linking_matching import small
from tests.extensions.wikidata_world import item

ADA = {"name": "Ada Quillfeather", "born": "1815-12-10"}


async def aged(there: LinkingWorld, table: str, days: int) -> None:
    async with there.app.connection() as connection:
        await connection.execute(
            f"update record_linking.{table} set fetched_at = now() - make_interval(days => $1)", days
        )


@pytest.mark.parametrize(("days", "fetches"), [(9, 1), (11, 2)])
async def test_entities_are_fetched_again_when_they_are_old_although_their_name_is_not(
    database_url: str, days: int, fetches: int
) -> None:
    async with linking_world(database_url, small(), linking_cache_days=10) as there:
        await there.match((await there.project([ADA])).id)
        await aged(there, "entities", days)
        there.server.world.add("Q101", {"en": "Ada Marsh, née Quillfeather"}, claims={"P31": [item("Q5")]})
        second = await there.project([ADA])
        await there.match(second.id)
        assert there.asked() == {"search": 1, "entities": fetches}
        (record,) = await there.records(second.id)
        async with there.app.connection() as connection:
            (best,) = await candidates.of_record(connection, record.id)
        assert best.label == ("Ada Quillfeather" if fetches == 1 else "Ada Marsh, née Quillfeather")


@pytest.mark.parametrize(("days", "searches"), [(9, 1), (11, 2)])
async def test_names_are_searched_again_when_their_answer_is_old(database_url: str, days: int, searches: int) -> None:
    async with linking_world(database_url, small(), linking_cache_days=10) as there:
        await there.match((await there.project([ADA])).id)
        await aged(there, "searches", days)
        second = await there.project([ADA])
        await there.match(second.id)
        assert await there.counts(second.id) == {"ACCEPTED": 1}
        assert there.asked() == {"search": searches, "entities": 1}


async def test_a_run_that_is_cancelled_while_it_ranks_writes_nothing_more(
    database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with linking_world(database_url, small()) as there:
        project = await there.project([ADA])
        reading, cancelled = cache.entities, []

        async def cancelled_meanwhile(*given: Any) -> Any:
            """The project has been read, and nothing is written yet."""
            cancelled.append(await matching.cancel(there.linking, project.id, OWNER))
            return await reading(*given)

        monkeypatch.setattr(cache, "entities", cancelled_meanwhile)
        await there.match(project.id)
        assert cancelled == [1]
        assert await there.counts(project.id) == {"CANCELLED": 1}
        ended = await there.read(project.id)
        assert ended is not None and ended.ended_at is not None and ended.run == project.run + 2


@pytest.mark.parametrize(
    ("change", "state", "born_compared"),
    [
        ({"options": {"accept_score": 0.1}}, "ACCEPTED", True),
        ({"roles": {"name": {"role": "name"}}}, "ACCEPTED", False),
    ],
)
async def test_a_record_is_not_ranked_by_what_changed_while_it_was_ranked(
    database_url: str, monkeypatch: pytest.MonkeyPatch, change: dict[str, Any], state: str, born_compared: bool
) -> None:
    async with linking_world(database_url, small()) as there:
        project = await there.project([{**ADA, "born": "1817"}])
        reading, reads = cache.entities, []

        async def changed_meanwhile(*given: Any) -> Any:
            """The project has been read, and nothing is written yet."""
            reads.append(given)
            if len(reads) == 1:
                await saving.change(there.linking, project.id, **change)
            return await reading(*given)

        monkeypatch.setattr(cache, "entities", changed_meanwhile)
        await there.match(project.id)
        (record,) = await there.records(project.id)
        async with there.app.connection() as connection:
            (best,) = await candidates.of_record(connection, record.id)
        assert (record.state.name, "P569" in {part.feature for part in best.parts}) == (state, born_compared)
        assert len(reads) == 2, "once by the old ones, which came to nothing, and once by the new ones"


async def test_a_record_that_was_handed_to_scoring_is_not_ended_by_another_search_of_its_name(
    database_url: str,
) -> None:
    """Another group of the run may come to the same name in the same language, and find nothing where the first did."""
    async with linking_world(database_url, small()) as there:
        project = await there.project([ADA, ADA])
        await there.start(project.id)
        await there.drain(only=[SEARCH])
        assert await there.counts(project.id) == {"MATCHING": 2}
        async with there.app.connection() as connection:
            await connection.execute("update record_linking.records set ready = true where number = 1")
            ended = await records.end_group(
                connection,
                project.id,
                1,
                language="en",
                query=ADA["name"],
                now=RecordState.MATCHING,
                state=RecordState.NO_CANDIDATE,
                reason="nothing was found",
            )
        assert ended == 1
        assert [one.state.name for one in await there.records(project.id)] == ["MATCHING", "NO_CANDIDATE"]


async def test_a_fetch_that_ends_while_the_watch_looks_is_not_taken_for_one_that_got_lost(
    database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with linking_world(database_url, small()) as there:
        project = await there.project([ADA])
        run = await there.start(project.id)
        await there.drain(only=[SEARCH])
        looking, fetching = records.ready_by_group, []

        async def fetched_meanwhile(*given: Any, **more: Any) -> Any:
            """The watch has seen that nothing is complete. The fetch commits; to hand over it waits for the watch."""
            found = await looking(*given, **more)
            fetching.append(asyncio.create_task(there.drain(only=[FETCH])))
            async with there.app.connection() as connection, asyncio.timeout(60):
                while (await standing.left_of_job(connection, run.job_id)).fetches:
                    await asyncio.sleep(0.01)
            return found

        monkeypatch.setattr(records, "ready_by_group", fetched_meanwhile)
        await watching.watch(there.linking, None, project.id, 1)  # type: ignore[arg-type]
        monkeypatch.setattr(records, "ready_by_group", looking)
        await asyncio.gather(*fetching)
        await there.drain()
        assert await there.counts(project.id) == {"ACCEPTED": 1}
