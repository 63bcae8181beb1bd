"""`make ui`: what it does where some of it is there already. No Node runs here."""

import importlib.util
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]


def _tool(name: str) -> Any:
    spec = importlib.util.spec_from_file_location(name, ROOT / "tools" / f"{name}.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def build_ui(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Any:
    """The tool on a repository of its own; ``ran`` is what npm was asked for."""
    module = _tool("build_ui")
    module.UI, module.TARGET = tmp_path / "ui", tmp_path / "web"
    module._INSTALLED = module.UI / "node_modules" / ".installed-from"
    module.UI.mkdir()
    module.TARGET.mkdir()
    (module.UI / "package-lock.json").write_text("{}")
    module.ran = []

    def run(command: Sequence[str], environment: dict[str, str], what: str) -> None:
        module.ran.append(command[1])
        (module.UI / "node_modules").mkdir(exist_ok=True)

    monkeypatch.setattr(module, "run", run)
    monkeypatch.setattr(module, "npm", lambda: (["npm"], {}))
    return module


def test_the_first_build_fetches_packages_and_the_second_does_nothing(build_ui: Any) -> None:
    assert build_ui.main([])
    assert build_ui.ran == ["ci", "run"]
    assert not build_ui.main([])
    assert build_ui.ran == ["ci", "run"]


def test_packages_that_are_missing_are_fetched_though_the_pages_are_up_to_date(build_ui: Any) -> None:
    build_ui.main([])
    build_ui._INSTALLED.unlink()
    build_ui.ran.clear()
    build_ui.main([])
    assert build_ui.ran == ["ci"]


def test_pages_that_are_up_to_date_are_served_without_packages(build_ui: Any) -> None:
    build_ui.main([])
    build_ui._INSTALLED.unlink()
    build_ui.ran.clear()
    build_ui.main(["--pages-only"])
    assert build_ui.ran == []


@pytest.mark.parametrize(("version", "builds"), [("standard", 1), ("editable", 0)])
def test_a_wheel_builds_the_pages_and_an_editable_install_leaves_them_to_make(
    monkeypatch: pytest.MonkeyPatch, build_ui: Any, version: str, builds: int
) -> None:
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.setitem(sys.modules, "build_ui", build_ui)
    hook = _tool("hatch_build")
    hook.WebPages.initialize(None, version, {})
    assert build_ui.ran.count("run") == builds


@pytest.mark.parametrize(("recipe", "wanted"), [("up", "build_ui.py --pages-only"), ("test", "build_ui.py")])
def test_only_make_up_does_without_the_packages(recipe: str, wanted: str) -> None:
    # -o: what is installed counts as up to date, whatever the dates of the files say.
    command = ["make", "--dry-run", "--no-print-directory", "-o", "install", "-o", "programs", recipe]
    planned = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    (line,) = [line for line in planned.splitlines() if "build_ui.py" in line]
    assert line.endswith(wanted)
