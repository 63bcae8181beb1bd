"""From the JSON of an embeddings endpoint to vectors, or to a sentence that says what was wrong with it. Pure."""

import base64
import binascii
import json
from typing import Any

import numpy as np
import orjson

from penstock.extensions.articles.embedders.embedder import Vectors

_NEARLY_ZERO = 1e-12
# Digits, sign, exponent, comma and spaces of one number; the rest is the frame around them.
_BYTES_PER_NUMBER = 40
_BYTES_OF_FRAME = 65_536


class Unreadable(Exception):
    """Not the JSON of embeddings; the message says what was wrong with it."""


class WrongDimensions(Exception):
    def __init__(self, dimensions: int) -> None:
        self.dimensions = dimensions
        super().__init__(f"vectors of {dimensions} numbers")


class NotNumbers(Exception):
    """A vector that holds something else than finite numbers, or zeros alone: the model failed at that text. The
    message goes into "made ... of a text"."""

    def __init__(self, what: str = "no finite numbers") -> None:
        super().__init__(what)


def most_bytes(texts: int, dimensions: int) -> int:
    """No honest answer is larger."""
    return texts * dimensions * _BYTES_PER_NUMBER + _BYTES_OF_FRAME


def vectors_of(body: bytes, texts: int, dimensions: int) -> Vectors:
    """One row of length 1 per text, in the order of the texts: ``index`` counts, not the place in the list."""
    rows: list[Any] = [None] * texts
    for place, entry in enumerate(_entries(body, texts)):
        vector = entry.get("embedding") if isinstance(entry, dict) else None
        if vector is None:
            raise Unreadable(f"entry {place} has no embedding")
        index = entry.get("index", place)
        if isinstance(index, bool) or not isinstance(index, int) or not 0 <= index < texts or rows[index] is not None:
            raise Unreadable(f"the index of entry {place} is not that of a text without a vector")
        rows[index] = _row(vector, dimensions)
    return normalised(np.stack(rows))


def normalised(rows: Vectors) -> Vectors:
    """Rows of length 1. Raises NotNumbers, also for a row of zeros: nothing is near to it, so that the article would
    count as indexed and never be found. Empty texts, whose vector is zero, are not sent at all."""
    lengths = np.linalg.norm(rows.astype(np.float64), axis=1, keepdims=True)
    if not np.isfinite(lengths).all():
        raise NotNumbers
    if (lengths < _NEARLY_ZERO).any():
        raise NotNumbers("only zeros")
    scaled: Vectors = (rows / lengths).astype(np.float32)
    return scaled


def _entries(body: bytes, texts: int) -> list[Any]:
    data = _json(body)
    entries = data.get("data") if isinstance(data, dict) else None
    if not isinstance(entries, list):
        raise Unreadable("it has no list called data")
    if len(entries) != texts:
        raise Unreadable(f"it has {len(entries)} vectors for {texts} texts")
    return entries


def _json(body: bytes) -> Any:
    try:
        return orjson.loads(body)
    except orjson.JSONDecodeError:
        pass
    try:
        return json.loads(body)  # some write NaN, which is no JSON, but says which text it was about
    except (ValueError, RecursionError):
        raise Unreadable("it is no JSON") from None


def _row(vector: Any, dimensions: int) -> Vectors:
    if isinstance(vector, str):
        row = _packed(vector)
    elif isinstance(vector, list):
        row = _listed(vector)
    else:
        raise Unreadable("an embedding is neither a list of numbers nor base64")
    if row.shape != (dimensions,):
        raise WrongDimensions(row.size)
    return row


def _packed(text: str) -> Vectors:
    """Numbers of 4 bytes, the lowest first."""
    try:
        return np.frombuffer(base64.b64decode(text, validate=True), dtype="<f4").astype(np.float32)
    except (binascii.Error, ValueError):
        raise Unreadable("an embedding is a text, and not base64 of numbers of 4 bytes") from None


def _listed(vector: list[Any]) -> Vectors:
    if any(one is None for one in vector):
        raise NotNumbers  # how NaN becomes JSON
    if not all(type(one) in (float, int) for one in vector):
        raise Unreadable("an embedding is a list, and not of numbers")
    with np.errstate(over="ignore"):
        try:
            return np.array(vector, dtype=np.float32)
        except OverflowError:
            raise NotNumbers from None
