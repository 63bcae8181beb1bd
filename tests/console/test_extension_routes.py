"""Routes of extensions beside those of the console: two may not answer one address."""

import pytest
from fastapi import APIRouter

from penstock import Extension, Penstock
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


def test_an_application_without_extensions_answers_no_address_of_one():
    paths = create(Penstock("shop")).openapi()["paths"]
    assert not [
        path
        for path in paths
        if path.startswith(("/api/articles", "/api/analyses", "/api/projects", "/api/catalogues"))
    ]
