"""`make ui`: what it does where some of it is there already. No Node runs here."""

import importlib.util
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def build_ui(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Any:
    """The tool on a repository of its own; ``ran`` is what npm was asked for."""
    spec = importlib.util.spec_from_file_location("build_ui", ROOT / "tools" / "build_ui.py")
    assert spec is not None and spec.loader is not None
    module: Any = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
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


def test_only_make_up_does_without_the_packages() -> None:
    recipes = (ROOT / "Makefile").read_text("utf-8")
    assert "\nup: install ##" in recipes
    assert "\ntest: check programs ui ##" in recipes
    assert recipes.count("--pages-only") == 1
