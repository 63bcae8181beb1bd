"""`/login` and `/api/logout`: a one-time link or a password becomes a session in a cookie, and the session ends.

A GET shows a form and changes nothing, because mail programs and chats open links before people do.
"""

import math
from urllib.parse import parse_qs

from fastapi import APIRouter, Request, Response
from fastapi.responses import HTMLResponse, RedirectResponse

from penstock.console.http import login_page
from penstock.console.http.actor import COOKIE, Viewer
from penstock.console.http.attempts import Attempts
from penstock.console.http.ground import ground_of
from penstock.console.http.origin import from_elsewhere
from penstock.console.http.problems import documented
from penstock.console.people import accounts, passwords
from penstock.console.people.accounts import Login
from penstock.console.people.credentials import SESSION_LONGEST_SECONDS

_LONGEST_FORM_BYTES = 4096
_LET_IN = 303
_NEW_LINK = "An admin makes a new one with `penstock users login NAME`."
_WRONG = "That name and password do not let you in. Check both; an admin can give you a login link."


def router() -> APIRouter:
    """A new one per service: it counts the attempts of its own clients."""
    made = APIRouter(tags=["login"])
    attempts = Attempts()

    @made.get("/login", include_in_schema=False)
    async def show_login(request: Request) -> HTMLResponse:
        code, after = request.query_params.get("code"), login_page.next_page(request.query_params.get("next"))
        return login_page.ask(code, after=after) if code else login_page.ask_password(after=after)

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
    # Before it is counted: a page elsewhere must not use up the attempts of who looks at it.
    if from_elsewhere(request, unknown=False):
        return login_page.tell("The form was sent by another site. Open the login page itself.", 403)
    ip = request.client.host if request.client else None
    if (wait := attempts.wait_seconds(ip)) > 0:
        return _too_often("Too many attempts from your address.", wait)
    form = await _form(request)
    after = login_page.next_page(form.get("next"))
    if "code" in form:
        answer = await _with_link(request, form["code"], after, ip)
    elif "name" in form or "password" in form:
        answer = await _with_password(request, form, after, ip)
    else:
        text = f"The form holds no code and no password. Open the login link itself. {_NEW_LINK}"
        answer = login_page.tell(text, 400)
    if answer.status_code == _LET_IN:
        attempts.give_back(ip)
    return answer


async def _with_link(request: Request, code: str, after: str, ip: str | None) -> Response:
    login = await accounts.log_in(
        ground_of(request).app,
        code,
        ip=ip,
        agent=request.headers.get("user-agent"),
        request_id=request.state.request_id,
    )
    if login is None:
        return login_page.tell(f"This link does not let you in: it works once, within 15 minutes. {_NEW_LINK}", 403)
    return _let_in(request, login, after)


async def _with_password(request: Request, form: dict[str, str], after: str, ip: str | None) -> Response:
    name, password = form.get("name", "").strip().lower(), form.get("password", "")
    if not name or not password:
        return login_page.ask_password(name=name, after=after, wrong="Give your name and your password.", status=400)
    ground = ground_of(request)
    # Also for names that nobody has, so that the answer tells nothing.
    if (wait := ground.password_attempts.wait_seconds(name[:200])) > 0:
        return _too_often("Too many attempts with this name. A login link works all the same.", wait)
    login = await passwords.log_in(
        ground.app,
        ground.password_hashes,
        name,
        password[:1000],
        ip=ip,
        agent=request.headers.get("user-agent"),
        request_id=request.state.request_id,
    )
    if login is None:
        return login_page.ask_password(name=name[:100], after=after, wrong=_WRONG, status=403)
    ground.password_attempts.give_back(name[:200])
    return _let_in(request, login, after)


def _let_in(request: Request, login: Login, after: str) -> Response:
    answer = RedirectResponse(after, _LET_IN)
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


def _too_often(text: str, wait_seconds: float) -> HTMLResponse:
    seconds = math.ceil(wait_seconds)
    return login_page.tell(f"{text} Try again in {seconds} seconds.", 429, {"Retry-After": str(seconds)})


async def _form(request: Request) -> dict[str, str]:
    """Of bounded size; the first value of each name, and nothing of what cannot be read."""
    body = b""
    async for chunk in request.stream():
        body += chunk
        if len(body) > _LONGEST_FORM_BYTES:
            return {}
    try:
        return {name: values[0] for name, values in parse_qs(body.decode("ascii"), max_num_fields=10).items()}
    except ValueError:
        return {}


def _is_https(request: Request) -> bool:
    return request.url.scheme == "https"
