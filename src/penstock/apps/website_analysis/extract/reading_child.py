"""Inside the capped child: reads one page. Nothing here runs in a service or worker."""

from typing import Any

from penstock.apps.website_analysis.extract.page import read
from penstock.apps.website_analysis.fetch.fetched import Fetched
from penstock.intake.capped_child import Send
from penstock.intake.frames import Header


def serve(order: Header, blob: bytes, send: Send) -> None:
    page: dict[str, Any] = order["page"]
    send({"kind": "reading", "reading": read(Fetched(**page, body=blob)).as_json()})
