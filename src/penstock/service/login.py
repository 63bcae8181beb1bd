"""`/login` and `/api/logout`: a one-time link becomes a session in a cookie, and the session ends.

A GET shows a button and changes nothing, because mail programs and chats open links before people do.
"""

import math
from urllib.parse import parse_qs

from fastapi import APIRouter, Request, Response
from fastapi.responses import HTMLResponse, RedirectResponse

from penstock.engine import accounts
from penstock.engine.credentials import SESSION_LONGEST_SECONDS
from penstock.service import login_page
from penstock.service.actor import COOKIE, Viewer
from penstock.service.attempts import Attempts
from penstock.service.ground import ground_of
from penstock.service.origin import from_elsewhere
from penstock.service.problems import documented

_LONGEST_FORM_BYTES = 4096
_NEW_LINK = "An admin makes a new one with `penstock users login NAME`."


def router() -> APIRouter:
    """A new one per service: it counts the attempts of its own clients."""
    made = APIRouter(tags=["login"])
    attempts = Attempts()

    @made.get("/login", include_in_schema=False)
    async def show_login(code: str = "") -> HTMLResponse:
        if not code:
            return login_page.tell(f"Open the login link that you were given. {_NEW_LINK}", 200)
        return login_page.ask(code)

    @made.post("/login", include_in_schema=False)
    async def log_in(request: Request) -> Response:
        return await _log_in(request, attempts)

    @made.post("/api/logout", operation_id="logout", status_code=204, responses=documented())
    async def log_out(request: Request, actor: Viewer) -> Response:
        """End the session of the cookie, at once and everywhere. A token is not touched: revoke it instead."""
        if cookie := request.cookies.get(COOKIE):
            await accounts.log_out(ground_of(request).app, cookie, by=actor.by)
        answer = Response(status_code=204)
        answer.delete_cookie(COOKIE, path="/", httponly=True, samesite="strict", secure=_is_https(request))
        return answer

    return made


async def _log_in(request: Request, attempts: Attempts) -> Response:
    ip = request.client.host if request.client else None
    if (wait := attempts.wait_seconds(ip)) > 0:
        seconds = math.ceil(wait)
        return login_page.tell(
            f"Too many attempts from your address. Try again in {seconds} seconds.", 429, {"Retry-After": str(seconds)}
        )
    if from_elsewhere(request, unknown=False):
        return login_page.tell("The form was sent by another site. Open the login link itself.", 403)
    code = await _code(request)
    if code is None:
        return login_page.tell(f"The form holds no code. Open the login link itself. {_NEW_LINK}", 400)
    login = await accounts.log_in(
        ground_of(request).app,
        code,
        ip=ip,
        agent=request.headers.get("user-agent"),
        request_id=request.state.request_id,
    )
    if login is None:
        return login_page.tell(f"This link does not let you in: it works once, within 15 minutes. {_NEW_LINK}", 403)
    answer = RedirectResponse("/", 303)
    answer.set_cookie(
        COOKIE,
        login.secret,
        max_age=int(SESSION_LONGEST_SECONDS),
        path="/",
        httponly=True,
        samesite="strict",
        secure=_is_https(request),
    )
    return answer


async def _code(request: Request) -> str | None:
    """From a form of bounded size; None where there is none."""
    body = b""
    async for chunk in request.stream():
        body += chunk
        if len(body) > _LONGEST_FORM_BYTES:
            return None
    try:
        return parse_qs(body.decode("ascii"), max_num_fields=10).get("code", [None])[0]
    except ValueError:
        return None


def _is_https(request: Request) -> bool:
    return request.url.scheme == "https"
