"""The order of tests/scheduling.py names files that are there."""

from pathlib import Path

from tests.scheduling import LONGEST_FIRST, order

TESTS = Path(__file__).resolve().parents[1]


def test_every_file_of_the_order_is_there_and_stands_there_once():
    assert [name for name in LONGEST_FIRST if not (TESTS / name).is_file()] == []
    assert len(set(LONGEST_FIRST)) == len(LONGEST_FIRST)


def test_files_that_are_not_named_come_behind_those_that_are_with_the_folders_mixed():
    unit, crash = ["unit/a.py", "unit/b.py", "unit/c.py", "unit/d.py"], ["crash/a.py", "crash/b.py"]
    found = order(f"tests/{file}" for file in [*unit, LONGEST_FIRST[1], *crash, LONGEST_FIRST[0]])
    assert found[:2] == list(LONGEST_FIRST[:2])
    assert found[2:] == ["unit/a.py", "crash/a.py", "unit/b.py", "unit/c.py", "crash/b.py", "unit/d.py"]
