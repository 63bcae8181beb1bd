"""What every source of vectors does."""

from collections.abc import Sequence
from typing import Literal, Protocol

import numpy as np
import numpy.typing as npt

Vectors = npt.NDArray[np.float32]
Purpose = Literal["document", "query"]
# An array of one dimension, as the server sends it: header, then per number its length and itself, both of four bytes.
_HEADER_BYTES = 20


def received(sent: Sequence[bytes], dimensions: int) -> Vectors:
    """Vectors from the bytes of ``array_send``."""
    pairs = np.frombuffer(b"".join(one[_HEADER_BYTES:] for one in sent), dtype=">f4").reshape(-1, dimensions, 2)
    return pairs[:, :, 1].astype(np.float32)


class Embedder(Protocol):
    """``model``: what the vectors depend on, so that another one is another generation. ``words_weight``: how much the
    words of a query count in a hybrid search where meaning counts 1; the better the vectors, the less."""

    name: str
    model: str
    dimensions: int
    words_weight: float

    async def embed(self, texts: Sequence[str], *, purpose: Purpose) -> Vectors:
        """One row of length 1 per text; zeros for a text without content.

        Raises EmbedderBusy, EmbedderExhausted, EmbedderMisconfigured, TextRefused (one of the texts is to blame) or
        ThrottledError. Longer lists are sent in as many requests as the provider needs.
        """
        ...

    async def close(self) -> None: ...
