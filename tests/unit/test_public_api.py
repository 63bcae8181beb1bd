"""Few names, each documented, none by accident."""

import inspect
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import penstock
from penstock import Penstock
from penstock.core.app import Noun

ROOT = Path(__file__).parents[2]


def test_the_public_names_are_exactly_these():
    assert sorted(penstock.__all__) == penstock.__all__
    assert set(penstock._HOME) == set(penstock.__all__)
    visible = {name for name in dir(penstock) if not name.startswith("_")}
    modules = {name for name in visible if inspect.ismodule(getattr(penstock, name))}
    assert visible - modules <= set(penstock.__all__) | {"TYPE_CHECKING"}


@pytest.mark.parametrize("name", penstock.__all__)
def test_every_public_name_says_what_it_is_for(name):
    assert (getattr(penstock, name).__doc__ or "").strip()


def test_the_page_about_control_and_insight_names_every_call_of_both():
    app = penstock.Penstock()
    text = (ROOT / "docs/control.md").read_text(encoding="utf-8")
    named = set(re.findall(r"`((?:control|insight)\.[\w.]+)`", text))
    assert named == {*_calls("control", app.control), *_calls("insight", app.insight)}


def _calls(path: str, noun: Noun) -> Iterator[str]:
    """Every one says what it does; nouns inside are walked through."""
    for name in sorted({*dir(type(noun)), *getattr(type(noun), "__slots__", ())}):
        if name.startswith("_") or name == "app":
            continue
        found = getattr(noun, name)
        assert (found.__doc__ or "").strip(), f"{path}.{name}"
        if isinstance(found, Noun):
            yield from _calls(f"{path}.{name}", found)
        else:
            yield f"{path}.{name}"


def test_the_api_is_typed_as_people_use_it(tmp_path):
    good = tmp_path / "good.py"
    good.write_text(
        "from pydantic import BaseModel\n"
        "from penstock import Context, Done, NotFound, Penstock, Skip, Snooze, Task\n"
        "app = Penstock()\n"
        "@app.task()\n"
        "async def add(a: int, b: int = 1) -> int:\n    return a + b\n"
        "@app.task()\n"
        "def slow(ctx: Context, name: str) -> str:\n    return name\n"
        "class Item(BaseModel):\n    name: str\n"
        "@app.task()\n"
        "async def find(ctx: Context, name: str) -> Item | NotFound | Snooze | Skip:\n    return Item(name=name)\n"
        "@app.task()\n"
        "def lookup(name: str) -> Item | NotFound | None:\n    return None\n"
        "@app.task()\n"
        "async def end() -> Done | Skip:\n    return Done(1)\n"
        "async def main() -> None:\n"
        "    one: Task[int] = await add.enqueue(1, b=2)\n"
        "    number: int = await one.result(60)\n"
        "    two: Task[str] = await slow.options(priority='high').enqueue('x')\n"
        "    three: Task[str] = slow.enqueue_sync(name='x')\n"
        "    lamp: Item = await (await find.enqueue('lamp')).result()\n"
        "    four: Task[Item | None] = await lookup.enqueue('lamp')\n"
        "    anything: int = await (await end.enqueue()).result()\n"
        "    await app.control.jobs.pause(7, by='ann', reason='lunch')\n"
        "    again: int = await app.control.jobs.reprocess(7, by='ann')\n"
        "    sentence: str = (await app.insight.why(3)).sentence\n"
        "    stages: list[str] = [one.label for one in await app.insight.stages()]\n"
    )
    bad = tmp_path / "bad.py"
    bad.write_text(
        good.read_text()
        + "    await add.enqueue('x')\n"
        + "    await slow.enqueue()\n"
        + "    text: str = await (await add.enqueue(1)).result()\n"
        + "    ending: NotFound = await (await find.enqueue('lamp')).result()\n"
        + "    await app.control.jobs.pause(7)\n"
        + "    await app.control.lanes.weigh('mail', 'ann', '3', by='ann')\n"
        + "    reason: int = (await app.insight.why(3)).sentence\n"
    )
    checked = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "--no-incremental", "--config-file=", str(good), str(bad)],
        capture_output=True,
        text=True,
        cwd=ROOT / "src",
        check=False,
    )
    errors = [line for line in checked.stdout.splitlines() if ": error:" in line]
    assert all("bad.py" in line for line in errors), checked.stdout
    assert len(errors) == 7, checked.stdout


def test_calls_of_control_and_insight_show_the_parameters_that_are_left():
    app = Penstock("shop")
    assert list(inspect.signature(app.control.jobs.pause).parameters) == ["job_id", "by", "reason"]
    assert "limit" in inspect.signature(app.insight.lanes).parameters
    assert next(iter(inspect.signature(app.insight.why).parameters)) != "connection"
