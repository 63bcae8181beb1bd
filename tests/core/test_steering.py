"""What people decide: legal by the table, stored, told once, in the words of whoever did it."""

import pytest

from penstock import Penstock, PermanentError
from penstock.control import lanes, limits, schedules, stages, tasks
from penstock.errors import IllegalMove, InvalidSetting, NotKnown, TaskNotFound, UsageError
from penstock.lifecycle import JOB_MOVES, JobState, State
from penstock.schedules.scheduling import ScheduleDefinition
from penstock.testing import drain


@pytest.fixture
def step(app: Penstock):
    @app.task(max_attempts=1)
    async def step(fails: bool = False) -> None:
        if fails:
            raise PermanentError("as asked")

    return step


async def job_in(state: JobState, app: Penstock, step):
    """A job that has come to this state the way jobs do."""
    job = await step.enqueue_many([{"fails": state is JobState.FAILED}])
    if state in (JobState.RUNNING, JobState.DONE, JobState.FAILED):
        await drain(app)
    if state is JobState.RUNNING:
        await step.options(job=job).enqueue()
    if state is JobState.PAUSED:
        await job.pause()
    if state is JobState.CANCELLED:
        await job.cancel()
    assert await job.state() is state
    return job


@pytest.mark.parametrize("state", JobState)
@pytest.mark.parametrize("move", JOB_MOVES, ids=lambda move: move.name)
async def test_a_job_moves_exactly_from_the_states_of_the_table(app, step, heard, state, move):
    job = await job_in(state, app, step)
    heard.events.clear()
    arguments = (5,) if move.name == "reprioritise" else ()
    if state in move.origins:
        await getattr(job, move.name)(*arguments, by="ann")
        told = heard.named("tasks.reprocessed" if move.name == "reprocess" else "jobs.steered")
        assert [(one["job"], one["by"], one.get("move", "reprocess")) for one in told] == [(job.id, "ann", move.name)]
    else:
        with pytest.raises(IllegalMove, match=f"Cannot {move.name} job {job.id}: it is {state.name}"):
            await getattr(job, move.name)(*arguments, by="ann")
        assert heard.events == []


async def test_a_priority_out_of_range_is_refused_before_the_database_is_asked(app, step):
    job = await step.enqueue_many([{}])
    with pytest.raises(UsageError, match="101"):
        await job.reprioritise(101)


async def test_decisions_about_lanes_are_told_and_a_lane_of_a_job_is_left_to_the_job(app, step, heard):
    await step.options(lane="vip").enqueue()
    assert await lanes.waiting(app, "step", "vip") == 1
    await lanes.pause(app, "step", "vip", by="ann", reason="later")
    await lanes.resume(app, "step", "vip", by="ann")
    await lanes.weigh(app, "step", "vip", 3, by="ann")
    await lanes.limit(app, "step", "vip", 2, by="ann")
    await lanes.cancel(app, "step", "vip", by="bob")
    told = [(one["lane"], one["move"], one["by"]) for one in heard.named("lanes.steered")]
    assert told == [("vip", move, "ann") for move in ("pause", "resume", "weigh", "limit")] + [("vip", "cancel", "bob")]
    job = await step.enqueue_many([{}])
    for refused in (lanes.cancel(app, "step", f"job:{job.id}", by="ann"), lanes.waiting(app, "step", f"job:{job.id}")):
        with pytest.raises(UsageError, match=f"belongs to job {job.id}"):
            await refused
    with pytest.raises(NotKnown, match="step vip"):
        await lanes.pause(app, "step", "vip", by="ann")
    with pytest.raises(InvalidSetting, match="weight = 0"):
        await lanes.weigh(app, "step", "vip", 0, by="ann")


async def test_decisions_about_stages_and_limits_are_told(app, step, heard):
    await app.open()
    await stages.pause(app, "step", by="ann", reason="repairs")
    await stages.limit(app, "step/step", 4, by="ann")
    await stages.resume(app, "step", by="bob")
    assert [(one["stage"], one["move"]) for one in heard.named("stages.steered")] == [
        ("step", "pause"),
        ("step/step", "limit"),
        ("step", "resume"),
    ]
    await limits.configure(app, "wikidata", 5, 10, by="ann")
    assert 50 < await limits.block(app, "wikidata", 60, by="ann", reason="HTTP 429") < 61
    await limits.remove(app, "wikidata", by="bob")
    assert [(one["key"], one["move"], one["by"]) for one in heard.named("limits.steered")] == [
        ("wikidata", "set", "ann"),
        ("wikidata", "block", "ann"),
        ("wikidata", "remove", "bob"),
    ]
    for refused in (stages.pause(app, "nope", by="ann"), limits.remove(app, "wikidata", by="ann")):
        with pytest.raises(NotKnown):
            await refused
    with pytest.raises(InvalidSetting):
        await stages.limit(app, "step", 0, by="ann")


async def test_decisions_about_schedules_are_told(app, step, heard):
    await app.open()
    await schedules.create(app, ScheduleDefinition(name="nightly", cron="@daily", pipeline="step"), by="ann")
    await schedules.pause(app, "nightly", by="ann")
    await schedules.resume(app, "nightly", by="ann")
    task = await schedules.fire_now(app, "nightly", by="ann")
    await schedules.delete(app, "nightly", by="ann")
    told = heard.named("schedules.steered")
    assert [one["move"] for one in told] == ["create", "pause", "resume", "fire", "delete"]
    assert [one["tasks"] for one in told if one["move"] == "fire"] == [[task]]


async def test_several_tasks_are_reprocessed_all_or_none(app, step, heard):
    done, waiting = await step.enqueue(), await step.options(delay=60).enqueue()
    await drain(app)
    with pytest.raises(IllegalMove, match=rf"task {waiting.id}: it is PENDING.*Wait for its end"):
        await tasks.reprocess(app, [done.id, waiting.id], by="ann")
    with pytest.raises(TaskNotFound):
        await tasks.reprocess(app, [done.id, 10**9], by="ann")
    assert await done.state() is State.DONE
    assert await tasks.reprocess(app, [done.id], by="ann") == [done.id]
    assert [(one["tasks"], one["by"]) for one in heard.named("tasks.reprocessed")] == [([done.id], "ann")]
