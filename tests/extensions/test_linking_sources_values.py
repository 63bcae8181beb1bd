"""What is made of statements, and that the cache gives back what it was given."""

import math
from datetime import date, timedelta
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.extensions.linking.entity import (
    DAY,
    MONTH,
    YEAR,
    DateValue,
    Entity,
    ItemValue,
    NumberValue,
    PlaceValue,
    TextValue,
    from_json,
    to_json,
)
from penstock.extensions.linking.sources.reconciliation_values import candidates_of, extended, manifest_of, scale_of
from penstock.extensions.linking.sources.reconciliation_values import entity_of as candidate_entity
from penstock.extensions.linking.sources.wikidata_values import entity_of, gregorian
from tests.extensions.wikidata_world import (
    Snak,
    World,
    item,
    monolingual,
    place,
    quantity,
    text,
    time,
    without_value,
)


def values(*snaks: Snak) -> tuple[Any, ...]:
    world = World()
    world.add("Q1", {"en": "One"}, claims={"P1": snaks})
    made = entity_of(world.entities["Q1"])
    assert made is not None
    return made.claims.get("P1", ())


def day(year: int, month: int | None = None, day: int | None = None, precision: int = YEAR) -> DateValue:
    return DateValue(year=year, month=month, day=day, precision=precision)


@pytest.mark.parametrize(
    ("snak", "value"),
    [
        (item("Q5"), ItemValue(id="Q5")),
        (text("  0000 0001 \0"), TextValue(text="0000 0001")),
        (text("X-17", "external-id"), TextValue(text="X-17")),
        (text("https://example.org", "url"), TextValue(text="https://example.org")),
        (monolingual("Zum Kiel", "de"), TextValue(text="Zum Kiel")),
        (quantity("+812"), NumberValue(amount=812.0)),
        (quantity("-1.5", "Q11573"), NumberValue(amount=-1.5, unit="Q11573")),
        (place(54.5, -2.25), PlaceValue(latitude=54.5, longitude=-2.25)),
        (time("+1815-12-10"), day(1815, 12, 10, DAY)),
        (time("+1815-12-00", 10), day(1815, 12, None, MONTH)),
        (time("+1815-12-10", 9), day(1815)),
        (time("+1810-00-00", 8), day(1810, precision=8)),
        (time("-0044-03-15"), day(-44, 3, 15, DAY)),
        (time("+1815-00-00", 11), day(1815)),
        (time("+1815-12-10", 14), day(1815, 12, 10, DAY)),
    ],
)
def test_a_value_is_read_by_its_datatype(snak: Snak, value: Any):
    assert values(snak) == (value,)


@pytest.mark.parametrize(
    "snak",
    [
        without_value("time", "somevalue"),
        without_value("external-id", "novalue"),
        text("Quill.jpg", "commonsMedia"),
        text("   "),
        place(20.0, 10.0, globe="Q405"),
        place(200.0, 10.0),
        quantity("+1e999"),
        quantity("many"),
        time("+13000000000-00-00", 3),
        Snak("time", "time", {"time": 5, "precision": 11}),
        Snak("time", "time", "yesterday"),
        Snak("wikibase-item", "wikibase-entityid", {"numeric-id": 5}),
        Snak("globe-coordinate", "globecoordinate", None),
    ],
)
def test_what_says_nothing_or_is_broken_is_left_out_and_the_rest_stays(snak: Snak):
    assert values(snak, item("Q5")) == (ItemValue(id="Q5"),)


def test_preferred_statements_come_first_and_deprecated_ones_not_at_all():
    told = values(item("Q1"), item("Q2").ranked("deprecated"), item("Q3").ranked("preferred"), item("Q4"))
    assert [value.id for value in told] == ["Q3", "Q1", "Q4"]


def test_a_day_of_the_julian_calendar_comes_with_the_day_it_is_in_ours():
    assert values(time("+1643-01-04", julian=True)) == (day(1643, 1, 4, DAY), day(1643, 1, 14, DAY))
    assert values(time("+1643-00-00", 9, julian=True)) == (day(1643),)


def test_days_are_turned_into_our_calendar_across_its_corners():
    assert gregorian(1582, 10, 5) == day(1582, 10, 15, DAY)
    assert gregorian(1900, 2, 29) == day(1900, 3, 13, DAY)
    assert gregorian(1, 1, 1) == day(-1, 12, 30, DAY)
    assert gregorian(-44, 3, 15) == day(-44, 3, 13, DAY)


@given(st.dates(min_value=date(1900, 3, 1), max_value=date(2099, 12, 31)))
def test_between_1900_and_2100_the_calendars_are_thirteen_days_apart(ours: date):
    julian = ours - timedelta(days=13)
    if (julian.month, julian.day) != (2, 29) and julian >= date(1900, 3, 1):
        assert gregorian(julian.year, julian.month, julian.day) == day(ours.year, ours.month, ours.day, DAY)


def test_an_entity_with_nothing_in_it_may_come_with_lists_for_objects():
    made = entity_of({"id": "Q1", "labels": [], "aliases": [], "descriptions": [], "claims": [], "sitelinks": []})
    assert made == Entity(id="Q1", labels={})


def test_a_missing_entity_is_none():
    assert entity_of({"id": "Q1", "missing": True}) is None
    assert entity_of({"id": "Q1", "missing": ""}) is None
    assert entity_of({"labels": {}}) is None


# ---------------------------------------------------------------- the cache

_texts = st.text(max_size=20)
_numbers = st.floats(allow_nan=False, allow_infinity=False)
_values = st.one_of(
    st.builds(TextValue, text=_texts),
    st.builds(ItemValue, id=_texts, label=st.none() | _texts),
    st.builds(
        DateValue,
        year=st.integers(-9999, 9999),
        month=st.none(),
        day=st.none() | st.integers(1, 31),
        precision=st.just(9),
    ),
    st.builds(PlaceValue, latitude=_numbers, longitude=_numbers),
    st.builds(NumberValue, amount=_numbers, unit=st.none() | _texts),
)
_entities = st.builds(
    Entity,
    id=_texts,
    labels=st.dictionaries(_texts, _texts, max_size=3),
    aliases=st.dictionaries(_texts, st.lists(_texts, min_size=1, max_size=3).map(tuple), max_size=2),
    descriptions=st.dictionaries(_texts, _texts, max_size=2),
    types=st.lists(_texts, max_size=3).map(tuple),
    claims=st.dictionaries(_texts, st.lists(_values, min_size=1, max_size=3).map(tuple), max_size=3),
    links=st.integers(0, 300),
    given_score=st.none() | st.floats(0, 1),
)


@given(_entities.filter(lambda one: bool(one.id)))
def test_the_cache_gives_back_what_it_was_given(entity: Entity):
    assert from_json(orjson.loads(orjson.dumps(to_json(entity)))) == entity


def test_the_cache_holds_nothing_empty():
    assert to_json(Entity(id="Q1", labels={"en": "One"})) == {"id": "Q1", "labels": {"en": "One"}}
    assert to_json(Entity(id="Q1", labels={}, given_score=0.0)) == {"id": "Q1", "given_score": 0.0}


def test_a_value_that_nobody_wrote_is_refused_with_the_next_step():
    with pytest.raises(ValueError, match="Clear the cache"):
        from_json({"id": "Q1", "claims": {"P1": [["z", 1]]}})


# ---------------------------------------------------------------- reconciliation


def test_scores_are_put_between_0_and_1_whatever_the_service_counts_to():
    candidates = candidates_of({"result": [{"id": "a", "score": 87.5}, {"id": "b", "score": 0.5}, {"id": "c"}]})
    scale = scale_of(candidates, 1.0)
    scores = [candidate_entity(one, "en", scale).given_score for one in candidates]
    assert scores == [0.875, 0.005, None]
    assert scale_of([{"score": 0.4}], 1.0) == 1.0
    assert scale_of([{"score": 0.4}], 100.0) == 100.0
    assert candidate_entity({"id": "a", "score": 5000}, "en", 100.0).given_score == 1.0
    assert candidate_entity({"id": "a", "score": True}, "en", 1.0).given_score is None


def test_candidates_without_an_id_are_left_out():
    broken: list[Any] = [{"id": ""}, {"name": "x"}, "x", {"id": 5}, {"id": "a\0"}]
    assert candidates_of({"result": [*broken, {"id": "a"}]}) == [{"id": "a"}]
    assert candidates_of({"result": None}) == candidates_of(None) == []


def test_values_of_a_data_extension_are_read_by_their_form():
    cells: dict[str, Any] = {
        "P1": [{"id": "b2", "name": "Kelpstrand"}, {"id": ""}],
        "P2": [{"str": "B-17"}, {"str": " "}, {}, "x"],
        "P3": [{"int": 5}, {"float": 2.5}, {"float": math.inf}],
        "P4": [{"date": "1815-12-10T00:00:00+00:00"}, {"date": "1815-12"}, {"date": "-44"}, {"date": "1815-13-01"}],
        "P5": [{"bool": True}],
        "P6": None,
    }
    assert extended({"b1": cells}, "b1") == {
        "P1": (ItemValue(id="b2", label="Kelpstrand"),),
        "P2": (TextValue(text="B-17"),),
        "P3": (NumberValue(amount=5.0), NumberValue(amount=2.5)),
        "P4": (day(1815, 12, 10, DAY), day(1815, 12, None, MONTH), day(-44)),
    }
    assert extended(None, "b1") == extended({"b1": []}, "b1") == {}


def test_a_manifest_says_how_many_questions_go_together():
    known = {"versions": ["0.2"]}

    def size(**more: Any) -> int:
        made = manifest_of(known | more, "https://example.org/r")
        assert made is not None
        return made.batch_size

    assert [size(), size(batchSize=3), size(batchSize=1000), size(batchSize=0), size(batchSize=True)] == [
        10,
        3,
        50,
        10,
        10,
    ]
    assert manifest_of({"hello": 1}, "https://example.org/r") is None
    assert manifest_of([], "https://example.org/r") is None
