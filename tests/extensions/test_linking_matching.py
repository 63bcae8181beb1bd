"""Matching: from rows of a dataset to accepted entities, with as few requests as there are names."""

import asyncio
import math

import pytest

from penstock import IllegalMove
from penstock.errors import UsageError
from penstock.extensions.linking import cache, candidates, matching, records
from penstock.extensions.linking.scoring.score import Scored
from penstock.extensions.linking.stages import FETCH, SCORE, SEARCH
from penstock.testing import ledger_table
from tests.extensions.linking_world import OWNER, LinkingWorld, linking_world
from tests.extensions.wikidata_world import World, generated, item, time


def small() -> World:
    world = World()
    human = [item("Q5")]
    world.add("Q101", {"en": "Ada Quillfeather"}, claims={"P31": human, "P569": [time("+1815-12-10")]})
    world.add("Q102", {"en": "Bruno Ashdown"}, claims={"P31": human})
    world.add("Q103", {"de": "Käthe Morgenrot"}, claims={"P31": human})
    return world


async def test_a_record_whose_name_and_birth_agree_is_accepted_with_a_waterfall(database_url: str) -> None:
    async with linking_world(database_url, small()) as there:
        project = await there.project([{"name": "Ada  Quillfeather", "born": "1815-12-10"}, {"name": "Nobody Here"}])
        started = await there.match(project.id)
        assert (started.records, started.queries) == (2, 2)
        found, missing = await there.records(project.id)
        assert (found.state.name, found.entity, found.label) == ("ACCEPTED", "Q101", "Ada Quillfeather")
        assert (missing.state.name, missing.error) == ("NO_CANDIDATE", "the source knows nothing of that name")
        async with there.app.connection() as connection:
            first = (await candidates.of_record(connection, found.id))[0]
        assert {part.feature for part in first.parts} >= {"name", "P569"}
        assert sum(part.points for part in first.parts) == pytest.approx(first.score, abs=1e-5)
        ended = await there.read(project.id)
        assert ended is not None and ended.ended_at is not None


async def test_equal_names_are_asked_once_and_empty_ones_not_at_all(database_url: str) -> None:
    async with linking_world(database_url, small()) as there:
        rows = [{"name": "Ada Quillfeather"}] * 10_000 + [{"name": ""}, {"name": " – "}]
        project = await there.project([{**row, "note": "x"} for row in rows])
        started = await there.match(project.id)
        assert (started.records, started.queries) == (10_002, 1)
        assert there.asked() == {"search": 1, "entities": 1}
        assert await there.counts(project.id) == {"ACCEPTED": 10_000, "NO_CANDIDATE": 2}
        assert (await there.records(project.id))[-1].error == "the name is empty"


async def test_entities_are_fetched_by_fifties_and_the_rest_at_the_end(database_url: str) -> None:
    async with linking_world(database_url, generated(400), linking_candidates=5) as there:
        names = sorted(there.server.world.names)[:300]
        project = await there.project([{"name": name} for name in names])
        started = await there.match(project.id)
        ids = await there.value("select count(*) from record_linking.entities")
        assert there.asked() == {"search": started.queries, "entities": math.ceil(ids / 50)}
        assert "MATCHING" not in await there.counts(project.id)


async def test_a_second_project_with_the_same_names_asks_nothing(database_url: str) -> None:
    async with linking_world(database_url, small()) as there:
        for _ in range(2):
            project = await there.project([{"name": "Ada Quillfeather"}, {"name": "Bruno Ashdown"}])
            await there.match(project.id)
            assert await there.counts(project.id) == {"ACCEPTED": 2}
        assert there.asked() == {"search": 2, "entities": 1}


async def test_the_next_language_is_asked_only_where_the_first_knows_nothing(database_url: str) -> None:
    async with linking_world(database_url, small()) as there:
        rows = [{"name": "Käthe Morgenrot"}, {"name": "Bruno Ashdown"}]
        project = await there.project(rows, options={"languages": ["en", "de"]})
        await there.match(project.id)
        assert await there.counts(project.id) == {"ACCEPTED": 2}
        assert there.asked()["search"] == 3


async def test_entities_that_moved_are_known_by_their_new_id_and_deleted_ones_are_dropped(database_url: str) -> None:
    async with linking_world(database_url, small()) as there:
        project = await there.project([{"name": "Ada Quillfeather"}])
        await there.start(project.id)
        await there.drain(only=[SEARCH])
        async with there.app.connection() as connection:
            await connection.execute(
                "update record_linking.searches set ids = array['Q100', 'Q101', 'Q999'];"
                "insert into record_linking.entities (source, id) values ('wikidata', 'Q100'), ('wikidata', 'Q999')"
            )
        there.server.world.redirect("Q100", "Q101")
        there.server.world.delete("Q999")
        # What the search made is for one id; the rest is found by the next look.
        await there.linking.batching.ask("wikidata")
        await there.drain()
        (record,) = await there.records(project.id)
        async with there.app.connection() as connection:
            found = await candidates.of_record(connection, record.id)
            kept = await cache.entities(connection, "wikidata", ["Q100", "Q101", "Q999"])
        assert [one.entity for one in found] == ["Q101"]
        assert {asked: entity.id for asked, entity in kept.items()} == {"Q100": "Q101", "Q101": "Q101"}
        assert record.state.name == "ACCEPTED"


async def test_a_search_that_is_refused_ends_its_records_with_the_reason_and_can_be_run_again(
    database_url: str,
) -> None:
    async with linking_world(database_url, small()) as there:
        project = await there.project([{"name": "Ada Quillfeather"}, {"name": "Bruno Ashdown"}])
        there.server.fail_share, there.server.failures = 1.0, ("500",)
        await there.match(project.id)
        assert await there.counts(project.id) == {"ERROR": 2}
        assert "500" in str((await there.records(project.id))[0].error)
        ended = await there.read(project.id)
        assert ended is not None and ended.ended_at is not None
        there.server.fail_share = 0.0
        assert (await there.match(project.id, "failed")).records == 2
        assert await there.counts(project.id) == {"ACCEPTED": 2}


async def test_a_fetch_that_fails_to_the_end_ends_the_records_that_wait_for_it(database_url: str) -> None:
    async with linking_world(database_url, small()) as there:
        project = await there.project([{"name": "Ada Quillfeather"}])
        await there.start(project.id)
        await there.drain(only=[SEARCH])
        there.server.fail_share, there.server.failures = 1.0, ("500",)
        await there.drain()
        assert await there.counts(project.id) == {"ERROR": 1}
        there.server.fail_share = 0.0
        await there.match(project.id, "failed")
        assert await there.counts(project.id) == {"ACCEPTED": 1}


async def test_batches_made_at_one_time_neither_overlap_nor_are_cut(database_url: str) -> None:
    async with linking_world(database_url, small()) as there:
        project = await there.project([{"name": f"Somebody {number}"} for number in range(3)])
        await there.start(project.id)  # its searches wait, so more may come
        async with there.app.connection() as connection:
            await connection.execute(
                "insert into record_linking.entities (source, id)"
                " select 'wikidata', 'Q' || n from generate_series(1, 1233) n"
            )
        from penstock.extensions.linking.shared import RecordLinking

        makers = [RecordLinking(there.app).batching for _ in range(8)]
        await asyncio.gather(*(maker.ask("wikidata") for maker in makers))
        async with there.app.connection() as connection:
            rows = await connection.fetch(
                "select jsonb_array_length(t.input -> 'ids') as n, t.input ->> 'ids' as ids from penstock.tasks t"
                " join penstock.stages s on s.id = t.entry where s.pipeline = $1",
                FETCH,
            )
        assert [row["n"] for row in rows] == [50] * 24
        assert await there.value("select count(*) from record_linking.entities where batch is null") == 33
        given = await there.value("select count(distinct batch) from record_linking.entities")
        assert given == 24


@pytest.mark.parametrize("scope", ["new", "unmatched", "failed", "changed"])
async def test_a_rerun_takes_only_what_its_scope_names(database_url: str, scope: matching.Scope) -> None:
    async with linking_world(database_url, small()) as there:
        project = await there.project([{"name": name} for name in ("Ada Quillfeather", "Nobody", "Bruno Ashdown")])
        await there.match(project.id)
        async with there.app.connection() as connection:
            await connection.execute("update record_linking.records set state = 7 where number = 3")
            await connection.execute(
                "insert into record_linking.records (project_id, number, cells) values ($1, 4, $2)",
                project.id,
                '{"name": "Somebody New"}',
            )
            await connection.execute(
                "update record_linking.records set cells = $1 where number = 1", '{"name": "Bruno Ashdown"}'
            )
        await there.start(project.id, scope)
        taken = {one.number for one in await there.records(project.id) if one.state.name == "QUEUED"}
        assert taken == {{"new": 4, "unmatched": 2, "failed": 3, "changed": 1}[scope]}


async def test_what_a_person_decided_is_left_by_a_rerun_and_a_re_rank(database_url: str) -> None:
    async with linking_world(database_url, small()) as there:
        project = await there.project([{"name": "Ada Quillfeather"}, {"name": "Bruno Ashdown"}])
        await there.match(project.id)
        async with there.app.connection() as connection:
            await connection.execute(
                "update record_linking.records set state = 5, decided_by = 'ada', decided_at = now() where number = 1"
            )
        assert (await there.start(project.id, "all")).records == 1
        await there.drain()
        reranked = await matching.rerank(there.linking, project.id, OWNER, {"accept_score": 1.0})
        assert reranked.records == 1
        await there.drain()
        assert await there.counts(project.id) == {"REJECTED": 1, "REVIEW": 1}


async def test_what_a_person_decides_before_a_re_rank_writes_is_left_by_it(database_url: str) -> None:
    async with linking_world(database_url, small()) as there:
        project = await there.project([{"name": "Ada Quillfeather"}])
        await there.match(project.id)
        assert (await matching.rerank(there.linking, project.id, OWNER, {"accept_score": 1.0})).records == 1
        async with there.app.connection() as connection:
            await connection.execute(
                "update record_linking.records set state = 4, decided_by = 'bob', decided_at = now() where number = 1"
            )
        await there.drain()
        (record,) = await there.records(project.id)
        assert (record.state.name, record.decided_by) == ("ACCEPTED", "bob")


async def test_a_re_rank_asks_nothing_and_uses_the_new_weights(database_url: str) -> None:
    async with linking_world(database_url, small()) as there:
        project = await there.project([{"name": "Ada Quillfeather", "born": "1817"}, {"name": "Nobody"}])
        await there.match(project.id)
        before = there.asked()
        scores = [one.score for one in await there.records(project.id)]
        options = {"weights": {"date": 50.0}, "accept_score": 0.99, "accept_gap": 0.0}
        assert (await matching.rerank(there.linking, project.id, OWNER, options)).records == 2
        drained = await there.drain(only=[SCORE])
        assert drained.failed == 0
        assert there.asked() == before
        assert [one.score for one in await there.records(project.id)] != scores
        with pytest.raises(UsageError, match="accept_score"):
            await matching.rerank(there.linking, project.id, OWNER, {"accept_score": 2.0})


async def test_candidates_of_an_earlier_scoring_go(database_url: str) -> None:
    def ranked(*entities: str) -> list[Scored]:
        return [Scored(entity=one, label=one, description=None, score=0.5, parts=()) for one in entities]

    async with linking_world(database_url, small()) as there:
        project = await there.project([{"name": "Ada Quillfeather"}, {"name": "Nobody"}])
        ada, nobody = [one.id for one in await there.records(project.id)]
        async with there.app.connection() as connection:
            await candidates.replace(connection, {ada: ranked("Q1", "Q2", "Q3"), nobody: ranked("Q4")})
            await candidates.replace(connection, {ada: ranked("Q3", "Q1"), nobody: []})
            left = await candidates.of_records(connection, [ada, nobody])
        assert {record: [one.entity for one in found] for record, found in left.items()} == {
            ada: ["Q3", "Q1"],
            nobody: [],
        }


async def test_a_project_is_matched_by_one_run_at_a_time(database_url: str) -> None:
    async with linking_world(database_url, small()) as there:
        project = await there.project([{"name": "Ada Quillfeather"}])
        await there.start(project.id)
        with pytest.raises(IllegalMove, match="link cancel"):
            await there.start(project.id)


async def test_a_hundred_thousand_records_are_queued_in_one_transaction(database_url: str) -> None:
    async with linking_world(database_url, small()) as there:
        project = await there.project([{"name": f"Somebody {number % 20_000}"} for number in range(100_000)])
        started = await there.start(project.id)
        assert (started.records, started.queries) == (100_000, 20_000)


async def test_a_source_that_is_not_configured_is_refused_before_anything_is_queued(database_url: str) -> None:
    async with linking_world(database_url, small(), linking_user_agent=None) as there:
        project = await there.project([{"name": "Ada Quillfeather"}])
        with pytest.raises(Exception, match="USER_AGENT"):
            await there.start(project.id)
        assert await there.counts(project.id) == {"NEW": 1}


async def _pieces(there: LinkingWorld) -> int:
    async with there.app.connection() as connection:
        return await ledger_table.miscounted(connection)


async def test_work_that_a_dying_process_left_is_taken_up_by_the_watch(database_url: str) -> None:
    """Each step is done, and nobody hands over to the next one, as if the process had died after its commit."""
    async with linking_world(database_url, small()) as there:
        project = await there.project([{"name": "Ada Quillfeather"}, {"name": "Bruno Ashdown"}])

        async def died(source: str) -> None:
            """Instead of the question for batches."""

        asking = there.linking.batching.ask
        there.linking.batching.ask = died  # type: ignore[method-assign]
        await there.start(project.id)
        await there.drain(only=[SEARCH])
        assert there.asked() == {"search": 2}
        there.linking.batching.ask = asking  # type: ignore[method-assign]
        await there.drain()
        assert await there.counts(project.id) == {"ACCEPTED": 2}
        async with there.app.connection() as connection:
            assert await records.counts(connection, project.id)
        assert await _pieces(there) == 0
