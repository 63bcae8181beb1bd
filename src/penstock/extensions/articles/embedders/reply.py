"""What an embeddings endpoint answered: its JSON as vectors, or a sentence that says what was wrong with it; and of an
answer other than 200, whether to wait, to change something, or to blame a text. Pure."""

import base64
import binascii
import json
import re
from typing import Any

import numpy as np
import orjson

from penstock.errors import ThrottledError
from penstock.extensions.articles.embedders.embedder import Vectors
from penstock.extensions.articles.embedders.options import Options
from penstock.extensions.articles.errors import EmbedderBusy, EmbedderExhausted, EmbedderMisconfigured, TextRefused
from penstock.providers.answer import Received
from penstock.providers.refusal import Refusal, refusal_of

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
        if isinstance(vector, str):
            row = _packed(vector)
        elif isinstance(vector, list):
            row = _listed(vector)
        else:
            raise Unreadable("an embedding is neither a list of numbers nor base64")
        if row.shape != (dimensions,):
            raise WrongDimensions(row.size)
        rows[index] = row
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
    try:
        data = orjson.loads(body)
    except orjson.JSONDecodeError:
        try:
            data = json.loads(body)  # some write NaN, which is no JSON, but says which text it was about
        except (ValueError, RecursionError):
            raise Unreadable("it is no JSON") from None
    entries = data.get("data") if isinstance(data, dict) else None
    if not isinstance(entries, list):
        raise Unreadable("it has no list called data")
    if len(entries) != texts:
        raise Unreadable(f"it has {len(entries)} vectors for {texts} texts")
    return entries


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


_NO_CREDIT = frozenset({"insufficient_quota", "billing_hard_limit_reached"})
_OUR_PARAMETERS = frozenset({"model", "dimensions", "encoding_format"})
_OUR_CODES = re.compile(r"model|api_key|auth|deployment", re.IGNORECASE)
# "This model's maximum context length is 512 tokens" is about the text, though it names the model.
_ABOUT_TEXT = re.compile(r"context length|token|too long|too large|\binput|\btext|character|content", re.IGNORECASE)
_ABOUT_US = re.compile(r"model|api.?key|dimension|encoding_format|deployment|authori[sz]", re.IGNORECASE)


def is_quota(received: Received, options: Options) -> bool:
    """A quota that is used up is told as 429 too, and does not come back in a second."""
    return received.status == 429 and refusal_of(received.body, options.key).code in _NO_CREDIT


def refusal(received: Received, options: Options, wait_seconds: float) -> Exception:
    """``wait_seconds``: what the answer asked for, where it is 429."""
    host, status = options.host, received.status
    if status == 402 or is_quota(received, options):
        return EmbedderExhausted(
            f"The account at {host} has no credit left ({status}). Check its billing; the articles are tried again."
        )
    if status == 429:
        said = f"{host} asked to slow down; it is asked again in {wait_seconds:.1f} s."
        return ThrottledError(said, retry_after=wait_seconds, key=options.limiter_key)
    if status >= 500 or status in (408, 425):
        return EmbedderBusy(f"{host} answered {status}.", reached=True)
    if status in (400, 413, 422):
        return _not_taken(received, options)
    return EmbedderMisconfigured(_to_change(received, options))


def _to_change(received: Received, options: Options) -> str:
    host, status = options.host, received.status
    if status in (401, 403):
        # Without their words: some repeat the key.
        return f"{host} refused the key of embedder {options.name!r} ({status}). Check {_key(options)}."
    if status == 404:
        return (
            f"{host} knows no model {options.model!r} at {options.url}/embeddings (404). Check url and model of"
            f" embedder {options.name!r}."
        )
    if 300 <= status < 400:
        return (
            f"{host} sends callers elsewhere ({status}). Put the final address into url of embedder {options.name!r}."
        )
    return f"{host} does not answer as an embeddings endpoint ({status}). Check url of embedder {options.name!r}."


def _not_taken(received: Received, options: Options) -> Exception:
    said = refusal_of(received.body, options.key)
    words = f": {said.message.rstrip('.')}" if said.message else ""
    if received.status == 400 and _about_us(said):
        hint = f"Check model, dimensions and send_dimensions of embedder {options.name!r}, and {_key(options)}."
        return EmbedderMisconfigured(f"{options.host} did not take the request ({received.status}){words}. {hint}")
    return TextRefused(
        f"{options.host} did not take the text ({received.status}){words}. Change the text, or lower most_characters"
        f" of embedder {options.name!r} where it is too long."
    )


def _about_us(said: Refusal) -> bool:
    """In doubt it is the text: others go on then, and the sentence says what the endpoint said."""
    if said.parameter is not None:
        return said.parameter in _OUR_PARAMETERS
    if said.code is not None and _OUR_CODES.search(said.code):
        return True
    return bool(_ABOUT_US.search(said.message)) and not _ABOUT_TEXT.search(said.message)


def _key(options: Options) -> str:
    if options.key_variable is None:
        return "whether it needs a key: the embedders file names no key_variable for it"
    return f"the variable {options.key_variable}"
