"""The cache does not grow for ever."""

from penstock.extensions.linking import saving
from tests.extensions.linking_world import linking_world
from tests.extensions.test_linking_matching import small


async def test_answers_are_forgotten_long_after_their_use_and_before_the_entities_they_name(database_url: str) -> None:
    async with linking_world(database_url, small(), linking_cache_days=10) as there:
        project = await there.project([{"name": "Ada Quillfeather"}])
        await there.match(project.id)

        async def left(days: int) -> tuple[int, int]:
            async with there.app.connection() as connection:
                for table in ("searches", "entities"):
                    aged = f"update record_linking.{table} set fetched_at = now() - make_interval(days => $1)"
                    await connection.execute(aged, days)
            await saving.forget_old(there.linking)
            counted = "select count(*) from record_linking."
            return await there.value(counted + "searches"), await there.value(counted + "entities")

        assert await left(59) == (1, 1)
        assert await left(61) == (0, 1)
        assert await left(71) == (0, 0)
