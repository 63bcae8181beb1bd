"""Made-up articles that behave like written ones: common words everywhere, topics that keep to theirs.

The words are the whole ones among the pieces that the built-in model knows, so its vectors mean something; how often
each comes follows Zipf's law. An article keeps to one or two of a few hundred topics, so that every passage has true
neighbours. The same seed makes the same articles.
"""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import numpy.typing as npt

from penstock.extensions.articles import chunking

_TOPICS = 400
_WORDS_OF_TOPIC = 150
_COMMON = (
    "the of and to a in is for that it with as on be by this are at or from an not can which has was its when will"
    " more than one they have all if so their each into only other after some there what most"
)
_FUNCTION_WORDS = tuple(_COMMON.split())
_ENDINGS = (*[""] * 12, "s", "s", "ing", "ed", "er", "ly")
_WHOLE_WORD = re.compile(r"▁([a-z]{3,12})")
# Of a hundred words: forty that any text has, thirty-five of the topic, the rest of the language at large.
_SHARES = (0.40, 0.75)
_ZIPF_TOPIC, _ZIPF_LANGUAGE = 0.8, 1.0
_LEAST_PARAGRAPHS, _MOST_PARAGRAPHS = 4, 10
_SENTENCES, _LEAST_WORDS, _MOST_WORDS = 4, 7, 20
# Texts bring words that nobody has met before, however many were read.
_NEW_SHARE = 0.02
# A question or a title keeps to its subject.
_SHARES_ASKED = (0.15, 0.9)
_MOST_ASKED = 12

Numbers = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    """``chunks``: into how many passages it will be cut."""

    title: str
    content: str
    chunks: int


class Writer:
    def __init__(self, seed: int) -> None:
        self._random = np.random.default_rng(seed)
        language = _words(self._random)
        self._known = [*language, *_FUNCTION_WORDS]
        self._function_from = len(language)
        self._topics = self._random.integers(len(language), size=(_TOPICS, _WORDS_OF_TOPIC))
        self._of_topic = _zipf(_WORDS_OF_TOPIC, _ZIPF_TOPIC)
        self._of_language = _zipf(len(language), _ZIPF_LANGUAGE)
        self._of_function = _zipf(len(_FUNCTION_WORDS), _ZIPF_LANGUAGE)

    def articles(self, chunks: int) -> Iterator[Written]:
        """Until they make at least so many passages, cut as the first generation does."""
        chunker = chunking.Chunker()
        made = 0
        while made < chunks:
            topics = self._pick_topics()
            title = self._heading(topics, 4)
            content = self._content(topics)
            cut = len(chunker.cut(title, content))
            made += cut
            yield Written(title=title, content=content, chunks=cut)

    def queries(self, count: int) -> list[str]:
        """Of one to twelve words, each on one topic; no two alike, because a vector may be remembered."""
        found: dict[str, None] = {}
        while len(found) < count:
            length = 1 + int(self._random.integers(_MOST_ASKED))
            found[" ".join(self._text(self._pick_topics(), length, _SHARES_ASKED))] = None
        return list(found)

    def _content(self, topics: Numbers) -> str:
        """Paragraphs of a few sentences, a heading before every third."""
        paragraphs: list[str] = []
        for number in range(int(self._random.integers(_LEAST_PARAGRAPHS, _MOST_PARAGRAPHS + 1))):
            if number and number % 3 == 0:
                paragraphs.append(f"## {self._heading(topics, 3)}")
            paragraphs.append(self._paragraph(topics))
        return "\n\n".join(paragraphs)

    def _paragraph(self, topics: Numbers) -> str:
        ends = np.cumsum(self._random.integers(_LEAST_WORDS, _MOST_WORDS + 1, size=_SENTENCES)).tolist()
        words = self._text(topics, ends[-1], _SHARES)
        sentences = [words[begin:end] for begin, end in zip([0, *ends], ends, strict=False)]
        return " ".join(f"{' '.join(sentence).capitalize()}." for sentence in sentences)

    def _heading(self, topics: Numbers, words: int) -> str:
        return " ".join(self._text(topics, words, _SHARES_ASKED)).capitalize()

    def _text(self, topics: Numbers, count: int, shares: tuple[float, float]) -> list[str]:
        """Whole paragraphs at a time: drawing word by word would take minutes."""
        kind, within, other = self._random.random((3, count))
        # A second topic, where there is one, has three words in ten.
        topic = topics[np.where(other < 0.7, 0, len(topics) - 1)]
        ids = np.where(
            kind < shares[0],
            self._function_from + np.searchsorted(self._of_function, within),
            np.where(
                kind < shares[1],
                self._topics[topic, np.searchsorted(self._of_topic, within)],
                np.searchsorted(self._of_language, within),
            ),
        )
        words = [self._known[one] for one in ids.tolist()]
        for place in np.flatnonzero(other > 1 - _NEW_SHARE).tolist():
            words[place] += self._known[int(within[place] * self._function_from)]
        return words

    def _pick_topics(self) -> Numbers:
        """One or two of them."""
        return self._random.integers(_TOPICS, size=int(self._random.integers(1, 3)))


def _words(random: np.random.Generator) -> list[str]:
    """In an order of chance, which is the order of how often they come."""
    stems = sorted(found[1] for piece in _pieces() if (found := _WHOLE_WORD.fullmatch(piece)))
    endings = random.integers(len(_ENDINGS), size=2 * len(stems)).tolist()
    words = [stem + _ENDINGS[ending] for stem, ending in zip(stems * 2, endings, strict=True)]
    distinct = sorted(set(words) - set(_FUNCTION_WORDS))
    random.shuffle(distinct)
    return distinct


def _pieces() -> list[str]:
    """What the model has a row for; the package is found without running it."""
    package = find_spec("wordllama")
    assert package is not None
    assert package.submodule_search_locations
    file = Path(package.submodule_search_locations[0], "tokenizers", "l2_supercat_tokenizer_config.json")
    return list(json.loads(file.read_text())["model"]["vocab"])


def _zipf(count: int, exponent: float) -> npt.NDArray[np.float64]:
    """Cumulated shares of the first, second, … most frequent one."""
    weights = 1.0 / np.arange(1, count + 1) ** exponent
    return np.asarray(np.cumsum(weights) / weights.sum())
