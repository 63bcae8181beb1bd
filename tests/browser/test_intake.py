"""From a file on somebody's desk to a list of products whose values say where they came from."""

import base64
import io
import re
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import FilePayload, Page, Route, expect

from penstock.extensions.catalogue.understood import check_digit
from tests.browser.looking import Looker
from tests.browser.world import World

pytestmark = pytest.mark.timeout(240)

XSS = "<img src=x onerror=alert(1)>"
SCRIPT = '"><script>alert(2)</script>'
_DIGITS = "0211871900001"
GTIN = f"{_DIGITS}{check_digit(_DIGITS)}"
PRODUCTS = (
    "title,brand,sku,gtin,price,currency,retailer,url\n"
    f"Alder Desk Lamp 5 W,Alder,AL-5,{GTIN},19.90,EUR,Hafenmarkt,https://shop.example/lamp\n"
    f"Birch Kettle {XSS},Birch,BI-7,,29.90,EUR,Hafenmarkt,javascript:alert(3)\n"
)
# A hit, a bad number, a ragged row, markup, an empty one, and one that nobody knows.
LIST = (
    f"Name,Brand,Article no,EAN,{SCRIPT.replace(',', ' ').replace(chr(34), '')}\n"
    f"Alder Desk Lamp 5 W,Alder,AL-5,{GTIN},1\n"
    "Birch Kettle,Birch,BI-7,123,2\n"
    "Ragged row,Cedar\n"
    f"{XSS},Dune,,,\n"
    ",,,,5\n"
)


@pytest.fixture(scope="module")
def watched(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder that may be watched."""
    return tmp_path_factory.mktemp("watched")


@pytest.fixture(scope="module")
def world(module_database_url: str, watched: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    """Some products are known; what is not found is not looked up again."""
    made = World(module_database_url, tmp_path_factory.mktemp("up"))
    try:
        made.start(file_roots=str(watched), max_attempts_not_found="1")
        path = tmp_path_factory.mktemp("products") / "products.csv"
        path.write_text(PRODUCTS, "utf-8")
        made.command("catalogue", "products", "import", str(path))
        yield made
    finally:
        made.close()


@pytest.fixture
def alerts(looker: Looker) -> Iterator[list[str]]:
    """What a page that ran stored markup would say."""
    heard: list[str] = []
    yield heard
    assert heard == []


def drop(page: Page, target: str, name: str, data: bytes) -> None:
    """As somebody drops a file from their desktop."""
    page.evaluate(
        """([target, name, data]) => {
             const held = new DataTransfer();
             held.items.add(new File([Uint8Array.from(atob(data), (one) => one.charCodeAt(0))], name));
             const fire = (type) => document.querySelector(target).dispatchEvent(
               new DragEvent(type, { dataTransfer: held, bubbles: true, cancelable: true }));
             fire("dragenter"); fire("dragover"); fire("drop");
           }""",
        [target, name, base64.b64encode(data).decode()],
    )


def choose(page: Page, name: str, data: bytes, mime: str = "text/csv") -> None:
    page.locator("input[type=file]").set_input_files({"name": name, "mimeType": mime, "buffer": data})


def no_sideways_scroll(page: Page) -> None:
    wide, seen = page.evaluate("[document.documentElement.scrollWidth, document.documentElement.clientWidth]")
    assert wide <= seen, f"{page.url} is {wide} px wide at {seen}"


def ended(world: World, job_id: int) -> Any:
    """The job when nothing of it waits any more: each slice of work ends when there is nothing left to do."""
    body: Any = None
    for _ in range(100):
        world.api("ann").post(f"/api/jobs/{job_id}/kickoff")
        body = world.api("ann").get(f"/api/jobs/{job_id}").json()
        if body["queueState"] in ("DONE", "FAILED"):
            return body
    raise AssertionError(body)


def job_of(page: Page) -> int:
    page.wait_for_url(re.compile(r"/jobs/\d+"))
    found = re.search(r"/jobs/(\d+)", page.url)
    assert found
    return int(found[1])


def test_a_list_goes_from_the_desk_through_preview_and_upload_to_where_each_value_came_from(
    looker: Looker, world: World, alerts: list[str]
) -> None:
    page = looker.page("ann", "/catalogues")
    page.on("dialog", lambda dialog: alerts.append(dialog.message))
    expect(page.locator("[data-empty=nothing]")).to_be_visible()
    drop(page, "h1", "list.csv", LIST.encode())
    expect(page).to_have_url(re.compile("/upload"))
    # The look at it.
    expect(page.get_by_role("heading", name="list.csv")).to_be_visible()
    problems = page.get_by_role("list", name="Problems")
    expect(problems).to_contain_text("Row 2, EAN")
    expect(problems).to_contain_text("Row 3: it has 2 cells")
    expect(problems).to_contain_text("would be skipped")
    preview = page.get_by_role("region", name="Preview of the rows")
    expect(preview.get_by_text(XSS)).to_be_visible()
    expect(page.get_by_label("What EAN is")).to_have_value("gtin")
    expect(page.get_by_label("Pipeline", exact=True)).to_have_value("catalogue")
    assert looker.axe(page) == []
    # What is changed is looked at again, and stands in the address where it is about reading.
    page.get_by_label("What EAN is").select_option("")
    expect(problems).not_to_contain_text("Row 2, EAN")
    page.get_by_label("What EAN is").select_option("gtin")
    expect(problems).to_contain_text("Row 2, EAN")
    page.get_by_label("First row").select_option("no")
    expect(page).to_have_url(re.compile("header=no"))
    expect(preview.get_by_role("columnheader", name="Column 1")).to_be_visible()
    page.get_by_label("First row").select_option("")
    expect(preview.get_by_role("columnheader", name="Article no")).to_be_visible()
    page.get_by_label("Name of the job").fill(f"Autumn {XSS}")
    page.get_by_role("button", name="Upload 5 rows").click()
    job_id = job_of(page)
    # The rows are there, and the end is told by the service.
    body = ended(world, job_id)
    assert body["totalItems"] == 5
    assert body["counts"]["done"] >= 1 and body["counts"]["notFound"] >= 1 and body["counts"]["skipped"] == 1
    looker.go(page, "/catalogues")
    row = page.get_by_role("row").filter(has_text=f"Autumn {XSS}")
    expect(row).to_contain_text("local")
    assert looker.axe(page) == []
    row.get_by_role("link").first.click()
    expect(page.get_by_role("heading", level=1)).to_have_text(f"Autumn {XSS}")
    grid = page.get_by_role("grid", name="Products")
    expect(grid.get_by_text("Alder Desk Lamp 5 W").first).to_be_visible()
    assert looker.axe(page) == []
    # By keyboard: the first product, its values and who gave them.
    grid.get_by_role("row").nth(1).focus()
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile(r"item=\d+"))
    drawer = page.get_by_role("dialog")
    expect(drawer.get_by_role("link", name="https://shop.example/lamp")).to_be_visible()
    expect(drawer.get_by_text("local").first).to_be_visible()
    expect(drawer.get_by_text(f"local: gtin {GTIN}")).to_be_visible()
    assert looker.axe(page) == []
    page.keyboard.press("Escape")
    expect(drawer).to_be_hidden()
    # Markup of a provider is text, and its address is no link.
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    expect(drawer.get_by_text("javascript:alert(3)")).to_be_visible()
    assert drawer.locator("a[href^=javascript]").count() == 0
    page.keyboard.press("Escape")
    # What was not found, by a filter that stands in the address.
    page.get_by_role("group", name="Only those that are").get_by_text("Not found").click()
    expect(page).to_have_url(re.compile("NOT_FOUND"))
    expect(grid.get_by_text("Alder Desk Lamp 5 W")).to_have_count(0)
    page.reload()
    expect(grid.locator("[data-state=NOT_FOUND]").first).to_be_visible()
    page.get_by_role("button", name="Export").click()
    with page.expect_download() as saved:
        page.get_by_role("dialog", name="Export").get_by_role("button", name="Download").click()
    text = Path(saved.value.path()).read_text("utf-8")
    assert text == world.api("ann").post(f"/api/jobs/{job_id}/export").text
    assert "Ragged row,Cedar" in text and "NOT_FOUND" in text


def test_every_screen_of_the_intake_reads_well_in_the_dark_and_on_a_phone(looker: Looker, world: World) -> None:
    sent = world.api("ann").post(
        "/api/jobs", files={"file": ("list.csv", LIST.encode())}, data={"pipeline": "catalogue"}
    )
    job_id = sent.json()["jobId"]
    ended(world, job_id)
    (item, *_) = world.api("ann").get(f"/api/jobs/{job_id}/items", params={"sort": "row"}).json()["items"]
    page = looker.page("ann", "/upload")
    expect(page.get_by_role("heading", name="Recent uploads")).to_be_visible()
    expect(page.get_by_role("link", name="list.csv").first).to_be_visible()
    reads_well(looker, page)
    choose(page, "list.csv", LIST.encode())
    expect(page.get_by_role("region", name="Preview of the rows")).to_be_visible()
    reads_well(looker, page)
    another = looker.page("ann", "/upload?tab=places")
    for path in (
        "/upload?tab=places",
        "/catalogues",
        "/catalogues?tab=providers",
        f"/catalogues/{job_id}",
        f"/catalogues/{job_id}?item={item['itemId']}",
    ):
        looker.go(another, path)
        expect(another.get_by_label("Loading")).to_have_count(0)
        reads_well(looker, another)


def reads_well(looker: Looker, page: Page) -> None:
    for look in looker.looks(page):
        assert looker.axe(page) == [], (page.url, look)
        no_sideways_scroll(page)


def test_a_file_that_cannot_be_taken_says_why_and_is_not_sent(looker: Looker) -> None:
    page = looker.page("ann", "/upload")
    choose(page, "twice.csv", b"title,title\nLamp,x\n")
    expect(page.get_by_role("alert")).to_contain_text("both called")
    button = page.get_by_role("button", name=re.compile("^Upload"))
    expect(button).to_have_attribute("aria-disabled", "true")
    button.hover()
    expect(page.get_by_role("tooltip")).to_contain_text("both called")
    page.get_by_role("button", name="Another file").click()
    choose(page, "open.csv", b'title,ean\nLamp,"1\n')
    expect(page.get_by_role("alert")).to_contain_text("A quoted cell is not closed")
    expect(page.get_by_label("What ean is")).to_have_value("gtin")
    page.get_by_role("button", name="Another file").click()
    choose(page, "paper.pdf", b"%PDF-1.7", "application/pdf")
    expect(page.get_by_role("alert")).to_contain_text("is a PDF")
    page.get_by_role("button", name="Another file").click()
    expect(page.get_by_role("heading", name="Drop a file here")).to_be_visible()


def test_a_lost_connection_is_told_and_the_same_file_sent_again_is_the_same_job(looker: Looker, world: World) -> None:
    looker.expected.append("ERR_CONNECTION_RESET")
    page = looker.page("ann", "/upload")
    keys: list[str] = []

    def lose(route: Route) -> None:
        keys.append(route.request.headers["idempotency-key"])
        if len(keys) == 1:
            # It arrives, and the answer does not come back.
            route.fetch()
            route.abort("connectionreset")
        else:
            route.continue_()

    page.route("**/api/jobs", lambda route: lose(route) if route.request.method == "POST" else route.continue_())
    choose(page, "again.csv", b"title\nLamp\n")
    before = len(world.api("ann").get("/api/jobs").json()["items"])
    page.get_by_role("button", name="Upload 1 row").click()
    expect(page.get_by_role("alert")).to_contain_text("The connection was lost")
    page.get_by_role("button", name="Send again").click()
    job_of(page)
    assert len(keys) == 2 and keys[0] == keys[1]
    assert len(world.api("ann").get("/api/jobs").json()["items"]) == before + 1


def test_an_upload_shows_how_far_it_is_and_can_be_cancelled(looker: Looker, world: World) -> None:
    page = looker.page("ann", "/upload")
    held: list[Route] = []
    page.route("**/api/jobs", lambda route: held.append(route) if route.request.method == "POST" else route.continue_())
    before = len(world.api("ann").get("/api/jobs").json()["items"])
    choose(page, "slow.csv", b"title\nLamp\n")
    page.get_by_role("button", name="Upload 1 row").click()
    expect(page.get_by_role("heading", name="Uploading slow.csv")).to_be_visible()
    expect(page.get_by_role("progressbar", name="Uploading slow.csv")).to_be_attached()
    page.get_by_role("button", name="Cancel").click()
    expect(page.get_by_role("heading", name="slow.csv")).to_be_visible()
    assert len(world.api("ann").get("/api/jobs").json()["items"]) == before
    page.unroute_all()
    refusal = {"title": "Too large", "status": 413, "detail": "The request is larger than 5 bytes."}

    def refuse(route: Route) -> None:
        if route.request.method == "POST":
            route.fulfill(status=413, json=refusal)
        else:
            route.continue_()

    page.route("**/api/jobs", refuse)
    looker.expected.append("413")
    page.get_by_role("button", name="Upload 1 row").click()
    expect(page.get_by_role("alert")).to_contain_text("The file is too large")
    expect(page.get_by_role("alert")).to_contain_text("5 bytes")
    page.get_by_role("button", name="Back to the file").click()
    expect(page.get_by_role("region", name="Preview of the rows")).to_be_visible()


def test_images_and_zips_of_them_are_taken_and_pasted_cells_are_a_table(looker: Looker) -> None:
    page = looker.page("ann", "/upload")
    dot = base64.b64decode(
        "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
    )
    files = [FilePayload(name=f"{number}.png", mimeType="image/png", buffer=dot) for number in range(3)]
    page.locator("input[type=file]").set_input_files(files)
    expect(page.get_by_role("figure")).to_have_count(3)
    expect(page.get_by_role("button", name="Upload 3 images")).to_be_visible()
    page.get_by_role("button", name="Another file").click()
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w") as archive:
        archive.writestr("one.png", dot)
        archive.writestr(f"{XSS}.txt", "no image")
    choose(page, "photos.zip", held.getvalue(), "application/zip")
    expect(page.get_by_role("list", name="Entries of the archive")).to_contain_text("one.png")
    expect(page.get_by_role("list", name="Problems")).to_contain_text("is left out")
    assert looker.axe(page) == []
    page.get_by_role("button", name="Another file").click()
    page.evaluate(
        """() => { const held = new DataTransfer(); held.setData("text/plain", "title\\tsku\\nLamp\\tA-1\\n");
             document.body.dispatchEvent(new ClipboardEvent("paste", { clipboardData: held, bubbles: true })); }"""
    )
    expect(page.get_by_role("heading", name="pasted.csv")).to_be_visible()
    expect(page.get_by_label("Cells end with")).to_contain_text("Found: Tab")
    page.get_by_role("button", name="Upload 1 row").click()
    job_of(page)


def test_a_watched_place_is_added_tested_scanned_and_forgotten(
    looker: Looker, world: World, watched: Path, tmp_path: Path
) -> None:
    page = looker.page("root", "/upload?tab=places")
    expect(page.locator("[data-empty=nothing]")).to_be_visible()
    page.get_by_role("button", name="Watch a place").click()
    dialog = page.get_by_role("dialog")
    assert looker.axe(page) == []
    dialog.get_by_label("Name", exact=False).first.fill("incoming")
    dialog.get_by_label("Names of files").fill(f"{XSS}")
    dialog.get_by_label("Folder").fill(str(tmp_path / "outside"))
    looker.expected.append("400")
    dialog.get_by_role("button", name="Watch it").click()
    expect(dialog.get_by_role("alert")).to_be_visible()
    (watched / "new.csv").write_text("title\nAlder Desk Lamp 5 W\n", "utf-8")
    dialog.get_by_label("Folder").fill(str(watched))
    dialog.get_by_label("Names of files").fill("*.csv")
    dialog.get_by_label("Seconds without a change").fill("0")
    dialog.get_by_role("button", name="Watch it").click()
    row = page.get_by_role("row").filter(has_text="incoming")
    expect(row).to_contain_text("not yet")
    row.get_by_role("button", name="Test").click()
    expect(row.get_by_role("status")).to_contain_text("1 file seen")
    row.get_by_role("button", name="Scan now").click()
    expect(page.get_by_role("dialog")).to_contain_text("1 new file would be taken")
    page.get_by_role("dialog").get_by_role("button", name="Scan now").click()
    expect(page.get_by_role("dialog")).to_have_count(0)
    row.get_by_role("link").first.click()
    drawer = page.get_by_role("dialog")
    expect(drawer.get_by_text("new.csv")).to_be_visible()
    # A file has to stay the same for a moment; when a later scan takes it, the open drawer says so.
    files = "/api/ingestion/sources/incoming/files"
    for _ in range(500):
        if world.api("root").get(files, params={"state": "submitted"}).json()["items"]:
            break
        world.api("root").post("/api/ingestion/scan", json={"source": "incoming"})
    expect(drawer.get_by_role("link", name=re.compile(r"Job \d+"))).to_be_visible()
    assert looker.axe(page) == []
    drawer.get_by_label("Which files").select_option("refused")
    expect(page).to_have_url(re.compile("files=refused"))
    expect(drawer.locator("[data-empty=filtered]")).to_be_visible()
    drawer.get_by_role("button", name="Close").click()
    row.get_by_role("button", name="Forget").click()
    page.get_by_role("dialog").get_by_role("button", name="Forget the place").click()
    expect(page.locator("[data-empty=nothing]")).to_be_visible()


def test_a_viewer_sees_why_nothing_may_be_sent(looker: Looker) -> None:
    page = looker.page("eve", "/upload")
    button = page.get_by_role("button", name="Choose a file")
    expect(button).to_have_attribute("aria-disabled", "true")
    button.focus()
    expect(page.get_by_role("tooltip")).to_contain_text("needs the role operator")
    expect(page.get_by_text("an admin can give you the role operator")).to_be_visible()
    expect(page.get_by_text(re.compile("Drop a file|What you upload"))).to_have_count(0)
    page.get_by_role("tab", name="Watched places").click()
    watch = page.get_by_role("button", name="Watch a place")
    expect(watch).to_have_attribute("aria-disabled", "true")
    watch.click(force=True)
    expect(page.get_by_role("dialog")).to_have_count(0)


def test_lists_that_come_meanwhile_wait_in_a_pill(looker: Looker, world: World) -> None:
    def sent(name: str) -> None:
        fields = {"pipeline": "catalogue", "name": name}
        answer = world.api("bob").post("/api/jobs", files={"file": (f"{name}.csv", b"title\nLamp\n")}, data=fields)
        assert answer.status_code < 300, answer.text

    sent("first list")
    page = looker.page("bob", "/catalogues")
    expect(page.get_by_role("link", name="first list")).to_be_visible()
    sent("second list")
    pill = page.locator("[data-pill=new]")
    expect(pill).to_have_text("1 new")
    expect(page.get_by_role("link", name="second list")).to_have_count(0)
    pill.click()
    expect(page.get_by_role("link", name="second list")).to_be_visible()


def test_providers_say_their_order_and_what_is_missing(looker: Looker) -> None:
    page = looker.page("ann", "/catalogues?tab=providers")
    expect(page.get_by_role("region", name="local")).to_contain_text("Ready")
    http = page.get_by_role("region", name="http")
    expect(http).to_contain_text("Not set up")
    expect(http).to_contain_text("PENSTOCK_CATALOGUE_HTTP_URL")
    assert looker.axe(page) == []


def test_the_order_of_the_providers_is_chosen_with_the_upload(looker: Looker) -> None:
    page = looker.page("ann", "/upload")

    def two(route: Route) -> None:
        answer = route.fetch()
        body = answer.json()
        for one in body["items"]:
            for option in one["options"]:
                option["choices"], option["default"] = ["local", "http"], ["local", "http"]
        route.fulfill(response=answer, json=body)

    page.route("**/api/pipelines", two)
    choose(page, "list.csv", b"title\nLamp\n")
    order = page.get_by_role("group", name="Providers")
    order.get_by_role("button", name="Ask http earlier").press("Enter")
    expect(order.get_by_role("checkbox").first).to_have_accessible_name("http")
    with page.expect_request(lambda asked: asked.method == "POST" and asked.url.endswith("/api/jobs")) as sent:
        page.get_by_role("button", name="Upload 1 row").click()
    assert '{"providers":["http","local"]}' in (sent.value.post_data or "")
    job_of(page)
