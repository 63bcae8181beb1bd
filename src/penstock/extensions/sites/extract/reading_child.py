"""Inside the capped child: reads one page. Nothing here runs in a service or worker."""

from typing import Any

from penstock.console.files.capped_child import Send
from penstock.console.files.frames import Header
from penstock.extensions.sites.extract.page import read
from penstock.extensions.sites.fetch.fetched import Fetched


def serve(order: Header, blob: bytes, send: Send) -> None:
    page: dict[str, Any] = order["page"]
    send({"kind": "reading", "reading": read(Fetched(**page, body=blob)).as_json()})
