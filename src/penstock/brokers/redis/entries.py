"""What an entry of a stream says. Whoever reaches the server may add one, so only the exact form of ours counts."""

Given = bytes | list[bytes]
"""The message alone, or the names and values of all fields, one after the other as the server has them: a dictionary
would hide one that is there twice."""


def read_entry(fields: list[bytes], urgency: int, *, parked: bool) -> tuple[bytes, int]:
    """Message and urgency. Ours hold ``m``, and where they are parked also ``u``, in this order and nothing else. Of
    any other the fields themselves are the message: it is found unreadable, and whoever looks sees what it was."""
    if parked and len(fields) == 4 and fields[::2] == [b"m", b"u"] and fields[3] in (b"0", b"1", b"2"):
        return fields[1], int(fields[3])
    if not parked and len(fields) == 2 and fields[0] == b"m":
        return fields[1], urgency
    return b"\n".join(fields), urgency
