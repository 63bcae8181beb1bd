"""Routes of extensions beside those of the console: two may not answer one address."""

from pathlib import Path

import httpx2
import pytest
from fastapi import APIRouter

from penstock import Extension, Penstock
from penstock.config import load
from penstock.console import pages
from penstock.console.http.app import create
from penstock.errors import InvalidExtension


def routing(*addresses: tuple[str, str]) -> APIRouter:
    router = APIRouter()
    for method, path in addresses:
        router.add_api_route(path, lambda: None, methods=[method])
    return router


@pytest.mark.parametrize(
    ("router", "said"),
    [
        (routing(("GET", "/api/jobs/{number}")), "its route GET /api/jobs/{} belongs to Penstock itself already"),
        (routing(("POST", "/api/letters")), "its route POST /api/letters belongs to the extension 'letters' already"),
        ("nothing", "importing nothing failed"),
        (7, "its router is a int, not an APIRouter of FastAPI"),
    ],
)
def test_an_invalid_router_is_refused_before_anything_is_served(router: object, said: str):
    app = Penstock("shop")
    app.install(Extension(name="letters", router=routing(("GET", "/api/letters"), ("POST", "/api/letters"))))
    app.install(Extension(name="parcels", router=router))
    with pytest.raises(InvalidExtension, match="'parcels' cannot be installed") as refused:
        create(app)
    assert said in str(refused.value)


def test_routers_are_compared_by_the_prefix_they_are_included_with():
    def within(prefix: str) -> APIRouter:
        top = APIRouter()
        top.include_router(routing(("GET", "/{number}")), prefix=prefix)
        return top

    app = Penstock("shop")
    app.install(Extension(name="letters", router=within("/api/letters")))
    app.install(Extension(name="parcels", router=within("/api/parcels")))
    assert {"/api/letters/{number}", "/api/parcels/{number}"} <= create(app).openapi()["paths"].keys()
    app.install(Extension(name="stamps", router=within("/api/letters")))
    with pytest.raises(InvalidExtension, match=r"its route GET /api/letters/\{\} belongs to the extension 'letters'"):
        create(app)


async def test_a_route_of_an_extension_asks_for_a_login_unless_it_is_declared_public(database_url: str):
    app = Penstock("shop", settings=load(database_url=database_url))
    letters, notices = routing(("GET", "/api/letters"), ("POST", "/api/letters")), routing(("GET", "/api/notices"))
    app.install(Extension(name="letters", router=letters, public_router=notices))
    api = create(app)
    async with api.router.lifespan_context(api):
        client = httpx2.AsyncClient(transport=httpx2.ASGITransport(app=api), base_url="http://penstock.test")
        async with client:
            answers = [
                (await client.request(method, path)).status_code
                for method, path in (("GET", "/api/letters"), ("POST", "/api/letters"), ("GET", "/api/notices"))
            ]
    assert answers == [401, 401, 200]


def test_a_screen_that_penstock_has_itself_is_refused():
    app = Penstock("shop")
    app.install(Extension(name="letters", screens={"/jobs": "My jobs"}))
    with pytest.raises(InvalidExtension, match="its screen '/jobs' belongs to Penstock itself"):
        create(app)


def test_the_screens_of_penstock_are_those_of_its_menu():
    menu = (Path(__file__).parents[2] / "ui/src/shell/screens.ts").read_text("utf-8")
    own = {line.split('"')[1] for line in menu.splitlines() if "{ to: " in line and "brought: true" not in line}
    assert own == pages.SCREENS


def test_an_application_without_extensions_answers_no_address_of_one():
    paths = create(Penstock("shop")).openapi()["paths"]
    assert not [
        path
        for path in paths
        if path.startswith(("/api/articles", "/api/analyses", "/api/projects", "/api/catalogues"))
    ]
