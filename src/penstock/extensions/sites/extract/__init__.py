"""From the bytes of pages to the facts of a site. Pure: no network, no clock; the same bytes give the same facts."""
