"""`penstock dead-letters`"""

import asyncio
import re
from dataclasses import asdict
from datetime import datetime, timedelta
from typing import Annotated, Any

import typer

from penstock.brokers import dead_messages
from penstock.cli import dead_letters_messages
from penstock.cli.dead_letters_messages import CanarySeconds, RateOption
from penstock.cli.tasks import as_data, described, object_of
from penstock.control import dead_letters
from penstock.control.dead_letters import DeadLetter, DeadLetterFilter, Replay
from penstock.errors import InvalidSetting, UsageError
from penstock.insight import task_views
from penstock.observe.wording import stage_label
from penstock.terminal.command import command
from penstock.terminal.editor import edited
from penstock.terminal.output import Column
from penstock.terminal.pages import AfterOption, LimitOption, YesOption, actor, confirmed, place_of, show_page, written
from penstock.terminal.readable import as_json, clean, error_line, when
from penstock.terminal.session import Session

TaskId = Annotated[int, typer.Argument(metavar="ID", min=1)]
TaskIds = Annotated[list[int] | None, typer.Argument(metavar="[ID…]", min=1)]
PipelineOption = Annotated[str | None, typer.Option("--pipeline", "-p", help="Only of this name.")]
ErrorOption = Annotated[str | None, typer.Option("--error", metavar="TYPE", help="Only with this error type.")]
SinceOption = Annotated[str | None, typer.Option("--since", help="Only that young: 90s, 30m, 2h, 7d, or an ISO time.")]
JobOption = Annotated[int | None, typer.Option("--job", help="Only of this job.")]
InputOption = Annotated[
    str | None,
    typer.Option("--input", metavar="JSON", help="The new input; - reads stdin. Without it, an editor opens."),
]
CanaryOption = Annotated[bool, typer.Option("--canary", help="Replay one first; stop if it fails again.")]
StopOption = Annotated[
    int | None,
    typer.Option("--stop-after", min=1, help="Stop when so many failed again with the same error; 10 with --canary."),
]
AllOption = Annotated[bool, typer.Option("--all", help="Everything that matches the filters.")]

_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86_400}
_COUNTED = 1000


def register(app: typer.Typer) -> None:
    @command(app, "list")
    async def listing(
        session: Session,
        pipeline: PipelineOption = None,
        error: ErrorOption = None,
        since: SinceOption = None,
        job: JobOption = None,
        limit: LimitOption = 20,
        after: AfterOption = None,
    ) -> None:
        """Tasks that ended as ERROR, newest first."""
        wanted = await _filter(session, pipeline, error, since, job)
        page = await dead_letters.page(await session.app(), wanted, after=place_of(after), limit=limit)
        messages = sum((await dead_messages.open_counts(await session.app())).values())
        well = "No task is a dead letter." if messages else "No dead letters. All is well."
        empty = "No dead letter matches." if any((pipeline, error, since, job)) else well
        show_page(session, [_row(row) for row in page.rows], written(page.next), COLUMNS, empty=empty)
        if messages:
            # The other kind of dead letter, which this list does not hold.
            word = "message of a broker is" if messages == 1 else "messages of brokers are"
            session.out.say(f"{messages:,} {word} dead as well: `penstock dead-letters messages list`.")

    @command(app)
    async def show(session: Session, task: TaskId) -> None:
        """Input, error with its traceback, and every run."""
        app = await session.app()
        letter, now = await task_views.show(app, task), await task_views.now(app)
        session.out.show(as_data(letter), lambda: described(letter, now))

    @command(app)
    async def edit(session: Session, task: TaskId, new_input: InputOption = None) -> None:
        """Replay it with another input: the dead letter is closed, an edited copy runs."""
        app = await session.app(declared=session.app_reference is not None)
        if new_input is None:
            letter = await task_views.show(app, task)
            new_input = await asyncio.to_thread(edited, as_json(letter.input), suffix=".json")
        if new_input is None:
            session.out.say("Nothing was changed.")
            return
        copy = await app.control.dead_letters.edit(task, object_of(new_input, "--input"), by=actor())
        session.out.show(
            {"task_id": copy.id, "replaces": task},
            f"Task {copy.id} runs with the new input in place of {task}. `penstock tasks wait {copy.id}`",
        )

    _register_replay(app)
    dead_letters_messages.register(app)


def _register_replay(app: typer.Typer) -> None:
    @command(app)
    async def replay(
        session: Session,
        tasks: TaskIds = None,
        every: AllOption = False,
        pipeline: PipelineOption = None,
        error: ErrorOption = None,
        since: SinceOption = None,
        job: JobOption = None,
        canary: CanaryOption = False,
        canary_seconds: CanarySeconds = 60.0,
        rate: RateOption = None,
        stop_after: StopOption = None,
        yes: YesOption = False,
    ) -> int:
        """Run dead letters again: the given ones, or with --all everything that matches the filters."""
        if bool(tasks) == every:
            raise UsageError("Name the tasks to replay, or use --all with filters; one of the two.")
        if tasks:
            if canary or rate is not None or stop_after is not None or any((pipeline, error, since, job)):
                raise UsageError("--canary, --rate, --stop-after and the filters go with --all, not with single tasks.")
            started = await (await session.app()).control.dead_letters.replay(tasks, by=actor())
            word = "task runs" if len(started) == 1 else "tasks run"
            session.out.show({"replayed": len(started), "tasks": sorted(started)}, f"{len(started):,} {word} again.")
            return 0
        wanted = await _filter(session, pipeline, error, since, job)
        pace: dict[str, Any] = {"canary": canary, "canary_seconds": canary_seconds, "per_second": rate}
        return await _replay_all(session, wanted, {**pace, "stop_after": stop_after}, yes=yes)


async def _filter(
    session: Session, pipeline: str | None, error: str | None, since: str | None, job: int | None
) -> DeadLetterFilter:
    app = await session.app()
    await task_views.require_pipeline(app, pipeline)
    from_time = None if since is None else since_time(since, await task_views.now(app))
    return DeadLetterFilter(pipeline=pipeline, error_type=error, job_id=job, since=from_time)


def since_time(text: str, now: datetime) -> datetime:
    """A span before the database's now, or a time."""
    if match := re.fullmatch(r"(\d+(?:\.\d+)?)([smhd])", text.strip()):
        try:
            return now - timedelta(seconds=float(match[1]) * _UNITS[match[2]])
        except OverflowError:
            raise InvalidSetting("--since", text, "that is longer ago than time goes") from None
    try:
        at = datetime.fromisoformat(text)
    except ValueError:
        raise InvalidSetting("--since", text, "write it as 90s, 30m, 2h, 7d or 2026-11-15T09:30:00+00:00") from None
    if at.tzinfo is None:
        raise InvalidSetting("--since", text, "it has no time zone; end it with +00:00")
    return at


async def _replay_all(session: Session, wanted: DeadLetterFilter, pace: dict[str, Any], *, yes: bool) -> int:
    app = await session.app()
    found = await app.insight.dead_letters.page(wanted, limit=_COUNTED)
    count, more = len(found.rows), found.next is not None
    if not count and not more:
        session.out.show({"replayed": 0, "canary": None}, "No dead letter matches; nothing was replayed.")
        return 0
    confirmed(session, f"Replay {count:,}{' or more' if more else ''} dead letters?", yes=yes)
    progress = session.out.progress(None if more else count)
    done = await app.control.dead_letters.replay_matching(wanted, by=actor(), tell=progress.update, **pace)
    progress.end(done.replayed)
    session.out.show(_report(done), lambda: _sentence(done))
    return 1 if done.stopped else 0


def _report(done: Replay) -> dict[str, Any]:
    first = done.canary
    state = None if first is None or first.state is None else first.state.name
    canary = None if first is None else {**asdict(first), "state": state}
    told = {"replayed": done.replayed, "stopped": done.stopped, "failed_again": done.failed_again}
    return {**told, "canary": canary}


def _sentence(done: Replay) -> str:
    first = done.canary
    if first is None or first.passed:
        said = f"{done.replayed:,} dead letters run again."
        return f"{said} {done.failed_again:,} failed with the same error, so the others stay." if done.stopped else said
    if first.state is None:
        ask = f"`penstock tasks why {first.task_id}`"
        return f"The canary, task {first.task_id}, has not ended in time, so the others stay. {ask}"
    again = "with the same error" if first.same_error else "with another error"
    cause = error_line(first.error, 300)
    return f"The canary, task {first.task_id}, failed {again} and the others stay: {cause}"


COLUMNS = (
    Column(key="task_id", title="task", right=True, show=str),
    Column(key="name", title="name"),
    Column(key="failed", title="failed"),
    Column(key="attempts", title="tries"),
    Column(key="job_id", title="job", right=True, show=lambda value: "–" if value is None else str(value)),
    Column(key="error", title="error", show=error_line),
)


def _row(letter: DeadLetter) -> dict[str, Any]:
    return {
        **asdict(letter),
        "name": clean(stage_label(letter.pipeline, letter.stage)),
        "failed": when(letter.finished_at, letter.read_at),
    }
