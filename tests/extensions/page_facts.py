"""What a reader made of a page, as tests need it."""

from typing import Any

from penstock.extensions.sites.findings import ReadPage


def page_facts(url: str, text: str, **more: Any) -> ReadPage:
    given = {
        "status": 200,
        "sha256": "0" * 64,
        "content_type": "text/html",
        "charset": "utf-8",
        "title": None,
        "description": None,
        "language": "en",
        "canonical": None,
        "headings": (),
        "open_graph": {},
        "json_ld": (),
        "links": (),
    }
    return ReadPage(url=url, text=text, words=len(text.split()), **(given | more))
