"""Runs that share what they fetch do not hold each other up."""

from penstock.control import jobs as job_steering
from penstock.extensions.linking import standing
from penstock.extensions.linking.stages import FETCH, SEARCH
from tests.extensions.linking_world import OWNER, linking_world
from tests.extensions.test_linking_matching import small


async def test_a_paused_job_leaves_what_it_was_to_fetch_to_others(database_url: str) -> None:
    async with linking_world(database_url, small()) as there:
        first = await there.project([{"name": "Ada Quillfeather"}, {"name": "Bruno Ashdown"}])
        paused = await there.start(first.id)
        await there.drain(only=[SEARCH])
        await there.linking.batching.ask("wikidata")
        assert paused.job_id is not None
        assert await there.value("select count(*) from record_linking.entities where batch is not null") == 2
        await job_steering.pause(there.app, paused.job_id, by=OWNER)
        second = await there.project([{"name": "Ada Quillfeather"}], owner="bob")
        await there.match(second.id)
        assert await there.counts(second.id) == {"ACCEPTED": 1}
        assert await there.counts(first.id) == {"MATCHING": 2}
        await job_steering.resume(there.app, paused.job_id, by=OWNER)
        await there.drain()
        assert await there.counts(first.id) == {"ACCEPTED": 2}
        assert there.asked()["entities"] == 1, "what others fetched is not fetched again"


async def test_batches_are_not_given_to_a_paused_job(database_url: str) -> None:
    async with linking_world(database_url, small()) as there:
        first = await there.project([{"name": "Bruno Ashdown"}])
        paused = await there.start(first.id)
        assert paused.job_id is not None
        await job_steering.pause(there.app, paused.job_id, by=OWNER)
        second = await there.project([{"name": "Ada Quillfeather"}], owner="bob")
        other = await there.match(second.id)
        assert await there.counts(second.id) == {"ACCEPTED": 1}
        jobs = "select count(*) from penstock.lanes where pipeline = $1 and job_id = $2"
        assert await there.value(jobs, FETCH, other.job_id) == 1
        assert await there.value(jobs, FETCH, paused.job_id) == 0
        await job_steering.resume(there.app, paused.job_id, by=OWNER)
        await there.drain()
        assert await there.counts(first.id) == {"ACCEPTED": 1}


async def test_whether_entities_are_wanted_is_looked_up_in_indexes(database_url: str) -> None:
    async with linking_world(database_url, small()) as there:
        project = await there.project([{"name": "Ada Quillfeather"}])
        started = await there.match(project.id)
        async with there.app.connection() as connection:
            await connection.execute(
                "insert into record_linking.entities (source, id, fetched_at)"
                " select 'wikidata', 'Q' || n, now() from generate_series(1000, 60000) n;"
                "analyze record_linking.entities"
            )
            query = standing._sql.left_of_job
            plan = await connection.fetch(f"explain {query}", started.job_id)
        told = "\n".join(row[0] for row in plan)
        assert "Seq Scan on entities" not in told, told
        assert "entities_wanted" in told
