"""One property of a record against the statements of a candidate, by the datatype that the source gives them."""

from collections.abc import Sequence
from typing import assert_never

from penstock.extensions.linking.entity import DateValue, ItemValue, NumberValue, PlaceValue, TextValue, Value
from penstock.extensions.linking.scoring import dates, identifiers, items, names, numbers, places, urls
from penstock.extensions.linking.scoring.finding import Finding, best
from penstock.extensions.linking.scoring.folding import folded

_LEAST_TEXT = 0.6


def compare(texts: Sequence[str], there: Sequence[Value]) -> Finding:
    """Any value of the one against any of the other: a person has two citizenships, a book several editions."""
    if len(texts) == 2 and isinstance(there[0], PlaceValue):
        # Latitude and longitude in two columns.
        texts = (f"{texts[0]}, {texts[1]}", *texts)
    return best([compare_one(text, value) for text in texts for value in there])


def compare_one(text: str, value: Value) -> Finding:
    match value:
        case DateValue():
            return dates.compare(text, value)
        case PlaceValue():
            return places.compare(text, value)
        case NumberValue():
            return numbers.compare(text, value)
        case ItemValue():
            return items.compare(text, value)
        case TextValue():
            return _compare_text(text, value.text)
        case _:
            assert_never(value)


def _compare_text(text: str, there: str) -> Finding:
    if urls.is_url(there):
        return urls.compare(text, there)
    if identifiers.is_identifier(there):
        return identifiers.compare(text, there)
    value, how = names.compare(folded(text), folded(there))
    if value is None:
        return Finding(kind="text", value=None, said=f"{text} and {there} cannot be compared")
    return Finding(kind="text", value=value if value >= _LEAST_TEXT else 0.0, said=f"{text} here, {there} there: {how}")
