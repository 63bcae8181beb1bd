"""Texts as they are compared: lower case, without accents and punctuation, numbers joined with their units."""

import re
import unicodedata
from collections.abc import Iterable

_NUMBER_AND_UNIT = re.compile(
    r"\b(\d+(?:[.,]\d+)?)\s+(mm|cm|dm|m|km|ml|cl|dl|l|mg|g|kg|w|kw|wh|kwh|v|a|ah|mah|hz|khz|mhz|ghz|gb|tb|mb|inch|zoll|oz|lb|x)\b"
)
_DECIMAL = re.compile(r"(?<=\d)[.,](?=\d)")
# A dot that separates no digits is punctuation like any other.
_NO_WORD = re.compile(r"(?:[^\w.]|_|(?<!\d)\.|\.(?!\d))+")
_SIZE = re.compile(r"\d[\d.]*[a-z]{0,4}|\d[\d.]*x\d[\d.x]*[a-z]{0,4}|xxs|xs|s|m|l|xl|xxl|xxxl")
# fmt: off
_FILLERS = frozenset({
    "a", "an", "and", "the", "of", "for", "with", "in", "on", "to", "by", "new",
    "der", "die", "das", "und", "mit", "fur", "aus", "im", "von", "zum", "neu",
    "de", "het", "een", "en", "met", "voor", "van", "uit", "nieuw",
    "le", "la", "les", "un", "une", "et", "avec", "pour", "du", "des",
    "el", "los", "las", "una", "y", "con", "para", "del",
})
# fmt: on


def tidy(text: str) -> str:
    """For people: one way to write each character, and no space too many."""
    return " ".join(unicodedata.normalize("NFKC", text).split())


def fold(text: str) -> str:
    """For comparing. The same text twice gives the same words, however it was typed."""
    parted = unicodedata.normalize("NFKD", text.casefold())
    plain = "".join(sign for sign in parted if not unicodedata.combining(sign)).casefold()
    words = " ".join(_NO_WORD.sub(" ", _DECIMAL.sub(".", plain)).split())
    return _NUMBER_AND_UNIT.sub(r"\1\2", words)


def with_brand(brand: str, title: str) -> str:
    """Both folded; the brand in front, once."""
    if not brand or f" {brand} " in f" {title} ":
        return title
    return f"{brand} {title}"


def without_brand(brand: str, title: str) -> str:
    return " ".join(f" {title} ".replace(f" {brand} ", " ").split()) if brand else title


def without_sizes(title: str) -> str:
    """Colours, sizes and amounts differ between shops more than names do; of those, sizes can be told from names."""
    return " ".join(word for word in title.split() if not _SIZE.fullmatch(word))


def significant(title: str, most: int) -> str:
    """The first words that mean something."""
    kept = [word for word in title.split() if word not in _FILLERS and len(word) > 1]
    return " ".join(kept[:most])


def telling(title: str, most: int = 3) -> list[str]:
    """The words that are probably rarest: model numbers, then long ones. Few products share two of them."""
    words = [word for word in dict.fromkeys(title.split()) if word not in _FILLERS]
    return sorted(words, key=lambda word: (_has_digit(word) and len(word) > 2, len(word)), reverse=True)[:most]


def numbers(title: str) -> frozenset[str]:
    """What must not differ for two titles to mean the same product."""
    return frozenset(word for word in title.split() if _has_digit(word))


def _has_digit(word: Iterable[str]) -> bool:
    return any(sign.isdigit() for sign in word)
