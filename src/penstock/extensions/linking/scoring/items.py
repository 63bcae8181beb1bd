"""Another thing, which the record names by id or by a label."""

from penstock.extensions.linking.entity import ItemValue
from penstock.extensions.linking.scoring import names
from penstock.extensions.linking.scoring.countries import country
from penstock.extensions.linking.scoring.finding import Finding
from penstock.extensions.linking.scoring.folding import folded

_SAME = 0.9
_NEAR = 0.75
# A label may be in another language than the record, so a different one contradicts less than a different country.
_OTHER_LABEL = 0.7


def compare(text: str, there: ItemValue) -> Finding:
    text = text.strip()
    if text.rsplit("/", 1)[-1].upper() == there.id.upper():
        return Finding(kind="item", value=1.0, said=f"the same, {there.label or there.id}")
    if there.label is None:
        return Finding(kind="item", value=None, said=f"{there.id} has no label to compare with")
    mine, other = country(text), country(there.label)
    if mine is not None and mine == other:
        return Finding(kind="item", value=1.0, said=f"the same, {there.label}")
    value, _ = names.compare(folded(text), folded(there.label))
    if value is None:
        return Finding(kind="item", value=None, said=f"{text} and {there.label} cannot be compared")
    said = f"{text} here, {there.label} there"
    if value >= _SAME:
        return Finding(kind="item", value=1.0, said=f"the same, {there.label}")
    if value >= _NEAR:
        return Finding(kind="item", value=value, strength=0.7, said=f"{said}: alike")
    both = mine is not None and other is not None
    return Finding(kind="item", value=0.0, strength=1.0 if both else _OTHER_LABEL, said=f"{said}: another")
