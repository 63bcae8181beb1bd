"""One property of a record against the statements of a candidate, by the datatype that the source gives them."""

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import assert_never
from urllib.parse import unquote

from rapidfuzz.distance import OSA

from penstock.extensions.linking.entity import DateValue, ItemValue, NumberValue, PlaceValue, TextValue, Value
from penstock.extensions.linking.scoring import dates, names, numbers, places
from penstock.extensions.linking.scoring.folding import folded, plain
from penstock.extensions.linking.scoring.weights import Finding, best

_LEAST_TEXT = 0.6
_SAME = 0.9
_NEAR = 0.75
# A label may be in another language than the record, so a different one contradicts less than a different country.
_OTHER_LABEL = 0.7
_URL = re.compile(r"^(?:[a-z][a-z0-9+.-]*://|www\.)", re.IGNORECASE)
_SCHEME = re.compile(r"^[a-z][a-z0-9+.-]*://", re.IGNORECASE)
_SAME_SITE = 0.7
# As datasets call them, so that "Deutschland" meets "Germany".
_COUNTRIES = """
argentina|ar|arg|argentinien|argentine
australia|au|aus|australien|australie
austria|at|aut|osterreich|autriche|oesterreich
belgium|be|bel|belgien|belgique|belgie
brazil|br|bra|brasilien|bresil|brasil
canada|ca|can|kanada
chile|cl|chl|chili
china|cn|chn|people's republic of china|chine|volksrepublik china
czech republic|cz|cze|czechia|tschechien|ceska republika
denmark|dk|dnk|danemark|danmark
egypt|eg|egy|agypten|egypte
finland|fi|fin|finnland|finlande|suomi
france|fr|fra|frankreich|francia
germany|de|deu|ger|deutschland|allemagne|alemania|germania|federal republic of germany
greece|gr|grc|griechenland|grece|hellas
hungary|hu|hun|ungarn|hongrie|magyarorszag
india|in|ind|indien|inde
ireland|ie|irl|irland|irlande|republic of ireland
israel|il|isr
italy|it|ita|italien|italie|italia
japan|jp|jpn|japon|日本
kenya|ke|ken|kenia
mexico|mx|mex|mexiko|mexique
netherlands|nl|nld|niederlande|pays-bas|nederland|holland|kingdom of the netherlands
new zealand|nz|nzl|neuseeland
nigeria|ng|nga
norway|no|nor|norwegen|norvege|norge
peru|pe|per|perou
poland|pl|pol|polen|pologne|polska
portugal|pt|prt
russia|ru|rus|russian federation|russland|russie|россия
south africa|za|zaf|sudafrika
south korea|kr|kor|republic of korea|sudkorea|대한민국
spain|es|esp|spanien|espagne|espana
sweden|se|swe|schweden|suede|sverige
switzerland|ch|che|schweiz|suisse|svizzera
turkey|tr|tur|turkiye|turkei|turquie
ukraine|ua|ukr|україна
united kingdom|gb|uk|gbr|great britain|vereinigtes konigreich|royaume-uni
united states|us|usa|u.s.|u.s.a.|united states of america|vereinigte staaten|etats-unis|estados unidos
"""
_BY_NAME = {name: line.partition("|")[0] for line in _COUNTRIES.split("\n") for name in line.split("|") if name}
_NOT_SAID = re.compile(r"[\s\-–—_./:·]+")
_ADDRESS = re.compile(r"^(?:https?://)?(?:www\.)?[a-z0-9.-]+\.[a-z]{2,}/(?:.*/)?(?=[^/]+/?$)")
_DOI = re.compile(r"^(?:https?://(?:dx\.)?doi\.org/|doi:\s*)(?=10\.)")
_PREFIX = re.compile(r"^(?:isbn|issn|doi|isni|orcid|viaf|gnd|oclc|lei|imo|vat)(?:-1[03])?[\s:]+")
_WORDS = re.compile(r"[^\W\d_]{3,}")
# Shorter ones are codes that many things share.
_DECISIVE_LENGTH = 6
_ONE_OFF_LENGTH = 8


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
            return _compare_item(text, value)
        case TextValue():
            return _compare_text(text, value.text)
        case _:
            assert_never(value)


def _compare_text(text: str, there: str) -> Finding:
    if _URL.match(there.strip()):
        return _compare_url(text, there)
    if _is_identifier(there):
        return compare_identifier(text, there)
    value, how = names.compare(folded(text), folded(there))
    if value is None:
        return Finding(kind="text", value=None, said=f"{text} and {there} cannot be compared")
    return Finding(kind="text", value=value if value >= _LEAST_TEXT else 0.0, said=f"{text} here, {there} there: {how}")


def _compare_item(text: str, there: ItemValue) -> Finding:
    """Another thing, which the record names by id or by a label."""
    text = text.strip()
    if text.rsplit("/", 1)[-1].upper() == there.id.upper():
        return Finding(kind="item", value=1.0, said=f"the same, {there.label or there.id}")
    if there.label is None:
        return Finding(kind="item", value=None, said=f"{there.id} has no label to compare with")
    mine, other = _country(text), _country(there.label)
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


def _compare_url(text: str, there: str) -> Finding:
    """Another page of the same site says half of it; another site says little, since addresses move."""
    mine, other = _url_parts(text), _url_parts(there)
    if mine == other:
        return Finding(kind="url", value=1.0, said=f"the same address, {there}")
    if mine[0] == other[0]:
        return Finding(kind="url", value=_SAME_SITE, strength=0.7, said=f"another page of {mine[0]}")
    return Finding(kind="url", value=0.0, strength=0.5, said=f"{mine[0]} here, {other[0]} there")


def _url_parts(text: str) -> tuple[str, str]:
    """Host and path with query, in the form in which they are compared."""
    bare = _SCHEME.sub("", text.strip()).partition("#")[0]
    host, _, path = bare.partition("/")
    host = host.lower().rpartition("@")[2].removesuffix(":80").removesuffix(":443").rstrip(".").removeprefix("www.")
    return host, unquote(path).rstrip("/")


def _country(text: str) -> str | None:
    """Its English name, if it is one of the list."""
    return _BY_NAME.get(plain(text).strip())


def _is_identifier(text: str) -> bool:
    """Has a digit and is no sentence, or is a short code in capitals. Other texts are compared as names are."""
    text = text.strip()
    if any(char.isdigit() for char in text):
        return len(_WORDS.findall(text)) <= 1 or " " not in text
    return text.isascii() and text.isalpha() and text.isupper() and len(text) <= 6


def compare_identifier(text: str, there: str) -> Finding:
    """Equal or not, once ISBNs, dashes, spaces, case and the addresses around them are out of the way."""
    mine, other = normalised(text), normalised(there)
    if not mine or not other:
        return Finding(kind="identifier", value=None, said="an empty identifier")
    if mine == other:
        long = len(mine) >= _DECISIVE_LENGTH
        return Finding(kind="identifier", value=1.0, decisive=long, said=f"the same identifier, {there}")
    if min(len(mine), len(other)) >= _ONE_OFF_LENGTH and OSA.distance(mine, other, score_cutoff=1) == 1:
        return Finding(
            kind="identifier", value=0.3, strength=0.3, said=f"{text} here, {there} there: one character off"
        )
    return Finding(kind="identifier", value=0.0, decisive=True, said=f"{text} here, {there} there: another identifier")


@lru_cache(maxsize=5_000)
def normalised(text: str) -> str:
    text = _DOI.sub("", plain(text).strip())
    text = _PREFIX.sub("", text)
    if not text.startswith("10."):
        text = _ADDRESS.sub("", text)
    text = _NOT_SAID.sub("", text)
    if len(text) == 10 and text[:9].isdigit() and (text[9].isdigit() or text[9] == "x"):
        text = _isbn13(text) or text
    return text.lstrip("0") or text if text.isdigit() else text


def _isbn13(isbn10: str) -> str | None:
    """None where the check digit is wrong: ten digits are not always a book."""
    digits = [10 if char == "x" else int(char) for char in isbn10]
    if sum(digit * (10 - at) for at, digit in enumerate(digits)) % 11:
        return None
    stem = "978" + isbn10[:9]
    total = sum(int(char) * (3 if at % 2 else 1) for at, char in enumerate(stem))
    return f"{stem}{-total % 10}"
