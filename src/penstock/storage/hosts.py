"""The hosts that a PostgreSQL URL names, and which of their servers is wanted: both as libpq reads them."""

import os
import re
from dataclasses import dataclass
from enum import StrEnum
from urllib.parse import parse_qs, unquote, urlsplit

_PORT = 5432
_BRACKETS = re.compile(r"\[([^\]]+)\](?::(.*))?")


class Target(StrEnum):
    """``target_session_attrs``: what a server has to be, or another host is tried."""

    ANY = "any"
    READ_WRITE = "read-write"
    READ_ONLY = "read-only"
    PRIMARY = "primary"
    STANDBY = "standby"
    PREFER_STANDBY = "prefer-standby"


@dataclass(frozen=True, slots=True, kw_only=True)
class Host:
    """A name, an address, or the folder of a socket."""

    name: str
    port: int

    def __str__(self) -> str:
        return f"[{self.name}]:{self.port}" if ":" in self.name else f"{self.name}:{self.port}"


class InvalidAddress(ValueError):
    """Says what is wrong with a URL without quoting what may be a part of its password."""


def hosts_of(url: str) -> tuple[Host, ...]:
    """In their order; empty where the URL leaves it to the driver's defaults. Raises InvalidAddress for wrong ports."""
    parts = urlsplit(url)
    asked = parse_qs(parts.query)
    named = parts.netloc.rpartition("@")[2]
    listed = named or asked.get("host", [""])[-1] or os.environ.get("PGHOST", "")
    if not listed:
        return ()
    pairs = [_split(one) if named else (one, "") for one in listed.split(",")]
    ports = (asked.get("port", [""])[-1] or os.environ.get("PGPORT", "")).split(",")
    if len(ports) == 1:
        ports *= len(pairs)
    if len(ports) != len(pairs):
        raise InvalidAddress(f"{len(pairs)} hosts and {len(ports)} ports: name one port, or one per host")
    return tuple(Host(name=name, port=_port(own or given)) for (name, own), given in zip(pairs, ports, strict=True))


def target_of(url: str) -> Target | None:
    """None: nobody asked for a certain kind of server."""
    asked = parse_qs(urlsplit(url).query).get("target_session_attrs", [""])[-1]
    text = asked or os.environ.get("PGTARGETSESSIONATTRS", "")
    if not text:
        return None
    try:
        return Target(text)
    except ValueError:
        raise InvalidAddress(f"target_session_attrs={text!r} must be one of {', '.join(Target)}") from None


def address(url: str) -> str:
    """The address without user and password, for messages and logs."""
    hosts, parts = hosts_of(url), urlsplit(url)
    if len(hosts) > 1:
        return f"{','.join(map(str, hosts))}{parts.path}"
    place = parts.hostname or "local socket"
    return f"{place}:{parts.port}{parts.path}" if parts.port else f"{place}{parts.path}"


def _port(text: str) -> int:
    if text and not text.isdecimal():
        raise InvalidAddress("a port is not a number; escape #, /, ? and @ in the password as %23, %2F, %3F and %40")
    return int(text or _PORT)


def _split(text: str) -> tuple[str, str]:
    """Name and port of one host of a URL; a folder has its slashes encoded there."""
    if bracketed := _BRACKETS.fullmatch(text):
        return bracketed[1], bracketed[2] or ""
    name, _, port = text.partition(":")
    return unquote(name), port
