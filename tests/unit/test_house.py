"""`tools/house.py`: each rule is seen to fail, and what it allows only shrinks."""

import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))
import house  # noqa: E402

MIGRATION = "create table penstock.tasks (id bigint);\ncreate table penstock.users (id bigint);\n"


@pytest.fixture
def source(tmp_path: Path) -> Path:
    for folder in ("core", "console", "storage/migrations", "extensions/sites/sql", "extensions/linking"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "storage/migrations/0001.sql").write_text(MIGRATION)
    (tmp_path / "core/claim.py").write_text("import asyncpg\nimport os\nclass Place: ...\n")
    return tmp_path


def part(**figures: int) -> list[dict[str, object]]:
    return [{"name": "engine", "packages": ["core"], **figures}]


@pytest.mark.parametrize(
    ("budget", "today", "says"),
    [
        (3, 0, []),
        (2, 0, ["engine has 3 lines, and may have 2: make it smaller."]),
        (1, 3, []),
        (1, 2, ["engine has 3 lines, and may have 2: make it smaller."]),
        (1, 4, ["engine has 3 lines: lower `today` in tools/house.toml to that, or to 0 within the budget."]),
    ],
)
def test_a_part_keeps_its_budget_and_one_that_is_over_it_only_shrinks(source: Path, budget: int, today: int, says):
    assert list(house.sizes(source, part(budget=budget, today=today))) == says


@pytest.mark.parametrize(
    ("sql", "allowed", "says"),
    [
        ("select id from penstock.task_states", 0, None),
        ("select penstock.tasks(1) -- as penstock.tasks has it", 0, None),
        ("select id from penstock.users", 0, "names tables of the engine 1 times, and may 0 times"),
        ("select id from penstock.tasks", 0, "names tables of the engine 1 times, and may 0 times"),
        ("select id from penstock.tasks", 1, None),
        ("select id from penstock.task_states", 1, "names tables of the engine 0 times: lower it"),
    ],
)
def test_sql_outside_the_storage_names_no_table_of_the_engine(source: Path, sql: str, allowed: int, says: str | None):
    (source / "extensions/sites/sql/sites.sql").write_text(sql)
    wrong = list(house.foreign_tables(source, {"extensions/sites/sql/sites.sql": allowed} if allowed else {}))
    assert [says in one for one in wrong] == ([True] if says else []), wrong


def test_only_the_console_names_its_own_tables(source: Path):
    (source / "console/people.sql").write_text("select id from penstock.users")
    assert list(house.foreign_tables(source, {})) == []
    (source / "console/people.sql").write_text("select id from penstock.tasks")
    assert "console/people.sql names tables of the engine 1 times" in next(house.foreign_tables(source, {}))


def test_a_file_that_is_gone_leaves_the_list(source: Path):
    assert "lower it in tools/house.toml from 2" in next(house.foreign_tables(source, {"gone.sql": 2}))


def test_two_classes_of_one_package_do_not_share_a_name(source: Path):
    (source / "console/places.py").write_text("class Place: ...\n")
    (source / "extensions/sites/a.py").write_text("class Place: ...\n")
    (source / "extensions/linking/a.py").write_text("class Place: ...\n")
    assert list(house.same_names(source)) == []
    (source / "core/enqueue.py").write_text("class Place: ...\n")
    assert list(house.same_names(source)) == [
        "core has 2 classes Place: core/claim.py, core/enqueue.py. Rename all but one."
    ]


def test_the_engine_imports_what_its_own_install_brings_and_nothing_else(source: Path):
    assert list(house.foreign_imports(source, ["core"], {"asyncpg"})) == []
    (source / "core/run.py").write_text("def late():\n    from fastapi import FastAPI\n")
    assert list(house.foreign_imports(source, ["core"], {"asyncpg"})) == [
        "core/run.py imports fastapi, which `pip install penstock` does not bring."
    ]
