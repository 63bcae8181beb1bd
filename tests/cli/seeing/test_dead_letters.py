"""Dead letters: look, edit, replay one, many, canary first, no faster than asked."""

import asyncio
from typing import Any

import pytest

from penstock import EnqueueOptions, Penstock, PenstockError, State
from penstock.cli.dead_letters import since_time
from penstock.control import dead_letters
from penstock.control.dead_letters import DeadLetterFilter
from penstock.errors import IllegalMove, InvalidArguments, InvalidSetting
from tests.cli.seeing.command_line import CommandLine


async def fail_some(shop: Penstock, count: int, **arguments: Any) -> list[int]:
    tasks = [await shop.enqueue("fail", arguments) for _ in range(count)]
    for task in tasks:
        assert (await task.wait(60))[0] is State.ERROR
    return [task.id for task in tasks]


async def test_list_filters_by_name_error_and_age_and_pages(penstock: CommandLine, open_shop: Penstock) -> None:
    ids = await fail_some(open_shop, 3)
    page = await penstock.json("dead-letters", "list", "--limit", 2)
    rest = await penstock.json("dead-letters", "list", "--limit", 2, "--after", page["next"])
    assert sorted(row["task_id"] for row in [*page["items"], *rest["items"]]) == ids
    assert page["items"][0]["error"]["message"] == "it is broken"
    for filters, count in (
        (("--error", "PermanentError", "--since", "1h", "--pipeline", "fail"), 3),
        (("--error", "OtherError"), 0),
        (("--pipeline", "greet"), 0),
        (("--since", "2999-01-01T00:00:00+00:00"), 0),
    ):
        assert len((await penstock.json("dead-letters", "list", *filters))["items"]) == count
    assert "PermanentError: it is broken" in (await penstock("dead-letters", "list")).stdout


async def test_show_has_the_traceback(penstock: CommandLine, open_shop: Penstock) -> None:
    [task_id] = await fail_some(open_shop, 1)
    assert "Traceback" in (await penstock("dead-letters", "show", task_id)).stdout


async def test_replay_of_single_tasks_is_all_or_none(
    penstock: CommandLine, shop: Penstock, open_shop: Penstock
) -> None:
    [dead] = await fail_some(open_shop, 1)
    fine = await open_shop.enqueue("greet", {"name": "a"})
    await fine.wait(60)
    refused = await penstock("dead-letters", "replay", dead, fine.id, code=4)
    assert "possible only from ERROR" in refused.stderr
    await penstock("dead-letters", "replay", 99_999, code=3)
    assert (await penstock.json("dead-letters", "replay", dead))["replayed"] == 1
    for arguments in (("replay",), ("replay", dead, "--all"), ("replay", dead, "--canary"), ("replay", "--all")):
        await penstock("dead-letters", *arguments, code=2)


async def test_edit_closes_the_letter_and_runs_a_copy_once(penstock: CommandLine, open_shop: Penstock) -> None:
    [dead] = await fail_some(open_shop, 1)
    done = await penstock.json("dead-letters", "edit", dead, "--input", '{"fixed": true}')
    assert done["replaces"] == dead
    copy = open_shop.task_by_id(done["task_id"])
    assert await copy.result(60) == "fine now"
    assert (await copy.details())["replaces"] == dead
    assert await open_shop.task_by_id(dead).state() is State.SKIPPED
    refused = await penstock("dead-letters", "edit", dead, "--input", '{"fixed": true}', code=4)
    assert f"Cannot edit task {dead}: it is REPLACED" in refused.stderr


async def test_an_edit_that_does_not_fit_changes_nothing(penstock: CommandLine, open_shop: Penstock) -> None:
    [dead] = await fail_some(open_shop, 1)
    await penstock(
        "dead-letters", "edit", dead, "--input", '{"fxed": true}', "--app", "tests.cli.seeing.shop:app", code=2
    )
    with pytest.raises(InvalidArguments):
        await dead_letters.edit(open_shop, dead, {"fxed": True}, by="test")
    with pytest.raises(PenstockError):
        await dead_letters.edit(open_shop, dead, {"kind": "x" * 70_000}, by="test")
    assert await open_shop.task_by_id(dead).state() is State.ERROR


async def test_an_edit_keeps_job_lane_and_owner(open_shop: Penstock) -> None:
    job = await open_shop.store_many(
        open_shop.pipelines["fail"], [{}], EnqueueOptions(owner="ann", priority=-5), name=None, metadata={}
    )
    await job.wait(60)
    [letter] = (await dead_letters.page(open_shop, DeadLetterFilter(job_id=job.id))).rows
    copy = await dead_letters.edit(open_shop, letter.task_id, {"fixed": True}, by="test")
    await copy.wait(60)
    details = await copy.details()
    assert (details["job_id"], details["owner"]) == (job.id, "ann")
    counts = await job.counts()
    assert (counts.total, counts.done, counts.skipped, counts.error) == (1, 1, 0, 0)


async def test_two_edits_at_the_same_time_make_one_copy(open_shop: Penstock) -> None:
    [dead] = await fail_some(open_shop, 1)
    edits = [dead_letters.edit(open_shop, dead, {"fixed": True}, by=str(n)) for n in range(4)]
    ended = await asyncio.gather(*edits, return_exceptions=True)
    assert sum(isinstance(one, IllegalMove) for one in ended) == 3
    async with open_shop.connection() as connection:
        assert await connection.fetchval("select count(*) from penstock.tasks where replaces = $1", dead) == 1


async def test_a_mass_replay_takes_what_matches_and_nobody_twice(
    penstock: CommandLine, open_shop: Penstock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The replayed ones fail again at once, in front of the walk; each must be started one time only."""
    monkeypatch.setattr(dead_letters, "_BATCH", 2)
    ids = await fail_some(open_shop, 4)
    done = await penstock.json("dead-letters", "replay", "--all", "--yes", "--error", "PermanentError")
    assert done == {"replayed": 4, "stopped": False, "failed_again": 0, "canary": None}
    for task_id in ids:
        await open_shop.task_by_id(task_id).wait(60)
        assert (await open_shop.task_by_id(task_id).details())["run"] == 2
    await penstock("dead-letters", "replay", "--all", "--yes", "--pipeline", "nope", code=3)


async def test_a_canary_that_fails_with_the_same_error_stops_the_rest(
    penstock: CommandLine, open_shop: Penstock
) -> None:
    ids = await fail_some(open_shop, 3)
    done = await penstock.json("dead-letters", "replay", "--all", "--yes", "--canary", code=1)
    assert (done["replayed"], done["stopped"]) == (1, True)
    assert (done["canary"]["state"], done["canary"]["same_error"]) == ("ERROR", True)
    runs = [(await open_shop.task_by_id(task_id).details())["run"] for task_id in ids]
    assert sorted(runs) == [1, 1, 2]


async def test_a_canary_that_does_well_lets_the_rest_go(open_shop: Penstock) -> None:
    ids = await fail_some(open_shop, 3)
    async with open_shop.connection() as connection:  # what was wrong is put right
        await connection.execute(
            """update penstock.tasks set input = '{"fixed": true}' where id = any ($1::bigint[])""", ids
        )
    told: list[int] = []
    done = await dead_letters.replay_matching(open_shop, DeadLetterFilter(), by="test", canary=True, tell=told.append)
    assert (done.replayed, done.stopped) == (3, False)
    assert done.canary is not None
    assert done.canary.state is State.DONE
    assert told == [1, 3]


async def test_a_canary_that_does_not_end_in_time_stops_the_rest(open_shop: Penstock) -> None:
    await fail_some(open_shop, 2)
    async with open_shop.connection() as connection:
        await connection.execute("update penstock.stages set paused_at = now() where pipeline = 'fail'")
    done = await dead_letters.replay_matching(open_shop, DeadLetterFilter(), by="test", canary=True, canary_seconds=0.2)
    assert done.stopped
    assert done.canary is not None
    assert done.canary.state is None


async def test_a_paced_replay_keeps_to_its_rate(open_shop: Penstock) -> None:
    await fail_some(open_shop, 6)
    now, pauses = 0.0, []

    async def pause(seconds: float) -> None:
        nonlocal now
        pauses.append(seconds)
        now += seconds

    done = await dead_letters.replay_matching(
        open_shop, DeadLetterFilter(), by="test", per_second=2.0, pause=pause, clock=lambda: now
    )
    assert done.replayed == 6
    assert now == pytest.approx(3.0)
    assert len(pauses) == 6
    with pytest.raises(InvalidSetting):
        await dead_letters.replay_matching(open_shop, DeadLetterFilter(), by="test", per_second=0)


@pytest.mark.parametrize("text", ["soon", "5", "-5m", "2026-11-15T09:30:00", "99999999999999d"])
def test_a_since_that_makes_no_sense_is_refused(text: str) -> None:
    from datetime import UTC, datetime

    with pytest.raises(InvalidSetting):
        since_time(text, datetime(2026, 11, 15, tzinfo=UTC))


async def test_many_that_fail_again_with_the_same_error_stop_the_rest(open_shop: Penstock) -> None:
    """Also without a canary, and after one that went well."""

    async def pause(seconds: float) -> None:
        """Until the worker is done with what was started, however slow it is."""
        async with asyncio.timeout(60), open_shop.connection() as connection:
            while await connection.fetchval("select count(*) from penstock.queue"):
                await asyncio.sleep(0.01)

    await fail_some(open_shop, 30)
    report = await dead_letters.replay_matching(
        open_shop, DeadLetterFilter(pipeline="fail"), by="test", per_second=20, stop_after=3, pause=pause
    )
    assert report.stopped and report.failed_again >= 3 and report.replayed < 30


async def test_a_later_error_of_another_kind_does_not_stop_the_rest(open_shop: Penstock) -> None:
    ids = await fail_some(open_shop, 6)
    async with open_shop.connection() as connection:
        await connection.execute(
            """update penstock.outcomes set error = '{"type": "Earlier"}' where task_id = any ($1)""", ids
        )
    report = await dead_letters.replay_matching(
        open_shop, DeadLetterFilter(error_type="Earlier"), by="test", per_second=20, stop_after=1
    )
    assert not report.stopped and report.replayed == 6


async def test_the_list_says_that_messages_are_dead_as_well(penstock: CommandLine, shop: Penstock) -> None:
    alone = await penstock("dead-letters", "list")
    assert "messages" not in alone.stderr and "All is well." in alone.stdout + alone.stderr
    async with shop.connection() as connection:
        await connection.execute(
            "insert into penstock.dead_messages (transport, queue, raw, reason, deliveries, digest, token)"
            " values ('redis', 'q', 'x', 'it is no JSON', 1, 'd', 't')"
        )
    told = await penstock("dead-letters", "list")
    assert "1 message of a broker is dead as well" in told.stderr
    assert "All is well." not in told.stdout + told.stderr
