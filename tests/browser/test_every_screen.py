"""Every screen, with the demonstration in it and with stored text that would like to be a program.

Each address is opened on a desk, on a telephone, and as people of every role, and held to the same rules.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest
from playwright.sync_api import Dialog, Page, Response, expect

from tests.browser.looking import Looker
from tests.browser.world import World
from tests.cli.conftest import ROOT
from tests.sizes import LONG

pytestmark = pytest.mark.timeout(900)

IMAGE = "<img src=x onerror=alert(1)>"
SCRIPT = '"><script>alert(1)</script>'
LINK = "javascript:alert(1)"
MOST_SCRIPT_BYTES = 300 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Places:
    """One of everything that has an address of its own."""

    job: int
    item: int
    project: int
    analysis: int
    site: int
    article: str
    catalogue: int


# Every path of the route table, as an address with something behind it.
ADDRESSES: dict[str, Callable[[Places], list[str]]] = {
    "/": lambda it: ["/"],
    "/upload": lambda it: ["/upload", "/upload?tab=places"],
    "/jobs": lambda it: ["/jobs", "/jobs?q=nothing-like-it"],
    "/jobs/$jobId": lambda it: [
        f"/jobs/{it.job}",
        f"/jobs/{it.job}?tab=pending",
        f"/jobs/{it.job}?tab=timeline",
        f"/jobs/{it.job}?tab=settings",
        f"/jobs/{it.job}?item={it.item}",
    ],
    "/pending": lambda it: ["/pending"],
    "/items/$itemId": lambda it: [f"/items/{it.item}"],
    "/catalogues": lambda it: ["/catalogues", "/catalogues?tab=providers"],
    "/catalogues/$jobId": lambda it: [f"/catalogues/{it.catalogue}", f"/catalogues/{it.catalogue}?item={it.item}"],
    "/sites": lambda it: ["/sites"],
    "/sites/$jobId": lambda it: [f"/sites/{it.analysis}"],
    "/sites/$jobId/$siteId": lambda it: [
        f"/sites/{it.analysis}/{it.site}{tab}"
        for tab in ("", "?tab=prompts", "?tab=answers", "?tab=scores", "?tab=report")
    ],
    "/linking": lambda it: ["/linking"],
    "/linking/new": lambda it: ["/linking/new"],
    "/linking/$projectId": lambda it: [f"/linking/{it.project}{tab}" for tab in ("", "?tab=scores", "?tab=setup")],
    "/linking/$projectId/review": lambda it: [f"/linking/{it.project}/review"],
    "/articles": lambda it: ["/articles", "/articles?add=true"],
    "/articles/new": lambda it: ["/articles/new"],
    "/articles/$slug": lambda it: [
        f"/articles/{it.article}",
        f"/articles/{it.article}?tab=revisions",
        f"/articles/{it.article}?tab=similar",
    ],
    "/search": lambda it: ["/search", "/search?q=something%20that%20drips"],
    "/index": lambda it: [f"/index{tab}" for tab in ("", "?tab=tasks", "?tab=queries", "?open=reindex", "?open=build")],
    "/errors": lambda it: ["/errors"],
    "/dead-letters": lambda it: ["/dead-letters", "/dead-letters?tab=messages"],
    "/stages": lambda it: ["/stages"],
    "/stages/$pipeline/$stage": lambda it: ["/stages/catalogue/enrich"],
    "/workers": lambda it: ["/workers"],
    "/limits": lambda it: ["/limits"],
    "/schedules": lambda it: ["/schedules"],
    "/audit": lambda it: ["/audit"],
    "/settings": lambda it: [
        f"/settings{tab}" for tab in ("", "?tab=tokens", "?tab=users", "?tab=retention", "?tab=features")
    ],
}


@pytest.fixture(scope="module")
def places(world: World) -> Places:
    """The demonstration, and beside it the same kinds of things with texts that a page must not run."""
    told = world.command("demo", "--size", "200", "--seconds", "0", seconds=240)
    admin = world.api("admin")
    number = {
        name: int(re.search(r"(?:job|project|analysis) (\d+)", told[name])[1])
        for name in ("catalogue", "linking", "sites")
    }  # type: ignore[index]
    sites = admin.get(f"/api/analyses/{number['sites']}/sites").json()["items"]
    return Places(
        job=poisoned(world),
        item=world.sql("select id from penstock.tasks where job_id = $1 order by id limit 1", number["catalogue"])[0][
            "id"
        ],
        project=number["linking"],
        analysis=number["sites"],
        site=sites[0]["siteId"],
        article=admin.post("/api/articles", json=article()).json()["slug"],
        catalogue=number["catalogue"],
    )


def article() -> dict[str, str]:
    content = f"# {IMAGE}\n\n{SCRIPT}\n\n[a link]({LINK}) and ![a picture]({LINK})\n\n<b onclick=alert(1)>bold</b>"
    return {"title": f"About {IMAGE}{SCRIPT}", "content": content, "message": SCRIPT}


def poisoned(world: World) -> int:
    """Whatever may hold words that people choose, through the API that takes them."""
    admin = world.api("admin")
    cells = SCRIPT.replace('"', '""')
    table = f'"{IMAGE}",Product name,url\n{LINK},"{cells}",{LINK}\n'.encode()
    key = f"limit {IMAGE}"
    form = {"pipeline": "catalogue", "name": f"job {IMAGE}{SCRIPT}"}
    project = {"name": f"project {IMAGE}", "rows": [{"name": f"{IMAGE}{SCRIPT}"}], "source": "sample"}
    order = {"pipeline": "import_order", "name": IMAGE, "items": [{"line": f"{IMAGE}{SCRIPT}"}]}
    answers = [
        admin.post("/api/jobs", files={"file": (f"a{IMAGE}.csv", table, "text/csv")}, data=form),
        admin.post("/api/jobs", json=order),
        admin.post("/api/stages/build_report/build_report/pause", json={"reason": f"{IMAGE}{SCRIPT}"}),
        admin.put("/api/limits", json={"key": key, "rate": 2, "burst": 1}),
        admin.post("/api/limits/block", json={"key": key, "seconds": 3600, "reason": f"{IMAGE}{SCRIPT}"}),
        admin.post("/api/projects", json=project),
        admin.post("/api/article-index/queries", json={"query": f"{IMAGE}{SCRIPT}"}),
    ]
    with world.signed_in("admin") as browser:
        answers.append(browser.post("/api/me/tokens", json={"name": f"{IMAGE}{SCRIPT}"}))
    assert [one.text for one in answers if one.status_code >= 300] == []
    job: int = answers[0].json()["jobId"]
    return job


def test_every_path_of_the_route_table_is_looked_at() -> None:
    routes = ROOT.glob("ui/src/screens/*/routes.tsx")
    paths = {path for file in routes for path in re.findall(r'path: "([^"]+)"', file.read_text())}
    assert paths == set(ADDRESSES)


def test_every_screen_can_be_used_by_everybody_and_runs_nothing_stored(looker: Looker, places: Places) -> None:
    page = looker.page("admin", "/")
    dialogs: list[Dialog] = []
    page.on("dialog", lambda dialog: (dialogs.append(dialog), dialog.dismiss()))
    found: list[str] = []
    for address in addresses(places):
        looker.go(page, address)
        shown(page)
        # The tests of each area hold these screens to axe's rules, in the dark as well; nothing else is about colours.
        for look in looker.looks(page, stay=True, dark=LONG):
            said = looker.axe(page) if LONG else []
            found += [f"{address} {look}: {one}" for one in (*said, *faults(page))]
    assert not found, "\n".join(found)
    assert dialogs == []


@pytest.mark.parametrize("who", ["ann", "eve"])
def test_every_screen_says_something_to_people_of_every_role(looker: Looker, places: Places, who: str) -> None:
    looker.expected.append(r"status of 40[34]")
    page = looker.page(who)
    found: list[str] = []
    first = first_of_each(places)
    for address in addresses(places):
        if LONG or (who == "ann" and address in first):
            page.goto(address)
        else:
            looker.go(page, address)
        shown(page)
        found += [f"{address} for {who}: {one}" for one in faults(page)]
    assert not found, "\n".join(found)


def test_the_first_load_is_small_and_under_a_strict_policy(looker: Looker, places: Places) -> None:
    page = looker.page("admin", "/jobs")
    sizes: dict[str, int] = {}
    policies: list[str] = []

    def answered(response: Response) -> None:
        if response.request.resource_type == "script":
            sizes[response.url] = int(response.headers.get("content-length", "0"))
        if response.request.resource_type == "document":
            policies.append(response.headers["content-security-policy"])

    page.on("response", answered)
    for address in ("/", "/upload", f"/jobs/{places.job}", f"/linking/{places.project}/review", "/search", "/settings"):
        sizes.clear()
        page.goto(address)
        shown(page)
        print(f"{address}: {sum(sizes.values()) / 1024:.0f} KB of script in {len(sizes)} files")
        assert 0 < sum(sizes.values()) <= MOST_SCRIPT_BYTES, (address, sizes)
    assert policies
    for policy in policies:
        assert "default-src 'none'" in policy
        assert "script-src 'self'" in policy
        assert "unsafe" not in policy


def addresses(places: Places) -> list[str]:
    return [address for made in ADDRESSES.values() for address in made(places)]


def first_of_each(places: Places) -> set[str]:
    """One address of every path: what else the path shows is told by the query."""
    return {made(places)[0] for made in ADDRESSES.values()}


def shown(page: Page) -> None:
    expect(page.locator("h1")).to_be_visible()
    expect(page.locator("main [aria-busy=true]")).to_have_count(0)


# All at once: a walk asks it two hundred times.
_LOOKED_AT = """() => {
  const { scrollWidth, clientWidth } = document.documentElement;
  const made = "img[src='x'], main script, [onerror], [onclick], a[href^='javascript:' i]";
  return {
    title: document.title,
    headings: document.querySelectorAll("h1").length,
    wider: scrollWidth - clientWidth,
    made: document.querySelectorAll(made).length,
    text: document.querySelector("main").innerText,
  };
}"""


def faults(page: Page) -> list[str]:
    seen: dict[str, Any] = page.evaluate(_LOOKED_AT)
    found = []
    if not re.search(r"\S · Penstock$", seen["title"]):
        found.append(f"its title is {seen['title']!r}")
    if seen["headings"] != 1:
        found.append("it has not one h1")
    if seen["wider"] > 0:
        found.append(f"it is {seen['wider']} px wider than the window")
    if seen["made"]:
        found.append("stored text has become a part of the page")
    if "Not built yet" in seen["text"]:
        found.append("it is not built")
    return found
