"""`penstock tasks`"""

import asyncio
import os
import signal
import sys

import pytest

from penstock import Penstock, State
from tests.cli.seeing.command_line import CommandLine


async def test_an_empty_list_teaches_the_next_step(penstock: CommandLine) -> None:
    ended = await penstock("tasks", "list")
    assert ended.stdout == ""
    assert "penstock tasks enqueue" in ended.stderr


async def test_a_filter_without_a_match_is_told_apart_from_an_empty_list(penstock: CommandLine, shop: Penstock) -> None:
    await shop.enqueue("greet", {"name": "ann"})
    assert "No task matches" in (await penstock("tasks", "list", "--state", "error")).stderr


async def test_the_list_pages_by_place_in_both_formats(penstock: CommandLine, shop: Penstock) -> None:
    ids = [(await shop.enqueue("greet", {"name": str(n)})).id for n in range(5)]
    page = await penstock.json("tasks", "list", "--limit", 3)
    assert [row["task_id"] for row in page["items"]] == ids[:1:-1]
    rest = await penstock.json("tasks", "list", "--limit", 3, "--after", page["next"])
    assert [row["task_id"] for row in rest["items"]] == ids[1::-1]
    assert rest["next"] is None
    people = await penstock("tasks", "list", "--limit", 3)
    assert f"--after '{page['next']}'" in people.stderr
    assert "greet" in people.stdout


async def test_waiting_tasks_page_in_the_order_they_become_due(penstock: CommandLine, shop: Penstock) -> None:
    later = (await shop.enqueue("greet", {"name": "b"}, delay=50)).id
    sooner = (await shop.enqueue("greet", {"name": "a"})).id
    first = await penstock.json("tasks", "list", "--state", "pending", "--limit", 1)
    assert [row["task_id"] for row in first["items"]] == [sooner]
    second = await penstock.json("tasks", "list", "--state", "pending", "--limit", 1, "--after", first["next"])
    assert [row["task_id"] for row in second["items"]] == [later]


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (("tasks", "show", 999), 3),
        (("tasks", "why", 999), 3),
        (("tasks", "cancel", 999), 3),
        (("tasks", "reprocess", 999), 3),
        (("tasks", "wait", 999), 3),
        (("tasks", "list", "--pipeline", "nope"), 3),
        (("tasks", "list", "--job", 999), 3),
        (("tasks", "enqueue", "nope"), 3),
        (("tasks", "enqueue", "greet", "--arguments", "{"), 2),
        (("tasks", "enqueue", "greet", "--arguments", "[]"), 2),
        (("tasks", "enqueue", "greet", "--priority", "soon"), 2),
        (("tasks", "enqueue", "greet", "--run-at", "tomorrow"), 2),
        (("tasks", "list", "--after", "here"), 2),
        (("tasks", "list", "--state", "odd"), 2),
    ],
)
async def test_what_cannot_be_done_has_its_exit_code_and_says_why(
    penstock: CommandLine, shop: Penstock, arguments: tuple[object, ...], code: int
) -> None:
    ended = await penstock(*arguments, code=code)
    assert ended.stdout == ""
    assert ended.stderr.strip()
    assert "Traceback" not in ended.stderr


async def test_show_has_input_history_and_the_results_of_stages(penstock: CommandLine, open_shop: Penstock) -> None:
    task = await open_shop.enqueue("two", {"number": 20})
    assert await task.result(60) == 41
    shown = await penstock.json("tasks", "show", task.id)
    assert shown["state"] == "DONE"
    assert shown["input"] == {"number": 20}
    assert shown["result"] == 41
    assert [one["name"] for one in shown["checkpoints"]] == ["first"]
    people = (await penstock("tasks", "show", task.id)).stdout
    assert "finished stages" in people
    assert "ago (20" in people


async def test_stored_text_cannot_steer_the_terminal(penstock: CommandLine, open_shop: Penstock) -> None:
    task = await open_shop.enqueue("fail", {"kind": "\x1b[2J\x1b]0;owned\x07"})
    await task.wait(60)
    for arguments in (
        ("tasks", "show", task.id),
        ("tasks", "list"),
        ("tasks", "why", task.id),
        ("dead-letters", "list"),
    ):
        ended = await penstock(*arguments)
        assert "\x1b" not in ended.stdout
        assert "\x07" not in ended.stdout


async def test_why_says_the_reason_and_the_next_step(penstock: CommandLine, shop: Penstock) -> None:
    task = await shop.enqueue("greet", {"name": "ann"})
    why = await penstock.json("tasks", "why", task.id)
    assert why["reason"] == "no_worker"
    assert "penstock worker" in why["next_step"]
    assert "No live worker" in (await penstock("tasks", "why", task.id)).stdout


async def test_cancel_ends_a_waiting_task_and_refuses_a_finished_one(penstock: CommandLine, shop: Penstock) -> None:
    task = await shop.enqueue("greet", {"name": "ann"})
    assert (await penstock.json("tasks", "cancel", task.id))["state"] == "CANCELLED"
    assert await task.state() is State.CANCELLED
    refused = await penstock("tasks", "cancel", task.id, code=4)
    assert f"Cannot cancel task {task.id}: it is CANCELLED" in refused.stderr


async def test_reprocess_runs_finished_tasks_again_all_or_none(penstock: CommandLine, shop: Penstock) -> None:
    ended, waiting = await shop.enqueue("greet", {"name": "a"}), await shop.enqueue("greet", {"name": "b"})
    await ended.cancel()
    await penstock("tasks", "reprocess", ended.id, waiting.id, code=4)
    assert await ended.state() is State.CANCELLED
    await penstock("tasks", "reprocess", ended.id, "--from-stage", "nope", code=3)
    assert await penstock.json("tasks", "reprocess", ended.id) == {"reprocessed": [ended.id]}
    assert await ended.state() is State.PENDING


async def test_enqueue_stores_and_the_same_key_gives_the_same_task(penstock: CommandLine, shop: Penstock) -> None:
    arguments = (
        "tasks",
        "enqueue",
        "greet",
        "-a",
        '{"name": "ann"}',
        "--key",
        "k1",
        "--priority",
        "-5",
        "--lane",
        "vip",
    )
    first = await penstock.json(*arguments)
    assert first["created"] is True
    assert await penstock.json(*arguments) == {"task_id": first["task_id"], "created": False}
    lanes = await penstock.json("lanes", "list")
    assert [(lane["key"], lane["priority"], lane["waiting"]) for lane in lanes["items"]] == [("vip", -5, 1)]


async def test_enqueue_with_the_application_checks_the_arguments(penstock: CommandLine, shop: Penstock) -> None:
    ended = await penstock(
        "tasks", "enqueue", "greet", "-a", '{"nme": "x"}', "--app", "tests.cli.seeing.shop:app", code=2
    )
    assert "nme" in ended.stderr


async def test_wait_prints_the_result_and_fails_with_the_task(penstock: CommandLine, open_shop: Penstock) -> None:
    good, bad = await open_shop.enqueue("greet", {"name": "ann"}), await open_shop.enqueue("fail", {})
    assert (await penstock.json("tasks", "wait", good.id))["result"] == "hello ann"
    ended = await penstock("tasks", "wait", bad.id, code=1)
    assert "PermanentError: it is broken" in ended.stdout


async def test_ctrl_c_on_a_wait_leaves_the_task_alone(database_url: str, shop: Penstock) -> None:
    task = await shop.enqueue("greet", {"name": "ann"})
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "penstock.cli",
        "tasks",
        "wait",
        str(task.id),
        env={**os.environ, "PENSTOCK_DATABASE_URL": database_url},
        stderr=asyncio.subprocess.PIPE,
    )
    assert process.stderr is not None
    async with asyncio.timeout(60):
        assert b"Waiting for task" in await process.stderr.readline()
        process.send_signal(signal.SIGINT)
        said = await process.stderr.read()
        assert await process.wait() == 130
    assert b"goes on" in said
    assert b"Traceback" not in said
    assert await task.state() is State.PENDING
