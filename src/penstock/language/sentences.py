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
_END = re.compile(
    rf"(?P<closed>[{_CLOSED_ENDS}]+[{re.escape(_CLOSERS)}]*)"
    rf"|(?P<open>[{re.escape(_ENDS)}]+[{re.escape(_CLOSERS)}]*)(?=\s)"
)
_LAST_WORD = re.compile(r"[^\s(\[\"'“„«]+$")
_ORDINAL = re.compile(r"\d{1,2}")
_AFTER_ORDINALS = listed("after_ordinals")
_ABBREVIATIONS = listed("abbreviations")
# Longer than any sentence one would quote: text without marks is cut at a space.
MOST_CHARACTERS = 1000
_WRAPPED_CHARACTERS = 60


def sentences(text: str) -> list[str]:
    """In order; nothing but white space is lost between them. An empty text has none."""
    return [piece for line in _lines(text) for sentence in _of_line(line) for piece in _short(sentence)]


def _lines(text: str) -> list[str]:
    """Lines, with wrapped ones put together: a long line that breaks off in the middle goes on in small letters."""
    lines: list[str] = []
    start = end = 0
    for found in re.finditer(r"[^\r\n\v\f\x1c-\x1e\x85\u2028\u2029]+", text):
        before, line = text[start:end].rstrip(), found[0].strip()
        if not line:
            start = end = found.end()
            continue
        breaks = len(re.findall(r"\r\n|[\r\n]", text[end : found.start()]))
        last_line = before.rsplit("\n", 1)[-1]
        wrapped = breaks == 1 and len(last_line) >= _WRAPPED_CHARACTERS and before[-1].islower() and line[0].islower()
        if not wrapped:
            lines.append(before)
            start = found.start()
        end = found.end()
    lines.append(text[start:end])
    return [line.strip() for line in lines if line.strip()]


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
    after = line[found.end() :].lstrip()
    if not after:
        return True
    next_letter = next((sign for sign in after[:4] if sign.isalnum()), "")
    if next_letter.islower():
        # "e.g. this"; a sentence after ! or ? may still begin with a small letter after a closing quote.
        return False
    if found["open"] != ".":
        return True
    word = _LAST_WORD.search(line, start, found.start())
    return word is None or not _goes_on_after(word[0], first=not line[start : word.start()].strip(), after=after)


def _goes_on_after(word: str, *, first: bool, after: str) -> bool:
    """Whether the point after ``word`` belongs to the word."""
    if word.lower() in _ABBREVIATIONS or (len(word) == 1 and (word.isupper() or word.islower())):
        return True
    if re.fullmatch(r"(?:[A-Za-z]\.)+[A-Za-z]", word):
        return True
    if _ORDINAL.fullmatch(word):
        # "1. Wash it": the number of an item. "am 3. Mai": a date.
        return first or after.split(None, 1)[0].strip(".,;:").lower() in _AFTER_ORDINALS
    return False


def _short(sentence: str) -> list[str]:
    pieces: list[str] = []
    while len(sentence) > MOST_CHARACTERS:
        space = sentence.rfind(" ", MOST_CHARACTERS // 2, MOST_CHARACTERS)
        cut = space if space > 0 else MOST_CHARACTERS
        pieces.append(sentence[:cut].rstrip())
        sentence = sentence[cut:].lstrip()
    return [*pieces, sentence] if sentence else pieces
