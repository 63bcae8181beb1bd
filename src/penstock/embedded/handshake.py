"""Asks the server the way a client does, without a database driver.

``postmaster.pid`` goes on saying "ready" while a server recovers from the crash of one of its processes.
"""

import socket
import struct
from pathlib import Path

from .home import SOCKET_NAME

PROTOCOL_3 = 196608
TERMINATE = b"X\0\0\0\4"
CANNOT_CONNECT_NOW = b"C57P03\0"
TIMEOUT_SECONDS = 5


def socket_answers(folder: Path) -> bool:
    """Somebody listens there. A frozen server counts: its queue for new connections is full, or will be."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as client:
        client.settimeout(TIMEOUT_SECONDS)
        try:
            client.connect(str(folder / SOCKET_NAME))
        except TimeoutError:
            return True
        except OSError:
            return False
    return True


def takes_connections(folder: Path, *, role: str, database: str) -> bool:
    """False while the server is starting, recovering or stopping. Other refusals are the client's to read."""
    fields = "".join(f"{name}\0{value}\0" for name, value in (("user", role), ("database", database)))
    body = struct.pack("!I", PROTOCOL_3) + fields.encode() + b"\0"
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as client:
        client.settimeout(TIMEOUT_SECONDS)
        try:
            client.connect(str(folder / SOCKET_NAME))
            client.sendall(struct.pack("!I", len(body) + 4) + body)
            reply = client.recv(8192)
            client.sendall(TERMINATE)
        except OSError:
            return False
    return bool(reply) and CANNOT_CONNECT_NOW not in reply
