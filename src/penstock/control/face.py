"""``app.control``: what people may do, by noun.

Every call checks that the move is possible, stores it, wakes the workers where there may be work now, and emits the
event. ``by`` names who does it.
"""

from penstock.brokers import dead_messages, message_replays
from penstock.control import clearing, dead_letters, jobs, lanes, limits, preferences, schedules, stages, tasks
from penstock.core.app import App, Noun, OfApp


class TaskControl(Noun):
    """Single tasks. ``clear`` forgets endings before retention would."""

    cancel = OfApp(tasks.cancel)
    reprocess = OfApp(tasks.reprocess)
    clear = OfApp(clearing.clear)


class JobControl(Noun):
    """Jobs, whatever their size. ``hasten``: what waits for its next try may start now."""

    pause = OfApp(jobs.pause)
    resume = OfApp(jobs.resume)
    cancel = OfApp(jobs.cancel)
    delete = OfApp(jobs.delete)
    reprioritise = OfApp(jobs.reprioritise)
    reprocess = OfApp(jobs.reprocess)
    hasten = OfApp(jobs.hasten)


class LaneControl(Noun):
    """Lanes by pipeline and key; a lane of a job is steered with the job."""

    pause = OfApp(lanes.pause)
    resume = OfApp(lanes.resume)
    cancel = OfApp(lanes.cancel)
    weigh = OfApp(lanes.weigh)
    limit = OfApp(lanes.limit)


class StageControl(Noun):
    """Stages by their label; a pipeline's name alone means all of its stages."""

    pause = OfApp(stages.pause)
    resume = OfApp(stages.resume)
    limit = OfApp(stages.limit)
    transfer = OfApp(stages.transfer)


class LimitControl(Noun):
    """Fleet-wide budgets by key."""

    configure = OfApp(limits.configure)
    remove = OfApp(limits.remove)
    block = OfApp(limits.block)
    forget_unused = OfApp(limits.forget_unused)


class ScheduleControl(Noun):
    """Schedules by name."""

    create = OfApp(schedules.create)
    update = OfApp(schedules.update)
    delete = OfApp(schedules.delete)
    pause = OfApp(schedules.pause)
    resume = OfApp(schedules.resume)
    fire_now = OfApp(schedules.fire_now)


class DeadLetterControl(Noun):
    """Tasks that ended as ERROR."""

    edit = OfApp(dead_letters.edit)
    replay = OfApp(dead_letters.replay_these)
    replay_matching = OfApp(dead_letters.replay_matching)


class DeadMessageControl(Noun):
    """Messages of brokers that nobody could read."""

    replay = OfApp(dead_messages.replay)
    replay_matching = OfApp(message_replays.replay_matching)
    discard = OfApp(dead_messages.discard)


class Control(Noun):
    """What people may do, by noun: ``await app.control.jobs.pause(7, by="ann")``."""

    __slots__ = ("dead_letters", "dead_messages", "jobs", "lanes", "limits", "schedules", "stages", "tasks")

    def __init__(self, app: App) -> None:
        super().__init__(app)
        self.tasks = TaskControl(app)
        self.jobs = JobControl(app)
        self.lanes = LaneControl(app)
        self.stages = StageControl(app)
        self.limits = LimitControl(app)
        self.schedules = ScheduleControl(app)
        self.dead_letters = DeadLetterControl(app)
        self.dead_messages = DeadMessageControl(app)

    change_settings = OfApp(preferences.change)

    async def wake(self) -> None:
        """Tell the workers to look for work now."""
        await self.app.wake_all()
