"""Pages for the tests of the extraction, as if they had been fetched."""

from penstock.extensions.sites.extract.site import understand
from penstock.extensions.sites.fetch.crawl import Crawl
from penstock.extensions.sites.fetch.fetched import Fetched
from penstock.extensions.sites.findings import SiteFacts

START = "https://www.shop.example/"


def page(markup: str | bytes, *, url: str = START, content_type: str = "text/html; charset=utf-8") -> Fetched:
    return Fetched(
        kind="page",
        url=url,
        final_url=url,
        status=200,
        headers={"content-type": content_type},
        body=markup.encode() if isinstance(markup, str) else markup,
    )


def crawled(*pages: Fetched) -> Crawl:
    return Crawl(fetched=pages, start=pages[0], notes=())


def facts(markup: str | bytes, *, url: str = START, content_type: str = "text/html; charset=utf-8") -> SiteFacts:
    return understand(crawled(page(markup, url=url, content_type=content_type)))
