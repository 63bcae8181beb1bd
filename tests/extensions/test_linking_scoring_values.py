"""Dates, places, amounts, addresses, identifiers and other things, as datasets write them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.extensions.linking.entity import (
    DAY,
    YEAR,
    DateValue,
    ItemValue,
    NumberValue,
    PlaceValue,
    TextValue,
    Value,
)
from penstock.extensions.linking.scoring import dates, numbers, places, properties

BORN = DateValue(year=1987, month=3, day=2, precision=DAY)
TOWN = PlaceValue(latitude=52.52, longitude=13.405)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1987-03-02", 1.0),
        ("+1987-03-02T00:00:00Z", 1.0),
        ("1987", 1.0),
        ("1987-03", 1.0),
        ("1987-00-00", 1.0),
        ("2 March 1987", 1.0),
        ("March 2nd, 1987", 1.0),
        ("2. März 1987", 1.0),
        ("02/03/1987", 1.0),
        ("03/02/1987", 0.9),
        ("1988", 0.5),
        ("c. 1985", 0.8),
        ("1980s", 1.0),
        ("20th century", 1.0),
        ("1987-03-05", 0.5),
        ("1975", 0.0),
        ("1987 BC", 0.0),
        ("c. 1970", 0.0),
    ],
)
def test_a_date_agrees_as_far_as_it_is_said(text: str, value: float) -> None:
    found = dates.compare(text, BORN)
    assert found.value == pytest.approx(value), found.said


def test_a_year_says_less_than_a_day_when_it_agrees_and_as_much_when_it_does_not() -> None:
    assert dates.compare("1987", BORN).strength < dates.compare("1987-03-02", BORN).strength
    assert dates.compare("1975", BORN).strength == dates.compare("1975-03-02", BORN).strength
    assert dates.compare("1987", BORN).said == "1987 here, 1987-03-02 there: agrees to the year"


@pytest.mark.parametrize("text", ["unknown", "", "2.3.87", "1987-13-40", "9" * 5000, "n/a"])
def test_what_is_no_date_says_nothing(text: str) -> None:
    assert dates.compare(text, BORN).value is None


def test_years_before_our_era_are_read_in_three_ways() -> None:
    there = DateValue(year=-44, month=None, day=None, precision=YEAR)
    assert [dates.compare(text, there).value for text in ("44 BC", "-0044", "44 v. Chr.")] == [1.0, 1.0, 1.0]


@pytest.mark.parametrize(
    "text",
    [
        "52.52, 13.405",
        "52.52 13.405",
        "52,52; 13,405",
        "52°31'12\"N 13°24'18\"E",
        "N52 31 12 E13 24 18",
        "52° 31.2' N, 13° 24.3' E",
        "POINT(13.405 52.52)",
        "geo:52.52,13.405",
    ],
)
def test_coordinates_are_read_in_the_usual_notations(text: str) -> None:
    assert places.compare(text, TOWN).value == 1.0


def test_swapped_coordinates_agree_a_little_less_and_far_ones_not_at_all() -> None:
    assert places.compare("13.405, 52.52", TOWN).value == pytest.approx(0.85)
    assert places.compare("48.85, 2.35", TOWN).value == 0.0
    assert places.compare("somewhere", TOWN).value is None
    assert places.compare("1" * 10_000, TOWN).value is None
    near = places.compare("52.6, 13.5", TOWN).value
    assert near is not None and 0.5 <= near < 1.0
    assert properties.compare(("52.52", "13.405"), (TOWN,)).value == 1.0


@pytest.mark.parametrize(
    ("text", "amount"),
    [("1,234.5", 1234.5), ("1.234,5", 1234.5), ("1 234", 1234), ("12'500", 12500), ("3.5 million", 3.5e6), ("-7", -7)],
)
def test_amounts_are_read_with_either_separator(text: str, amount: float) -> None:
    read = numbers.read(text)
    assert read is not None and read[0] == pytest.approx(amount)


def test_units_count_where_both_sides_name_one() -> None:
    height = NumberValue(amount=1500, unit="http://www.wikidata.org/entity/Q11573")
    assert numbers.compare("1.5 km", height).value == 1.0
    assert numbers.compare("1500", height).value == 1.0
    assert numbers.compare("1500 km", height).value == 0.0
    assert numbers.compare("1500 kg", height).value is None
    assert numbers.compare("about 1,540", height).value == 0.8


@pytest.mark.parametrize(
    ("text", "there"),
    [
        ("0-306-40615-2", "9780306406157"),
        ("ISBN 978-0-306-40615-7", "9780306406157"),
        ("080442957X", "978-0-8044-2957-3"),
        ("https://doi.org/10.1234/ABC.5", "10.1234/abc.5"),
        ("https://orcid.example.org/0000-0001-2345-6789", "0000 0001 2345 6789"),
        ("nz 12345-x", "NZ12345X"),
    ],
)
def test_identifiers_are_equal_in_all_their_forms(text: str, there: str) -> None:
    found = properties.compare_identifier(text, there)
    assert (found.value, found.decisive) == (1.0, True)


def test_another_identifier_decides_against_and_a_typo_in_one_hardly_counts() -> None:
    other = properties.compare_identifier("9780306406157", "9781861972712")
    assert (other.value, other.decisive) == (0.0, True)
    off = properties.compare_identifier("9780306406158", "9780306406157")
    assert (off.value, off.decisive) == (0.3, False)
    assert properties.compare_identifier("DE", "DE").decisive is False, "many things share a short code"


def test_texts_are_addresses_identifiers_or_names_by_their_looks() -> None:
    kinds = {
        text: properties.compare_one(text, TextValue(text=text)).kind
        for text in ("https://a.example.com", "Q 12345", "OSL", "Red Moor")
    }
    assert list(kinds.values()) == ["url", "identifier", "identifier", "text"]


def test_addresses_agree_without_scheme_www_and_slash() -> None:
    there = TextValue(text="https://www.varnholt.example.com/")
    assert properties.compare_one("http://varnholt.example.com", there).value == 1.0
    assert properties.compare_one("VARNHOLT.example.com/#top", there).value == 1.0
    assert properties.compare_one("https://varnholt.example.com/shop", there).value == 0.7
    assert properties.compare_one("https://other.example.com", there).value == 0.0


def test_other_things_agree_by_id_by_label_and_by_the_names_of_countries() -> None:
    germany = ItemValue(id="Q183", label="Germany")
    for text in ("q183", "Germany", "Deutschland", "DE", "https://www.wikidata.org/wiki/Q183"):
        assert properties.compare_one(text, germany).value == 1.0, text
    peru = properties.compare_one("Peru", germany)
    assert (peru.value, peru.strength) == (0.0, 1.0)
    trade = properties.compare_one("Maler", ItemValue(id="Q1", label="painter"))
    assert trade.value == 0.0 and trade.strength < 1.0, "it may be the same in another language"
    assert properties.compare_one("painter", ItemValue(id="Q1")).value is None


def test_one_value_that_agrees_is_enough() -> None:
    both = (ItemValue(id="Q1", label="Norway"), ItemValue(id="Q2", label="Peru"))
    assert properties.compare(("Kenya", "Peru"), both).value == 1.0


VALUES: list[Value] = [BORN, TOWN, NumberValue(amount=0), ItemValue(id="Q1", label="x"), TextValue(text="a1b2c3")]


@given(st.text(max_size=200), st.sampled_from(VALUES))
def test_no_text_breaks_a_comparison(text: str, there: Value) -> None:
    found = properties.compare_one(text, there)
    assert found.value is None or 0.0 <= found.value <= 1.0
    assert found.said
