"""The frames of AMQP 0-9-1 that come and go by the thousand: publish, deliver, acknowledge. Pure.

A general library makes objects of every frame, at tens of microseconds a message. Here a batch becomes a few writes,
and what arrives is cut straight out of the buffer. All other methods are rare and left to ``pamqp``
(``docs/decisions/0015``).
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from struct import Struct
from typing import Final, NamedTuple

from pamqp import base, commands, decode, frame, header

FRAME_END: Final = b"\xce"
METHOD, HEADER, BODY, HEARTBEAT = 1, 2, 3, 8
HEARTBEAT_FRAME: Final = b"\x08\x00\x00\x00\x00\x00\x00\xce"
ENVELOPE_BYTES = 8
"""Type, channel and size before a frame's payload, and the end mark after it."""

_PUBLISH, _RETURN, _DELIVER, _GET_OK, _ACK, _NACK = (60 << 16 | number for number in (40, 50, 60, 71, 80, 120))
_HEAD = Struct(">BHI")
_SHORT, _LONG, _LONGLONG = Struct(">H"), Struct(">I"), Struct(">Q")
_ACK_FRAME = Struct(">BHIIQBB")
_CONTENT_BYTES = 12
_WRITE_BYTES = 256 * 1024


class BadFrame(Exception):
    """What came is no AMQP 0-9-1. The connection cannot be used any more."""


class Sent(NamedTuple):
    """``properties``: as on the wire, flags first; ``pamqp``'s ``Basic.Properties`` marshals them."""

    key: str
    properties: bytes
    raw: bytes


@dataclass(slots=True, eq=False)
class Content:
    """A message that arrived: by consumer, by get, or returned because no queue took it (then ``key`` says which)."""

    returned: bool
    asked: bool
    tag: int
    key: str
    left: int = -1
    properties: bytes = b""
    body: bytes = b""
    pieces: list[bytes] = field(default_factory=list)


def read_properties(properties: bytes) -> commands.Basic.Properties:
    """Those of somebody else may hold what nobody can read, such as a time in the year 292278994: then there are
    none, whatever the client's reader makes of them."""
    head = header.ContentHeader()
    try:
        head.unmarshal(b"\x00\x3c" + bytes(10) + properties)
    except Exception:
        return commands.Basic.Properties()
    return head.properties


def has_headers(properties: bytes) -> bool:
    """Whether a table of headers is among the properties; most messages have none, and need no reading."""
    return bool(properties[0] & 0x20)


def publish_writes(channel: int, messages: list[Sent], frame_max: int) -> Iterator[bytes]:
    """The bytes of a batch, in few pieces, each small enough to wait between them for a slow connection."""
    heads: dict[tuple[str, bytes], tuple[bytes, bytes]] = {}
    most = frame_max - ENVELOPE_BYTES
    parts: list[bytes] = []
    waiting_bytes = 0
    for key, properties, raw in messages:
        ends = heads.get((key, properties))
        if ends is None:
            ends = heads[key, properties] = _publish_ends(channel, key, properties)
        size = len(raw)
        if 0 < size <= most:
            parts += (ends[0], _LONGLONG.pack(size), ends[1], _LONG.pack(size), raw, FRAME_END)
        else:
            parts += (ends[0], _LONGLONG.pack(size), *_split_body(channel, ends[1], raw, most))
        waiting_bytes += size + 100
        if waiting_bytes >= _WRITE_BYTES:
            yield b"".join(parts)
            parts, waiting_bytes = [], 0
    if parts:
        yield b"".join(parts)


def _publish_ends(channel: int, key: str, properties: bytes) -> tuple[bytes, bytes]:
    """What stands before and after the size of the body: the same for all messages to one queue."""
    name = key.encode()
    method = _LONG.pack(_PUBLISH) + b"\x00\x00\x00" + bytes((len(name),)) + name + b"\x01"
    before = _HEAD.pack(METHOD, channel, len(method)) + method + FRAME_END
    before += _HEAD.pack(HEADER, channel, _CONTENT_BYTES + len(properties)) + b"\x00\x3c\x00\x00"
    return before, properties + FRAME_END + _HEAD.pack(BODY, channel, 0)[:3]


def _split_body(channel: int, after: bytes, raw: bytes, most: int) -> Iterator[bytes]:
    """An empty body has no frame at all, and a long one several."""
    yield after[:-3]
    for start in range(0, len(raw), most):
        piece = raw[start : start + most]
        yield _HEAD.pack(BODY, channel, len(piece)) + piece + FRAME_END


def ack_frame(channel: int, tag: int, *, multiple: bool) -> bytes:
    return _ACK_FRAME.pack(METHOD, channel, 13, _ACK, tag, multiple, 0xCE)


class FrameReader:
    """Puts frames together from what arrives in pieces, and hands on what they say: ``content`` (a whole message),
    ``confirm`` (channel, tag, multiple, taken) and ``method`` (all others)."""

    def __init__(
        self,
        *,
        method: Callable[[int, base.Frame], None],
        content: Callable[[int, Content], None],
        confirm: Callable[[int, int, bool, bool], None],
    ) -> None:
        self.frame_max = 131_072
        self._method, self._content, self._confirm = method, content, confirm
        self._rest = b""
        self._open: dict[int, Content] = {}

    def feed(self, data: bytes) -> None:
        """Raises ``BadFrame``."""
        if self._rest:
            data = self._rest + data
        position, end = 0, len(data)
        head, open_contents = _HEAD.unpack_from, self._open
        while end - position >= ENVELOPE_BYTES:
            kind, channel, size = head(data, position)
            start = position + 7
            stop = start + size
            if size > self.frame_max:
                raise BadFrame(_no_amqp(data[position:]))
            if stop >= end:
                break
            if data[stop] != 0xCE:
                raise BadFrame("a frame does not end where it should")
            if kind == BODY:
                self._body(channel, open_contents.get(channel), data[start:stop])
            elif kind == HEADER:
                self._header(channel, open_contents.get(channel), data, start, stop)
            elif kind == METHOD:
                self._method_frame(channel, data, start, stop)
            elif kind != HEARTBEAT:
                raise BadFrame(f"a frame has the unknown type {kind}")
            position = stop + 1
        self._rest = data[position:]

    def _method_frame(self, channel: int, data: bytes, start: int, stop: int) -> None:
        (method,) = _LONG.unpack_from(data, start)
        at = start + 4
        if method == _DELIVER:
            (tag,) = _LONGLONG.unpack_from(data, at + 1 + data[at])
            self._open[channel] = Content(False, False, tag, "")
        elif method in (_ACK, _NACK):
            (tag,) = _LONGLONG.unpack_from(data, at)
            self._confirm(channel, tag, bool(data[at + 8] & 1), method == _ACK)
        elif method == _GET_OK:
            (tag,) = _LONGLONG.unpack_from(data, at)
            self._open[channel] = Content(False, True, tag, "")
        elif method == _RETURN:
            at += 2
            for _ in range(2):  # the reply's text and the exchange stand before the key
                at += 1 + data[at]
            self._open[channel] = Content(True, False, 0, decode.short_str(data[at:stop])[1])
        else:
            _, _, decoded = frame.unmarshal(data[start - 7 : stop + 1])
            if isinstance(decoded, base.Frame):
                self._method(channel, decoded)

    def _header(self, channel: int, content: Content | None, data: bytes, start: int, stop: int) -> None:
        if content is None:
            raise BadFrame("a header came without a message")
        (content.left,) = _LONGLONG.unpack_from(data, start + 4)
        content.properties = data[start + _CONTENT_BYTES : stop]
        if content.left == 0:
            del self._open[channel]
            self._content(channel, content)

    def _body(self, channel: int, content: Content | None, piece: bytes) -> None:
        if content is None or len(piece) > content.left:
            raise BadFrame("a body came without a message, or is longer than announced")
        content.left -= len(piece)
        if content.left:
            content.pieces.append(piece)
            return
        content.body = b"".join((*content.pieces, piece)) if content.pieces else piece
        del self._open[channel]
        self._content(channel, content)


def _no_amqp(data: bytes) -> str:
    """A server of another kind or version says something else first."""
    if data[:4] == b"AMQP":
        return "it speaks another version of AMQP than 0-9-1"
    return f"it does not speak AMQP; it said {data[:20]!r}"
