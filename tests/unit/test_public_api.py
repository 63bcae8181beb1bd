"""Few names, each documented, none by accident."""

import inspect
import subprocess
import sys
from pathlib import Path

import pytest

import penstock

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
    )
    bad = tmp_path / "bad.py"
    bad.write_text(
        good.read_text()
        + "    await add.enqueue('x')\n"
        + "    await slow.enqueue()\n"
        + "    text: str = await (await add.enqueue(1)).result()\n"
        + "    ending: NotFound = await (await find.enqueue('lamp')).result()\n"
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
    assert len(errors) == 4, checked.stdout
