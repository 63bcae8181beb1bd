"""The login page: a few lines of HTML without a script, so that nothing on it can be made to run."""

import base64
import hashlib
from html import escape

from fastapi.responses import HTMLResponse

_STYLE = (
    "body{font:16px/1.5 system-ui,sans-serif;max-width:26rem;margin:20vh auto;padding:0 1rem;"
    "color:#1a1a1a;background:#fff}"
    "button{font:inherit;padding:.5rem 1.5rem;border:0;border-radius:.4rem;background:#0b5cad;color:#fff}"
    "button:focus-visible{outline:3px solid #f5a623}"
    "@media(prefers-color-scheme:dark){body{color:#eee;background:#16181c}button{background:#8ec5ff;color:#111}}"
)
_STYLE_HASH = base64.b64encode(hashlib.sha256(_STYLE.encode()).digest()).decode()
_POLICY = (
    f"default-src 'none'; style-src 'sha256-{_STYLE_HASH}'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
)
_BUTTON = (
    '<form method="post" action="/login"><input type="hidden" name="code" value="{code}">'
    '<button type="submit">Log in</button></form>'
)


def ask(code: str) -> HTMLResponse:
    """A press of the button uses the link up; programs that look at links for people only get this far."""
    return _page("Press the button to log in. The link works once.", 200, form=_BUTTON.format(code=escape(code)))


def tell(text: str, status: int, headers: dict[str, str] | None = None) -> HTMLResponse:
    return _page(text, status, headers=headers)


def _page(text: str, status: int, *, form: str = "", headers: dict[str, str] | None = None) -> HTMLResponse:
    body = (
        '<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Penstock: log in</title>'
        '<meta name="viewport" content="width=device-width,initial-scale=1">'
        f"<style>{_STYLE}</style></head><body><main><h1>Penstock</h1><p>{escape(text)}</p>{form}</main></body></html>"
    )
    return HTMLResponse(body, status, headers={"Content-Security-Policy": _POLICY, **(headers or {})})
