"""Addresses of articles, made from their titles once and never changed."""

import re
import unicodedata

_HYPHENS = re.compile(r"-+")
# Marks above and below Latin, Greek and Cyrillic letters; signs that other scripts write vowels with stay.
_ACCENTS = re.compile(r"[\u0300-\u036f]")
_LONGEST = 80
# What has no decomposition, as people write it where it is missing.
_SPELT = str.maketrans({"ß": "ss", "æ": "ae", "ø": "o", "đ": "d", "ł": "l", "þ": "th", "œ": "oe"})


def slug_of(title: str) -> str:
    """Lower case, words joined by hyphens, accents dropped; letters of other scripts stay. Never empty."""
    lowered = title.casefold().translate(_SPELT)
    plain = _ACCENTS.sub("", unicodedata.normalize("NFKD", lowered))
    # Letters, digits, and the marks that some scripts write vowels with.
    kept = (sign if unicodedata.category(sign)[0] in "LNM" else "-" for sign in unicodedata.normalize("NFC", plain))
    slug = _HYPHENS.sub("-", "".join(kept)).strip("-")
    if len(slug) > _LONGEST:
        slug = slug[:_LONGEST].rsplit("-", 1)[0] if "-" in slug[:_LONGEST] else slug[:_LONGEST]
    return slug.strip("-") or "article"


def numbered(base: str, number: int) -> str:
    return base if number == 1 else f"{base}-{number}"
