"""The web pages as the service sends them: one document for every screen, and nothing foreign runs in it."""

import gzip
import re
from collections.abc import AsyncIterator
from pathlib import Path

import httpx2
import pytest
from fastapi import FastAPI

from penstock.console import pages
from penstock.console.http import problems
from penstock.console.http.requests import Requests

BROWSER = {"accept": "text/html,application/xhtml+xml;q=0.9,*/*;q=0.8"}
DOCUMENT = '<!doctype html><meta name="style-nonce" content="nonce-of-the-answer"><div id="root"></div>'


def _app(web: Path) -> FastAPI:
    made = FastAPI()
    problems.install(made)
    made.include_router(pages.router(web))
    made.add_middleware(Requests)
    return made


@pytest.fixture
async def client(tmp_path: Path) -> AsyncIterator[httpx2.AsyncClient]:
    assets = tmp_path / "web" / "assets"
    assets.mkdir(parents=True)
    (tmp_path / "web" / "index.html").write_text(DOCUMENT)
    (tmp_path / "web" / "theme.js").write_text("1")
    (assets / "index-abc.js").write_text("run()")
    (assets / "index-abc.js.gz").write_bytes(gzip.compress(b"run()"))
    (tmp_path / "secret.js").write_text("secret")
    transport = httpx2.ASGITransport(app=_app(tmp_path / "web"))
    async with httpx2.AsyncClient(transport=transport, base_url="http://test") as made:
        yield made


@pytest.mark.parametrize("path", ["/", "/jobs/12", "/linking/3/review?record=7", "/no/such/screen"])
async def test_every_address_of_a_screen_is_the_same_document(client: httpx2.AsyncClient, path: str) -> None:
    answer = await client.get(path, headers=BROWSER)
    assert answer.status_code == 200
    assert '<div id="root">' in answer.text
    assert answer.headers["cache-control"] == "no-store"


async def test_only_styles_with_the_nonce_of_this_answer_and_scripts_from_here_run(client: httpx2.AsyncClient) -> None:
    first, second = [await client.get("/", headers=BROWSER) for _ in range(2)]
    policy = first.headers["content-security-policy"]
    (nonce,) = re.findall(r"style-src 'self' 'nonce-([\w-]{20,})'", policy)
    assert f'content="{nonce}"' in first.text
    assert nonce not in second.text
    assert "script-src 'self';" in policy and "default-src 'none'" in policy and "frame-ancestors 'none'" in policy
    assert "unsafe" not in policy


async def test_files_with_a_name_of_their_own_are_kept_by_browsers_and_come_packed(client: httpx2.AsyncClient) -> None:
    packed = await client.get("/assets/index-abc.js")
    assert (packed.headers["content-encoding"], packed.text) == ("gzip", "run()")
    plain = await client.get("/assets/index-abc.js", headers={"accept-encoding": "identity"})
    assert "content-encoding" not in plain.headers
    assert (plain.text, plain.headers["content-type"]) == ("run()", "text/javascript; charset=utf-8")
    assert "immutable" in plain.headers["cache-control"]
    assert (await client.get("/theme.js")).headers["cache-control"] == "no-cache"


@pytest.mark.parametrize("path", ["/assets/gone.js", "/api/nothing", "/assets/../../secret.js", "/%2e%2e/secret.js"])
async def test_what_is_no_screen_is_not_found(client: httpx2.AsyncClient, path: str) -> None:
    answer = await client.get(path, headers=BROWSER)
    assert "secret" not in answer.text.replace("/secret.js", "")
    if path.startswith(("/api", "/assets/gone")):
        assert (answer.status_code, answer.json()["detail"]) == (404, f"There is nothing at {path}.")


async def test_a_script_that_mistyped_an_address_is_told_so(client: httpx2.AsyncClient) -> None:
    answer = await client.get("/jbos/12", headers={"accept": "*/*"})
    assert (answer.status_code, answer.json()["detail"]) == (404, "There is nothing at /jbos/12.")


async def test_pages_that_were_not_built_say_how_to_build_them(tmp_path: Path) -> None:
    transport = httpx2.ASGITransport(app=_app(tmp_path))
    async with httpx2.AsyncClient(transport=transport, base_url="http://test") as client:
        answer = await client.get("/", headers=BROWSER)
    assert answer.status_code == 503
    assert "make ui" in answer.text
