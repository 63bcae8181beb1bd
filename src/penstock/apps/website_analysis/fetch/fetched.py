"""One answer of a website, as it came."""

from dataclasses import dataclass
from hashlib import sha256
from typing import Literal

Kind = Literal["page", "robots", "sitemap"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Fetched:
    """``url`` as asked for, ``final_url`` after redirects; header names in lower case.

    ``body`` is unpacked (gzip, deflate), but its characters are not decoded: that needs a look into the page.
    """

    kind: Kind
    url: str
    final_url: str
    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def sha256(self) -> str:
        return sha256(self.body).hexdigest()
