"""The apostrophe before cells that a spreadsheet would run."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.console.files.export.formulas import BEGINNINGS, PATTERN, guard, unguard

# Texts that begin with many of the signs in question are rare by chance.
TEXTS = st.builds(str.__add__, st.text("'=+-@\t\r\n＝a", max_size=4), st.text(max_size=10))


@given(TEXTS)
def test_taking_the_apostrophe_away_gives_back_any_text(text: str) -> None:
    assert unguard(guard(text)) == text


@given(TEXTS)
def test_no_guarded_text_begins_with_a_sign_that_starts_a_formula(text: str) -> None:
    assert not guard(text).startswith(("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠"))


@pytest.mark.parametrize("text", ["=1+1", "@SUM(A1)", "-2", "+49 30", "\t=1", "\r=1", "\n=1", "＝1", "'=1", "''=1"])
def test_a_formula_and_what_looks_like_a_guarded_one_get_an_apostrophe(text: str) -> None:
    assert guard(text) == f"'{text}"


@pytest.mark.parametrize("text", ["", "a=1", "'a'", "''", "'", "1-2", " =1"])
def test_all_other_text_stays_as_it_is(text: str) -> None:
    assert guard(text) == unguard(text) == text


def test_every_text_that_matches_begins_with_a_known_character() -> None:
    signs = PATTERN.removeprefix("^'*[").removesuffix("]")
    assert set(BEGINNINGS) == {"'", *signs}
