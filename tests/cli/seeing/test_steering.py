"""`penstock jobs`, `stages`, `lanes`, `limits`, `schedules`"""

import pytest

from penstock import JobState, Penstock
from penstock.control import schedules
from penstock.schedules.scheduling import ScheduleDefinition
from penstock.storage import limits
from tests.cli.seeing.command_line import CommandLine


async def make_job(shop: Penstock, count: int = 3, pipeline: str = "greet") -> int:
    rows = [{"name": str(n)} if pipeline == "greet" else {} for n in range(count)]
    definition = shop.pipelines[pipeline]
    from penstock import EnqueueOptions

    job = await shop.store_many(definition, rows, EnqueueOptions(), name="test \x1b[31m", metadata={})
    return job.id


@pytest.mark.parametrize("noun", ["tasks", "jobs", "stages", "lanes", "limits", "schedules", "dead-letters"])
async def test_every_empty_list_says_so_and_exits_well(penstock: CommandLine, noun: str) -> None:
    ended = await penstock(noun, "list")
    assert ended.stdout == ""
    assert len(ended.stderr.strip()) > 10
    assert await penstock.json(noun, "list") in ([], {"items": [], "next": None})


@pytest.mark.parametrize(
    "arguments",
    [
        ("jobs", "show", 9),
        ("jobs", "pause", 9),
        ("jobs", "resume", 9),
        ("jobs", "cancel", 9),
        ("jobs", "reprocess", 9),
        ("jobs", "wait", 9),
        ("stages", "pause", "nope"),
        ("stages", "limit", "greet/nope", 3),
        ("lanes", "pause", "greet", "nope"),
        ("lanes", "weight", "greet", "nope", 3),
        ("limits", "remove", "nope"),
        ("schedules", "pause", "nope"),
        ("schedules", "fire", "nope"),
        ("schedules", "delete", "nope", "--yes"),
    ],
)
async def test_what_does_not_exist_leaves_exit_code_3(
    penstock: CommandLine, shop: Penstock, arguments: tuple[object, ...]
) -> None:
    ended = await penstock(*arguments, code=3)
    assert "Traceback" not in ended.stderr


async def test_a_job_can_be_paused_resumed_cancelled_and_then_refuses(penstock: CommandLine, shop: Penstock) -> None:
    job = await make_job(shop)
    await penstock("jobs", "pause", job, "--reason", "wrong file")
    shown = (await penstock("jobs", "show", job)).stdout
    assert "PAUSED" in shown
    assert "wrong file" in shown
    assert "\x1b" not in shown
    await penstock("jobs", "resume", job)
    assert await shop.job_by_id(job).state() is JobState.QUEUED
    assert (await penstock.json("jobs", "cancel", job))["state"] == "CANCELLED"
    refused = await penstock("jobs", "pause", job, code=4)
    assert f"Cannot pause job {job}: it is CANCELLED" in refused.stderr


async def test_the_list_of_jobs_has_progress_and_pages(penstock: CommandLine, shop: Penstock) -> None:
    first, second = await make_job(shop, 3), await make_job(shop, 2)
    page = await penstock.json("jobs", "list", "--limit", 1)
    assert [(one["id"], one["counts"]["total"], one["state"]) for one in page["items"]] == [(second, 2, "QUEUED")]
    rest = await penstock.json("jobs", "list", "--after", page["next"])
    assert [one["id"] for one in rest["items"]] == [first]
    assert "0/3 0 %" in (await penstock("jobs", "list")).stdout


async def test_waiting_for_a_job_tells_how_it_ended(penstock: CommandLine, open_shop: Penstock) -> None:
    good, bad = await make_job(open_shop, 5), await make_job(open_shop, 2, "fail")
    assert (await penstock.json("jobs", "wait", good, "--timeout", 30))["state"] == "DONE"
    ended = await penstock.json("jobs", "wait", bad, "--timeout", 30, code=1)
    assert (ended["state"], ended["counts"]["error"]) == ("FAILED", 2)
    assert "PermanentError: it is broken" in (await penstock("jobs", "show", bad)).stdout
    again = await penstock.json("jobs", "reprocess", bad)
    assert again["reprocessed"] == 2
    await penstock("jobs", "reprocess", bad, "--statuses", "processing", code=2)


async def test_a_stage_can_be_paused_and_limited(penstock: CommandLine, shop: Penstock) -> None:
    await penstock("stages", "pause", "two/first", "--reason", "repairs")
    rows = {row["label"]: row for row in await penstock.json("stages", "list")}
    assert rows["two/first"]["pause_reason"] == "repairs"
    assert rows["two/second"]["paused_at"] is None
    await penstock("stages", "resume", "two/first")
    await penstock("stages", "limit", "greet", 4)
    rows = {row["label"]: row for row in await penstock.json("stages", "list")}
    assert rows["two/first"]["paused_at"] is None
    assert rows["greet"]["max_running"] == 4
    assert (await penstock.json("stages", "limit", "greet", "none"))["max_running"] is None
    await penstock("stages", "limit", "greet", "0", code=2)


async def test_a_lane_can_be_paused_weighed_limited_and_cancelled(penstock: CommandLine, shop: Penstock) -> None:
    task = await shop.enqueue("greet", {"name": "a"}, lane="vip")
    await penstock("lanes", "pause", "greet", "vip", "--reason", "later")
    await penstock("lanes", "weight", "greet", "vip", 7)
    await penstock("lanes", "limit", "greet", "vip", 2)
    [lane] = (await penstock.json("lanes", "list", "--pipeline", "greet"))["items"]
    assert (lane["pause_reason"], lane["weight"], lane["max_running"], lane["waiting"]) == ("later", 7, 2, 1)
    assert (await penstock.json("tasks", "why", task.id))["reason"] == "lane_paused"
    await penstock("lanes", "resume", "greet", "vip")
    await penstock("lanes", "limit", "greet", "vip", "none")
    await penstock("lanes", "cancel", "greet", "vip")
    assert (await task.state()).name == "CANCELLED"
    await penstock("lanes", "resume", "greet", "vip", code=3)


async def test_cancelling_a_job_asks_on_a_terminal_and_names_what_waits(penstock: CommandLine, shop: Penstock) -> None:
    job = await make_job(shop, 3)
    refused = await penstock("jobs", "cancel", job, stdin="n\n", terminal=True)
    assert f"Cancel job {job} with 3 waiting tasks?" in refused.stderr
    assert await shop.job_by_id(job).state() is JobState.QUEUED
    await penstock("jobs", "cancel", job, stdin="y\n", terminal=True)
    assert await shop.job_by_id(job).state() is JobState.CANCELLED
    other = await make_job(shop, 1)
    assert "?" not in (await penstock("jobs", "cancel", other, "--yes", terminal=True)).stderr
    assert await shop.job_by_id(other).state() is JobState.CANCELLED
    await penstock("jobs", "cancel", 99_999, terminal=True, code=3)


async def test_cancelling_a_lane_asks_on_a_terminal_and_names_what_waits(penstock: CommandLine, shop: Penstock) -> None:
    tasks = [await shop.enqueue("greet", {"name": "a"}, lane="vip", priority=priority) for priority in (0, 0, 5)]
    refused = await penstock("lanes", "cancel", "greet", "vip", stdin="n\n", terminal=True)
    assert "Cancel lane vip of greet with 3 waiting tasks?" in refused.stderr
    assert (await tasks[0].state()).name == "PENDING"
    await penstock("lanes", "cancel", "greet", "vip", stdin="y\n", terminal=True)
    assert (await tasks[2].state()).name == "CANCELLED"
    await penstock("lanes", "cancel", "greet", "vip", terminal=True, code=3)


async def test_limits_are_set_shown_blocked_and_removed(penstock: CommandLine, shop: Penstock) -> None:
    await penstock("limits", "set", "wikidata", "--rate", 5, "--burst", 10)
    await penstock("limits", "block", "wikidata", "--seconds", 7200, "--reason", "HTTP 429")
    [row] = await penstock.json("limits", "list")
    assert (row["key"], row["rate"], row["burst"], row["blocked_reason"]) == ("wikidata", 5, 10, "HTTP 429")
    assert 6600 < row["blocked_seconds"] <= 7200
    assert "HTTP 429" in (await penstock("limits", "list")).stdout
    await penstock("limits", "set", "wikidata", "--rate", 0, code=2)
    assert (await penstock("limits", "set", "wikidata", "--rate", 5, "--burst", 10)).stderr == ""
    slip = await penstock("limits", "set", "wikidta", "--rate", 5)
    assert "wikidta is new here" in slip.stderr and "Near to it are: wikidata." in slip.stderr
    await penstock("limits", "remove", "wikidta")
    await penstock("limits", "remove", "wikidata")
    async with shop.connection() as connection:
        assert await limits.listing(connection) == []


async def test_schedules_are_shown_paused_fired_and_deleted(penstock: CommandLine, shop: Penstock) -> None:
    wanted = ScheduleDefinition(name="nightly", cron="0 3 * * *", pipeline="greet", input={"name": "moon"})
    await schedules.create(shop, wanted, by="test")
    [row] = await penstock.json("schedules", "list")
    assert len(row["upcoming"]) > 2
    assert "in " in (await penstock("schedules", "list")).stdout
    await penstock("schedules", "pause", "nightly")
    assert "paused by" in (await penstock("schedules", "list")).stdout
    await penstock("schedules", "resume", "nightly")
    fired = await penstock.json("schedules", "fire", "nightly")
    assert (await shop.task_by_id(fired["task_id"]).details())["input"] == {"name": "moon"}
    await penstock("schedules", "delete", "nightly", code=2)  # nobody can be asked
    await penstock("schedules", "delete", "nightly", "--yes")
    assert await penstock.json("schedules", "list") == []
