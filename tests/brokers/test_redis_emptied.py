"""What the scripts meet in a server that was emptied: a queue to be made anew, and no refusal."""

import pytest

from penstock.brokers.redis.link import GroupMissing, RedisLink, Script


@pytest.mark.parametrize(
    ("script", "arguments"),
    [
        ("take", ("workers", "ann", "returned", "10")),
        ("give_back", ("workers", "returned", "10", "60000", "silent")),
        ("give_back", ("workers", "returned", "10", "ann", "closed")),
    ],
)
async def test_a_script_that_finds_no_stream_says_that_the_group_is_missing(
    redis_url: str, script: str, arguments: tuple[str, ...]
) -> None:
    link = RedisLink(redis_url)
    try:
        with pytest.raises(GroupMissing):
            await link.run(Script(script), ("penstock-test-emptied:gone", "penstock-test-emptied:parked"), *arguments)
    finally:
        await link.close()
