"""What rows and headings are understood to mean. No database."""

from decimal import Decimal

import pytest
from hypothesis import example, given
from hypothesis import strategies as some

from penstock.errors import UsageError
from penstock.extensions.catalogue.folding import fold, telling, tidy, with_brand, without_brand, without_sizes
from penstock.extensions.catalogue.http_answer import parse, value_at
from penstock.extensions.catalogue.images import product_named_by
from penstock.extensions.catalogue.understood import (
    HEADINGS,
    ROLES,
    NoGtin,
    Understood,
    check_digit,
    gtin_of,
    price_of,
    roles_of,
    understand,
)
from penstock.extensions.catalogue.waterfall import providers_for, queries_for
from penstock.providers.circuit import Circuit


@pytest.mark.parametrize(
    ("columns", "roles"),
    [
        (["Title", "Brand", "SKU", "EAN", "Price"], {"title": 0, "brand": 1, "sku": 2, "gtin": 3, "price": 4}),
        (["Produktname", "Hersteller", "Artikel-Nr.", "Strichcode"], {"title": 0, "brand": 1, "sku": 2, "gtin": 3}),
        (["Productnaam", "Merk", "Artikelcode", "Streepjescode"], {"title": 0, "brand": 1, "sku": 2, "gtin": 3}),
        (["Désignation", "Marque", "Référence", "Code-barres"], {"title": 0, "brand": 1, "sku": 2, "gtin": 3}),
        (["Nombre", "Fabricante", "Referencia", "Código de barras"], {"title": 0, "brand": 1, "sku": 2, "gtin": 3}),
        (["Währung", "Preis (EUR)", "Händler"], {"currency": 0, "price": 1, "retailer": 2}),
        (["Product code", "Product name", "Product URL"], {"sku": 0, "title": 1, "url": 2}),
        (["Description", "Title"], {"title": 1}),
        (["Manufacturer name", "Item"], {"brand": 0, "title": 1}),
        (["foo", "bar"], {}),
    ],
)
def test_headings_in_five_languages_get_their_roles(columns, roles):
    assert roles_of(columns) == roles


def test_every_listed_heading_is_written_as_folding_writes_it():
    for headings in HEADINGS.values():
        assert [fold(heading) for heading in headings] == list(headings)


def test_no_heading_has_two_roles():
    listed = [heading for headings in HEADINGS.values() for heading in headings]
    assert len(listed) == len(set(listed))


@given(some.lists(some.sampled_from([h for hs in HEADINGS.values() for h in hs]), unique=True, max_size=12))
def test_a_column_has_one_role_and_a_role_one_column(columns: list[str]):
    roles = roles_of(columns)
    assert len(set(roles.values())) == len(roles) and set(roles) <= set(ROLES)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("4006381333931", "04006381333931"),
        (" 4006381-333931 ", "04006381333931"),
        ("4006381333931.0", "04006381333931"),
        ("036000291452", "00036000291452"),
        ("96385074", "00000096385074"),
        ("10614141543219", "10614141543219"),
    ],
)
def test_a_gtin_of_any_kind_becomes_fourteen_digits(text, expected):
    assert gtin_of(text) == expected


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("4006381333930", "check digit"),
        ("4.00638E+12", "rounded by a spreadsheet"),
        ("123", "3 digits"),
        ("40063813339３1", "other characters"),
        ("00000000", "all zeros"),
        ("abc", "other characters"),
        ("", "other characters"),
    ],
)
def test_what_is_no_gtin_says_why(text, reason):
    with pytest.raises(NoGtin, match=reason):
        gtin_of(text)


@given(some.integers(1, 10**12 - 1), some.integers(1, 9))
def test_one_wrong_digit_is_always_noticed(number: int, change: int):
    digits = f"{number:012d}"
    whole = f"{digits}{check_digit(digits)}"
    assert gtin_of(whole) == f"0{whole}"
    for place in range(13):
        wrong = whole[:place] + str((int(whole[place]) + change) % 10) + whole[place + 1 :]
        if int(wrong):
            with pytest.raises(NoGtin):
                gtin_of(wrong)


@pytest.mark.parametrize(
    ("text", "price"),
    [
        ("1.234,56 €", "1234.56"),
        ("1,234.56", "1234.56"),
        ("1'234.50 CHF", "1234.5"),
        ("12,5", "12.5"),
        ("1.000", "1000"),
        ("0.125", "0.125"),
        ("EUR 7", "7"),
        ("-3", None),
        ("free", None),
        ("1e9", "19"),
        ("9" * 30, None),
    ],
)
def test_prices_are_read_as_people_write_them(text, price):
    assert price_of(text) == (None if price is None else Decimal(price))


@given(some.text(), some.text(), some.text(), some.text())
def test_whatever_the_cells_hold_a_row_is_understood(title: str, brand: str, gtin: str, price: str):
    understood = understand({"title": 0, "brand": 1, "gtin": 2, "price": 3, "sku": 9}, [title, brand, gtin, price])
    assert understood.sku is None
    assert understood.gtin is None or len(understood.gtin) == 14
    for attempt in (1, 2, 3, 4):
        for query in queries_for(understood, attempt):
            assert query.text.strip()


@given(some.text() | some.text(alphabet="0 1.,:amxläß-"))
@example("0:a")
def test_folding_twice_changes_nothing(text: str):
    assert fold(fold(text)) == fold(text)
    assert tidy(tidy(text)) == tidy(text)


def test_folding_joins_what_differs_only_in_writing():
    assert fold("Café-Kanne „Größe“ 1,5 L") == "cafe kanne grosse 1.5l"
    assert fold("CAFE KANNE grösse 1.5l") == "cafe kanne grosse 1.5l"
    assert with_brand("zephyr", "zephyr drill") == "zephyr drill"
    assert without_brand("zephyr", "drill by zephyr 5v") == "drill by 5v"
    assert without_sizes("drill 18v xl 30x40cm red") == "drill red"
    assert telling("the cordless drill zx500 of red")[0] == "zx500"


def test_each_attempt_asks_for_something_else():
    understood = Understood(title="Zephyr Cordless Hammer Drill with Case 18 V", brand="Zephyr", sku="Z1")
    asked = [[str(query) for query in queries_for(understood, attempt)] for attempt in (1, 2, 3)]
    assert asked == [
        [
            "sku Z1",
            "brand+title zephyr cordless hammer drill with case 18v",
            "title zephyr cordless hammer drill with case 18v",
        ],
        ["sku Z1", "title cordless hammer drill with case"],
        ["sku Z1", "title cordless hammer drill"],
    ]
    assert queries_for(understood, 4) == queries_for(understood, 1)
    assert [providers_for(["local", "http"], n) for n in (1, 2, 3)] == [
        ["local", "http"],
        ["http", "local"],
        ["local", "http"],
    ]


def test_paths_lead_through_objects_and_lists_and_nowhere_else():
    data = {"offers": [{"price": 3, "a b": 1}], "name": "x"}
    assert value_at(data, parse("offers[0].price")) == 3
    assert value_at(data, parse("offers[1].price")) is None
    assert value_at(data, parse("name.price")) is None
    assert value_at([[7]], parse("[0][0]")) == 7
    assert value_at({"__class__": 1}, parse("__class__")) == 1


@pytest.mark.parametrize("path", ["", ".", "a..b", "a[", "a[-1]", "a[x]", "a b", ".a", "a.", "[0]a", "a[0", "x" * 600])
def test_a_path_that_is_none_is_refused(path):
    with pytest.raises(UsageError, match="is no path into JSON"):
        parse(path)


@given(some.lists(some.tuples(some.sampled_from(["ask", "ok", "fail"]), some.floats(0, 20)), max_size=60))
def test_a_circuit_opens_after_so_many_failures_and_lets_one_question_through_per_pause(steps):
    circuit, now, in_a_row, opened_at = Circuit(limit=3, pause_seconds=10), 0.0, 0, None
    for step, passed in steps:
        now += passed
        if circuit.wait_seconds(now) > 0:
            assert opened_at is not None and now < opened_at + 10 + 1e-9
            continue
        assert opened_at is None or now >= opened_at + 10 - 1e-9
        circuit = circuit.asked(now)
        if opened_at is not None:
            assert circuit.wait_seconds(now) == pytest.approx(10)
        if step == "ok":
            circuit, in_a_row, opened_at = circuit.succeeded(), 0, None
        elif step == "fail":
            circuit, in_a_row = circuit.failed(now), in_a_row + 1
            opened_at = now if in_a_row >= 3 else None
        elif opened_at is not None:
            opened_at = now  # the probe never came back
        assert (circuit.opened_at is not None) == (opened_at is not None)


@pytest.mark.parametrize(
    ("codes", "expected"),
    [
        (["4006381333931"], Understood(gtin="04006381333931")),
        (["https://id.gs1.org/01/04006381333931/10/ABC"], Understood(gtin="04006381333931")),
        (["(01)04006381333931(17)261231"], Understood(gtin="04006381333931")),
        (["https://shop.example/x", "4006381333931"], Understood(gtin="04006381333931")),
        (["zx-500"], Understood(sku="ZX-500")),
        (["https://shop.example/x"], None),
        ([], None),
    ],
)
def test_codes_name_a_product_by_gtin_before_anything_else(codes, expected):
    assert product_named_by(codes) == expected
