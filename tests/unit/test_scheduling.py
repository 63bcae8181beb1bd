"""The order of tests/scheduling.py names files that are there."""

from pathlib import Path

from tests.scheduling import LONGEST_FIRST, begins

TESTS = Path(__file__).resolve().parents[1]


def test_every_file_of_the_order_is_there_and_stands_there_once():
    assert [name for name in LONGEST_FIRST if not (TESTS / name).is_file()] == []
    assert len(set(LONGEST_FIRST)) == len(LONGEST_FIRST)


def test_files_that_are_not_named_come_behind_those_that_are():
    assert begins(f"tests/{LONGEST_FIRST[0]}") == 0
    assert begins("tests/unit/test_scheduling.py") == len(LONGEST_FIRST)
