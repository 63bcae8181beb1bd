"""An OpenAI-compatible endpoint as somebody configured it."""

from collections.abc import Collection
from dataclasses import dataclass, field
from hashlib import sha256
from urllib.parse import urlsplit

LARGEST_BURST = 1_000_000
# Permits that come together: a few seconds' worth of requests, a quarter of a minute's tokens.
_REQUESTS_BURST_SECONDS, _TOKENS_BURST_SECONDS = 5.0, 15.0
_MILLION = 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    """Prices per million tokens, rates per minute over the whole fleet (None: not limited).

    ``provider``: whose budget of requests and tokens a call uses; models of one account share it. ``key`` comes from
    the environment and never shows. ``problem``: why it cannot be asked, for people.
    """

    name: str
    url: str
    model: str
    provider: str
    key_variable: str | None = None
    key: str | None = field(default=None, repr=False)
    input_price: float = 0.0
    output_price: float = 0.0
    requests_per_minute: float | None = None
    tokens_per_minute: float | None = None
    max_tokens: int = 400
    tokens_parameter: str = "max_tokens"
    temperature: float | None = None
    timeout_seconds: float = 60.0
    concurrency: int = 4
    private: bool = False
    problem: str | None = None

    @property
    def host(self) -> str:
        return urlsplit(self.url).hostname or ""

    @property
    def port(self) -> int | None:
        """None: the usual one of the scheme."""
        return urlsplit(self.url).port

    @property
    def version(self) -> str:
        """Changes with everything that changes the answers; the key and the prices do not."""
        shape = (self.url, self.model, self.temperature, self.max_tokens, self.tokens_parameter)
        return f"{self.model} {sha256(repr(shape).encode()).hexdigest()[:12]}"

    @property
    def requests_key(self) -> str:
        return f"model:{self.provider}:requests"

    @property
    def tokens_key(self) -> str:
        return f"model:{self.provider}:tokens"

    @property
    def requests_burst(self) -> int:
        return max(1, int((self.requests_per_minute or 0.0) / 60 * _REQUESTS_BURST_SECONDS))

    @property
    def tokens_burst(self) -> int:
        """At least two answers of full length, or a small budget would let nothing through."""
        usual = int((self.tokens_per_minute or 0.0) / 60 * _TOKENS_BURST_SECONDS)
        return min(max(usual, 2 * self.max_tokens, 1), LARGEST_BURST)

    def cost(self, tokens_in: int, tokens_out: int) -> float:
        return round((tokens_in * self.input_price + tokens_out * self.output_price) / _MILLION, 12)


def is_listed(url: str, hosts: Collection[str]) -> bool:
    """Whether the host of an address, or host:port, is among those that may be spoken to wherever they are."""
    parts = urlsplit(url)
    port = parts.port or (443 if parts.scheme == "https" else 80)
    names = {name.casefold() for name in hosts}
    host = (parts.hostname or "").casefold()
    return not names.isdisjoint({host, f"{host}:{port}", f"[{host}]", f"[{host}]:{port}"})
