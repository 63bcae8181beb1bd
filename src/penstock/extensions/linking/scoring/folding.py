"""A name as it is compared: words without case, accents and punctuation, each with how much it says.

Names in two scripts are compared in Latin letters, by own small tables for Cyrillic, Greek, Hebrew, Arabic, Georgian,
kana and Hangul. Hebrew and Arabic leave out vowels, so they are good for a comparison of consonants only. Han
characters (and Indic, Thai and other scripts) are not romanised: a reading needs a dictionary. Names in them are
compared with names in the same script.
"""

import re
import unicodedata
from dataclasses import dataclass
from functools import lru_cache

# Letters that do not come apart into a letter and an accent.
_OWN_LETTERS = str.maketrans(
    {"ø": "o", "æ": "ae", "œ": "oe", "ł": "l", "đ": "d", "ð": "d", "þ": "th", "ı": "i", "ħ": "h", "ŋ": "n", "ə": "e"}
)
_APOSTROPHES = re.compile(r"['’‘ʼ`´ʹ]")
_WORD = re.compile(r"[^\W_]+")
_DOTTED = re.compile(r"\b(?:[^\W\d_]\.[ ]?){2,}")
_LETTER_OF_DOTTED = re.compile(r"[^\W_]")
_RANGES: tuple[tuple[int, int, str], ...] = (
    (0x0041, 0x024F, "latin"),
    (0x0370, 0x03FF, "greek"),
    (0x0400, 0x052F, "cyrillic"),
    (0x0590, 0x05FF, "hebrew"),
    (0x0600, 0x06FF, "arabic"),
    (0x10A0, 0x10FF, "georgian"),
    (0x1E00, 0x1EFF, "latin"),
    (0x1F00, 0x1FFF, "greek"),
    (0x3040, 0x30FF, "kana"),
    (0x3400, 0x9FFF, "han"),
    (0xAC00, 0xD7A3, "hangul"),
    (0x20000, 0x3134F, "han"),
)

ABJADS = frozenset({"hebrew", "arabic"})
# Written without spaces between words, so a name is compared by its characters.
UNSPACED = frozenset({"han", "kana"})


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


def _table(pairs: str) -> dict[str, str]:
    return {one[0]: one[1:] for one in pairs.split()}


_LETTERS: dict[str, str] = {
    **_table(
        "аa бb вv гg дd еe ёe жzh зz иi йi кk лl мm нn оo пp рr сs тt уu фf хkh цts чch шsh щshch ъ ыy ь эe юiu яia"
    ),
    **_table("іi їi єie ґg ўu јj љlj њnj ћc ђdj џdz ѓg ќk ѕz әa өo үu ұu қk ғg ңn һh"),
    **_table("αa βv γg δd εe ζz ηi θth ιi κk λl μm νn ξx οo πp ρr σs ςs τt υy φf χch ψps ωo"),
    **_table("א בb גg דd הh וv זz חh טt יy כk ךk לl מm םm נn ןn סs ע פp ףp צts ץts קk רr שsh תt"),
    **_table(
        "ا أ إ آ ء ئ ؤ ى بb تt ثth جj حh خkh دd ذdh رr زz سs شsh صs ضd طt ظz ع"
        " غgh فf قq كk کk لl مm نn هh ةh وw يy یy پp چch ژzh گg"
    ),
    **_table(
        "აa ბb გg დd ეe ვv ზz თt იi კk ლl მm ნn ოo პp ჟzh რr სs ტt უu ფp ქk ღgh ყq შsh ჩch ცts ძdz წts ჭch ხkh ჯj ჰh"
    ),
}
# Greek pairs that sound as one.
_DIGRAPHS = (("ου", "u"), ("ού", "u"), ("μπ", "b"), ("ντ", "nt"), ("γκ", "g"), ("τζ", "tz"), ("ευ", "ev"), ("αυ", "av"))

_KANA = _table(
    "あa いi うu えe おo かka きki くku けke こko さsa しshi すsu せse そso たta ちchi つtsu てte とto "
    "なna にni ぬnu ねne のno "
    "はha ひhi ふfu へhe ほho まma みmi むmu めme もmo "
    "やya ゆyu よyo らra りri るru れre ろro わwa をo んn がga ぎgi ぐgu げge "
    "ごgo ざza じji ずzu ぜze ぞzo だda ぢji づzu でde どdo "
    "ばba びbi ぶbu べbe ぼbo ぱpa ぴpi ぷpu ぺpe ぽpo ゔvu ぁa ぃi ぅu ぇe ぉo"
)
_SMALL_Y = _table("ゃa ゅu ょo")

_INITIALS, _MEDIALS, _FINALS = (
    sounds.split("|")
    for sounds in (
        "g|kk|n|d|tt|r|m|b|pp|s|ss||j|jj|ch|k|t|p|h",
        "a|ae|ya|yae|eo|e|yeo|ye|o|wa|wae|oe|yo|u|wo|we|wi|yu|eu|ui|i",
        "|k|k|k|n|n|n|t|l|k|m|l|l|l|p|l|m|p|p|t|t|ng|t|t|k|t|p|t",
    )
)


def script_of(text: str) -> str:
    """The script of the first letter; ``han`` as soon as one is in it, as Japanese names mix. ``none``: no letters."""
    if text.isascii():
        return "latin"
    found = [script for char in text if (script := _script(char)) is not None]
    if not found:
        return "none"
    return "han" if "han" in found else found[0]


def romanised(text: str) -> str:
    """Folded text in Latin letters, as far as the tables go; other characters stay."""
    if text.isascii():
        return text
    for pair, latin in _DIGRAPHS:
        text = text.replace(pair, latin)
    letters: list[str] = []
    for char in text:
        if "\u30a1" <= char <= "\u30f6":
            char = chr(ord(char) - 0x60)
        if "\u3040" <= char <= "\u309f" or char in "ー・":
            _add_kana(letters, char)
        elif "\uac00" <= char <= "\ud7a3":
            letters.append(_syllable(char))
        else:
            letters.append(_LETTERS[char] if char in _LETTERS else _LETTERS.get(_bare(char), char))
    return "".join(letters)


@lru_cache(maxsize=4096)
def _script(char: str) -> str | None:
    code = ord(char)
    if not char.isalpha():
        return None
    return next((script for first, last, script in _RANGES if first <= code <= last), "other")


def _bare(char: str) -> str:
    """Without its accent: ά is α."""
    return unicodedata.normalize("NFD", char)[0]


def _add_kana(letters: list[str], char: str) -> None:
    """Small signs change the syllable before them; the long mark is left out, as most romanised names do."""
    if char in _SMALL_Y and letters:
        before = letters[-1]
        stem = before[:-1] if before.endswith("i") else before
        letters[-1] = stem + ("" if stem in ("sh", "ch", "j") else "y") + _SMALL_Y[char]
    elif char == "・":
        letters.append(" ")
    elif char not in "ーっ":
        letters.append(_KANA.get(char, char))


def _syllable(char: str) -> str:
    index = ord(char) - 0xAC00
    return _INITIALS[index // 588] + _MEDIALS[index % 588 // 28] + _FINALS[index % 28]
