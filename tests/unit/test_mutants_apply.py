"""A mutant whose text is no longer in the code tests nothing: it has to be rewritten with the code."""

from pathlib import Path

import pytest

from penstock.storage.queries import load
from tests.mutants.catalogue import Mutant, all_mutants, mutant

SOURCE = Path(__file__).resolve().parents[2] / "src" / "penstock"


def original(one: Mutant) -> str:
    if one.query is not None:
        text: str = getattr(load(Path(one.file).stem), one.query)
        return text
    return (SOURCE / one.file).read_text(encoding="utf-8")


@pytest.mark.parametrize("name", [one.name for one in all_mutants()])
def test_every_mutant_changes_exactly_one_place(name: str):
    one = mutant(name)
    assert one.applied(original(one)) != original(one)


def test_the_tests_that_have_to_find_a_mutant_exist():
    for one in all_mutants():
        for file in one.tests:
            assert (SOURCE.parents[1] / file).is_file(), file


def test_mutant_names_are_unique():
    names = [one.name for one in all_mutants()]
    assert len(names) == len(set(names))
