"""Checks of the repository itself: what a newcomer and CI rely on before any code runs."""

import json
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
LONGEST_FILE_LINES = 400


def read(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def locked_packages() -> dict[str, str]:
    """Each pin of the lock with the lines that belong to it (marker, hashes, where it comes from)."""
    blocks = re.split(r"^(?=[A-Za-z0-9])", read("requirements.lock"), flags=re.MULTILINE)
    return {block.split("==")[0]: block for block in blocks if not block.startswith("#")}


def normalised(requirement: str) -> str:
    name = re.match(r"[A-Za-z0-9._-]+", requirement)
    assert name, requirement
    return re.sub(r"[-_.]+", "-", name[0]).lower()


def recipes() -> set[str]:
    return set(re.findall(r"^([a-z][a-z-]*):", read("Makefile"), flags=re.MULTILINE))


def source_files(suffix: str) -> list[Path]:
    return sorted(path for folder in ("src", "bench", "demo") for path in (ROOT / folder).rglob(f"*{suffix}"))


def test_every_locked_package_has_an_exact_version_and_a_hash():
    packages = locked_packages()
    assert len(packages) > 20
    without = [name for name, block in packages.items() if not re.search(r"==\S+.*--hash=sha256:\w{64}", block, re.S)]
    assert without == []


def test_the_lock_names_no_registry_and_no_path():
    lock = read("requirements.lock")
    assert "://" not in lock
    assert not re.search(r"^\s*(--(extra-)?index-url|--find-links|-i|-f)\b", lock, re.MULTILINE)
    assert not re.search(r"(^|\s)/\w+/", lock), "an absolute path"


def test_the_lock_of_the_pages_has_hashes_and_no_address():
    text = read("ui/package-lock.json")
    assert "://" not in text
    packages = {name: one for name, one in json.loads(text)["packages"].items() if name}
    assert len(packages) > 100
    assert [name for name, one in packages.items() if not one.get("integrity", "").startswith("sha512-")] == []


def test_the_types_of_the_pages_come_from_the_api_as_it_is():
    written = subprocess.run([sys.executable, "tools/openapi.py", "--print"], cwd=ROOT, capture_output=True, check=True)
    assert written.stdout.decode() == read("ui/openapi.json"), "run `make openapi`"


def test_the_lock_covers_every_dependency_of_the_project():
    project = tomllib.loads(read("pyproject.toml"))
    extras = project["project"]["optional-dependencies"]
    del extras["sentence-transformers"]
    wanted = [
        *project["project"]["dependencies"],
        *(one for extra in extras.values() for one in extra),
        *project["dependency-groups"]["dev"],
        *project["build-system"]["requires"],
    ]
    assert {normalised(requirement) for requirement in wanted} - set(locked_packages()) == {"penstock"}


@pytest.mark.skipif(shutil.which("make") is None, reason="make is not installed")
def test_bare_make_lists_every_recipe_with_a_description():
    listing = subprocess.run(
        ["make", "--no-print-directory"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout
    described = dict(re.findall(r"^  make ([a-z-]+) +(\S.*)$", listing, flags=re.MULTILINE))
    assert set(described) == recipes()
    assert recipes() >= {
        "install",
        "up",
        "test",
        "check",
        "bench",
        "bench-peers",
        "chaos",
        "mutants",
        "lock",
        "schema",
    }


def test_every_recipe_is_phony():
    phony = re.search(r"^\.PHONY: (.*)$", read("Makefile"), flags=re.MULTILINE)
    assert phony
    assert set(phony[1].split()) == recipes()


def test_ci_calls_make_test():
    script = ROOT / ".ci" / "run"
    assert script.stat().st_mode & 0o111, "not executable"
    lines = script.read_text().splitlines()
    assert "set -euo pipefail" in lines
    assert lines[-1] == "exec make test"


def test_the_changelog_has_a_place_for_what_is_unreleased():
    assert re.search(r"^## Unreleased$", read("CHANGELOG.md"), flags=re.MULTILINE)


def test_no_source_file_is_long():
    lengths = {path: len(path.read_text(encoding="utf-8").splitlines()) for path in source_files(".py")}
    long = {str(path.relative_to(ROOT)): lines for path, lines in lengths.items() if lines >= LONGEST_FILE_LINES}
    assert long == {}


def test_every_file_that_the_architecture_names_is_there():
    text = read("ARCHITECTURE.md")
    folders = [ROOT, ROOT / "tests", ROOT / "src/penstock", *(ROOT / "src/penstock/extensions").iterdir()]
    named = set(re.findall(r"`((?:[a-z_]+/)*[a-z_]+(?:\.(?:py|sql|toml)|/))`", text))
    assert len(named) > 60
    assert [name for name in sorted(named) if not any((folder / name).exists() for folder in folders)] == []


def test_no_module_hides_behind_a_name_that_says_nothing():
    vague = {"utils", "util", "common", "helpers", "base", "misc"}
    modules = [path.relative_to(ROOT).with_suffix("") for path in source_files(".py")]
    assert [str(module) for module in modules if vague & set(module.parts)] == []


def test_no_source_file_silences_the_type_checker():
    assert [str(path.relative_to(ROOT)) for path in source_files(".py") if "type: ignore" in path.read_text()] == []


def test_the_package_says_that_it_is_typed():
    assert (ROOT / "src" / "penstock" / "py.typed").exists()


def test_every_link_and_picture_of_the_documents_leads_to_a_file():
    pages = [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), ROOT / "ui" / "README.md", ROOT / "bench" / "README.md"]
    missing = [
        f"{page.relative_to(ROOT)}: {target}"
        for page in pages
        for target in re.findall(r"\]\(([^)#\s]+)[^)]*\)", page.read_text("utf-8"))
        if "://" not in target and not target.startswith("mailto:") and not (page.parent / target).exists()
    ]
    assert missing == []
