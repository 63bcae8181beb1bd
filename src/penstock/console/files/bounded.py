"""A byte stream that never hands out more than one row may hold.

A quote that is never closed, or a file without a line end, would otherwise pull the whole file into memory.
"""

import codecs
import io
from collections.abc import Callable

from typing_extensions import Buffer

_BUFFER_BYTES = 64 * 1024


class EndlessRow(Exception):
    """More bytes than a row may have were read since the last row."""


class _Chunks(io.RawIOBase):
    """Pulls chunks of any size; an empty one is the end."""

    def __init__(
        self, next_chunk: Callable[[], bytes], limit_bytes: int, check: codecs.IncrementalDecoder | None
    ) -> None:
        self._next_chunk = next_chunk
        self._check = check
        self._limit = limit_bytes + _BUFFER_BYTES
        self._rest = memoryview(b"")
        self.since_row = 0
        self.holds_nul = False
        self.holds_stray = False

    def readable(self) -> bool:
        return True

    def readinto(self, target: Buffer, /) -> int:
        view = memoryview(target)
        if self.since_row > self._limit:
            raise EndlessRow
        if not self._rest:
            chunk = self._next_chunk()
            self.holds_nul = self.holds_nul or b"\0" in chunk
            self._look_for_strays(chunk)
            self._rest = memoryview(chunk)
        count = min(len(view), len(self._rest))
        view[:count] = self._rest[:count]
        self._rest = self._rest[count:]
        self.since_row += count
        return count

    def _look_for_strays(self, chunk: bytes) -> None:
        if self._check is not None:
            try:
                self._check.decode(chunk, final=not chunk)
            except UnicodeDecodeError:
                self.holds_stray, self._check = True, None


class BoundedText:
    """Decoded text with its line ends as they are. Call ``row_read`` after each row."""

    def __init__(self, next_chunk: Callable[[], bytes], *, encoding: str, limit_bytes: int) -> None:
        # Text is decoded ahead of the rows. A stray byte in UTF-8 becomes a surrogate, so that its row is known.
        is_utf8 = encoding in ("utf-8", "utf-8-sig")
        check = codecs.getincrementaldecoder(encoding)() if is_utf8 else None
        self._chunks = _Chunks(next_chunk, limit_bytes, check)
        buffered = io.BufferedReader(self._chunks, _BUFFER_BYTES)
        errors = "surrogateescape" if is_utf8 else "strict"
        self.lines = io.TextIOWrapper(buffered, encoding=encoding, errors=errors, newline="")

    def row_read(self) -> None:
        self._chunks.since_row = 0

    @property
    def needs_check(self) -> bool:
        """Whether a zero or a stray byte was read, maybe a little ahead of the rows: then each cell is worth a look."""
        return self._chunks.holds_nul or self._chunks.holds_stray
