"""What a reference may touch: files under the allowed folders, and hosts outside our own network.

Both are decided on what a name stands for, never on how it is written: a path after its links are followed, a host
after it is resolved. What was decided is then what is opened: each folder on the way without following links, and the
address instead of the name, so that nobody can change the meaning in between.
"""

import asyncio
import ipaddress
import os
import socket
import stat
from collections.abc import AsyncIterator, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from penstock.console.files.refused import FileRefused
from penstock.errors import UsageError

CHUNK_BYTES = 1024 * 1024
FOLDER_FLAGS = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
# Not to wait for a writer where somebody put a pipe in the file's place.
_FILE_FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
# Public by its number, and yet the door to the secrets of a virtual machine.
# Which of these count as public differs between versions of Python: protocol assignments (a cloud's metadata among
# them), relays, site-local and documentation addresses.
_NOT_PUBLIC = tuple(
    ipaddress.ip_network(text)
    for text in ("192.0.0.0/24", "192.88.99.0/24", "198.18.0.0/15", "fec0::/10", "3fff::/20", "5f00::/16")
)
_METADATA = frozenset({ipaddress.ip_address("168.63.129.16")})
_NAT64 = ipaddress.ip_network("64:ff9b::/96")
Address = ipaddress.IPv4Address | ipaddress.IPv6Address


class HostRefused(UsageError):
    def __init__(self, host: str, problem: str) -> None:
        self.host = host
        super().__init__(
            f"The host {host[:200]!r} is not spoken to: {problem}. Name a public host, or set "
            "PENSTOCK_PRIVATE_NETWORKS=true where your own network may be reached."
        )


# ---------------------------------------------------------------- files


def allowed_path(reference: str | Path, roots: Iterable[Path]) -> Path:
    """Where the file really is. The same answer for a missing file and one elsewhere: it is no way to look around."""
    text, allowed = str(reference), tuple(roots)
    if not allowed:
        raise FileRefused(
            "File references are not taken here.", "Send the file itself, or list its folder in PENSTOCK_FILE_ROOTS."
        )
    resolved = _inside(text, allowed)
    if resolved is None or not resolved.is_file():
        raise FileRefused(
            f"{text[:200]!r} is no file in one of the allowed folders.",
            "Give the whole path of a file in a folder of PENSTOCK_FILE_ROOTS.",
        )
    return resolved


def allowed_folder(reference: str | Path, roots: Iterable[Path]) -> Path:
    """The same for the folder of a source."""
    allowed = tuple(roots)
    if not allowed:
        raise FileRefused(
            "No folder may be watched yet: PENSTOCK_FILE_ROOTS is empty.",
            f"Set it to a folder that holds {str(reference)[:200]!r}, for this command and for `penstock up`.",
        )
    resolved = _inside(str(reference), allowed)
    if resolved is None or not resolved.is_dir():
        raise FileRefused(
            f"{str(reference)[:200]!r} is no folder in one of the allowed folders.",
            "Give the whole path of a folder in one of PENSTOCK_FILE_ROOTS.",
        )
    return resolved


def _inside(text: str, roots: tuple[Path, ...]) -> Path | None:
    """The path without links, if it lies in a root. ``..`` is refused rather than followed."""
    path = Path(text)
    if "\0" in text or not path.is_absolute() or ".." in path.parts:
        return None
    try:
        resolved = path.resolve(strict=True)
        inside = any(resolved.is_relative_to(root.resolve(strict=True)) for root in roots)
    except (OSError, RuntimeError, UnicodeError):  # a loop of links is a RuntimeError
        return None
    return resolved if inside else None


@contextmanager
def opened_folder(path: Path) -> Iterator[int]:
    """A descriptor of a resolved folder, opened step by step: a link that appeared on the way is an OSError."""
    descriptor = os.open("/", FOLDER_FLAGS)
    try:
        for part in path.parts[1:]:
            inner = os.open(part, FOLDER_FLAGS, dir_fd=descriptor)
            os.close(descriptor)
            descriptor = inner
        yield descriptor
    finally:
        os.close(descriptor)


def open_file(path: Path) -> int:
    """A descriptor of a resolved regular file; an OSError for anything else."""
    with opened_folder(path.parent) as folder:
        descriptor = os.open(path.name, _FILE_FLAGS, dir_fd=folder)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise FileNotFoundError(f"{path.name} is no regular file")
    return descriptor


async def file_chunks(path: Path) -> AsyncIterator[bytes]:
    """The bytes of a path that ``allowed_path`` gave, in pieces of 1 MiB."""
    try:
        descriptor = await asyncio.to_thread(open_file, path)
    except OSError as error:
        raise FileRefused(
            f"{path.name!r} cannot be opened ({error.strerror or error}).", "Check that it is still there and readable."
        ) from None
    try:
        while chunk := await asyncio.to_thread(os.read, descriptor, CHUNK_BYTES):
            yield chunk
    except OSError as error:
        raise FileRefused(
            f"{path.name!r} cannot be read ({error.strerror}).", "Check the disk, and try again."
        ) from None
    finally:
        os.close(descriptor)


# ---------------------------------------------------------------- hosts


async def checked_host(host: str, allow_private: bool) -> str:
    """The address to connect to. Resolved once; one forbidden address among several refuses the name."""
    try:
        loop = asyncio.get_running_loop()
        found = await loop.getaddrinfo(host, None, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError, ValueError) as error:
        raise HostRefused(host, f"its name cannot be resolved ({error})") from None
    addresses = [ipaddress.ip_address(entry[4][0]) for entry in found]
    if not addresses or not host:
        raise HostRefused(host, "it has no address")
    for address in addresses:
        if not allow_private and not is_public(address):
            raise HostRefused(host, f"{address} is an address of a private, local or reserved network")
    return str(addresses[0])


def is_public(address: Address) -> bool:
    """False also for a public-looking IPv6 address that carries a private IPv4 one."""
    if isinstance(address, ipaddress.IPv6Address):
        for carried in _carried(address):
            if not is_public(carried):
                return False
    if any(address in network for network in _NOT_PUBLIC if network.version == address.version):
        return False
    return address.is_global and not address.is_multicast and not address.is_reserved and address not in _METADATA


def _carried(address: ipaddress.IPv6Address) -> Iterator[ipaddress.IPv4Address]:
    """IPv4 inside IPv6: mapped, compatible, 6to4, Teredo (both ends) and NAT64."""
    if address.ipv4_mapped is not None:
        yield address.ipv4_mapped
    if address.sixtofour is not None:
        yield address.sixtofour
    if address.teredo is not None:
        yield from address.teredo
    if address in _NAT64 or int(address) >> 32 == 0:
        yield ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)
