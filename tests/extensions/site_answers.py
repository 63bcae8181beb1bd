"""What sites answer: pages, and everything that goes wrong with them. For ``site_world``."""

import asyncio
import gzip
import struct
import zlib
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

_MEGABYTE = 1024 * 1024
_GZIP_HEADER = b"\x1f\x8b\x08" + bytes(6) + b"\xff"


@dataclass(slots=True)
class Answer:
    """``length`` None: as long as the body; "none": not said; a number: said, right or wrong.

    ``pieces`` of ``piece`` follow the body, ``pause`` seconds apart. ``held``: nothing is sent before it is set.
    """

    status: int = 200
    body: bytes = b""
    headers: dict[str, str] = field(default_factory=dict)
    length: int | str | None = None
    piece: bytes = b""
    pieces: int = 0
    pause: float = 0.0
    held: asyncio.Event | None = None

    async def write(self, writer: asyncio.StreamWriter) -> None:
        if self.held is not None:
            await self.held.wait()
        lines = [f"HTTP/1.1 {self.status} Said", "Connection: close"]
        if self.length != "none":
            lines.append(f"Content-Length: {len(self.body) if self.length is None else self.length}")
        lines += [f"{name}: {value}" for name, value in self.headers.items()]
        writer.write("\r\n".join([*lines, "", ""]).encode("latin-1") + self.body)
        await writer.drain()
        for _ in range(self.pieces):
            writer.write(self.piece)
            await writer.drain()
            if self.pause:
                await asyncio.sleep(self.pause)


Answering = Callable[[Any], Answer | Awaitable[Answer]]


def page(body: str | bytes, *, content_type: str | None = "text/html; charset=utf-8", **headers: str) -> Answer:
    given = {name.replace("_", "-"): value for name, value in headers.items()}
    if content_type is not None:
        given["Content-Type"] = content_type
    return Answer(body=body.encode() if isinstance(body, str) else body, headers=given)


def text_page(title: str, *paragraphs: str, links: tuple[str, ...] = ()) -> Answer:
    """A plain page with enough text to be one. ``links``: "/path Words"."""
    anchors = "".join(
        f'<li><a href="{where}">{words or where}</a></li>' for where, _, words in (one.partition(" ") for one in links)
    )
    told = "".join(f"<p>{paragraph}</p>" for paragraph in paragraphs)
    return page(
        f'<!doctype html><html lang="en"><head><title>{title}</title></head>'
        f"<body><nav><ul>{anchors}</ul></nav><main><h1>{title}</h1>{told}</main></body></html>"
    )


def small_site(name: str = "Copperfield Bakery", town: str = "Ashbourne-on-Lune") -> dict[str, Any]:
    """A normal small business: start page, six pages, robots.txt and a sitemap. No request is refused."""
    nav = ("/about About us", "/services Services", "/products/bread Bread", "/pricing Prices", "/contact Contact")
    return {
        "/robots.txt": page("User-agent: *\nDisallow: /private/\nSitemap: /sitemap.xml\n", content_type="text/plain"),
        "/sitemap.xml": page(
            '<?xml version="1.0"?><urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">'
            "<url><loc>/</loc></url><url><loc>/about</loc></url><url><loc>/news/opening</loc></url></urlset>",
            content_type="application/xml",
        ),
        "/": text_page(
            name,
            f"{name} bakes sourdough bread, rye bread and wedding cakes in {town} every morning.",
            "We deliver bread to cafes and restaurants within thirty kilometres, and we bake without additives.",
            links=nav,
        ),
        "/about": text_page(
            f"About {name}",
            f"{name} was founded in {town} by two bakers who wanted bread that takes its time.",
            "Our dough rests for twenty-four hours, and our flour comes from a mill in the next valley.",
            links=nav,
        ),
        "/services": text_page(
            "Services",
            f"{name} offers wedding cakes to order, catering for offices and baking courses on Saturdays.",
            "A baking course takes four hours and is open to beginners.",
            links=nav,
        ),
        "/products/bread": text_page(
            "Bread",
            "Our sourdough loaf weighs one kilogram and costs 5.80 EUR.",
            "Rye bread, spelt bread and olive bread are baked on Tuesdays and Fridays.",
            links=nav,
        ),
        "/pricing": text_page(
            "Prices",
            "A sourdough loaf costs 5.80 EUR, a rye loaf 4.90 EUR, a wedding cake from 180 EUR.",
            "Delivery is free of charge for orders above 50 EUR.",
            links=nav,
        ),
        "/contact": text_page(
            "Contact",
            f"Visit {name} at 12 Mill Lane, {town}. Opening hours: Tuesday to Saturday, 7 am to 2 pm.",
            "Call +44 1632 960123 or write to hello@bakery.example.",
            links=nav,
        ),
        "/news/opening": text_page("A second shop", "In spring we open a second shop beside the market hall."),
    }


# ---------------------------------------------------------------- misbehaviour


def redirect(where: str, status: int = 302, **headers: str) -> Answer:
    return Answer(status=status, headers={"Location": where, **headers})


def endless_redirect(asked: Any) -> Answer:
    """A new address every time."""
    number = int(asked.target.rpartition("/")[2] or 0)
    return redirect(f"/hop/{number + 1}")


def wants_cookie(answer: Answer) -> Answering:
    """Redirects to itself until a cookie comes back."""

    def decide(asked: Any) -> Answer:
        if "seen=yes" in asked.headers.get("cookie", ""):
            return answer
        return redirect(asked.target, 302, **{"Set-Cookie": "seen=yes; Path=/; HttpOnly"})

    return decide


def status(code: int, **headers: str) -> Answer:
    return Answer(
        status=code, body=b"<p>no</p>", headers={name.replace("_", "-"): value for name, value in headers.items()}
    )


def hanging() -> Answer:
    """Takes the request and says nothing until the world ends."""
    return Answer(held=asyncio.Event())


def trickle() -> Answer:
    return Answer(
        body=b"<html><p>", headers={"Content-Type": "text/html"}, length=100_000, piece=b"a", pieces=90_000, pause=0.05
    )


def two_gigabytes(*, said: bool = True) -> Answer:
    megabytes = 2048
    return Answer(
        headers={"Content-Type": "text/html"},
        length=megabytes * _MEGABYTE if said else "none",
        piece=b"<p>much</p>" * (_MEGABYTE // 11),
        pieces=megabytes,
    )


def gzip_bomb(megabytes: int = 200) -> Answer:
    """After a full flush a megabyte is packed into the same bytes again, so that it has to be packed only once."""
    packer = zlib.compressobj(9, zlib.DEFLATED, -zlib.MAX_WBITS)
    plain = b"\0" * _MEGABYTE
    block = packer.compress(plain) + packer.flush(zlib.Z_FULL_FLUSH)
    checksum = 0
    for _ in range(megabytes):
        checksum = zlib.crc32(plain, checksum)
    trailer = packer.flush() + struct.pack("<II", checksum, megabytes * _MEGABYTE)
    return Answer(
        body=_GZIP_HEADER + block * megabytes + trailer,
        headers={"Content-Type": "text/html", "Content-Encoding": "gzip"},
    )


def packed(body: str, said: str, how: str) -> Answer:
    """``said`` in the header, ``how`` in truth: gzip, deflate, raw-deflate, plain."""
    raw = body.encode()
    packings = {
        "gzip": gzip.compress,
        "deflate": zlib.compress,
        "raw-deflate": lambda data: zlib.compress(data)[2:-4],
        "plain": bytes,
    }
    return Answer(body=packings[how](raw), headers={"Content-Type": "text/html", "Content-Encoding": said})


def pdf() -> Answer:
    return Answer(body=b"%PDF-1.7\n%\xe2\xe3\xcf\xd3\n1 0 obj", headers={"Content-Type": "application/pdf"})


def javascript_only() -> Answer:
    return page(
        '<!doctype html><html><head><title>App</title><script src="/app.js"></script></head><body><div id="root">'
        "Loading</div><noscript>You need to enable JavaScript to run this application.</noscript></body></html>"
    )


def huge_header() -> Answer:
    return Answer(body=b"<html>", headers={"X-Long": "x" * 500_000})
