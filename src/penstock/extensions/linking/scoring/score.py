"""The score of a candidate: a weighted mean over what both sides know, told as a waterfall.

The mean is over the features that both sides have. Two things are added to what it is divided by:

- a *reserve*, until other features than the name make up for it. A bare name therefore reaches 0.93 when it is exact.
- *silence*: a part of the weights of what the record says and the source does not.

Then comes what a mean cannot say: an equal identifier lifts; another identifier, another type, or a name that is only
alike while no property agrees hold down. So a bare name may be accepted when it is exact and has no rival, and never
when it is only alike. These steps are parts of their own: the points always add up to the score.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from penstock.extensions.linking.entity import Entity
from penstock.extensions.linking.project import Wanted
from penstock.extensions.linking.record import RecordState
from penstock.extensions.linking.scoring import names, properties
from penstock.extensions.linking.scoring.weights import Finding, Weights
from penstock.insight.record import WIRE

# Of the weight of the name.
RESERVE = 0.08
# An equal identifier is worth at least so much; less where the name is another, since identifiers get swapped, too.
IDENTIFIED, IDENTIFIED_UNDER_ANOTHER_NAME = 0.96, 0.8
ANOTHER_NAME = 0.5
# The most that a candidate can reach against such evidence.
MOST_WITH_OTHER_IDENTIFIER, MOST_WITH_OTHER_TYPE, MOST_WITHOUT_NAME = 0.5, 0.6, 0.75
# A name that is only alike needs a property that agrees: a type is shared by millions.
CLEAR_NAME, AGREES, MOST_WITH_SIMILAR_NAME = 0.96, 0.5, 0.85
# An alias, on either side, is not quite a name.
ALIAS = 0.99
MOST_ALIASES = 60
# Below this the best candidate shares a word or two with the record; a person would only be kept busy by it.
LEAST_WORTH_A_LOOK = 0.3


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """One step of the waterfall; `points` of all add up to the score. `value`: 1 agrees, 0 contradicts, null says
    nothing or is a limit."""

    __pydantic_config__ = WIRE

    feature: str
    weight: float
    value: float | None
    points: float
    said: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Scored:
    """``score`` 0 to 1. ``links``: how known it is; decides between equals."""

    entity: str
    label: str
    description: str | None
    score: float
    parts: tuple[Part, ...]
    links: int = 0


def rank(wanted: Wanted, entities: Iterable[Entity], weights: Weights) -> tuple[Scored, ...]:
    """Best first; of equals the better known, then the one whose id sorts first. An id counts once."""
    scored = {one.id: score(wanted, one, weights, wanted.languages) for one in entities}
    return tuple(sorted(scored.values(), key=lambda one: (-one.score, -one.links, len(one.entity), one.entity)))


def score(wanted: Wanted, entity: Entity, weights: Weights, languages: tuple[str, ...]) -> Scored:
    compared = _compared(wanted, entity, weights)
    whole, beside_name, silent = 0.0, 0.0, 0.0
    for feature, weight, one in compared:
        if one is None:
            silent += weight * weights.silence
        elif one.value is not None:
            whole += weight
            beside_name += weight if feature != "name" else 0.0
    whole += silent + max(0.0, weights.name * RESERVE - beside_name)
    parts = [_part(feature, weight, one, whole) for feature, weight, one in compared]
    parts += _limits(compared, sum(part.points for part in parts))
    return Scored(
        entity=entity.id,
        label=entity.label(languages),
        description=_description(entity, languages),
        score=round(min(1.0, max(0.0, sum(part.points for part in parts))), 6),
        parts=tuple(parts),
        links=entity.links,
    )


def _compared(wanted: Wanted, entity: Entity, weights: Weights) -> list[tuple[str, float, Finding | None]]:
    """Feature, weight, finding; None: the source knows nothing about what the record says."""
    found: list[tuple[str, float, Finding | None]] = [("name", weights.name, _named(wanted, entity))]
    found.append(("type", weights.type, _compare_types(wanted.types, entity.types)))
    for name, texts in wanted.properties.items():
        said = tuple(text for text in texts if text.strip())
        there = entity.claims.get(name, ())
        if not said or weights.properties.get(name) == 0:
            continue
        if not there:
            # Without a statement there is no datatype to weigh it by, so the middle one stands for it.
            found.append((name, weights.of("item", name), None))
            continue
        finding = properties.compare(said, there)
        found.append((name, weights.of(finding.kind, name) * finding.strength, finding))
    return found


def _named(wanted: Wanted, entity: Entity) -> Finding:
    """A label against the name counts in full; as soon as an alias is in it, on either side, a little less."""
    ours = [one for one in (wanted.name, *wanted.aliases) if one.strip()]
    labels = list(dict.fromkeys(entity.labels.values()))
    found, factor = names.best_of(ours[:1], labels), 1.0
    if found.value != names.EXACT and (entity.aliases or ours[1:]):
        others = [*(labels if ours[1:] else ()), *(one for many in entity.aliases.values() for one in many)]
        by_alias = names.best_of(ours, dict.fromkeys(others[:MOST_ALIASES]))
        if by_alias.value is not None and (found.value is None or by_alias.value * ALIAS > found.value):
            found, factor = by_alias, ALIAS
    if found.value is None:
        return Finding(kind="name", value=None, said=found.how)
    said = f"{found.ours} here, {found.theirs} there: {found.how}{', an alias' if factor < 1 else ''}"
    return Finding(kind="name", value=found.value * factor, said=said)


def _part(feature: str, weight: float, finding: Finding | None, whole: float) -> Part:
    if finding is None:
        return Part(feature=feature, weight=weight, value=None, points=0.0, said="not known there")
    points = weight * finding.value / whole if finding.value is not None and whole > 0 else 0.0
    return Part(feature=feature, weight=weight, value=finding.value, points=points, said=finding.said)


def _limits(compared: Sequence[tuple[str, float, Finding | None]], total: float) -> list[Part]:
    """What settles it, in this order: identifiers that agree, then everything that holds a candidate down."""
    by_feature = {feature: one for feature, _, one in compared if one is not None and one.value is not None}
    same = any(one.decisive and one.value == 1.0 for one in by_feature.values())
    other = any(one.decisive and one.value == 0.0 for one in by_feature.values())
    name = by_feature["name"].value if "name" in by_feature else None
    parts: list[Part] = []
    if same and not other:
        least = IDENTIFIED if name is None or name >= ANOTHER_NAME else IDENTIFIED_UNDER_ANOTHER_NAME
        if total < least:
            parts.append(_limit("identifier", least - total, "an equal identifier settles it"))
            total = least
    for applies, most, feature, said in (
        (other and not same, MOST_WITH_OTHER_IDENTIFIER, "identifier", "another identifier speaks against it"),
        (_wrong_type(by_feature), MOST_WITH_OTHER_TYPE, "type", "it is another kind of thing"),
        (name is None and not same, MOST_WITHOUT_NAME, "name", "no names that can be compared"),
        (_unconfirmed(by_feature, name), MOST_WITH_SIMILAR_NAME, "name", "only alike, and no property confirms it"),
    ):
        if applies and total > most:
            parts.append(_limit(feature, most - total, said))
            total = most
    return parts


def _limit(feature: str, points: float, said: str) -> Part:
    return Part(feature=f"{feature} limit", weight=0.0, value=None, points=points, said=said)


def _wrong_type(by_feature: Mapping[str, Finding]) -> bool:
    return "type" in by_feature and by_feature["type"].value == 0.0


def _unconfirmed(by_feature: Mapping[str, Finding], name: float | None) -> bool:
    confirmed = (
        one.value is not None and one.value >= AGREES
        for feature, one in by_feature.items()
        if feature not in ("name", "type")
    )
    return name is not None and name < CLEAR_NAME * ALIAS and not any(confirmed)


def _description(entity: Entity, languages: tuple[str, ...]) -> str | None:
    for language in (*languages, "en"):
        if language in entity.descriptions:
            return entity.descriptions[language]
    return next(iter(entity.descriptions.values()), None)


def _compare_types(wanted: Collection[str], there: Collection[str]) -> Finding:
    """Any of the wanted types will do. Nothing known on one side says nothing."""
    if not wanted:
        return Finding(kind="type", value=None, said="no type is wanted")
    if not there:
        return Finding(kind="type", value=None, said="no type is known there")
    found = next((one for one in wanted if one in there), None)
    if found is not None:
        return Finding(kind="type", value=1.0, said=f"is of type {found}")
    return Finding(kind="type", value=0.0, said=f"is of type {_listed(there)}, not {_listed(wanted)}")


def _listed(types: Collection[str]) -> str:
    shown = list(types)[:3]
    return " or ".join(shown) + (" …" if len(types) > len(shown) else "")


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """``gap``: from the best to the second; to 0 where there is no second. None without a candidate."""

    state: RecordState
    best: Scored | None
    gap: float | None
    said: str

    @property
    def match(self) -> Scored | None:
        """What the record is accepted as, or shown with."""
        return None if self.state is RecordState.NO_CANDIDATE else self.best


def verdict(ranked: Sequence[Scored], accept_score: float, accept_gap: float) -> Verdict:
    """``ranked``: best first, as ``rank`` has them."""
    if not ranked:
        return Verdict(
            state=RecordState.NO_CANDIDATE, best=None, gap=None, said="the source knows nothing of that name"
        )
    best = ranked[0]
    gap = round(best.score - (ranked[1].score if len(ranked) > 1 else 0.0), 6)
    state, said = _decided(best.score, gap, ranked, accept_score, accept_gap)
    return Verdict(state=state, best=best, gap=gap, said=said)


def _decided(
    score: float, gap: float, ranked: Sequence[Scored], accept_score: float, accept_gap: float
) -> tuple[RecordState, str]:
    if score < LEAST_WORTH_A_LOOK:
        return RecordState.NO_CANDIDATE, f"the best of {len(ranked)} reaches {score:.2f}, which is not worth a look"
    if score < accept_score:
        return RecordState.REVIEW, f"{score:.2f} is below {accept_score:g}"
    if gap < accept_gap:
        return RecordState.REVIEW, f"{ranked[1].label} is only {gap:.2f} behind, less than {accept_gap:g}"
    return RecordState.ACCEPTED, f"{score:.2f}, and the next is {gap:.2f} behind"
