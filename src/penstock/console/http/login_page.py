"""The login page: a few lines of HTML without a script, so that nothing on it can be made to run."""

import base64
import hashlib
from html import escape
from urllib.parse import urlsplit

from fastapi.responses import HTMLResponse

HOME = "/"
_LONGEST_NEXT = 2000
# These are no pages to look at, or lead straight back.
_NOT_PAGES = ("/api", "/login", "/assets")
_STYLE = (
    "*{box-sizing:border-box}"
    "body{font:16px/1.5 system-ui,sans-serif;max-width:24rem;margin:12vh auto 2rem;padding:0 1rem;"
    "color:#1a1a1a;background:#fff;overflow-wrap:anywhere}"
    "h1{font-size:1.5rem;margin:0 0 .5rem}"
    "form{margin:1rem 0}"
    "label{display:block;margin:.75rem 0 .25rem;font-weight:600}"
    "input{font:inherit;width:100%;padding:.5rem .75rem;color:inherit;background:#fff;"
    "border:1px solid #767c84;border-radius:.4rem}"
    "button{font:inherit;font-weight:600;margin-top:1rem;padding:.5rem 1.5rem;border:0;border-radius:.4rem;"
    "background:#0b5cad;color:#fff;cursor:pointer}"
    "input:focus-visible,button:focus-visible{outline:3px solid #b86e00;outline-offset:1px}"
    ".wrong{padding:.5rem .75rem;border-left:4px solid #b3261e;background:#fbeae9}"
    ".quiet{color:#555b63;font-size:.9rem}"
    "@media(prefers-color-scheme:dark){body{color:#eee;background:#16181c}"
    "input{background:#1f2228;border-color:#8a919a}button{background:#8ec5ff;color:#111}"
    "input:focus-visible,button:focus-visible{outline-color:#f5a623}"
    ".wrong{background:#3a1d1c;border-color:#f2867f}.quiet{color:#b3bac2}}"
)
_STYLE_HASH = base64.b64encode(hashlib.sha256(_STYLE.encode()).digest()).decode()
_POLICY = (
    f"default-src 'none'; style-src 'sha256-{_STYLE_HASH}'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
)
_BUTTON = (
    '<form method="post" action="/login"><input type="hidden" name="code" value="{code}">{next}'
    '<button type="submit">Log in</button></form>'
)
_PASSWORD = (
    '<form method="post" action="/login">{next}'
    '<label for="name">Name</label>'
    '<input id="name" name="name" value="{name}" autocomplete="username" autocapitalize="none" spellcheck="false" '
    'maxlength="100" required{focus_name}>'
    '<label for="password">Password</label>'
    '<input id="password" name="password" type="password" autocomplete="current-password" maxlength="200" '
    "required{focus_password}>"
    '<button type="submit">Log in</button></form>'
)
_BY_LINK = (
    '<p class="quiet">No password yet? Open the login link that an admin gave you, '
    "and set one in the settings if you like.</p>"
)


def ask(code: str, *, after: str = HOME) -> HTMLResponse:
    """A press of the button uses the link up; programs that look at links for people only get this far."""
    form = _BUTTON.format(code=escape(code), next=_hidden(after))
    return _page("<p>Press the button to log in. The link works once.</p>" + form, 200)


def ask_password(
    *, name: str = "", after: str = HOME, wrong: str = "", status: int = 200, headers: dict[str, str] | None = None
) -> HTMLResponse:
    """Name and password. ``wrong``: what was not right with them the last time."""
    told = f'<p class="wrong" role="alert">{escape(wrong)}</p>' if wrong else ""
    form = _PASSWORD.format(
        next=_hidden(after),
        name=escape(name),
        focus_name="" if name else " autofocus",
        focus_password=" autofocus" if name else "",
    )
    return _page(told + form + _BY_LINK, status, headers=headers)


def tell(text: str, status: int, headers: dict[str, str] | None = None) -> HTMLResponse:
    return _page(f"<p>{escape(text)}</p>", status, headers=headers)


def _hidden(after: str) -> str:
    return "" if after == HOME else f'<input type="hidden" name="next" value="{escape(after)}">'


def _page(inner: str, status: int, *, headers: dict[str, str] | None = None) -> HTMLResponse:
    body = (
        '<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Log in · Penstock</title>'
        '<meta name="viewport" content="width=device-width,initial-scale=1">'
        '<meta name="color-scheme" content="light dark">'
        f"<style>{_STYLE}</style></head><body><main><h1>Penstock</h1>{inner}</main></body></html>"
    )
    return HTMLResponse(body, status, headers={"Content-Security-Policy": _POLICY, **(headers or {})})


def next_page(wanted: str | None) -> str:
    """Where to go after the login: a page of this service and nothing else, whatever the address says.
    ``//evil.example`` and ``/\\evil.example`` begin like a path, and browsers read them as another site."""
    if not wanted or len(wanted) > _LONGEST_NEXT or not wanted.startswith("/") or wanted.startswith("//"):
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
