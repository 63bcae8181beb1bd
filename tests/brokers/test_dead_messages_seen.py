"""Dead messages as people meet them: `penstock dead-letters messages`, `/api/dead-letters/messages`."""

import base64
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from penstock import PermanentError
from penstock.brokers import dead_messages
from penstock.brokers.collecting import CLASSES, class_of
from penstock.brokers.stage_transports import queue_name
from penstock.brokers.transport import Outgoing
from penstock.cli.dead_letters_messages import hexdump
from penstock.observe.counter import Counter
from penstock.observe.exposition import Exposition
from penstock.testing import WorkerTree
from tests.brokers.test_dead_messages import dead, envelope, received
from tests.brokers.world import World, eventually, made_world
from tests.cli.seeing.command_line import CommandLine

MESSAGES = ("dead-letters", "messages")


@pytest.fixture
async def world(database_url: str, redis_url: str, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[World]:
    made = made_world(database_url, "redis", redis_url)
    monkeypatch.setenv("PENSTOCK_TRANSPORT", "redis")
    monkeypatch.setenv("PENSTOCK_REDIS_URL", redis_url)
    monkeypatch.setenv("PENSTOCK_BROKER_PREFIX", made.prefix)

    @made.app.task()
    async def add(n: int) -> int:
        if n < 0:
            raise PermanentError("only upwards")
        return n + 1

    await made.app.open()
    yield made
    await made.app.close()


@pytest.fixture
def penstock(database_url: str) -> CommandLine:
    return CommandLine(database_url)


def test_bytes_that_are_no_text_are_shown_in_hexadecimal() -> None:
    shown = hexdump(b"\x00\x1b[2Jabc\xff" + b"z" * 10)
    assert shown.splitlines() == [
        "00000000  00 1b 5b 32 4a 61 62 63 ff 7a 7a 7a 7a 7a 7a 7a  ..[2Jabc.zzzzzzz",
        "00000010  7a 7a 7a                                         zzz",
    ]
    assert "904 bytes more" in hexdump(b"x" * 5000)
    assert hexdump(b"") == "(no bytes)"


async def test_messages_are_listed_and_shown_with_their_bytes(penstock: CommandLine, world: World) -> None:
    junk = b"\xff\x1b[2J"
    numbers = await dead(world, [(await envelope(world, 7)).encode(), junk])
    page = await penstock.json(*MESSAGES, "list", "--limit", 1)
    rest = await penstock.json(*MESSAGES, "list", "--limit", 1, "--after", page["next"])
    assert [row["id"] for row in (*page["items"], *rest["items"])] == numbers[::-1] and rest["next"] is None
    assert "somebody buried it" in (await penstock(*MESSAGES, "list", "--stage", "add")).stdout
    assert (await penstock.json(*MESSAGES, "list", "--state", "replayed"))["items"] == []
    shown = await penstock.json(*MESSAGES, "show", numbers[1])
    assert base64.b64decode(shown["base64"]) == junk and shown["text"] is None
    seen = (await penstock(*MESSAGES, "show", numbers[1])).stdout
    assert "ff 1b 5b 32 4a" in seen and "\x1b" not in seen and "refused: it is no JSON" in seen
    assert '"task_id": 7' in (await penstock(*MESSAGES, "show", numbers[0])).stdout
    await penstock(*MESSAGES, "show", 4711, code=3)
    for wrong in (("list", "--state", "lost"), ("list", "--after", "x"), ("replay",), ("replay", 1, "--canary")):
        await penstock(*MESSAGES, *wrong, code=2)


async def test_a_message_is_mended_and_sent_from_the_command_line(
    penstock: CommandLine, world: World, tmp_path: Path
) -> None:
    good = (await envelope(world, 7)).encode()
    (number,) = await dead(world, [good[:-1]])
    refused = await penstock(*MESSAGES, "replay", number, code=2)
    assert "it is no JSON" in refused.stderr
    file = tmp_path / "message.json"
    file.write_bytes(good)
    assert (await penstock.json(*MESSAGES, "replay", number, "--bytes", file))["tasks"] == [7]
    await penstock(*MESSAGES, "replay", number, "--bytes", file, code=4)
    async with world.broker() as broker:
        assert await received(world, broker) == [good]
    actions = await world.value("select array_agg(action order by id) from penstock.audit")
    assert actions == ["message.replayed"]


async def test_all_are_sent_after_a_question_and_a_failed_canary_leaves_code_1(
    penstock: CommandLine, world: World
) -> None:
    task = await world.app.enqueue("add", {"n": 1})
    await dead(world, [(await envelope(world, task.id, attempt=n)).encode() for n in (1, 2, 3)])
    asked = await penstock(*MESSAGES, "replay", "--all", code=2)
    assert "Send 3 messages again?" in asked.stderr
    canary = await penstock(*MESSAGES, "replay", "--all", "--yes", "--canary", "--canary-seconds", 0.2, code=1)
    assert "was not taken in time" in canary.stdout
    done = await penstock.json(*MESSAGES, "replay", "--all", "--yes", "--rate", 50)
    assert done["replayed"] == 2 and done["refused"] == []
    assert (await penstock.json(*MESSAGES, "replay", "--all", "--yes"))["replayed"] == 0


async def test_discarded_messages_are_gone_and_their_tasks_are_not(penstock: CommandLine, world: World) -> None:
    task = await world.app.enqueue("add", {"n": 1})
    numbers = await dead(world, [(await envelope(world, task.id)).encode(), b"x"])
    await penstock(*MESSAGES, "discard", numbers[0], code=2)
    assert (await penstock.json(*MESSAGES, "discard", *numbers, "--yes"))["discarded"] == numbers
    assert await dead_messages.open_counts(world.app) == {}
    assert (await task.state()).name == "PENDING"


# ---------------------------------------------------------------- counted and pointed at


async def test_dead_messages_and_dead_tasks_are_counted_by_what_they_died_of(world: World) -> None:
    counter = Counter()
    world.app.events.add(counter.on_event)
    exposition = Exposition(counter=counter, connect=world.app.connection, runners=tuple)
    await world.app.enqueue("add", {"n": -1})
    async with world.working(), world.broker() as broker:
        queue = await world.queue("add")
        await broker.publish([Outgoing(queue, 1, raw) for raw in (b"junk", b"{}", b"[]", b"x" * 70_000)])

        async def all_dead() -> bool:
            text = await exposition.render()
            return b"penstock_dead_tasks_total" in text and text.count(b'{reason="') == 3

        await eventually(all_dead, what="four dead messages and a dead task")
    text = (await exposition.render()).decode()
    for line in (
        'penstock_dead_tasks_total{stage="add"} 1.0',
        'penstock_dead_messages_total{reason="no json",transport="redis"} 1.0',
        'penstock_dead_messages_total{reason="shape",transport="redis"} 2.0',
        'penstock_dead_messages_total{reason="oversized",transport="redis"} 1.0',
        'penstock_dead_messages_open{transport="redis"} 4.0',
    ):
        assert line in text, text


async def test_the_supervisor_of_a_fleet_brings_dead_messages_home(world: World, tmp_path: Path) -> None:
    """The relay runs there, beside the runners that bury."""
    tree = WorkerTree("tests.crash.crash_app:app", url=await world.app.database_url(), log=tmp_path / "log")
    try:
        tree.wait_ready()
        stage = await world.value("select id from penstock.stages where pipeline = 'effect'")
        installation = await world.value("select id from penstock.installation")
        async with world.broker() as broker:
            await broker.publish([Outgoing(queue_name(world.app.settings, installation, stage), 1, b"junk")])

        async def collected() -> bool:
            return await dead_messages.open_counts(world.app) == {"redis": 1}

        await eventually(collected, what="the message in PostgreSQL")
    finally:
        tree.close()


def test_what_a_message_says_of_itself_is_counted_under_few_names() -> None:
    """The kind comes from the broker, so it is somebody else's text."""
    assert [class_of(kind) for kind in CLASSES] == list(CLASSES)
    assert {class_of(kind) for kind in ("", "somebody's word", "No JSON", "it is no JSON")} == {"other"}


async def test_the_doctor_and_the_status_screen_point_at_brokers(
    penstock: CommandLine, world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    def told(checks: list[dict[str, str]], name: str) -> tuple[str, str]:
        (one,) = [check for check in checks if check["check"] == name]
        return one["health"], one["finding"]

    # The database of the tests is not durable, so something is bad in any case: code 1.
    assert told(await penstock.json("doctor", code=1), "brokers") == ("ok", "redis answers.")
    await dead(world, [b"junk"])
    health, finding = told(await penstock.json("doctor", code=1), "messages")
    assert health == "warn" and "1 of redis" in finding
    await world.app.enqueue("add", {"n": 1})
    await world.value("update penstock.queue set sent_at = now() returning 1")
    status = (await penstock("status")).stdout
    assert "redis (configured here), 1 sent" in status and "penstock dead-letters messages list" in status
    (stage,) = [one for one in await penstock.json("stages", "list") if one["pipeline"] == "add"]
    assert (stage["transport"], stage["in_broker"]) == ("redis", 1)
    assert "redis (configured here), 1 sent" in (await penstock("stages", "show", "add")).stdout
    monkeypatch.setenv("PENSTOCK_REDIS_URL", "redis://ann:secret@127.0.0.1:1/0")
    health, finding = told(await penstock.json("doctor", code=1), "brokers")
    assert health == "bad" and "does not answer" in finding and "secret" not in finding
