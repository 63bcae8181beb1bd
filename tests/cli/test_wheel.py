"""What is installed from a wheel: the built web pages are in it, and nothing that only the build needs."""

import re
import shutil
import subprocess
import sys
import tarfile
import venv
import zipfile
from pathlib import Path
from urllib.request import Request, urlopen

import orjson
import pytest

from tests.cli.conftest import ROOT, environment
from tests.cli.test_serving import get
from tests.sizes import LONG
from tests.unit import test_deploy

pytestmark = pytest.mark.timeout(600)
WEB = "src/penstock/console/web"
_NOT_SENT = shutil.ignore_patterns("node_modules", "web", "__pycache__", "schema.d.ts")


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What `deploy/Containerfile` copies: an image needs no more. What npm would fetch is borrowed.

    So are the pages that `make ui` built: the build takes them only where nothing that they are built from is missing
    here or differs. `make test-all` builds them anew.
    """
    copied = tmp_path_factory.mktemp("source") / "penstock"
    for path in test_deploy.copied():
        (copied / path).parent.mkdir(parents=True, exist_ok=True)
        if (ROOT / path).is_dir():
            shutil.copytree(ROOT / path, copied / path, ignore=_NOT_SENT)
        else:
            shutil.copy(ROOT / path, copied / path)
    fetched = ROOT / "ui" / "node_modules"
    assert fetched.is_dir(), "run `make ui` first"
    (copied / "ui" / "node_modules").symlink_to(fetched)
    if not LONG:
        shutil.copytree(ROOT / WEB, copied / WEB)
    return copied


@pytest.fixture(scope="module")
def wheel(source: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return _built(source, tmp_path_factory.mktemp("wheel"), "wheel")


def _built(source: Path, folder: Path, kind: str) -> Path:
    command = [sys.executable, "-m", "hatchling", "build", "-t", kind, "-d", str(folder)]
    run = subprocess.run(command, cwd=source, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr[-3000:]
    (made,) = folder.iterdir()
    return made


def test_a_wheel_holds_the_pages_packed_and_nothing_of_their_making(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    web = [name for name in names if name.startswith("penstock/console/web/")]
    assert "penstock/console/web/index.html" in web
    scripts = [name for name in web if name.endswith(".js") and "/assets/" in name]
    assert scripts
    assert all(f"{name}.gz" in web for name in scripts)
    strange = ("node_modules", ".map", ".ts", "tests/", "ui/", ".venv")
    assert [name for name in names if any(part in name for part in strange) and not name.endswith(".pyi")] == []


def test_a_source_archive_holds_what_the_pages_are_built_from_and_nothing_built(source: Path, tmp_path: Path) -> None:
    shutil.copy(ROOT / ".gitignore", source)  # what an archive leaves out
    with tarfile.open(_built(source, tmp_path, "sdist")) as archive:
        names = [name.partition("/")[2] for name in archive.getnames()]
    assert {"ui/package-lock.json", "ui/src/main.tsx", "tools/build_ui.py", "tools/hatch_build.py"} <= set(names)
    assert [name for name in names if "node_modules" in name or "console/web/" in name] == []


def test_the_pages_are_served_from_the_wheel(wheel: Path, tmp_path: Path) -> None:
    zipfile.ZipFile(wheel).extractall(tmp_path)
    script = (
        "import re, penstock\n"
        "from fastapi import FastAPI\n"
        "from fastapi.testclient import TestClient\n"
        "from penstock.console import pages\n"
        "app = FastAPI(); app.include_router(pages.router())\n"
        "client = TestClient(app)\n"
        "page = client.get('/jobs', headers={'accept': 'text/html'})\n"
        "script = re.search(r'/(assets/[^\"]+[.]js)', page.text).group(1)\n"
        "print(penstock.__file__, page.status_code, client.get('/' + script).status_code)\n"
    )
    run = subprocess.run(
        [sys.executable, "-c", script],
        cwd=tmp_path,
        env={"PYTHONPATH": str(tmp_path), "PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    assert run.stdout.split() == [str(tmp_path / "penstock" / "__init__.py"), "200", "200"]


SHOP = """
from penstock import Penstock
app = Penstock("shop")

@app.task()
async def double(number: int) -> int:
    return 2 * number
"""
ENQUEUE = """
import asyncio
from shop import app, double

async def main():
    async with app:
        print(await (await double.enqueue(21)).result(timeout=60))

asyncio.run(main())
"""
MOST_PACKAGES = 25
# The goal is 45 MB. uvloop, asyncpg, and what typer brings along (pygments, pydantic) are 36 of them.
MOST_BYTES = 49 * 1000 * 1000


@pytest.fixture(scope="module")
def engine_alone(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An empty virtual environment with the wheel and what it asks for without an extra, in the locked versions."""
    folder = tmp_path_factory.mktemp("engine")
    venv.create(folder, with_pip=False)
    pins = folder / "pins.txt"
    pins.write_text("".join(re.findall(r"^[a-z0-9.-]+==[^ ]+(?: ; [^\n]+?)?(?= \\\\\n)", _lock(), re.M)))
    target = folder / "lib" / f"python{sys.version_info.major}.{sys.version_info.minor}" / "site-packages"
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "install", "--quiet", "--no-compile"]
    command = [*pip, "--target", str(target), "--constraint", str(pins), str(wheel)]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr[-3000:]
    return folder


def _lock() -> str:
    return (ROOT / "requirements.lock").read_text("utf-8")


def test_the_engine_alone_is_small(engine_alone: Path) -> None:
    (packages,) = engine_alone.glob("lib/python3*/site-packages")
    names = sorted(path.name for path in packages.glob("*.dist-info"))
    size = sum(path.stat().st_size for path in packages.rglob("*") if path.is_file())
    assert len(names) <= MOST_PACKAGES, names
    assert size <= MOST_BYTES, f"{size:,} bytes"


def test_the_engine_alone_runs_tasks_and_says_which_extra_is_missing(
    engine_alone: Path, tmp_path: Path, database_url: str
) -> None:
    (tmp_path / "shop.py").write_text(SHOP)
    (tmp_path / "enqueue.py").write_text(ENQUEUE)
    python = str(engine_alone / "bin" / "python")
    settings = environment(PENSTOCK_DATABASE_URL=database_url, PYTHONSAFEPATH="")

    def run(*command: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [python, *command], cwd=tmp_path, env=settings, capture_output=True, text=True, check=False, timeout=120
        )

    worker = subprocess.Popen([python, "-m", "penstock.cli", "worker", "--app", "shop:app"], cwd=tmp_path, env=settings)
    try:
        enqueued = run("enqueue.py")
        assert enqueued.stdout.strip() == "42", enqueued.stderr
        assert run("-m", "penstock.cli", "status").returncode == 0
    finally:
        worker.terminate()
        assert worker.wait(60) == 0
    listed = run("-m", "penstock.cli", "--help").stdout
    assert "worker" in listed
    assert not re.search(r"^  (up|serve|sites|articles|link|catalogue|users|bench|demo) ", listed, re.MULTILINE)
    for command, extra in (("serve", "console"), ("link", "linking"), ("bench", "all")):
        refused = run("-m", "penstock.cli", command)
        assert refused.returncode == 2, refused.stderr
        assert f"penstock: `penstock {command}` needs the extra '{extra}'." in refused.stderr
        assert f"pip install 'penstock[{extra}]'" in refused.stderr
        assert "Traceback" not in refused.stderr


def test_everything_of_the_wheel_is_served_by_penstock_up(wheel: Path, tmp_path: Path, database_url: str) -> None:
    """With what `make install` brought, which is `penstock[all]`; Penstock itself comes from the wheel."""
    zipfile.ZipFile(wheel).extractall(tmp_path)
    settings = environment(PENSTOCK_DATABASE_URL=database_url, PYTHONPATH=str(tmp_path), PYTHONSAFEPATH="1")
    where = [sys.executable, "-c", "import penstock_demo; print(penstock_demo.__file__)"]
    found = subprocess.run(where, env=settings, capture_output=True, text=True, check=True)
    assert found.stdout.strip() == str(tmp_path / "penstock_demo" / "__init__.py")
    command = [sys.executable, "-m", "penstock.cli", "up", "--port", "0", "-o", "json"]
    with subprocess.Popen(command, cwd=tmp_path, env=settings, stdout=subprocess.PIPE) as up:
        try:
            assert up.stdout is not None
            announced = orjson.loads(up.stdout.readline())
            address = announced["http"]
            assert announced["app"] == "penstock_demo.showcase:app"
            assert get(address, "/readyz")[0] == 200
            assert get(address, "/api/articles")[0] == 401
            with urlopen(Request(address + "/articles", headers={"Accept": "text/html"}), timeout=60) as page:
                assert b"/assets/" in page.read()
        finally:
            up.terminate()
    assert up.returncode == 0
