"""The code in README and docs runs as it stands: its blocks are files, used as the page says."""

import re
import subprocess
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path

import asyncpg
import pytest

from tests.cli.conftest import ROOT, Background, environment

Start = Callable[..., Background]
_BLOCK = re.compile(r"^```(python|toml)\n(?:# ([\w.]+)(?:, further down)?\n)?(.*?)^```$", re.MULTILINE | re.DOTALL)


def unpack(page: str, folder: Path) -> Path:
    """Every block under its file's name; a later block of the same name is the rest of that file."""
    for kind, name, text in _BLOCK.findall((ROOT / page).read_text(encoding="utf-8")):
        assert name or kind == "toml", f"a block of {page} names no file:\n{text}"
        with (folder / (name or "pyproject.toml")).open("a", encoding="utf-8") as file:
            file.write(text)
    return folder


def run(folder: Path, *command: str, **settings: str) -> str:
    """To its end, in the folder; returns what it printed."""
    given = {f"PENSTOCK_{name.upper()}": value for name, value in settings.items()}
    ended = subprocess.run(
        [sys.executable, *command],
        env=environment(**given),
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert ended.returncode == 0, ended.stdout + ended.stderr
    return ended.stdout


@pytest.fixture
def serve(start: Start, monkeypatch: pytest.MonkeyPatch, database_url: str) -> Callable[[Path], Background]:
    """A worker for the shop.py of a folder."""

    def begin(folder: Path) -> Background:
        monkeypatch.setenv("PYTHONPATH", str(folder))
        worker = start("worker", "--app", "shop:app", "-o", "json", database_url=database_url)
        worker.announced()
        return worker

    return begin


async def test_the_examples_of_the_readme_run(
    tmp_path: Path, serve: Callable[[Path], Background], database_url: str, connection: asyncpg.Connection
) -> None:
    folder = unpack("README.md", tmp_path)
    serve(folder)
    told = run(folder, "enqueue.py", database_url=database_url)
    assert "'width': 300" in told
    assert "done=10000" in told
    await connection.execute("create table images (id integer)")
    script = """
        import asyncio, os, asyncpg, upload
        async def main():
            connection = await asyncpg.connect(os.environ["PENSTOCK_DATABASE_URL"])
            await upload.upload(connection, 20000)
        asyncio.run(main())
    """
    run(folder, "-c", textwrap.dedent(script), database_url=database_url)
    assert await connection.fetchval("select count(*) from images") == 1
    assert await connection.fetchval("select count(*) from penstock.tasks where input = '{\"image_id\": 20000}'") == 1


async def test_the_files_of_getting_started_run(
    tmp_path: Path, serve: Callable[[Path], Background], database_url: str, connection: asyncpg.Connection
) -> None:
    folder = unpack("docs/getting-started.md", tmp_path)
    await connection.execute("create table accounts (id integer primary key, balance integer)")
    await connection.execute("insert into accounts values (1, 10)")
    serve(folder)
    told = run(folder, "enqueue.py", database_url=database_url)
    assert "{'price': 4.5}" in told
    script = """
        import asyncio
        from shop import app, deposit, price, site
        async def main():
            async with app:
                print(await (await deposit.enqueue(1, 5)).result(60))
                print(await (await site.enqueue(url="https://example.com")).result(60))
                print((await (await price.enqueue("B-1")).wait(60))[0].name)
        asyncio.run(main())
    """
    told = run(folder, "-c", textwrap.dedent(script), database_url=database_url)
    assert "{'balance': 15}" in told
    assert "Oak tables" in told
    assert "NOT_FOUND" in told


async def test_the_web_process_of_getting_started_works_for_its_tasks(tmp_path: Path, database_url: str) -> None:
    """With a stand-in that only remembers the lifespan where FastAPI is not installed."""
    folder = unpack("docs/getting-started.md", tmp_path)
    stand_in = "class FastAPI:\n    def __init__(self, lifespan):\n        self.lifespan = lifespan\n"
    (folder / "fastapi.py").write_text(stand_in)
    script = """
        import asyncio, web
        from shop import price
        async def main():
            async with web.lifespan(web.web):
                print(await (await price.enqueue("A-1")).result(60))
        asyncio.run(main())
    """
    assert "{'price': 4.5}" in run(folder, "-c", textwrap.dedent(script), database_url=database_url)


def test_the_example_of_control_and_insight_runs(tmp_path: Path, database_url: str) -> None:
    told = run(unpack("docs/control.md", tmp_path), "steer.py", database_url=database_url).splitlines()
    assert told[0] == "PAUSED 3"
    assert told[1].startswith("job_paused Job ") and told[1].endswith(": stocktaking.")
    assert told[2].startswith("No worker is running.")


def test_the_test_in_the_page_about_testing_passes_with_the_plugin_it_names(tmp_path: Path, server_url: str) -> None:
    folder = unpack("docs/testing.md", tmp_path)
    assert "pytest-asyncio" in (ROOT / "docs/testing.md").read_text(encoding="utf-8")
    told = run(folder, "-m", "pytest", "-q", "-p", "no:cacheprovider", test_database_url=server_url)
    assert "2 passed" in told


def test_every_name_of_an_environment_variable_in_the_pages_is_known() -> None:
    from penstock.config import setting_fields, unknown_variables
    from penstock.extension import declared_settings

    pages = [ROOT / "README.md", *(ROOT / "docs").glob("*.md")]
    named = {name for page in pages for name in re.findall(r"PENSTOCK_[A-Z][A-Z_]+\b", page.read_text("utf-8"))}
    assert len(named) > 20
    # Those of the extension that docs/extensions.md writes come last.
    further = [*setting_fields(declared_settings()), "letters_", "letters_greeting"]
    assert [one.name for one in unknown_variables(dict.fromkeys(named, "x"), further)] == []
