"""What a runner and the process of an isolated handler say to each other.

Frames on a socket pair: four bytes of length, then a JSON object whose ``kind`` says what it is. JSON and not
pickle, so that nothing a handler returns can run code in the runner. To the child: ``start`` once, then
``call`` and ``cancel``. From the child: ``begun``, ``progress``, and then ``value``, ``ending``, ``error``.
"""

import struct
from typing import Any

import orjson

from penstock.core.payload import TypedJson, clean_text, encode
from penstock.core.retry import ErrorClass, Relayed, Verdict, relayed
from penstock.model import Cancel, Done, Ending, NotFound, Skip, Snooze, seconds

_LENGTH = struct.Struct(">I")
# Room beside the largest result for everything else a frame holds: names, tracebacks, the wrapping.
_FRAME_EXTRA_BYTES = 1024 * 1024
_MAX_REASON_CHARACTERS = 4000

Message = dict[str, Any]


def frame_limit(max_result_bytes: int) -> int:
    return max_result_bytes + _FRAME_EXTRA_BYTES


def pack(message: Message) -> bytes:
    data = orjson.dumps(message)
    return _LENGTH.pack(len(data)) + data


class Unframer:
    """Puts frames together from the pieces a socket delivers; never holds much more than one limit."""

    def __init__(self, limit_bytes: int) -> None:
        self._limit_bytes = limit_bytes
        self._held = bytearray()

    def feed(self, data: bytes) -> list[Message]:
        """The messages that are complete now. ValueError for what is no frame: the link is useless then."""
        self._held += data
        found: list[Message] = []
        start = 0
        while len(self._held) - start >= _LENGTH.size:
            (length,) = _LENGTH.unpack_from(self._held, start)
            if length > self._limit_bytes:
                raise ValueError(f"a message of {length:,} bytes, {self._limit_bytes:,} are allowed")
            end = start + _LENGTH.size + length
            if len(self._held) < end:
                break
            message = orjson.loads(memoryview(self._held)[start + _LENGTH.size : end])
            if not isinstance(message, dict) or "kind" not in message:
                raise ValueError("a message without a kind")
            found.append(message)
            start = end
        del self._held[:start]
        return found


def pack_value(value: Any, kind: TypedJson, *, max_result_bytes: int) -> bytes:
    """What a handler returned. A value that cannot be stored is refused here, where it still is itself."""
    if isinstance(value, Done):
        value = value.value
    elif isinstance(value, NotFound | Skip | Snooze | Cancel):
        return pack(_ending(value) | {"spent": False})
    text = kind.encode(value, what="result", limit_bytes=max_result_bytes)
    return pack({"kind": "value", "value": orjson.Fragment(text.encode()), "spent": False})


def value_of(message: Message) -> Any:
    """The other end of :func:`pack_value` and :func:`pack_error`: returns the value or raises the error."""
    match message["kind"]:
        case "value":
            return message["value"]
        case "ending":
            return _ending_of(message)
        case "error":
            raise error_of(message)
        case other:
            raise ValueError(f"an answer of kind {other!r}")


def pack_error(described: Message, verdict: Verdict, *, spent: bool) -> bytes:
    message: Message = {
        "kind": "error",
        "described": {name: _text(value) for name, value in described.items()},
        "class": verdict.kind.value,
        "retry_after_seconds": verdict.retry_after_seconds,
        "limiter_key": None if verdict.limiter_key is None else clean_text(verdict.limiter_key),
        "spent": spent,
    }
    return pack(message)


def error_of(message: Message) -> Relayed:
    verdict = Verdict(
        kind=ErrorClass(message["class"]),
        retry_after_seconds=message["retry_after_seconds"],
        limiter_key=message["limiter_key"],
    )
    return relayed(message["described"], verdict)


def _ending(value: NotFound | Skip | Snooze | Cancel) -> Message:
    reason = clean_text(str(value.reason), _MAX_REASON_CHARACTERS)
    message: Message = {"kind": "ending", "name": type(value).__name__, "reason": reason}
    delay = value.delay if isinstance(value, Snooze) else value.again_after if isinstance(value, NotFound) else None
    if delay is not None:
        # Through ``encode``, which refuses a delay that is no number; JSON would make it null.
        message["delay_seconds"] = orjson.Fragment(encode(seconds(delay), what="delay", limit_bytes=64).encode())
    return message


def _ending_of(message: Message) -> Ending:
    reason = message["reason"]
    match message["name"]:
        case "NotFound":
            return NotFound(reason, message.get("delay_seconds"))
        case "Skip":
            return Skip(reason)
        case "Cancel":
            return Cancel(reason)
        case "Snooze":
            return Snooze(message["delay_seconds"], reason)
        case other:
            raise ValueError(f"an ending called {other!r}")


def _text(value: Any) -> str | None:
    return None if value is None else clean_text(str(value))
