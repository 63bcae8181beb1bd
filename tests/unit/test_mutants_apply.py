"""A mutant whose text is no longer in the code tests nothing: it has to be rewritten with the code."""

import importlib
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

from tests.mutants import plugin
from tests.mutants.__main__ import _judged
from tests.mutants.catalogue import Mutant, Shard, all_mutants, mutant

SOURCE = Path(__file__).resolve().parents[2] / "src" / "penstock"
AREAS = ("service", "intake", "sites", "articles", "linking", "catalogue")


def original(one: Mutant) -> str:
    if one.query is not None:
        text: str = getattr(one.queries(), one.query)
        return text
    return (SOURCE / one.file).read_text(encoding="utf-8")


@pytest.mark.parametrize("name", [one.name for one in all_mutants()])
def test_every_mutant_changes_exactly_one_place(name: str):
    one = mutant(name)
    changed = one.applied(original(one))
    assert changed != original(one)
    if one.file.endswith(".py"):
        compile(changed, one.file, "exec")


def test_the_tests_that_have_to_find_a_mutant_exist():
    for one in all_mutants():
        for test in one.tests:
            file, _, function = test.partition("::")
            text = (SOURCE.parents[1] / file).read_text(encoding="utf-8")
            assert not function or f"def {function}(" in text, test


def test_mutant_names_are_unique():
    names = [one.name for one in all_mutants()]
    assert len(names) == len(set(names))


@pytest.mark.parametrize("area", AREAS)
def test_every_area_around_the_engine_has_mutants(area: str):
    assert sum(one.name.startswith(f"{area}: ") for one in all_mutants()) >= 6


def test_a_mutant_of_an_application_is_planted_in_the_queries_that_it_runs():
    from penstock.extensions.catalogue import products

    planted = Mutant(
        name="sku", file="extensions/catalogue/sql/products.sql", query="by_sku", text="limit 1", becomes="limit 2"
    )
    before = products._sql.by_sku
    try:
        plugin._plant(planted)
        assert products._sql.by_sku == before.replace("limit 1", "limit 2")
    finally:
        planted.queries()._texts["by_sku"] = before


def test_a_mutant_is_planted_in_queries_that_its_package_loads_when_it_is_imported():
    """In a process of its own, where nothing is imported yet."""
    script = """
from tests.mutants import plugin
from tests.mutants.catalogue import mutant
one = mutant("catalogue: products.by_sku prefers a product without a brand")
plugin._plant(one)
from penstock.extensions.catalogue import products
assert one.becomes in products._sql.by_sku, products._sql.by_sku
"""
    subprocess.run([sys.executable, "-c", script], cwd=SOURCE.parents[1], check=True)


def test_a_mutant_of_the_engine_is_planted_in_the_queries_that_it_runs():
    from penstock.storage import queue

    planted = Mutant(name="claim", file="storage/sql/queue.sql", query="claim", text="limit w.quota", becomes="")
    before = queue._sql.claim
    try:
        plugin._plant(planted)
        assert "limit w.quota" not in queue._sql.claim
    finally:
        planted.queries()._texts["claim"] = before


DEVICES = Mutant(name="curl", file="console/http/routes/me.py", text='("curl", "curl")', becomes='("curl", "planted")')


def test_a_mutant_in_python_is_planted_when_its_module_is_imported(monkeypatch: pytest.MonkeyPatch):
    name = DEVICES.module()
    monkeypatch.setattr(sys, "meta_path", list(sys.meta_path))
    # Set before it is taken away, so that the changed module goes with this test.
    monkeypatch.setattr("penstock.console.http.routes.me", None, raising=False)
    monkeypatch.setitem(sys.modules, name, ModuleType(name))
    monkeypatch.delitem(sys.modules, name)
    plugin._plant(DEVICES)
    assert importlib.import_module(name).device("curl/8.5") == "planted"


def test_a_mutant_whose_module_was_imported_before_is_refused(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, DEVICES.module(), ModuleType(DEVICES.module()))
    with pytest.raises(LookupError, match=r"penstock\.console\.http\.routes\.me was imported before"):
        plugin._plant(DEVICES)


def test_a_package_is_imported_without_the_name_of_its_file():
    one = Mutant(name="near", file="extensions/articles/near/__init__.py", text="")
    assert one.module() == "penstock.extensions.articles.near"


def test_shards_hold_every_mutant_once_and_spread_neighbours():
    names = [one.name for one in all_mutants()]
    shards = [Shard.parsed(f"{number}/3").taken(names) for number in (1, 2, 3)]
    assert sorted(name for shard in shards for name in shard) == sorted(names)
    assert [shard[0] for shard in shards] == names[:3]
    assert Shard().taken(names) == names


@pytest.mark.parametrize("text", ["", "3", "0/3", "4/3", "1/0", "-1/3", "1/3/5", "a/b"])
def test_a_shard_that_does_not_exist_is_refused(text: str):
    with pytest.raises(ValueError, match="Invalid shard"):
        Shard.parsed(text)


@pytest.mark.parametrize(
    ("said", "verdict"),
    [
        ("FAILED tests/a.py::test_b - assert 1 == 2", (True, "test_b")),
        ("FAILED tests/a.py::test_b - NameError: name 'x' is not defined", (None, "NameError")),
        ("FAILED tests/a.py::test_b - asyncpg.exceptions.UndefinedColumnError", (None, "UndefinedColumnError")),
        ("the server expects 1 argument for this query, 2 were passed", (None, "the server expects 1 argument")),
        ("ERROR tests/a.py - it cannot be imported", (None, "ERROR tests/a.py - it cannot be imported")),
    ],
)
def test_a_mutant_that_is_no_program_is_not_taken_for_killed(said: str, verdict: tuple[bool | None, str]):
    assert _judged(subprocess.CompletedProcess([], 1, stdout=said, stderr="")) == verdict
