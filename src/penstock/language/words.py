"""Words of a text, folded so that forms of one word meet: for counting and comparing, never for showing."""

import re
import unicodedata

from penstock.language.lists import listed

_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)?")
_MARKS = re.compile(r"[\u0300-\u036f]")
# Written without spaces: pairs of signs stand in for words.
_UNSPACED = re.compile(r"[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\u0e00-\u0e7f]+")
_EMPTY_WORDS = listed("empty_words")
_ENDINGS = ("ings", "ing", "ies", "ied", "ers", "er", "ed", "es", "en", "em", "s", "e", "n", "y")
_SHORTEST_STEM = 3


def folded(text: str) -> str:
    """Small letters without accents, full-width signs as plain ones."""
    decomposed = unicodedata.normalize("NFKD", text.casefold())
    return unicodedata.normalize("NFC", _MARKS.sub("", decomposed))


def words(text: str) -> list[str]:
    """Folded words in order. Text without spaces between words comes as overlapping pairs of signs."""
    found: list[str] = []
    for match in _WORD.finditer(folded(text)):
        word = re.sub(r"['’].*", "", match[0])
        if _UNSPACED.fullmatch(word) and len(word) > 1:
            found.extend(word[index : index + 2] for index in range(len(word) - 1))
        else:
            found.append(word)
    return found


def telling(text: str) -> list[str]:
    """The words that carry content."""
    return [word for word in words(text) if word not in _EMPTY_WORDS]


def stem(word: str) -> str:
    """Cuts the commonest endings of European languages, so that "repairs" meets "repair". Rough, and the same for both
    sides of a comparison, which is all it is for."""
    for ending in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= _SHORTEST_STEM and not word.isdigit():
            return word[: -len(ending)]
    return word
