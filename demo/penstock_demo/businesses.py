"""The pages of the made-up businesses in ``sample_town``: enough of a website to be analysed. Pure."""

from collections.abc import Mapping
from html import escape
from importlib.resources import files
from typing import Any

import orjson

_PATHS = {"/": "Home", "/prices": "Prices", "/about": "About us", "/questions": "Questions", "/contact": "Contact"}
_SITEMAP = "http://www.sitemaps.org/schemas/sitemap/0.9"

Answer = tuple[str, str, bytes]


def businesses() -> dict[str, dict[str, Any]]:
    """By the first part of their host names."""
    told = orjson.loads(files("penstock_demo").joinpath("sample_town", "sites.json").read_bytes())
    return {one["slug"]: one for one in told}


def answer(business: Mapping[str, Any], path: str, origin: str) -> Answer:
    """(status, kind, body). One of them is always down, and one does not want to be read."""
    if business.get("down"):
        return "503 Service Unavailable", "text/plain", b"This site is being moved. Please come back later."
    if path == "/robots.txt":
        rule = "Disallow: /" if business.get("closed") else "Allow: /"
        return "200 OK", "text/plain", f"User-agent: *\n{rule}\nSitemap: {origin}/sitemap.xml\n".encode()
    if path == "/sitemap.xml":
        places = "".join(f"<url><loc>{origin}{one}</loc></url>" for one in _PATHS)
        return "200 OK", "application/xml", f'<urlset xmlns="{_SITEMAP}">{places}</urlset>'.encode()
    if path not in _PATHS:
        return "404 Not Found", "text/html; charset=utf-8", b"<title>Not found</title><p>There is no such page.</p>"
    return "200 OK", "text/html; charset=utf-8", _page(business, path).encode()


def _page(business: Mapping[str, Any], path: str) -> str:
    name, town = escape(business["name"]), escape(business["town"])
    menu = " ".join(f'<a href="{place}">{label}</a>' for place, label in _PATHS.items())
    title = f"{name} – {_subject(business)}" if path == "/" else f"{_PATHS[path]} – {name}"
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width">'
        f"<title>{title}</title>"
        f'<meta name="description" content="{escape(business["summary"])}">'
        f'<meta property="og:site_name" content="{name}">'
        f'<script type="application/ld+json">{_linked_data(business)}</script></head>\n'
        f"<body><header><nav>{menu}</nav></header>\n<main>{_BODIES[path](business)}</main>\n"
        f"<footer><p>© {name}, {escape(business['street'])}, {town}</p></footer></body></html>\n"
    )


def _linked_data(business: Mapping[str, Any]) -> str:
    told = {
        "@context": "https://schema.org",
        "@type": business["kind"],
        "name": business["name"],
        "description": business["summary"],
        "telephone": business["phone"],
        "email": _mail(business),
        "foundingDate": str(business["founded"]),
        "openingHours": business["hours"],
        "address": {
            "@type": "PostalAddress",
            "streetAddress": business["street"],
            "addressLocality": business["town"],
        },
    }
    return orjson.dumps(told).decode().replace("<", "\\u003c")


def _home(business: Mapping[str, Any]) -> str:
    offers = "".join(
        f"<h2>{escape(name)}</h2><p>{_priced(name, price, how)}</p>" for name, price, how in business["offers"][:3]
    )
    return f"<h1>{_subject(business)}</h1><p>{escape(business['name'])}: {escape(business['summary'])}</p>{offers}"


def _prices(business: Mapping[str, Any]) -> str:
    rows = "".join(
        f"<tr><th>{escape(name)}</th><td>{price} euros</td><td>{escape(how)}</td></tr>"
        for name, price, how in business["offers"]
    )
    said = "".join(f"<p>{_priced(name, price, how)}</p>" for name, price, how in business["offers"])
    return f"<h1>Prices</h1><table>{rows}</table>{said}"


def _about(business: Mapping[str, Any]) -> str:
    since = f"{escape(business['name'])} has been in {escape(business['town'])} since {business['founded']}."
    return f"<h1>About us</h1><p>{since} {escape(business['about'])}</p>"


def _questions(business: Mapping[str, Any]) -> str:
    told = "".join(f"<h2>{escape(asked)}</h2><p>{escape(said)}</p>" for asked, said in business["questions"])
    return f"<h1>Frequently asked questions</h1>{told}"


def _contact(business: Mapping[str, Any]) -> str:
    return (
        f"<h1>Contact</h1><p>{escape(business['name'])}, {escape(business['street'])}, {escape(business['town'])}.</p>"
        f"<p>Telephone {escape(business['phone'])}, e-mail {_mail(business)}.</p>"
        f"<p>Open {escape(business['hours'])}.</p>"
    )


def _subject(business: Mapping[str, Any]) -> str:
    """What people look for who do not know the business."""
    return f"{escape(business['subject']).capitalize()} in {escape(business['town'])}"


def _priced(name: str, price: int, how: str) -> str:
    return f"{escape(name)}: {price} euros; this {escape(how)}."


def _mail(business: Mapping[str, Any]) -> str:
    return f"hello@{business['slug']}.example"


_BODIES = {"/": _home, "/prices": _prices, "/about": _about, "/questions": _questions, "/contact": _contact}
