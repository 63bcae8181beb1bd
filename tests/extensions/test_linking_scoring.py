"""The score of a candidate, its waterfall, the ranking and the verdict."""

from dataclasses import asdict

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.errors import UsageError
from penstock.extensions.linking.entity import DAY, DateValue, Entity, ItemValue, TextValue, Value
from penstock.extensions.linking.project import Wanted
from penstock.extensions.linking.record import RecordState
from penstock.extensions.linking.scoring.score import Scored, rank, score, verdict
from penstock.extensions.linking.scoring.weights import Weights

BORN = DateValue(year=1987, month=3, day=2, precision=DAY)
ACCEPT_SCORE, ACCEPT_GAP = 0.9, 0.1


def entity(id: str = "E1", name: str = "Elsa Brandhuber", **claims: tuple[Value, ...]) -> Entity:
    return Entity(id=id, labels={"en": name}, types=("Q5",), claims=claims)


def wanted(name: str = "Elsa Brandhuber", types: tuple[str, ...] = ("Q5",), **properties: str) -> Wanted:
    return Wanted(name=name, types=types, properties={key: (text,) for key, text in properties.items()})


def scored(one: Wanted, other: Entity, weights: Weights | None = None) -> Scored:
    return score(one, other, weights or Weights(), ("en",))


def state(one: Wanted, *entities: Entity) -> RecordState:
    return verdict(rank(one, entities, Weights()), ACCEPT_SCORE, ACCEPT_GAP).state


def test_the_points_add_up_to_the_score_also_where_a_limit_speaks() -> None:
    there = entity(P569=(BORN,), P214=(TextValue(text="12345678"),), P27=(ItemValue(id="C1", label="Norway"),))
    told = ({"P569": "1987"}, {"P214": "12345678"}, {"P214": "87654321"}, {"P27": "Peru", "P19": "Umbrolo"})
    for properties in told:
        for name in ("Elsa Brandhuber", "Elsa Brandhofer", "Yorick Oduyemi"):
            for types in (("Q5",), ("Q515",), ()):
                record = Wanted(name=name, types=types, properties={key: (text,) for key, text in properties.items()})
                found = scored(record, there)
                assert sum(part.points for part in found.parts) == pytest.approx(found.score, abs=1e-6)


def test_a_bare_name_is_accepted_when_it_is_exact_and_without_a_rival() -> None:
    bare = Wanted(name="Elsa Brandhuber")
    assert state(bare, entity()) is RecordState.ACCEPTED
    assert state(bare, entity(), entity("E2")) is RecordState.REVIEW
    assert state(bare, entity(name="Elsa Brandhofer")) is RecordState.REVIEW
    assert state(wanted(), entity(name="Elsa Brandhofer")) is RecordState.REVIEW, "a type confirms nobody"
    near, other = "Wilhelmina Thornquist", "Wilhelmina Thornqvist"
    assert state(wanted(near), entity(name=other)) is RecordState.REVIEW, "however near"
    assert state(wanted(near), entity(name=near), entity("E2", name=other)) is RecordState.ACCEPTED, "that is no rival"


def test_a_bare_name_stays_below_one_that_something_else_confirms() -> None:
    bare = scored(Wanted(name="Elsa Brandhuber"), entity()).score
    assert 0.9 <= bare < 0.95 < scored(wanted(), entity()).score


def test_a_typo_is_accepted_once_a_property_agrees() -> None:
    assert state(wanted("Elsa Brandhubre", P569="1987-03-02"), entity(P569=(BORN,))) is RecordState.ACCEPTED


def test_namesakes_are_told_apart_by_what_differs() -> None:
    other = DateValue(year=1931, month=5, day=7, precision=DAY)
    ranked = rank(wanted(P569="1987"), [entity("E2", P569=(other,)), entity("E1", P569=(BORN,))], Weights())
    assert [one.entity for one in ranked] == ["E1", "E2"]
    assert verdict(ranked, ACCEPT_SCORE, ACCEPT_GAP).state is RecordState.ACCEPTED


def test_one_of_whom_nothing_is_known_stays_behind_one_whose_date_agrees() -> None:
    ranked = rank(wanted(P569="1987"), [entity("E2"), entity("E1", P569=(BORN,))], Weights())
    assert [one.entity for one in ranked] == ["E1", "E2"]
    assert ranked[0].score > ranked[1].score >= 0.9, "and what is missing costs little"


def test_another_type_and_another_identifier_are_never_accepted() -> None:
    there = entity(P569=(BORN,), P27=(ItemValue(id="C1", label="Norway"),), P214=(TextValue(text="12345678"),))
    assert scored(wanted(types=("Q515",), P569="1987", P27="Norway"), there).score <= 0.6
    assert scored(wanted(P569="1987-03-02", P27="Norway", P214="99999999"), there).score <= 0.5
    assert scored(wanted(P569="1987-03-02", P27="Norway", P214="12345678"), there).score == 1.0


def test_an_equal_identifier_settles_it_unless_the_name_is_another() -> None:
    there = entity(P214=(TextValue(text="12345678"),), P569=(BORN,))
    assert scored(wanted("E. Brandhubber", P214="1234 5678", P569="1985"), there).score >= 0.95
    assert scored(wanted("Yorick Oduyemi", P214="1234 5678"), there).score < ACCEPT_SCORE


def test_an_alias_counts_nearly_as_a_label() -> None:
    there = Entity(id="E1", labels={"en": "Elsa Brandhuber"}, aliases={"en": ("Captain Umbrolo",)})
    assert (
        0.9 <= scored(Wanted(name="Captain Umbrolo"), there).score < scored(Wanted(name="Elsa Brandhuber"), there).score
    )
    assert scored(Wanted(name="Varnholt", aliases=("Elsa Brandhuber",)), there).score >= 0.9


def test_a_name_that_cannot_be_compared_is_left_to_a_person() -> None:
    found = scored(wanted("山田太郎", P569="1987-03-02"), entity(P569=(BORN,)))
    assert 0.3 <= found.score <= 0.75
    assert "name limit" in [part.feature for part in found.parts]


def test_of_equals_the_better_known_comes_first_then_the_smaller_id() -> None:
    known = Entity(id="E30", labels={"en": "Varnholt"}, links=9)
    same = [Entity(id=id, labels={"en": "Varnholt"}) for id in ("E10", "E9")]
    assert [one.entity for one in rank(Wanted(name="Varnholt"), [*same, known, known], Weights())] == [
        "E30",
        "E9",
        "E10",
    ]


def test_nothing_and_next_to_nothing_are_no_candidate() -> None:
    empty = verdict((), ACCEPT_SCORE, ACCEPT_GAP)
    assert (empty.state, empty.best, empty.gap) == (RecordState.NO_CANDIDATE, None, None)
    assert state(wanted("Yorick Oduyemi"), entity(name="Mount Varnholt")) is RecordState.NO_CANDIDATE


def test_weights_travel_through_options_and_a_weight_of_zero_leaves_a_property_out() -> None:
    weights = Weights.from_options({"name": 4, "properties": {"P569": 0}})
    assert Weights.from_options(asdict(weights)) == weights
    found = scored(wanted(P569="1901"), entity(P569=(BORN,)), weights)
    assert [part.feature for part in found.parts] == ["name", "type"]
    heavy = Weights.from_options({"properties": {"P569": 50}})
    assert scored(wanted(P569="1901"), entity(P569=(BORN,)), heavy).score < 0.2


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"nmae": 1}, "no weight called 'nmae'"),
        ({"name": -1}, "from 0 to 100"),
        ({"name": 0}, "above 0"),
        ({"type": "much"}, "'much'"),
        ({"type": float("nan")}, "nan"),
        ({"silence": 2}, "from 0 to 1"),
        ({"properties": {"P1": True}}, "'P1'"),
        ({"properties": [1]}, "Give an object"),
    ],
)
def test_weights_that_make_no_sense_are_refused_with_the_value(options: dict[str, object], said: str) -> None:
    with pytest.raises(UsageError, match=said):
        Weights.from_options(options)


@given(st.text(max_size=30), st.text(max_size=30), st.text(max_size=30))
def test_any_record_has_a_score_between_0_and_1(name: str, label: str, text: str) -> None:
    record = Wanted(name=name, types=("Q5",), properties={"P569": (text,), "P214": (text, "")})
    found = scored(record, entity(name=label, P569=(BORN,), P214=(TextValue(text=label),)))
    assert 0.0 <= found.score <= 1.0
    assert sum(part.points for part in found.parts) == pytest.approx(found.score, abs=1e-6)
