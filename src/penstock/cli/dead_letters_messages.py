"""`penstock dead-letters messages`: messages of brokers that nobody could read."""

import asyncio
import base64
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer

from penstock.brokers import dead_messages
from penstock.brokers.message_replays import MessageReplay, replay_matching
from penstock.errors import InvalidSetting, UsageError
from penstock.terminal.command import accept_global_options, command
from penstock.terminal.editor import edited
from penstock.terminal.groups import WholeSentences, new_app
from penstock.terminal.output import Column
from penstock.terminal.pages import AfterOption, LimitOption, YesOption, actor, confirmed, show_page
from penstock.terminal.readable import as_json, clean, fields, short, when
from penstock.terminal.session import Session

MessageId = Annotated[int, typer.Argument(metavar="ID", min=1)]
MessageIds = Annotated[list[int], typer.Argument(metavar="ID…", min=1)]
SomeIds = Annotated[list[int] | None, typer.Argument(metavar="[ID…]", min=1)]
TransportOption = Annotated[str | None, typer.Option("--transport", help="Only of this broker: redis or rabbitmq.")]
StageOption = Annotated[str | None, typer.Option("--stage", metavar="STAGE", help="Only of this stage's queue.")]
StateOption = Annotated[str, typer.Option("--state", help="open, replayed or all.")]
BytesOption = Annotated[
    str | None, typer.Option("--bytes", metavar="FILE", help="Send these bytes instead; - reads stdin.")
]
EditOption = Annotated[bool, typer.Option("--edit", help="Open it in your editor first.")]
ToOption = Annotated[str | None, typer.Option("--to", metavar="STAGE", help="To the queue of this stage instead.")]
AllOption = Annotated[bool, typer.Option("--all", help="Every open one that matches the filters.")]
CanaryOption = Annotated[bool, typer.Option("--canary", help="Send one first; stop if it comes back dead.")]
CanarySeconds = Annotated[float, typer.Option("--canary-seconds", min=0.1, help="How long to wait for it.")]
RateOption = Annotated[float | None, typer.Option("--rate", help="At most so many per second.")]
StopOption = Annotated[
    int | None,
    typer.Option("--stop-after", min=1, help="Stop when so many came back dead as before; 10 with --canary."),
]

_STATES = {"open": True, "replayed": False, "all": None}
_EMPTY = "No message matches. Brokers hold messages only where PENSTOCK_TRANSPORT or PENSTOCK_TRANSPORTS name one."
_COUNTED = 1000
_WIDTH = 16


def register(app: typer.Typer) -> None:
    group = new_app(help="Messages of brokers that nobody could read.", cls=WholeSentences)
    accept_global_options(group)
    _register_reading(group)
    _register_replay(group)
    app.add_typer(group, name="messages")


def _register_reading(group: typer.Typer) -> None:
    @command(group, "list")
    async def listing(
        session: Session,
        transport: TransportOption = None,
        stage: StageOption = None,
        state: StateOption = "open",
        limit: LimitOption = 20,
        after: AfterOption = None,
    ) -> None:
        """What was collected from the brokers' dead-letter queues, newest first."""
        app = await session.app()
        wanted = await dead_messages.filter_of(app, transport=transport, stage=stage, is_open=_state(state))
        page = await dead_messages.page(app, wanted, after=_number(after), limit=limit)
        rows = [_row(row) for row in page.rows]
        show_page(session, rows, None if page.next is None else str(page.next), COLUMNS, empty=_EMPTY)

    @command(group)
    async def show(session: Session, message: MessageId) -> None:
        """Its bytes, what can be read of them, and why it is dead."""
        found = await dead_messages.show(await session.app(), message)
        raw = bytes(found.pop("raw"))
        data = {**found, "base64": base64.b64encode(raw).decode(), "text": _text(raw)}
        session.out.show(data, lambda: described(found, raw))

    @command(group)
    async def discard(session: Session, messages: MessageIds, yes: YesOption = False) -> None:
        """Throw messages away. Their tasks are not touched."""
        app = await session.app()
        for one in messages:
            await dead_messages.show(app, one)
        confirmed(session, f"Throw {len(messages):,} messages away?", yes=yes)
        gone = await dead_messages.discard(app, messages, by=actor())
        session.out.show({"discarded": sorted(gone)}, f"{len(gone):,} messages are gone.")


def _register_replay(group: typer.Typer) -> None:
    @command(group)
    async def replay(
        session: Session,
        messages: SomeIds = None,
        every: AllOption = False,
        transport: TransportOption = None,
        stage: StageOption = None,
        data: BytesOption = None,
        edit: EditOption = False,
        to: ToOption = None,
        canary: CanaryOption = False,
        canary_seconds: CanarySeconds = 60.0,
        rate: RateOption = None,
        stop_after: StopOption = None,
        yes: YesOption = False,
    ) -> int:
        """Send messages again: the given ones, or with --all every open one that matches the filters."""
        if bool(messages) == every:
            raise UsageError("Name the messages to send again, or use --all with filters; one of the two.")
        changed = data is not None or edit
        if messages is not None and messages:
            if canary or rate is not None or stop_after is not None or transport or stage:
                raise UsageError("--canary, --rate, --stop-after and the filters go with --all, not with single ones.")
            if changed and len(messages) > 1:
                raise UsageError("--bytes and --edit go with one message.")
            raw = await _changed(session, messages[0], data, edit=edit)
            if changed and raw is None:
                session.out.say("Nothing was changed.")
                return 0
            return await _replay_these(session, messages, raw, to)
        if changed or to:
            raise UsageError("--bytes, --edit and --to go with single messages, not with --all.")
        pace: dict[str, Any] = {"canary": canary, "canary_seconds": canary_seconds, "per_second": rate}
        return await _replay_all(session, transport, stage, {**pace, "stop_after": stop_after}, yes=yes)


async def _changed(session: Session, message: int, data: str | None, *, edit: bool) -> bytes | None:
    if data is not None:
        return _given(data)
    if not edit:
        return None
    found = await dead_messages.show(await session.app(), message)
    text = as_json(found["decoded"]) if found["decoded"] is not None else _text(bytes(found["raw"]))
    if text is None:
        raise UsageError(f"Message {message} is no text and cannot be edited as such. Pass --bytes FILE.")
    after = await asyncio.to_thread(edited, text, suffix=".json", instead="pass --bytes FILE")
    return None if after is None else after.encode()


def _given(name: str) -> bytes:
    try:
        return sys.stdin.buffer.read() if name == "-" else Path(name).read_bytes()
    except OSError as error:
        raise UsageError(f"{name} cannot be read: {error.strerror}. Name a file that holds the message.") from None


async def _replay_these(session: Session, messages: list[int], raw: bytes | None, to: str | None) -> int:
    app = await session.app()
    tasks = [(await dead_messages.replay(app, one, by=actor(), raw=raw, stage=to)).task_id for one in messages]
    word = "message was" if len(tasks) == 1 else "messages were"
    next_step = f" `penstock tasks why {tasks[0]}`" if len(tasks) == 1 else ""
    session.out.show(
        {"replayed": len(tasks), "messages": messages, "tasks": tasks}, f"{len(tasks):,} {word} sent.{next_step}"
    )
    return 0


async def _replay_all(
    session: Session, transport: str | None, stage: str | None, pace: dict[str, Any], *, yes: bool
) -> int:
    app = await session.app()
    wanted = await dead_messages.filter_of(app, transport=transport, stage=stage)
    found = await dead_messages.page(app, wanted, limit=_COUNTED)
    if not found.rows:
        session.out.show({"replayed": 0, "canary": None}, "No open message matches; nothing was sent.")
        return 0
    count, more = len(found.rows), found.next is not None
    confirmed(session, f"Send {count:,}{' or more' if more else ''} messages again?", yes=yes)
    progress = session.out.progress(None if more else count)
    done = await replay_matching(app, wanted, by=actor(), tell=progress.update, **pace)
    progress.end(done.replayed)
    session.out.show(_report(done), lambda: sentence(done))
    return 1 if done.stopped else 0


def _report(done: MessageReplay) -> dict[str, Any]:
    return {**asdict(done), "refused": [{"message": one, "clause": why} for one, why in done.refused.items()]}


def sentence(done: MessageReplay) -> str:
    first, said = done.canary, f"{done.replayed:,} messages were sent."
    if first is not None and first.ended == "waiting":
        ask = f"`penstock tasks why {first.task_id}`"
        said = f"The canary, message {first.message_id}, was not taken in time, so the others stay. {ask}"
    elif first is not None and first.ended == "dead":
        again = "for the same reason" if first.same_reason else "for another reason"
        said = f"The canary, message {first.message_id}, came back dead {again} and the others stay: "
        said += clean(first.reason or "")
    elif done.stopped:
        said += f" {done.came_back:,} came back dead for the reason they had, so the others stay."
    if done.refused:
        message, why = next(iter(done.refused.items()))
        said += f" {len(done.refused):,} cannot be sent as they are, such as {message}: {clean(why)}."
    return said


def described(found: dict[str, Any], raw: bytes) -> str:
    pairs = {
        "message": str(found["id"]),
        "from": f"{found['transport']}, queue {clean(found['queue']) or '–'}, stage {found['stage'] or 'unknown'}",
        "reason": clean(found["reason"]),
        "deliveries": f"{found['deliveries']:,}",
        "died": when(found["died_at"], found["read_at"]),
        "collected": when(found["arrived_at"], found["read_at"]),
        "state": _state_of(found),
        "as it is": "could be sent" if found["problem"] is None else f"refused: {clean(found['problem'])}",
        "size": f"{found['size_bytes']:,} bytes",
    }
    body = as_json(found["decoded"]) if found["decoded"] is not None else hexdump(raw)
    return f"{fields(pairs)}\n\n{body}"


def hexdump(raw: bytes, most_bytes: int = 4096) -> str:
    """Sixteen bytes a line: where they stand, in hexadecimal, and those that are letters."""
    lines = []
    for start in range(0, min(len(raw), most_bytes), _WIDTH):
        row = raw[start : start + _WIDTH]
        letters = "".join(chr(byte) if 32 <= byte < 127 else "." for byte in row)
        lines.append(f"{start:08x}  {row.hex(' ').ljust(3 * _WIDTH - 1)}  {letters}")
    if len(raw) > most_bytes:
        lines.append(f"… {len(raw) - most_bytes:,} bytes more; -o json has all of them")
    return "\n".join(lines) or "(no bytes)"


def _text(raw: bytes) -> str | None:
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError:
        return None


def _state(given: str) -> bool | None:
    if given not in _STATES:
        raise InvalidSetting("--state", given, f"use {', '.join(_STATES)}")
    return _STATES[given]


def _number(after: str | None) -> int | None:
    if after is not None and not after.isdecimal():
        raise UsageError(f"--after {after!r} is not a place. Use what the page before printed.")
    return None if after is None else min(int(after), 2**63 - 1)


def _state_of(row: dict[str, Any]) -> str:
    if row["replayed_at"] is None:
        return "open"
    how = "edited and sent again" if row["edited"] else "sent again"
    return f"{how} by {clean(row['replayed_by'] or '–')}, {when(row['replayed_at'], row['read_at'])}"


COLUMNS = (
    Column(key="id", title="message", right=True, show=str),
    Column(key="transport", title="broker"),
    Column(key="stage", title="stage", show=lambda value: "–" if value is None else clean(value)),
    Column(key="collected", title="collected"),
    Column(key="size_bytes", title="bytes"),
    Column(key="reason", title="reason", show=lambda value: short(value, 80)),
    Column(key="state", title="state"),
)


def _row(row: dict[str, Any]) -> dict[str, Any]:
    beginning = bytes(row["beginning"])
    return {
        **row,
        "beginning": beginning.decode("utf-8", "backslashreplace"),
        "collected": when(row["arrived_at"], row["read_at"]),
        "state": _state_of(row),
    }
