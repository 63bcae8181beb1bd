"""Where to go after the login: a page of this service and nothing else, whatever the address says."""

from urllib.parse import urlsplit

HOME = "/"
_LONGEST = 2000
# These are no pages to look at, or lead straight back.
_NOT_PAGES = ("/api", "/login", "/assets")


def next_page(wanted: str | None) -> str:
    """``//evil.example`` and ``/\\evil.example`` begin like a path, and browsers read them as another site."""
    if not wanted or len(wanted) > _LONGEST or not wanted.startswith("/") or wanted.startswith("//"):
        return HOME
    # Browsers leave tabs and line ends out before they look, and read a backslash as a slash.
    if "\\" in wanted or not wanted.isascii() or not wanted.isprintable() or " " in wanted:
        return HOME
    try:
        parts = urlsplit(wanted)
    except ValueError:
        return HOME
    if parts.scheme or parts.netloc or any(parts.path == one or parts.path.startswith(f"{one}/") for one in _NOT_PAGES):
        return HOME
    return wanted
