"""Names over spellings, orders, initials and scripts."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.extensions.linking.scoring import names
from penstock.extensions.linking.scoring.folding import folded, romanised, script_of


def agreement(one: str, other: str) -> float:
    value, _ = names.compare(folded(one), folded(other))
    assert value is not None, (one, other)
    return value


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("ELSA  BRANDHUBER", "Elsa Brandhuber"),
        ("Łukowicz, Ørjan", "Orjan Lukowicz"),
        ("Ulrike Müllerstein", "Ulrike Muellerstein"),
        ("Brigid O’Darragh", "Brigid O'Darragh"),
        ("Prof. Dr. Elsa Brandhuber", "Elsa Brandhuber"),
        ("Vernier Ceramics S.A.", "Vernier Ceramics"),
        ("Univ. of Varnholt", "University of Varnholt"),
        ("Bluebird Soft", "BluebirdSoft"),
        ("Edvar II", "Edvar 2"),
        ("Ｅｌｓａ Brandhuber", "Elsa Brandhuber"),
    ],
)
def test_another_way_to_write_a_name_is_the_same_name(one: str, other: str) -> None:
    assert agreement(one, other) >= 0.96


def test_the_order_of_words_counts_a_little() -> None:
    assert 0.96 <= agreement("Okafor, John", "John Okafor") < names.EXACT


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("V. Rasmundsen", "Valdemar Rasmundsen"),
        ("J. R. Okafor", "John Robert Okafor"),
        ("J.R. Okafor", "John Robert Okafor"),
        ("Okafor, J.", "John Okafor"),
        ("John Okafor", "John Robert Okafor"),
        ("Marten Halvorsen", "Marten Halvorsne"),
        ("Varnholt Instr. Ltd", "Varnholt Instruments Ltd"),
    ],
)
def test_initials_left_out_names_and_typos_are_alike_and_not_the_same(one: str, other: str) -> None:
    assert 0.75 <= agreement(one, other) < 0.96


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Apollo 11", "Apollo 12"),
        ("Halcyon A320", "Halcyon A321"),
        ("King Edvar II", "King Edvar III"),
        ("Anna Holm", "Anna Helm"),
        ("Elsa Brandhuber", "Gustav Brandhuber"),
        ("Li", "Lu"),
        ("Li Noe", "Li No"),
        ("山田太郎", "川本次郎"),
    ],
)
def test_numbers_short_words_and_other_given_names_make_another_name(one: str, other: str) -> None:
    assert agreement(one, other) <= 0.6


def test_a_number_on_one_side_only_is_never_near() -> None:
    assert agreement("Annals of the Marrow Valley", "Annals of the Marrow Valley 2") <= 0.75


def test_numbers_that_differ_outweigh_every_word_that_agrees() -> None:
    one, other = (f"Annals of the Marrow Valley and its Inner Coast, Volume {number}" for number in ("III", "IV"))
    assert agreement(one, other) <= 0.3


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Николай Громадин", "Nikolai Gromadin"),
        ("Юрий Щукарев", "Yuri Shchukarev"),
        ("Γιώργος Παπαδάκης", "Giorgos Papadakis"),
        ("თამარ ბერიძაური", "Tamar Beridzauri"),
        ("محمود السراجي", "Mahmoud al-Sarraji"),
        ("דוד שלמוני", "David Shalmoni"),
        ("きのしばら はると", "Kinoshibara Haruto"),
        ("김도하늘", "Gim Dohaneul"),
    ],
)
def test_names_in_two_scripts_meet_in_latin_letters_and_are_never_exact(one: str, other: str) -> None:
    assert 0.7 <= agreement(one, other) < names.EXACT
    assert agreement(one, "Wilhelmina Castellane") < 0.5


def test_han_characters_say_nothing_against_latin_letters() -> None:
    assert names.compare(folded("山田太郎"), folded("Yamada Taro"))[0] is None
    assert agreement("山田太郎", "山田太郎") == names.EXACT


def test_the_script_and_the_romanised_form_of_a_text() -> None:
    assert [script_of(one) for one in ("Abc", "Абв", "山きの", "きの", "123", "अ")] == [
        "latin", "cyrillic", "han", "kana", "latin", "other",
    ]  # fmt: skip
    assert romanised("しょうじ キャット") == "shouji kyato"


@given(st.text(max_size=40), st.text(max_size=40))
def test_any_two_texts_compare_the_same_in_both_directions(one: str, other: str) -> None:
    there, _ = names.compare(folded(one), folded(other))
    back, _ = names.compare(folded(other), folded(one))
    assert (there is None) == (back is None)
    assert there is None or back is None or abs(there - back) < 0.05
    assert there is None or 0.0 <= there <= 1.0


@given(st.text(alphabet="abcdeéüñß -.'", min_size=1, max_size=30))
def test_a_name_agrees_with_itself(name: str) -> None:
    assert names.compare(folded(name), folded(name))[0] in (1.0, None)
