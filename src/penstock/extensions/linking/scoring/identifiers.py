"""Identifiers: equal or not, once ISBNs, dashes, spaces, case and the addresses around them are out of the way."""

import re
from functools import lru_cache

from rapidfuzz.distance import OSA

from penstock.extensions.linking.scoring.folding import plain
from penstock.extensions.linking.scoring.weights import Finding

_NOT_SAID = re.compile(r"[\s\-–—_./:·]+")
_ADDRESS = re.compile(r"^(?:https?://)?(?:www\.)?[a-z0-9.-]+\.[a-z]{2,}/(?:.*/)?(?=[^/]+/?$)")
_DOI = re.compile(r"^(?:https?://(?:dx\.)?doi\.org/|doi:\s*)(?=10\.)")
_PREFIX = re.compile(r"^(?:isbn|issn|doi|isni|orcid|viaf|gnd|oclc|lei|imo|vat)(?:-1[03])?[\s:]+")
_WORDS = re.compile(r"[^\W\d_]{3,}")
# Shorter ones are codes that many things share.
_DECISIVE_LENGTH = 6
_ONE_OFF_LENGTH = 8


def is_identifier(text: str) -> bool:
    """Has a digit and is no sentence, or is a short code in capitals. Other texts are compared as names are."""
    text = text.strip()
    if any(char.isdigit() for char in text):
        return len(_WORDS.findall(text)) <= 1 or " " not in text
    return text.isascii() and text.isalpha() and text.isupper() and len(text) <= 6


def compare(text: str, there: str) -> Finding:
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
