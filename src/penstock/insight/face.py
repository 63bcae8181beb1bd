"""``app.insight``: what people may see, by noun. Answers are records of one look at the database."""

from penstock.brokers import dead_messages
from penstock.control import dead_letters, lanes, limits
from penstock.core import preferences
from penstock.core.app import App, Noun, OfApp, OfDatabase
from penstock.insight import (
    doctor,
    error_groups,
    items,
    job_lists,
    job_story,
    job_views,
    task_views,
)
from penstock.insight.history import history
from penstock.insight.job_story import StageSlice
from penstock.insight.overview import Overview
from penstock.insight.overview import overview as look
from penstock.insight.stage_views import StageView
from penstock.insight.why import explain
from penstock.insight.worker_views import WorkerView
from penstock.observe.finding import Finding
from penstock.schedules import scheduling


class TaskInsight(Noun):
    """Single tasks. ``page`` takes a ``TaskFilter``."""

    page = OfApp(task_views.page)
    show = OfApp(task_views.show)


class JobInsight(Noun):
    """Jobs. ``find`` takes a ``JobFilter`` and says what holds each up; ``slices``: how much workers claim, and why."""

    page = OfDatabase(job_views.page)
    these = OfDatabase(job_views.these)
    find = OfDatabase(job_lists.find)
    show = OfDatabase(job_views.show)
    timeline = OfDatabase(job_story.timeline)

    async def slices(self, job_id: int) -> tuple[StageSlice, ...]:
        """How much workers claim of each stage of a job, and why."""
        async with self.app.connection() as connection:
            return await job_story.slices(connection, job_id, self.app.settings)


class ItemInsight(Noun):
    """Tasks of jobs as rows of files."""

    page = OfDatabase(items.page)
    page_of_job = OfDatabase(items.page_of_job)
    these = OfDatabase(items.now)


class DeadLetterInsight(Noun):
    """Tasks that ended as ERROR. ``groups``: failures that are the same failure, of everybody or of one owner."""

    page = OfApp(dead_letters.page)
    groups = OfApp(error_groups.newest)
    groups_of_job = OfApp(error_groups.of_job)


class DeadMessageInsight(Noun):
    """Messages of brokers that nobody could read."""

    page = OfApp(dead_messages.page)
    show = OfApp(dead_messages.show)
    open_counts = OfApp(dead_messages.open_counts)


class Insight(Noun):
    """What people may see: ``await app.insight.why(task_id)``."""

    __slots__ = ("dead_letters", "dead_messages", "items", "jobs", "tasks")

    def __init__(self, app: App) -> None:
        super().__init__(app)
        self.tasks = TaskInsight(app)
        self.jobs = JobInsight(app)
        self.items = ItemInsight(app)
        self.dead_letters = DeadLetterInsight(app)
        self.dead_messages = DeadMessageInsight(app)

    why = OfDatabase(explain)
    lanes = OfApp(lanes.page)
    limits = OfApp(limits.listing)
    schedules = OfDatabase(scheduling.listing)
    history = OfDatabase(history)
    now = OfApp(task_views.now)

    async def overview(self) -> Overview:
        """Workers, stages, and what needs attention, in one snapshot."""
        async with self.app.connection() as connection:
            return await look(connection, self.app.settings)

    async def stages(self) -> tuple[StageView, ...]:
        """Load, rates and limits of every stage, and what holds it up."""
        return (await self.overview()).stages

    async def workers(self) -> tuple[WorkerView, ...]:
        """Every worker that is alive, as of its last heartbeat."""
        return (await self.overview()).workers

    async def doctor(self) -> list[Finding]:
        """What is wrong with the server, the schemas and the fleet, each finding with its fix."""
        async with self.app.connection() as connection:
            extensions = self.app.extensions.values()
            return await doctor.examine(connection, self.app.settings, extensions=extensions)

    async def settings(self) -> dict[str, preferences.Value]:
        """What admins may change while everything runs, and what counts now."""
        async with self.app.connection() as connection:
            return await preferences.read(connection, self.app.settings)
