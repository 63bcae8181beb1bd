"""Unpacks what came over the wire, never more of it than there is room for."""

import zlib

GZIP_MAGIC = b"\x1f\x8b"
_PACKED = {"gzip": zlib.MAX_WBITS | 16, "x-gzip": zlib.MAX_WBITS | 16, "deflate": zlib.MAX_WBITS}
# A file of many empty parts would keep us busy for nothing.
_MOST_PARTS = 100
_MOST_LAYERS = 3


class NotPacked(Exception):
    """The bytes are not what the header says, or broken."""


class Unpacker:
    """``room_bytes``: at most one byte more than this comes out, and that one says that it was too much."""

    def __init__(self, encodings: str, room_bytes: int) -> None:
        names = [name.strip().lower() for name in encodings.split(",")]
        known = [name for name in names if name in _PACKED]
        # A packing that we did not ask for passes as it is; whoever looks at the bytes sees what became of it.
        self.unknown = next((name for name in names if name not in _PACKED and name not in ("", "identity")), None)
        if len(known) > _MOST_LAYERS:
            raise NotPacked(f"packed {len(known)} times over")
        self._layers = [_Layer(name) for name in reversed(known)]
        self._room_bytes = room_bytes
        self._given_bytes = 0

    def feed(self, piece: bytes) -> bytes:
        left = self._room_bytes - self._given_bytes + 1
        for layer in self._layers:
            piece = layer.feed(piece, left)
        piece = piece[:left]
        self._given_bytes += len(piece)
        return piece

    @property
    def full(self) -> bool:
        return self._given_bytes > self._room_bytes


class _Layer:
    """Servers that say gzip and send plain text are common; such text passes as it is."""

    def __init__(self, name: str) -> None:
        self._bits = _PACKED[name]
        self._unpack: zlib._Decompress | None = None
        self._plain = False
        self._begun = b""
        self._parts = 0

    def feed(self, piece: bytes, most_bytes: int) -> bytes:
        if self._plain:
            return piece
        if self._unpack is None:
            self._begun += piece
            if len(self._begun) < 2:
                return b""
            piece, self._begun = self._begun, b""
            if not self._begin(piece):
                return piece
        return self._unpacked(piece, most_bytes)

    def _begin(self, start: bytes) -> bool:
        bits = self._bits
        if bits == zlib.MAX_WBITS:
            if start.lstrip()[:1] == b"<":
                self._plain = True
            elif start[0] & 0x0F != 8 or (start[0] * 256 + start[1]) % 31:
                bits = -zlib.MAX_WBITS  # deflate without its header: as common as with it
        elif start[:2] != GZIP_MAGIC:
            self._plain = True
        if not self._plain:
            self._unpack = zlib.decompressobj(bits)
        return not self._plain

    def _unpacked(self, piece: bytes, most_bytes: int) -> bytes:
        out = bytearray()
        while piece and self._unpack is not None and len(out) < most_bytes:
            if self._unpack.eof:  # a gzip file may have several parts, and rubbish after them
                self._parts += 1
                if self._bits == zlib.MAX_WBITS or piece[:2] != GZIP_MAGIC or self._parts >= _MOST_PARTS:
                    break
                self._unpack = zlib.decompressobj(self._bits)
            try:
                out += self._unpack.decompress(piece, most_bytes - len(out))
            except zlib.error as error:
                raise NotPacked(str(error)) from None
            piece = self._unpack.unused_data if self._unpack.eof else self._unpack.unconsumed_tail
        return bytes(out)


def gunzipped(body: bytes, room_bytes: int) -> bytes | None:
    """A .gz file; None where it is broken or larger than there is room for."""
    unpacker = Unpacker("gzip", room_bytes)
    try:
        unpacked = unpacker.feed(body)
    except NotPacked:
        return None
    return None if unpacker.full else unpacked
