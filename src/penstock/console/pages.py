"""The web pages: one document for every address of the UI, and the files it needs, from inside the package.

Nothing foreign runs in them: scripts only from here, styles only from here or with the nonce of the answer. What is
shown comes through the API, so the document is the same for everybody and needs no login.
"""

import secrets
from pathlib import Path

from fastapi import APIRouter, Request, Response
from fastapi.responses import HTMLResponse
from fastapi.routing import APIRoute
from starlette.routing import Match
from starlette.types import Scope

from penstock.console.http.login import message_page
from penstock.console.http.problems import nothing_at

WEB = Path(__file__).with_name("web")
_NONCE = "nonce-of-the-answer"
_TYPES = {".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml", ".woff2": "font/woff2"}
# Their names change with what is in them.
_FOR_EVER = "public, max-age=31536000, immutable"
# These keep their names.
_ASK_AGAIN = "no-cache"
_NO_SCREENS = frozenset({"assets"})
# Where the menu leads to pages of the console itself.
SCREENS = frozenset(
    {"/", "/upload", "/jobs", "/pending", "/stages", "/workers", "/limits", "/schedules", "/errors"}
    | {"/dead-letters", "/audit", "/settings"}
)
_NOT_BUILT = "The web pages were not built. Run `make ui`; the API is there all the same, see /api/openapi.json."


class _Screen(APIRoute):
    """Leaves the API alone: there an unknown address is not found, whatever the method, and no page."""

    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        if f"{scope['path']}/".startswith("/api/"):
            return Match.NONE, {}
        return super().matches(scope)


def router(web: Path = WEB) -> APIRouter:
    """To be included last: it answers every address that nobody else has."""
    made = APIRouter(include_in_schema=False, route_class=_Screen)
    # A list made once: no request reaches the file system with a path of its own.
    files = {path.relative_to(web).as_posix(): path for path in web.rglob("*") if path.suffix in _TYPES}

    @made.get("/{path:path}")
    async def page(request: Request, path: str) -> Response:
        if (found := files.get(path)) is not None:
            return _file(request, found)
        # A script that mistyped an address wants to hear so, not to read a page.
        if "text/html" not in request.headers.get("accept", "") or path.partition("/")[0] in _NO_SCREENS:
            raise nothing_at(request)
        return _document(web)

    return made


def _file(request: Request, path: Path) -> Response:
    headers = {
        "Cache-Control": _FOR_EVER if path.parent.name == "assets" else _ASK_AGAIN,
        "Vary": "Accept-Encoding",
        "X-Content-Type-Options": "nosniff",
    }
    packed = path.with_name(f"{path.name}.gz")
    if "gzip" in request.headers.get("accept-encoding", "") and packed.exists():
        headers["Content-Encoding"] = "gzip"
        path, kind = packed, _TYPES[path.suffix]
    else:
        kind = _TYPES[path.suffix]
    return Response(path.read_bytes(), media_type=kind, headers=headers)


def _document(web: Path) -> HTMLResponse:
    try:
        text = (web / "index.html").read_text("utf-8")
    except FileNotFoundError:
        return message_page(_NOT_BUILT, 503)
    nonce = secrets.token_urlsafe(16)
    return HTMLResponse(text.replace(_NONCE, nonce), headers={"Content-Security-Policy": _policy(nonce)})


def _policy(nonce: str) -> str:
    return "; ".join(
        (
            "default-src 'none'",
            "script-src 'self'",
            f"style-src 'self' 'nonce-{nonce}'",
            "img-src 'self' data: blob:",
            "font-src 'self'",
            "connect-src 'self'",
            "form-action 'self'",
            "base-uri 'none'",
            "frame-ancestors 'none'",
        )
    )
