"""Texts as vectors, by a table of 32,000 word pieces that comes inside the wordllama wheel.

The files are read without importing wordllama: its import sets up the root logger, and its loader asks the network. A
text is the mean of its pieces' rows, scaled to length 1, so the dot product of two texts is their cosine. The table is
mapped, not read: processes on one machine share its pages.
"""

import json
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
# Rows that are widened to float32 at once: 16 MB.
_PIECES_AT_ONCE = 16_384


class Embedder:
    """Safe to share between threads: nothing of it changes after it was made."""

    def __init__(self, tokenizer: Tokenizer, table: npt.NDArray[np.float16]) -> None:
        self._tokenizer = tokenizer
        self._table = table

    @classmethod
    def load(cls) -> "Embedder":
        """About a tenth of a second: make one and keep it."""
        folder = _folder()
        tokenizer = Tokenizer.from_file(str(folder / _TOKENIZER))
        # Markup such as <s> in a text is text.
        tokenizer.encode_special_tokens = True
        return cls(tokenizer, _mapped(folder / _WEIGHTS))

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
        # Encoded one by one: as quick as in batches here, and the tokenizer starts no threads that a fork would lose.
        text = text[:MOST_CHARACTERS].strip()
        if not text:
            return []
        whole = text.encode("utf-8", "replace").decode()
        ids: list[int] = self._tokenizer.encode(whole, add_special_tokens=False).ids
        return ids

    def _pool(self, waiting: list[tuple[int, list[int]]], rows: Vectors) -> None:
        """Means in place. Each text is added up on its own, row after row: the same bits in any company."""
        flat = np.fromiter((one for _, ids in waiting for one in ids), dtype=np.int32)
        # Short texts repeat the same pieces: each is widened once.
        used, places = np.unique(flat, return_inverse=True)
        pieces = self._table[used].astype(np.float32)[places]
        start = 0
        for index, ids in waiting:
            total = np.add.reduce(pieces[start : start + len(ids)], axis=0)
            rows[index] = total / max(float(np.sqrt(np.add.reduce(total * total))), 1e-12)
            start += len(ids)


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
