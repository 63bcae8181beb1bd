"""How well two names agree, over spellings, orders, initials and scripts.

Names are aligned word by word. A word that is left over counts against the name, but less than a word that differs,
since people leave out middle names. Short words allow no typo: Holm and Helm are two families.
"""

from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from typing import NamedTuple

from rapidfuzz.distance import OSA, Indel

from penstock.extensions.linking.scoring.folding import ABJADS, UNSPACED, Name, Word, folded, folded_in_latin

EXACT, OTHER_ORDER, OTHER_SPACING, OTHER_UMLAUT = 1.0, 0.98, 0.96, 0.98
# Numbers that differ make another thing; a number on one side only makes it likely.
NUMBERS_DIFFER, NUMBER_ON_ONE_SIDE = 0.3, 0.75
# The best that names in two scripts can reach: a romanisation is a guess, without vowels even more so.
OTHER_SCRIPT, OTHER_SCRIPT_CONSONANTS = 0.95, 0.85
INITIAL, CUT_SHORT = 0.75, 0.9
LEFT_OVER = 0.35
# In parts of a word; words shorter than this pay more for each letter that is missing.
_TYPO_COST, _SHORT_WORD, _SHORT_WORD_COST = 1.2, 8, 0.15
_LEAST_ALIKE = 0.6
_COMPARABLE = frozenset({"latin", "greek", "cyrillic", "hebrew", "arabic", "georgian", "kana", "hangul", "none"})

Alike = Callable[[str, str], float]


class Agreement(NamedTuple):
    """``value`` None: no two names are in scripts that can be compared. ``ours``, ``theirs``: the best pair."""

    value: float | None
    ours: str
    theirs: str
    how: str


def best_of(ours: Sequence[str], theirs: Iterable[str]) -> Agreement:
    """The pair that agrees best. ``theirs`` in the order of trust: of equals the first counts."""
    found = Agreement(None, ours[0] if ours else "", "", "no names that can be compared")
    mine = [folded(one) for one in ours]
    for text in theirs:
        other = folded(text)
        for name in mine:
            value, how = compare(name, other)
            if value is not None and (found.value is None or value > found.value):
                found = Agreement(value, name.text, text, how)
                if value == EXACT:
                    return found
    return found


def compare(one: Name, other: Name) -> tuple[float | None, str]:
    """0 to 1, and in which way they agree; None where there is no way to tell."""
    if not one.words or not other.words:
        return None, "nothing to compare"
    if one.whole == other.whole:
        return EXACT, "the same name"
    if one.script == other.script or "none" in (one.script, other.script):
        return _same_script(one, other)
    if one.script in _COMPARABLE and other.script in _COMPARABLE:
        return _over_scripts(one, other)
    return None, "scripts that cannot be compared"


def _same_script(one: Name, other: Name) -> tuple[float, str]:
    if one.script in UNSPACED:
        return _guarded(one, other, _by_characters(one.joined, other.joined)), "by characters"
    if one.ordered == other.ordered:
        return OTHER_ORDER, "the same words in another order"
    if one.joined == other.joined:
        return OTHER_SPACING, "the same but for spaces"
    if one.first_letters.isdisjoint(other.first_letters) and _far_apart(one.whole, other.whole):
        return 0.0, "another name"
    value = _aligned(one.words, other.words, _alike)
    return _guarded(one, other, value), _called(value)


def _called(value: float) -> str:
    if value >= OTHER_SPACING:
        return "nearly the same name"
    return "a similar name" if value >= _LEAST_ALIKE else "another name"


def _over_scripts(one: Name, other: Name) -> tuple[float, str]:
    mine, theirs = folded_in_latin(one.text), folded_in_latin(other.text)
    consonants = one.script in ABJADS or other.script in ABJADS
    alike = _alike_consonants if consonants else _alike_sounds
    # Korean and Japanese names have no space to tell the words by.
    value = max(_aligned(mine.words, theirs.words, alike), OTHER_SPACING * alike(mine.joined, theirs.joined))
    most = OTHER_SCRIPT_CONSONANTS if consonants else OTHER_SCRIPT
    return _guarded(mine, theirs, value * most), "romanised"


def _far_apart(one: str, other: str) -> bool:
    """Quick, for the many aliases that are something else altogether."""
    return Indel.normalized_similarity(one, other, score_cutoff=_LEAST_ALIKE) == 0.0


def _guarded(one: Name, other: Name, value: float) -> float:
    if one.numbers == other.numbers:
        return value
    differ = one.numbers and other.numbers
    return min(value, NUMBERS_DIFFER if differ else NUMBER_ON_ONE_SIDE)


def _aligned(ours: Sequence[Word], theirs: Sequence[Word], alike: Alike) -> float:
    """Greedy: the pairs that are most alike are taken first, of equals those in the same place."""
    pairs: list[tuple[float, int, int, int]] = []
    for at, word in enumerate(ours):
        for place, other in enumerate(theirs):
            value = 1.0 if word.text == other.text else _words_alike(word, other, alike)
            if value:
                pairs.append((-value, abs(at - place), at, place))
    if not pairs:
        return 0.0
    pairs.sort()
    free, open_places = dict(enumerate(ours)), dict(enumerate(theirs))
    shared = total = 0.0
    for negated, _, at, place in pairs:
        if at in free and place in open_places:
            word, other = free.pop(at), open_places.pop(place)
            says = min(word.says, other.says) if negated == -INITIAL else (word.says + other.says) / 2
            shared -= says * negated
            total += says
    if free or open_places:
        over = [sum(word.says for word in left.values()) for left in (free, open_places)]
        # Words left over on both sides do not stand for each other: that is a difference, not an omission.
        total += max(over) * LEFT_OVER + min(over)
    return shared / total if total else 0.0


def _words_alike(one: Word, other: Word, alike: Alike) -> float:
    if one.number or other.number:
        return 0.0
    short, long = (one, other) if len(one.text) <= len(other.text) else (other, one)
    if len(short.text) == 1 and long.text.startswith(short.text):
        return INITIAL
    if short.cut and len(short.text) > 1 and long.text.startswith(short.text):
        return CUT_SHORT
    return alike(one.text, other.text)


@lru_cache(maxsize=20_000)
def _alike(one: str, other: str) -> float:
    """Typos, the costlier the shorter the word; ü written as ue is none."""
    longest = max(len(one), len(other))
    if min(len(one), len(other)) < 4:
        return 0.0
    if _without_umlaut(one) == _without_umlaut(other):
        return OTHER_UMLAUT
    edits = OSA.distance(one, other, score_cutoff=longest // 3)
    cost = _TYPO_COST + _SHORT_WORD_COST * max(0, _SHORT_WORD - longest)
    value = 1.0 - cost * edits / longest - (0.05 if one[0] != other[0] else 0.0)
    return value if value >= _LEAST_ALIKE else 0.0


@lru_cache(maxsize=20_000)
def _alike_sounds(one: str, other: str) -> float:
    """Romanisations of one name differ from table to table, so both are brought to fewer sounds first."""
    one, other = _sounds(one), _sounds(other)
    if one == other:
        return 1.0
    longest = max(len(one), len(other), 1)
    value = 1.0 - OSA.distance(one, other) / longest
    return value if value >= _LEAST_ALIKE else 0.0


@lru_cache(maxsize=20_000)
def _alike_consonants(one: str, other: str) -> float:
    one, other = _consonants(one), _consonants(other)
    if one == other:
        return 1.0 if len(one) > 1 else 0.5
    longest = max(len(one), len(other), 1)
    value = 1.0 - OSA.distance(one, other) / longest
    return value if value >= _LEAST_ALIKE else 0.0


def _by_characters(one: str, other: str) -> float:
    """Two characters of three that agree are no agreement: a Han name is short, and each character a word."""
    longest = max(len(one), len(other))
    return max(0.0, 1.0 - 1.5 * OSA.distance(one, other) / longest)


def _without_umlaut(word: str) -> str:
    return word.replace("ae", "a").replace("oe", "o").replace("ue", "u")


_SAME_SOUNDS = (
    ("shch", "s"), ("sch", "s"), ("tch", "c"), ("dzh", "j"), ("zh", "z"), ("kh", "h"), ("ch", "h"), ("sh", "s"),
    ("ts", "c"), ("tz", "c"), ("th", "t"), ("ph", "f"), ("gh", "g"), ("ou", "u"), ("oo", "u"), ("ee", "i"), ("ks", "x"),
    ("iy", "i"), ("yi", "i"), ("iu", "u"), ("yu", "u"), ("ju", "u"), ("ia", "a"), ("ya", "a"), ("ja", "a"), ("ye", "e"),
    ("ie", "e"), ("je", "e"), ("yo", "e"), ("y", "i"), ("j", "i"), ("w", "v"), ("q", "k"), ("ck", "k"), ("c", "k"),
    ("ii", "i"), ("ov", "of"), ("ev", "ef"), ("l", "r"), ("b", "v"), ("aa", "a"), ("uu", "u"),
)  # fmt: skip


@lru_cache(maxsize=10_000)
def _sounds(word: str) -> str:
    for written, sound in _SAME_SOUNDS:
        if written in word:
            word = word.replace(written, sound)
    return _undoubled(word)


@lru_cache(maxsize=10_000)
def _consonants(word: str) -> str:
    word = word.replace("kh", "h").replace("ch", "h").replace("ph", "f").replace("gh", "g").replace("dh", "d")
    word = word.replace("w", "v").replace("q", "k").replace("c", "k").replace("p", "f").replace("b", "v")
    word = _undoubled("".join(letter for letter in word if letter not in "aeiouy"))
    # A silent h at the end is written in one and left out in the other.
    return word[:-1] if word.endswith("h") and len(word) > 2 else word


def _undoubled(word: str) -> str:
    return "".join(letter for at, letter in enumerate(word) if at == 0 or letter != word[at - 1])
