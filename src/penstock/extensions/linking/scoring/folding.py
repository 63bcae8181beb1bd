"""A name as it is compared: words without case, accents and punctuation, each with how much it says."""

import re
import unicodedata
from dataclasses import dataclass
from functools import lru_cache

from penstock.extensions.linking.scoring.scripts import romanised, script_of

# Letters that do not come apart into a letter and an accent.
_OWN_LETTERS = str.maketrans(
    {"ø": "o", "æ": "ae", "œ": "oe", "ł": "l", "đ": "d", "ð": "d", "þ": "th", "ı": "i", "ħ": "h", "ŋ": "n", "ə": "e"}
)
_APOSTROPHES = re.compile(r"['’‘ʼ`´ʹ]")
_WORD = re.compile(r"[^\W_]+")
_DOTTED = re.compile(r"\b(?:[^\W\d_]\.[ ]?){2,}")
_LETTER_OF_DOTTED = re.compile(r"[^\W_]")


def _set(words: str) -> frozenset[str]:
    return frozenset(words.split())


TITLES = _set(
    "dr prof professor sir dame lord lady mr mrs ms miss herr frau mme mlle sr sra don dona jr junior senior phd md rev"
    " hon gen col capt"
)
COMPANY_FORMS = _set(
    "ltd limited gmbh ag sa inc incorporated corp corporation co company llc plc kg bv nv oy oyj ab asa aps spa srl"
    " sarl sas kk pty ooo zao pao kft sro doo ev eg ohg ug se lp llp"
)
_SMALL_WORDS = _set(
    "the of and for a an in on at de la le les los las el du des del der die das den di da do dos von van zu y e et und"
    " og al ibn bin ben"
)
# Written out, so that both ways meet. A word of several meanings has the one that is usual in names.
_SHORT_FORMS = {
    "st": "saint", "mt": "mount", "ft": "fort", "univ": "university", "intl": "international", "inst": "institute",
    "natl": "national", "dept": "department", "assn": "association", "bros": "brothers", "mfg": "manufacturing",
    "hosp": "hospital", "lib": "library", "mus": "museum", "soc": "society", "acad": "academy", "lk": "lake",
}  # fmt: skip
_ROMAN = {
    "ii": 2, "iii": 3, "iv": 4, "vi": 6, "vii": 7, "viii": 8, "ix": 9, "xi": 11, "xii": 12, "xiii": 13, "xiv": 14,
    "xv": 15, "xvi": 16,
}  # fmt: skip
_ROMAN_AT_THE_END = {"i": 1, "v": 5, "x": 10}
_TITLE_SAYS, _SMALL_WORD_SAYS = 0.1, 0.3


@dataclass(frozen=True, slots=True)
class Word:
    """``says``: how much it counts in a comparison, about its length. ``number``: must agree, a typo is no excuse.
    ``cut``: written with a full stop behind it, so it may be the beginning of a longer word."""

    text: str
    says: float
    number: bool
    cut: bool


@dataclass(frozen=True, slots=True)
class Name:
    """Made by :func:`folded`. ``whole``: the words in their order. ``script``: as :func:`script_of` has it."""

    text: str
    whole: str
    ordered: str
    joined: str
    script: str
    words: tuple[Word, ...]
    numbers: tuple[str, ...]
    first_letters: frozenset[str]


@lru_cache(maxsize=20_000)
def folded(text: str) -> Name:
    """Kept: every name of an entity meets many records, and every name of a record several entities."""
    return _name(text, plain(text))


@lru_cache(maxsize=5_000)
def folded_in_latin(text: str) -> Name:
    """The same, romanised first: for two names in different scripts."""
    return _name(text, romanised(plain(text)))


def plain(text: str) -> str:
    """Case folding and NFKC, without the accents of Latin letters. Accents of other scripts make other letters."""
    text = unicodedata.normalize("NFKC", text)
    if text.isascii():
        return text.lower()
    text = text.casefold().translate(_OWN_LETTERS)
    if script_of(text) in ("latin", "greek"):
        text = "".join(char for char in unicodedata.normalize("NFD", text) if not unicodedata.combining(char))
    return text


def _name(text: str, plain_text: str) -> Name:
    script = script_of(plain_text)
    words = _words(plain_text)
    whole = " ".join(word.text for word in words)
    return Name(
        text=text,
        whole=whole,
        ordered=" ".join(sorted(word.text for word in words)),
        joined=whole.replace(" ", ""),
        script=script,
        words=words,
        numbers=tuple(sorted(word.text for word in words if word.number)),
        first_letters=frozenset(word.text[0] for word in words),
    )


def _words(text: str) -> tuple[Word, ...]:
    text = _APOSTROPHES.sub("", text.replace("&", " and "))
    if "." in text:
        text = _DOTTED.sub(_undotted, text)
    found = list(_WORD.finditer(text))
    return tuple(
        _word(match.group(), cut=text[match.end() : match.end() + 1] == ".", last=_ends_a_name(found, at))
        for at, match in enumerate(found)
    )


def _ends_a_name(found: list[re.Match[str]], at: int) -> bool:
    """Behind a word, not behind another initial: "Okafor J V" has no fifth of that name."""
    return 0 < at == len(found) - 1 and len(found[at - 1].group()) > 1


def _undotted(match: re.Match[str]) -> str:
    """ "S.A." is a company form, "J.R." are two initials, "U.N.E.P." is a word."""
    letters = _LETTER_OF_DOTTED.findall(match.group())
    joined = "".join(letters)
    return f"{joined} " if joined in COMPANY_FORMS or len(letters) > 3 else ". ".join(letters) + ". "


def _word(text: str, *, cut: bool, last: bool) -> Word:
    number = _ROMAN.get(text) or (_ROMAN_AT_THE_END.get(text) if last and not cut else None)
    if number is not None:
        text = str(number)
    text = _SHORT_FORMS.get(text, text)
    if any(char.isdigit() for char in text):
        return Word(text.lstrip("0") or "0", 4.0, True, False)
    if text in TITLES or text in COMPANY_FORMS:
        return Word(text, _TITLE_SAYS, False, cut)
    return Word(text, _SMALL_WORD_SAYS if text in _SMALL_WORDS else min(len(text), 8) ** 0.5, False, cut)
