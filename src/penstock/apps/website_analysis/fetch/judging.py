"""Whether an answer is a page that can be read; where not, the sentence that says why."""

from penstock.apps.website_analysis.fetch.request import Reply
from penstock.apps.website_analysis.problem import SiteBusy, SiteProblem

_HTML_TYPES = frozenset({"text/html", "application/xhtml+xml"})
_HTML_STARTS = (b"<!doctype html", b"<html", b"<head", b"<body", b"<title", b"<meta")
_PASSING = frozenset({408, 425})
_SNIFFED_BYTES = 4096
# Files that people mistake for pages, by their first bytes.
_FILES = (
    (b"%PDF-", "a PDF"),
    (b"\x89PNG", "an image"),
    (b"\xff\xd8\xff", "an image"),
    (b"GIF8", "an image"),
    (b"PK\x03\x04", "a ZIP file"),
    (b"\x1f\x8b", "a packed file"),
)
_SENTENCES = {
    401: "{url} wants a login (answer 401), and pages behind one are not read.",
    403: "{url} refuses to be read by us (answer 403). Ask its owner to let the reader in.",
    404: "There is no page at {url} (answer 404). Check the address.",
    410: "The page at {url} was taken away for good (answer 410). Check the address.",
    451: "{url} is withheld for legal reasons (answer 451).",
}


def check_status(reply: Reply) -> None:
    """Raises for every answer that holds no page. 429 is not judged here: it is a matter of waiting."""
    status, url = reply.status, reply.url
    if 200 <= status < 300:
        return
    if status >= 500 or status in _PASSING:
        raise SiteBusy(f"{url} answered {status}: the site has a problem just now.")
    if status in _SENTENCES:
        raise SiteProblem(_SENTENCES[status].format(url=url))
    if 300 <= status < 400:
        raise SiteProblem(f"{url} answered {status} and does not say where the page is.")
    raise SiteProblem(f"{url} refused the request (answer {status}).")


def check_page(reply: Reply) -> None:
    """Type and first bytes. The bytes win: headers are wrong more often."""
    url, body = reply.url, reply.body
    if not body.strip(b" \t\r\n\0\xef\xbb\xbf"):
        raise SiteProblem(f"The page at {url} is empty. Give a page that has text.")
    for magic, what in _FILES:
        if body.startswith(magic):
            raise SiteProblem(f"{url} is {what}, not a web page. Give the address of a page.")
    said = reply.headers.get("content-type", "").partition(";")[0].strip().lower()
    if looks_like_html(body):
        return
    if reply.packed is not None:
        raise SiteProblem(f"{url} is packed as {reply.packed!r}, which was not asked for and cannot be undone.")
    if said in _HTML_TYPES and not _is_binary(body):
        return
    shown = f"is of the type {said!r}" if said and said not in _HTML_TYPES else "does not look like HTML"
    raise SiteProblem(f"{url} {shown}, not a web page. Give the address of a page.")


def looks_like_html(body: bytes) -> bool:
    """Its beginning, in one- and two-byte characters alike."""
    start = body[:_SNIFFED_BYTES].replace(b"\0", b"").lstrip(b"\xef\xbb\xbf\xff\xfe \t\r\n").lower()
    if start.startswith((b"<?xml", b"<!--")):
        return b"<html" in start
    return start.startswith(_HTML_STARTS)


def _is_binary(body: bytes) -> bool:
    """NUL bytes in no order of two-byte characters."""
    start = body[:_SNIFFED_BYTES]
    return b"\0" in start and not start.startswith((b"\xff\xfe", b"\xfe\xff"))
