"""Which machine a name stands for, and whether we may speak to it.

Decided on the addresses themselves, for every hop anew; what was decided is then what is connected to, so that a name
cannot change its meaning in between.
"""

import asyncio
import ipaddress
import socket

from penstock.console.files.sources.guard import is_public
from penstock.extensions.sites.problem import SiteBusy, SiteProblem

# A name with fifty addresses is not tried fifty times.
_MOST_ADDRESSES = 3
# RFC 6761: such names stand for loopback, also where the name service does not know it.
_THIS_MACHINE = ".localhost"


def is_allowed(host: str, port: int, allowed: tuple[str, ...]) -> bool:
    """By its name as it is written in the setting, never by what the name stands for."""
    place = f"[{host}]" if ":" in host else host
    listed = {one.lower() for one in allowed}
    return bool(listed & {host, place, f"{place}:{port}"})


async def addresses(host: str, port: int, allowed: tuple[str, ...]) -> list[str]:
    """Where to connect, best first. One forbidden address among several refuses the name."""
    found = await _resolved(host)
    place = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
    if not is_allowed(host, port, allowed):
        for address in found:
            if not is_public(address):
                raise SiteProblem(
                    f"{host} is not read: {address} is an address of a private, local or reserved network. Give the "
                    "address of a public website. Or allow it: stop the workers (`penstock up`), start them again with "
                    f"PENSTOCK_SITES_ALLOWED_HOSTS={place} in their environment, and run the site again."
                )
    return [str(address) for address in found[:_MOST_ADDRESSES]]


async def _resolved(host: str) -> list[ipaddress.IPv4Address | ipaddress.IPv6Address]:
    if host.endswith(_THIS_MACHINE):
        return [ipaddress.IPv4Address("127.0.0.1")]
    try:
        loop = asyncio.get_running_loop()
        entries = await loop.getaddrinfo(host, None, type=socket.SOCK_STREAM)
    except socket.gaierror as error:
        if error.errno == socket.EAI_AGAIN:
            raise SiteBusy(f"The name {host} cannot be looked up just now ({error.strerror}).") from None
        raise _unknown(host) from None
    except (OSError, UnicodeError, ValueError):
        raise _unknown(host) from None
    if not entries:
        raise _unknown(host)
    return [ipaddress.ip_address(str(entry[4][0]).partition("%")[0]) for entry in entries]


def _unknown(host: str) -> SiteProblem:
    return SiteProblem(f"There is no host called {host}. Check how the address is written.")
