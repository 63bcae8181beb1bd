"""What is installed from a wheel: the built web pages are in it, and nothing that only the build needs."""

import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

from tests.cli.conftest import ROOT
from tests.unit import test_deploy

pytestmark = pytest.mark.timeout(600)
_NOT_SENT = shutil.ignore_patterns("node_modules", "web", "__pycache__", "schema.d.ts")


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What `deploy/Containerfile` copies, nothing built: an image needs no more. What npm would fetch is borrowed."""
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
    web = [name for name in names if name.startswith("penstock/service/web/")]
    assert "penstock/service/web/index.html" in web
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
    assert [name for name in names if "node_modules" in name or "service/web/" in name] == []


def test_the_pages_are_served_from_the_wheel(wheel: Path, tmp_path: Path) -> None:
    zipfile.ZipFile(wheel).extractall(tmp_path)
    script = (
        "import re, penstock\n"
        "from fastapi import FastAPI\n"
        "from fastapi.testclient import TestClient\n"
        "from penstock.service import pages\n"
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
