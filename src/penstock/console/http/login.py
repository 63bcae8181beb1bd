"""`/login` and `/api/logout`: a one-time link or a password becomes a session in a cookie, and the session ends.

A GET shows a form and changes nothing, because mail programs and chats open links before people do.
"""

import base64
import hashlib
import math
from html import escape
from urllib.parse import parse_qs, urlsplit

from fastapi import APIRouter, Request, Response
from fastapi.responses import HTMLResponse, RedirectResponse

from penstock.console.http.actor import COOKIE, Viewer, from_elsewhere
from penstock.console.http.attempts import Attempts
from penstock.console.http.ground import ground_of
from penstock.console.http.problems import documented
from penstock.console.people import accounts, passwords
from penstock.console.people.accounts import SESSION_LONGEST_SECONDS, Login
from penstock.control.acting import By

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
        code, after = request.query_params.get("code"), next_page(request.query_params.get("next"))
        return ask_link(code, after=after) if code else ask_password(after=after)

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
        return message_page("The form was sent by another site. Open the login page itself.", 403)
    ip = request.client.host if request.client else None
    if (wait := attempts.wait_seconds(ip)) > 0:
        return _too_often("Too many attempts from your address.", wait)
    form = await _form(request)
    after = next_page(form.get("next"))
    by = By(actor=accounts.NOBODY, ip=ip, request_id=request.state.request_id)
    if "code" in form:
        answer = await _with_link(request, form["code"], after, by)
    elif "name" in form or "password" in form:
        answer = await _with_password(request, form, after, by)
    else:
        text = f"The form holds no code and no password. Open the login link itself. {_NEW_LINK}"
        answer = message_page(text, 400)
    if answer.status_code == _LET_IN:
        attempts.give_back(ip)
    return answer


async def _with_link(request: Request, code: str, after: str, by: By) -> Response:
    login = await accounts.log_in(ground_of(request).app, code, agent=request.headers.get("user-agent"), by=by)
    if login is None:
        return message_page(f"This link does not let you in: it works once, within 15 minutes. {_NEW_LINK}", 403)
    return _let_in(request, login, after)


async def _with_password(request: Request, form: dict[str, str], after: str, by: By) -> Response:
    name, password = form.get("name", "").strip().lower(), form.get("password", "")
    if not name or not password:
        return ask_password(name=name, after=after, wrong="Give your name and your password.", status=400)
    ground = ground_of(request)
    # Also for names that nobody has, so that the answer tells nothing.
    if (wait := ground.password_attempts.wait_seconds(name[:200])) > 0:
        return _too_often("Too many attempts with this name. A login link works all the same.", wait)
    agent = request.headers.get("user-agent")
    login = await passwords.log_in(ground.app, ground.password_hashes, name, password[:1000], agent=agent, by=by)
    if login is None:
        return ask_password(name=name[:100], after=after, wrong=_WRONG, status=403)
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
    return message_page(f"{text} Try again in {seconds} seconds.", 429, {"Retry-After": str(seconds)})


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


# ---------------------------------------------------------------- the page

# A few lines of HTML without a script, so that nothing on it can be made to run.
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


def ask_link(code: str, *, after: str = HOME) -> HTMLResponse:
    """A press of the button uses the link up; programs that look at links for people only get this far."""
    form = _BUTTON.format(code=escape(code), next=_hidden(after))
    return _page("<p>Press the button to log in. The link works once.</p>" + form, 200)


def ask_password(*, name: str = "", after: str = HOME, wrong: str = "", status: int = 200) -> HTMLResponse:
    """Name and password. ``wrong``: what was not right with them the last time."""
    told = f'<p class="wrong" role="alert">{escape(wrong)}</p>' if wrong else ""
    form = _PASSWORD.format(
        next=_hidden(after),
        name=escape(name),
        focus_name="" if name else " autofocus",
        focus_password=" autofocus" if name else "",
    )
    return _page(told + form + _BY_LINK, status)


def message_page(text: str, status: int, headers: dict[str, str] | None = None) -> HTMLResponse:
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
