"""Texts as vectors, by a table of 32,000 word pieces that comes inside the wordllama wheel.

The files are read without importing wordllama: its import sets up the root logger, and its loader asks the network. A
text is the mean of its pieces' rows, scaled to length 1, so the dot product of two texts is their cosine. The table is
mapped, not read: processes on one machine share its pages.
"""

import json
import re
import struct
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import numpy.typing as npt
from tokenizers import Tokenizer

from penstock.errors import InvalidSetting

Vectors = npt.NDArray[np.float32]

DIMENSIONS = 256
# Goes into everything that is remembered by its vectors: other files or another pooling, another version.
VERSION = "l2-supercat-256/1"
# The mean of a text hardly moves after this many characters, and the memory of one call stays bounded.
MOST_CHARACTERS = 32_768
_TOKENIZER = Path("tokenizers", "l2_supercat_tokenizer_config.json")
_WEIGHTS = Path("weights", "l2_supercat_256.safetensors")
_TENSOR = "embedding.weight"
# Texts that are pooled together: what they have in common is widened to float32 once.
_PIECES_AT_ONCE = 16_384
# The tokenizer writes a space like this, and a word with those before it. No piece goes on behind the end of a word, so
# a text's pieces are those of its words.
_SPACE = "▁"
_WORD = re.compile(f"{_SPACE}*[^{_SPACE}]+|{_SPACE}+")
# About 10 MB; longer words are rarely met again.
_WORDS_KEPT = 32_768
_LONGEST_KEPT = 32


class Embedder:
    """Safe to share between threads: what they share is a dictionary of words, the same whoever fills it."""

    def __init__(self, tokenizer: Tokenizer, table: npt.NDArray[np.float16]) -> None:
        self._model = tokenizer.model
        self._table = table
        self._known: dict[str, tuple[int, ...]] = {}

    @classmethod
    def load(cls) -> "Embedder":
        """About a tenth of a second: make one and keep it."""
        folder = _folder()
        return cls(Tokenizer.from_file(str(folder / _TOKENIZER)), _mapped(folder / _WEIGHTS))

    def embed(self, texts: Sequence[str]) -> Vectors:
        """One row of length 1 per text; zeros for a text without content. A row does not depend on its neighbours."""
        rows = np.zeros((len(texts), DIMENSIONS), dtype=np.float32)
        waiting: list[tuple[int, list[int]]] = []
        pieces = 0
        for index, text in enumerate(texts):
            if ids := self._pieces(text):
                waiting.append((index, ids))
                pieces += len(ids)
            if pieces >= _PIECES_AT_ONCE:
                self._pool(waiting, rows)
                waiting, pieces = [], 0
        self._pool(waiting, rows)
        return rows

    def _pieces(self, text: str) -> list[int]:
        """The same as the tokenizer makes of the whole text, where markup such as <s> is text; six times as quick."""
        text = text[:MOST_CHARACTERS].strip()
        if not text:
            return []
        whole = _SPACE + text.encode("utf-8", "replace").decode().replace(" ", _SPACE)
        known, ids = self._known, list[int]()
        for word in _WORD.findall(whole):
            ids += known.get(word) or self._pieces_of_word(word)
        return ids

    def _pieces_of_word(self, word: str) -> tuple[int, ...]:
        ids = tuple(token.id for token in self._model.tokenize(word))
        if len(word) <= _LONGEST_KEPT:
            if len(self._known) >= _WORDS_KEPT:
                self._known.clear()  # the words that are met all the time are back at once
            self._known[word] = ids
        return ids

    def _pool(self, waiting: list[tuple[int, list[int]]], rows: Vectors) -> None:
        """Means in place. Each text is added up on its own, row after row: the same bits in any company."""
        if not waiting:
            return
        table, places = self._widened(np.array([one for _, ids in waiting for one in ids], dtype=np.intp))
        # One text at a time: its rows are still in the processor's cache when they are added up.
        room = np.empty((max(len(ids) for _, ids in waiting), DIMENSIONS), dtype=np.float32)
        start = 0
        for index, ids in waiting:
            pieces = room[: len(ids)]
            table.take(places[start : start + len(ids)], axis=0, out=pieces, mode="clip")
            total = np.add.reduce(pieces, axis=0)
            rows[index] = total / max(float(np.sqrt(np.add.reduce(total * total))), 1e-12)
            start += len(ids)

    def _widened(self, ids: npt.NDArray[np.intp]) -> tuple[Vectors, npt.NDArray[np.intp]]:
        """The rows of the pieces that occur, each widened once, and where each of ``ids`` is among them."""
        occurs = np.zeros(len(self._table), dtype=np.bool_)
        occurs[ids] = True
        used = np.flatnonzero(occurs)
        place = np.empty(len(self._table), dtype=np.intp)
        place[used] = np.arange(len(used))
        return self._table[used].astype(np.float32), place[ids]


def _folder() -> Path:
    found = find_spec("wordllama")  # finds the package without running it
    if found is None or not found.submodule_search_locations:
        raise InvalidSetting("wordllama", None, "the package is not installed; `pip install wordllama` brings it")
    return Path(found.submodule_search_locations[0])


def _mapped(path: Path) -> npt.NDArray[np.float16]:
    """The safetensors library would copy the table into each process; its header is a length and a line of JSON."""
    with path.open("rb") as file:
        (header_bytes,) = struct.unpack("<Q", file.read(8))
        tensor = json.loads(file.read(header_bytes))[_TENSOR]
    if tensor["dtype"] != "F16" or tensor["shape"][1:] != [DIMENSIONS]:
        raise InvalidSetting(
            "wordllama",
            f"{tensor['dtype']} {tensor['shape']}",
            f"its table should be F16 with {DIMENSIONS} columns; install the version that requirements.lock names",
        )
    offset = 8 + header_bytes + tensor["data_offsets"][0]
    return np.memmap(path, dtype="<f2", mode="r", offset=offset, shape=tuple(tensor["shape"]))
