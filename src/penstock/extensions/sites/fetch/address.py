"""Addresses of websites: as people type them, as they are compared, as links name them."""

import ipaddress
import re
from urllib.parse import SplitResult, quote, urljoin, urlsplit, urlunsplit

import httpx2

from penstock.extensions.sites.fetch.fetched import SiteProblem

_LONGEST = 2000
_DEFAULT_PORTS = {"http": 80, "https": 443}
# "mailto:x", but not "localhost:8000".
_OTHER_SCHEME = re.compile(r"[a-z][a-z0-9+.-]*:(?!\d)", re.IGNORECASE)
_LABEL = re.compile(r"(?!-)[a-z0-9_-]{1,63}(?<!-)\Z")
_ESCAPED = re.compile(r"%([0-9a-fA-F]{2})")
# Tabs and line ends inside an address are left out by every browser; anything else of the kind is no address.
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")
_UNRESERVED = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~")
# What is kept as it stands in a path or query; "%" because it is escaped already.
_PATH_SAFE, _QUERY_SAFE = "/%:@!$&'()*+,;=~", "/%:@!$&'()*+,;=~?"
# They say where a visitor came from, never what is shown.
_TRACKING = re.compile(r"(utm_\w+|gclid|fbclid|msclkid|dclid|yclid|mc_cid|mc_eid|igshid|_ga|_gl)\Z", re.IGNORECASE)


def parse_site(text: str) -> str:
    """The address that somebody meant, in its canonical form. https where nothing else is said; http where only a port
    other than 443 is, as developers type it."""
    given = text.strip().strip("<>\"'")
    if not given:
        raise SiteProblem("The address is empty. Give one such as https://example.com.")
    if len(given) > _LONGEST:
        raise SiteProblem(f"The address has {len(given):,} characters; {_LONGEST:,} are the most. Give a shorter one.")
    if any(character.isspace() or not character.isprintable() for character in given):
        raise SiteProblem(f"{_shown(given)} is no address: there is white space in it. Give one address at a time.")
    if "://" in given:
        return canonical(given)
    if given.startswith("//"):
        return canonical(f"https:{given}")
    if _OTHER_SCHEME.match(given):
        raise _no_website(given)
    return canonical(_with_scheme(given))


def canonical(url: str) -> str:
    """Two addresses that are the same page to everybody become one: case, default port, dots, fragment, tracking."""
    parts, host, port = _checked(url)
    path = _without_dots(_escaped(parts.path, _PATH_SAFE)) or "/"
    kept = [one for one in parts.query.split("&") if one and not _TRACKING.match(one.split("=")[0])]
    return urlunsplit((parts.scheme, _netloc(parts, host, port), path, _escaped("&".join(kept), _QUERY_SAFE), ""))


def host_and_port(url: str) -> tuple[str, int]:
    _, host, port = _checked(url)
    return host, port


def same_site(one: str, other: str) -> bool:
    """The same host and port, with or without ``www.``; http and https on their usual ports are one."""
    try:
        return _site(one) == _site(other)
    except SiteProblem:
        return False


def same_origin(one: str, other: str) -> bool:
    """Where the same robots.txt holds."""
    return urlsplit(one)[:2] == urlsplit(other)[:2]


def joined(base: str, reference: str) -> str | None:
    """Where a link or redirect leads; None where that is no web address. Its query stays as it is written."""
    if _CONTROL.search(reference.strip()):
        return None
    try:
        parts, host, port = _checked(urljoin(base, reference.strip()))
    except (ValueError, SiteProblem):
        return None
    path = _escaped(parts.path, _PATH_SAFE) or "/"
    return urlunsplit((parts.scheme, _netloc(parts, host, port), path, _escaped(parts.query, _QUERY_SAFE), ""))


def _checked(url: str) -> tuple[SplitResult, str, int]:
    """Its parts, the host as a resolver takes it, and the port; a sentence where it is no address of a website."""
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        raise SiteProblem(f"{_shown(url)} is no address of a website. Check how it is written.") from None
    if parts.scheme not in _DEFAULT_PORTS:
        raise _no_website(url)
    if "@" in parts.netloc:
        raise SiteProblem(
            f"The address of {_shown(parts.hostname or '')} holds a user name or password. Leave them out: pages that "
            "need them cannot be read."
        )
    if port == 0:
        raise SiteProblem(f"{_shown(url)} names port 0, which no website has. Check how it is written.")
    return parts, _host(parts.hostname or "", url), port or _DEFAULT_PORTS[parts.scheme]


def _netloc(parts: SplitResult, host: str, port: int) -> str:
    place = f"[{host}]" if ":" in host else host
    return place if port == _DEFAULT_PORTS[parts.scheme] else f"{place}:{port}"


def _host(host: str, url: str) -> str:
    host = host.rstrip(".")
    if ":" in host and "%" not in host:
        try:
            return str(ipaddress.IPv6Address(host))
        except ValueError:
            host = ""
    try:
        name = httpx2.URL(f"http://{host}/").raw_host.decode("ascii").lower()
    except (httpx2.InvalidURL, UnicodeError):
        name = ""
    if not name or len(name) > 253 or not all(_LABEL.match(label) for label in name.split(".")):
        raise SiteProblem(f"{_shown(url)} is no address of a website: it names no host. Check how it is written.")
    return name


def _with_scheme(given: str) -> str:
    place = re.split(r"[/?#]", given, maxsplit=1)[0]
    name, colon, port = place.partition(":")
    if colon and port.isdigit():
        return f"https://{given}" if port == "443" else f"http://{given}"
    if "." not in name.strip(".") and name.lower() != "localhost":
        raise SiteProblem(f"{_shown(given)} is no address of a website. Give one such as https://example.com.")
    return f"https://{given}"


def _site(url: str) -> tuple[str, int]:
    parts, host, port = _checked(url)
    return host.removeprefix("www."), 443 if port == _DEFAULT_PORTS[parts.scheme] else port


def _escaped(text: str, safe: str) -> str:
    """Everything outside ASCII as UTF-8 in escapes, escapes in capitals, no escape where none is needed."""
    quoted = quote(re.sub(r"%(?![0-9a-fA-F]{2})", "%25", text), safe=safe)
    return _ESCAPED.sub(_unescaped, quoted)


def _unescaped(found: re.Match[str]) -> str:
    character = chr(int(found[1], 16))
    return character if character in _UNRESERVED else found[0].upper()


def _without_dots(path: str) -> str:
    kept: list[str] = []
    steps = path.split("/")
    for step in steps:
        if step == "..":
            kept = kept[:-1] if len(kept) > 1 else kept
        elif step != ".":
            kept.append(step)
    if steps[-1] in (".", ".."):
        kept.append("")
    return "/".join(kept)


def _no_website(given: str) -> SiteProblem:
    return SiteProblem(
        f"{_shown(given)} is no address of a website: only http and https are read. Check its beginning."
    )


def _shown(text: str) -> str:
    return repr(text if len(text) <= 100 else f"{text[:97]}...")
