"""How a capped child and its parent talk: length-prefixed frames of a JSON header and raw bytes.

The bytes travel beside the JSON because pictures would grow by a third inside it.
"""

import socket
import struct
from collections.abc import Callable
from typing import Any

import orjson

_LENGTHS = struct.Struct("!II")
HEADER_BYTES = 16 * 1024 * 1024
BLOB_BYTES = 64 * 1024 * 1024

Header = dict[str, Any]


class BrokenFrame(Exception):
    """What came is no frame, or a longer one than either side ever sends."""


def pack(header: Header, blob: bytes = b"") -> bytes:
    text = orjson.dumps(header)
    if len(text) > HEADER_BYTES or len(blob) > BLOB_BYTES:
        raise BrokenFrame(f"a frame of {len(text):,} + {len(blob):,} bytes is too long to be sent")
    return b"".join((_LENGTHS.pack(len(text), len(blob)), text, blob))


def received(channel: socket.socket, count: int, before_each: Callable[[], None] = lambda: None) -> bytes:
    """Exactly so many bytes; EOFError where the channel ends before. ``before_each`` may set its time-out."""
    data = bytearray(count)
    view, filled = memoryview(data), 0
    while filled < count:
        before_each()
        got = channel.recv_into(view[filled:])
        if not got:
            raise EOFError
        filled += got
    return bytes(data)


def unpack(receive: Callable[[int], bytes]) -> tuple[Header, bytes]:
    """``receive(n)`` gives exactly n bytes or raises. The lengths are checked before anything is reserved for them."""
    text_bytes, blob_bytes = _LENGTHS.unpack(receive(_LENGTHS.size))
    if text_bytes > HEADER_BYTES or blob_bytes > BLOB_BYTES:
        raise BrokenFrame(f"a frame of {text_bytes:,} + {blob_bytes:,} bytes is announced")
    try:
        header = orjson.loads(receive(text_bytes))
    except orjson.JSONDecodeError as error:
        raise BrokenFrame(f"the header of a frame is not JSON: {error}") from None
    if not isinstance(header, dict):
        raise BrokenFrame("the header of a frame is not an object")
    return header, receive(blob_bytes)
