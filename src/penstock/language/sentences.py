"""Texts cut into sentences, by rules that fit many scripts and need no model.

What comes out stands in the text word for word, so that a quote can be found again on its page. The rules know the
signs that end a sentence in the scripts that have them, and what only looks like an end: abbreviations, initials,
ordinals, decimal points, addresses. A line ends a sentence too, unless it is a wrapped one.
"""

import re

from penstock.language.lists import listed

# Ends that need nothing after them: scripts that write no space between sentences, or no capitals.
_CLOSED_ENDS = "。！？｡।॥؟۔։።។။"
_ENDS = ".!?…"
_CLOSERS = "\"'”’»›」』）)]"
# Runs are taken whole and only from their first sign, so that a page of points costs no more than another.
_END = re.compile(
    rf"(?P<closed>[{_CLOSED_ENDS}]++[{re.escape(_CLOSERS)}]*+)"
    rf"|(?<![{re.escape(_ENDS)}])(?P<open>[{re.escape(_ENDS)}]++[{re.escape(_CLOSERS)}]*+)(?=\s)"
)
_LAST_WORD = re.compile(r"[^\s(\[\"'“„«]+$")
_ORDINAL = re.compile(r"\d{1,2}")
_AFTER_ORDINALS = listed("after_ordinals")
_ABBREVIATIONS = listed("abbreviations")
_LINE = re.compile(r"[^\r\n\v\f\x1c-\x1e\x85\u2028\u2029]+")
# Longer than any sentence one would quote: text without marks is cut at a space.
MOST_CHARACTERS = 1000
_WRAPPED_CHARACTERS = 60
# How far a look around a mark goes: longer words are no abbreviations.
_SEEN_CHARACTERS = 40


def sentences(text: str) -> list[str]:
    """In order; nothing but white space is lost between them. An empty text has none."""
    return [piece for line in _lines(text) for sentence in _of_line(line) for piece in _short(sentence)]


def _lines(text: str) -> list[str]:
    """Lines, with wrapped ones put together: a long line that breaks off in the middle goes on in small letters."""
    spans: list[tuple[int, int]] = []
    last: re.Match[str] | None = None
    for found in _LINE.finditer(text):
        if not found[0].strip():
            continue
        if last is not None and _is_wrapped(last[0].rstrip(), text[last.end() : found.start()], found[0].lstrip()):
            spans[-1] = (spans[-1][0], found.end())
        else:
            spans.append(found.span())
        last = found
    return [text[start:end].strip() for start, end in spans]


def _is_wrapped(line: str, between: str, following: str) -> bool:
    one_break = between in ("\n", "\r\n", "\r")
    return one_break and len(line) >= _WRAPPED_CHARACTERS and line[-1].islower() and following[0].islower()


def _of_line(line: str) -> list[str]:
    cut: list[str] = []
    start = 0
    for found in _END.finditer(line):
        if found["closed"] is None and not _is_end(line, start, found):
            continue
        cut.append(line[start : found.end()].strip())
        start = found.end()
    cut.append(line[start:].strip())
    return [one for one in cut if one]


def _is_end(line: str, start: int, found: re.Match[str]) -> bool:
    """A mark with white space after it ends a sentence, unless the words around it say that it goes on."""
    after = line[found.end() : found.end() + _SEEN_CHARACTERS].lstrip()
    next_letter = next((sign for sign in after[:4] if sign.isalnum()), "")
    if next_letter.islower():
        # "e.g. this", "he asked “Why?” and left".
        return False
    if found["open"] != ".":
        return True
    seen_from = max(start, found.start() - _SEEN_CHARACTERS)
    word = _LAST_WORD.search(line[seen_from : found.start()])
    if word is None:
        return True
    first = seen_from == start and not line[start : start + word.start()].strip()
    return not _goes_on_after(word[0], first=first, after=after)


def _goes_on_after(word: str, *, first: bool, after: str) -> bool:
    """Whether the point after ``word`` belongs to the word."""
    if word.lower() in _ABBREVIATIONS or (len(word) == 1 and word.isupper()):
        return True
    if re.fullmatch(r"(?:[A-Za-z]\.)+[A-Za-z]", word) or (len(word) == 1 and re.match(r"[^\W\d]\.", after)):
        # "a.m."; "z. B."
        return True
    if _ORDINAL.fullmatch(word):
        # "1. Wash it": the number of an item. "am 3. Mai": a date.
        return first or (after.split(None, 1) or [""])[0].strip(".,;:").lower() in _AFTER_ORDINALS
    return False


def _short(sentence: str) -> list[str]:
    pieces: list[str] = []
    while len(sentence) > MOST_CHARACTERS:
        space = sentence.rfind(" ", MOST_CHARACTERS // 2, MOST_CHARACTERS)
        cut = space if space > 0 else MOST_CHARACTERS
        pieces.append(sentence[:cut].rstrip())
        sentence = sentence[cut:].lstrip()
    return [*pieces, sentence] if sentence else pieces
