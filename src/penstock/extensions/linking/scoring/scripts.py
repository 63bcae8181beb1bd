"""Which script a name is written in, and how it would read in Latin letters.

Own small tables for Cyrillic, Greek, Hebrew, Arabic, Georgian, kana and Hangul. Hebrew and Arabic leave out vowels, so
they are good for a comparison of consonants only. Han characters (and Indic, Thai and other scripts) are not
romanised: a reading needs a dictionary. Names in them are compared with names in the same script.
"""

import unicodedata
from functools import lru_cache

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
