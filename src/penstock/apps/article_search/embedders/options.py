"""An embedder as somebody configured it."""

from dataclasses import dataclass, field
from enum import StrEnum
from hashlib import sha256
from urllib.parse import urlsplit

# Permits that come together: a few seconds' worth.
_BURST_SECONDS = 5.0


class Kind(StrEnum):
    BUILTIN = "builtin"
    OPENAI = "openai"
    SENTENCE_TRANSFORMERS = "sentence-transformers"


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """``most_texts`` and ``most_characters`` are those of one request; a single text that is longer is cut there.

    ``key`` comes from the environment and never shows. ``problem``: why it cannot be asked, for people.
    ``send_dimensions``: ask the endpoint for vectors of that many numbers, where its model can make several sizes.
    ``words_weight``: of words in a hybrid search, where meaning has 1; 0.4 to 0.7 was best with MiniLM.
    """

    name: str
    kind: Kind
    model: str
    dimensions: int
    url: str = ""
    key_variable: str | None = None
    key: str | None = field(default=None, repr=False)
    most_texts: int = 64
    most_characters: int = 100_000
    requests_per_minute: float | None = None
    timeout_seconds: float = 30.0
    query_prefix: str = ""
    document_prefix: str = ""
    send_dimensions: bool = False
    words_weight: float = 0.5
    problem: str | None = None

    @property
    def host(self) -> str:
        return urlsplit(self.url).hostname or ""

    @property
    def fingerprint(self) -> str:
        """The model, and what else changes its vectors. Moving the endpoint to another host does not."""
        if not self.query_prefix and not self.document_prefix:
            return self.model
        prefixes = repr((self.query_prefix, self.document_prefix)).encode()
        return f"{self.model} {sha256(prefixes).hexdigest()[:8]}"

    @property
    def limiter_key(self) -> str:
        return f"articles:{self.name}"

    @property
    def burst(self) -> int:
        return max(1, int((self.requests_per_minute or 0.0) / 60 * _BURST_SECONDS))
