"""Where a fetch must not go: private networks in every notation, by redirect, and by names that change."""

import asyncio
import socket
from collections.abc import AsyncIterator
from typing import Any

import pytest

from penstock.extensions.sites.fetch.fetched import SiteBusy, SiteProblem
from penstock.extensions.sites.fetch.request import addresses
from tests.extensions import site_answers as answers
from tests.extensions.site_getting import TEXT, Getting, getting
from tests.extensions.site_world import SiteWorld


@pytest.fixture
async def world() -> AsyncIterator[SiteWorld]:
    async with SiteWorld() as opened:
        yield opened


@pytest.fixture
async def get(world: SiteWorld) -> AsyncIterator[Getting]:
    async with getting(world) as got:
        yield got


@pytest.mark.parametrize(
    "address",
    [
        "http://127.0.0.1/",
        "http://127.1/",
        "http://2130706433/",
        "http://0x7f000001/",
        "http://0/",
        "http://localhost/",
        "http://10.1.2.3/",
        "http://192.168.0.1/",
        "http://169.254.169.254/latest/meta-data/",
        "http://100.64.0.1/",
        "http://168.63.129.16/",
        "http://[::1]/",
        "http://[::ffff:127.0.0.1]/",
        "http://[fd00::1]/",
        "http://[64:ff9b::7f00:1]/",
    ],
)
async def test_private_and_loopback_targets_are_refused_in_every_notation(address: str, get: Getting) -> None:
    with pytest.raises(SiteProblem, match="private, local or reserved network"):
        await get(address)


async def test_another_port_or_name_of_an_allowed_host_is_refused(world: SiteWorld, get: Getting) -> None:
    place = world.add({"/": TEXT})
    assert (await get(place)).status == 200
    with pytest.raises(SiteProblem, match="private"):
        await get(f"http://{place.host}:{place.port + 1}/")
    with pytest.raises(SiteProblem, match="private"):
        await get(place, sites_allowed_hosts=("localhost",))
    assert (await get(place, sites_allowed_hosts=(place.host,))).status == 200


async def test_a_redirect_to_a_private_address_is_not_followed(world: SiteWorld, get: Getting) -> None:
    secret = world.add({"/": TEXT})
    place = world.add({"/": answers.redirect(secret.url("/")), "/file": answers.redirect("file:///etc/passwd")})
    with pytest.raises(SiteProblem, match="private"):
        await get(place, sites_allowed_hosts=(place.allowed,))
    assert world.targets(secret) == []
    with pytest.raises(SiteProblem, match="no web page"):
        await get(place, "/file")


async def test_the_address_that_was_checked_is_the_one_connected_to(
    world: SiteWorld, get: Getting, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A name that changes its meaning between two questions is asked about once per hop."""
    place = world.add({"/": answers.redirect("/b"), "/b": TEXT}, host="turning.example")
    asked: list[str] = []

    async def answer(host: str | bytes, *_values: object, **_options: object) -> list[Any]:
        asked.append(host if isinstance(host, str) else host.decode())
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", ("127.0.0.77", 0))]

    monkeypatch.setattr(asyncio.get_running_loop(), "getaddrinfo", answer)
    fetched = await get(place, sites_allowed_hosts=("turning.example",))
    assert fetched.final_url == place.url("/b")
    assert asked.count("turning.example") == 2
    with pytest.raises(SiteProblem, match=r"127\.0\.0\.77 is an address of a private"):
        await get(place, sites_allowed_hosts=())


async def test_one_private_address_among_several_refuses_the_name(
    get: Getting, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def answer(*_values: object, **_options: object) -> list[Any]:
        return [(2, 1, 6, "", ("93.184.216.34", 0)), (2, 1, 6, "", ("10.0.0.1", 0))]

    monkeypatch.setattr(asyncio.get_running_loop(), "getaddrinfo", answer)
    with pytest.raises(SiteProblem, match=r"10\.0\.0\.1"):
        await get("http://two.example/")


@pytest.mark.parametrize(
    ("number", "kind", "sentence"),
    [
        (socket.EAI_NONAME, SiteProblem, "There is no host called nowhere.example"),
        (socket.EAI_AGAIN, SiteBusy, "cannot be looked up just now"),
    ],
)
async def test_an_unknown_host_is_a_problem_and_a_silent_resolver_is_not(
    number: int, kind: type[Exception], sentence: str, get: Getting, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def answer(*_values: object, **_options: object) -> list[Any]:
        raise socket.gaierror(number, "so it is")

    monkeypatch.setattr(asyncio.get_running_loop(), "getaddrinfo", answer)
    with pytest.raises(kind, match=sentence):
        await get("https://nowhere.example/")


@pytest.mark.parametrize(("host", "place"), [("127.0.0.1", "127.0.0.1:8399"), ("::1", "[::1]:8399")])
async def test_a_refusal_says_that_the_workers_have_to_be_started_with_the_setting(host: str, place: str) -> None:
    with pytest.raises(SiteProblem) as refused:
        await addresses(host, 8399, ())
    said = str(refused.value)
    assert f"PENSTOCK_SITES_ALLOWED_HOSTS={place} in their environment" in said
    assert "stop the workers" in said and "start them again" in said
    assert await addresses(host, 8399, (place,)) == [host]
