"""A fact as part of a question. Facts are text from strangers: what they wrote may fill a gap, and nothing more.

One phrase on one line, without control or invisible characters, without signs that could end the question or begin
another one, and short. What is left of it is None where nobody would ask for it.
"""

import re
import unicodedata

LONGEST = 80
_MOST_WORDS = 12
_FEWEST_LETTERS = 2
# A full stop behind a short word is likely an abbreviation: "St. Gallen".
_SENTENCE_END = re.compile(r"[?!;…。！？؟]|(?<=\w{4})\.(?=\s|$)")
_SIGNS = re.compile(r"[{}<>\[\]`\"“”„«»|\\^~*_#=$]+")
_EDGES = " .,:;-–—/&+'’()·•"
_ADDRESS = re.compile(r"://|www\.|\S@\S", re.IGNORECASE)
_WORD = re.compile(r"\w+")
# Words that stand between a thing and the name of who makes it; alone at an end they say nothing.
_BETWEEN = frozenset(
    _WORD.findall(
        "by from at of in near with and bei von mit und chez de du par et da di del por con y van bij en od w z i"
    )
)


def one_line(text: str, longest: int = 300) -> str:
    """As it stands on the page, without what cannot be seen."""
    kept = (" " if unicodedata.category(one)[0] == "Z" or one in "\t\n\r\v\f" else one for one in text[: longest * 8])
    seen = "".join(one for one in kept if unicodedata.category(one)[0] != "C")
    return cut(" ".join(unicodedata.normalize("NFC", seen).split()), longest)


def cut(text: str, longest: int) -> str:
    """At a word, where there is one."""
    if len(text) <= longest:
        return text
    head = text[: longest + 1]
    return (head.rpartition(" ")[0] or head[:longest]).rstrip()


def phrase(text: str) -> str | None:
    """What may stand in a question, or None."""
    line = one_line(text)
    if _ADDRESS.search(line):
        return None
    first = next((part for part in _SENTENCE_END.split(line) if part.strip()), "")
    words = _SIGNS.sub(" ", first).split()[:_MOST_WORDS]
    left = cut(" ".join(words).strip(_EDGES), LONGEST).strip(_EDGES)
    return left if sum(one.isalpha() for one in left) >= _FEWEST_LETTERS else None


def fold(text: str) -> str:
    """Spellings of the same words are one: without case, accents, punctuation."""
    plain = unicodedata.normalize("NFKD", text.casefold())
    return " ".join(_WORD.findall("".join(one for one in plain if not unicodedata.combining(one))))


def names_it(text: str, name: str) -> bool:
    """Whether a text speaks of the business by its name, also where it is written as one word."""
    folded, wanted = fold(text), fold(name)
    if not wanted:
        return False
    if f" {wanted} " in f" {folded} ":
        return True
    joined = wanted.replace(" ", "")
    # Short words occur inside other ones; scripts without spaces have no other way to be found.
    return (len(joined) >= 6 or not joined.isascii()) and joined in folded.replace(" ", "")


def without(text: str, name: str) -> str | None:
    """The phrase without the name of the business: what somebody would ask for who does not know it."""
    words = _WORD.findall(name)
    if not words:
        return phrase(text)
    pattern = r"(?<!\w)" + r"[\W_]+".join(map(re.escape, words)) + r"(?:['’]s)?(?!\w)"
    parts = re.sub(pattern, " ", one_line(text), flags=re.IGNORECASE).split()
    while parts and (fold(parts[-1]) or "by") in _BETWEEN:
        parts.pop()
    while parts and (fold(parts[0]) or "by") in _BETWEEN:
        parts.pop(0)
    left = phrase(" ".join(parts))
    return None if left is None or names_it(left, name) else left
