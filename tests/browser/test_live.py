"""The live connection: one per browser, across restarts of the service, without losing or doubling an event."""

import signal
import socket
import struct
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import Any

import httpx2
import orjson
import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser import grid_world
from tests.browser.looking import GONE, SECONDS, Looker
from tests.browser.world import World
from tests.sizes import size

pytestmark = pytest.mark.timeout(300)

TABS = 8
# The one that listens, and two that it tells.
RESTARTED_TABS = size("TABS", small=3, whole=TABS)
STAGE = "send_receipt/send_receipt"
ROWS = 12
CHANGES_PER_SECOND = 50
MATCHED = "[data-column='out:Matched title']"
HOW = pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGKILL], ids=["stopped", "killed"])
_LAST = """select task_id, result->'columns'->>'Matched title' as title from penstock.outcomes where job_id = $1"""
# What a tab is told by the one that listens, or tells itself: with its id, which names the process it came from.
RECORD = """() => {
  window.told = [];
  new BroadcastChannel("penstock-live").onmessage = (message) => {
    if (message.data.told) window.told.push([message.data.told.id, message.data.told.event.kind]);
  };
}"""


class Listener:
    """Hears the stream as a script would, comes back by itself with the last id, and writes down what it heard."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._over = threading.Event()
        self._client = httpx2.Client(
            base_url=world.address,
            headers=dict(world.api("ann").headers),
            timeout=httpx2.Timeout(5, read=30),
            verify=False,
        )
        self.heard: list[tuple[str, str, dict[str, Any]]] = []
        self._thread = threading.Thread(target=self._run, daemon=True)

    @contextmanager
    def listening(self) -> Iterator["Listener"]:
        self._thread.start()
        try:
            yield self
        finally:
            self._over.set()
            self._client.close()

    def _run(self) -> None:
        last: str | None = None
        while not self._over.is_set():
            try:
                headers = {} if last is None else {"Last-Event-ID": last}
                with self._client.stream("GET", "/api/stream", headers=headers) as answer:
                    event: dict[str, str] = {}
                    for line in answer.iter_lines():
                        if line:
                            name, _, value = line.partition(": ")
                            event[name] = value
                        elif "event" in event:
                            last = event["id"]
                            self.heard.append((last, event["event"], orjson.loads(event["data"])))
                            event = {}
            except (httpx2.HTTPError, RuntimeError, OSError):
                self._over.wait(0.05)

    def until(self, kind: str, after: int = 0, **data: Any) -> int:
        """The place behind the first one that fits."""
        deadline = time.monotonic() + SECONDS / 1000
        while time.monotonic() < deadline:
            for place, (_, heard, body) in enumerate(self.heard[after:], after + 1):
                if heard == kind and data.items() <= body.items():
                    return place
            self._over.wait(0.02)
        raise AssertionError(f"no {kind} {data} among {self.heard[after:]}")


def _doubled(told: list[tuple[str, str]]) -> list[str]:
    """Numbered events that came twice. What only says how the connection is has the number of the event before it."""
    counts = Counter(number for number, kind in told if kind in ("job", "stage", "object"))
    return [number for number, count in counts.items() if count > 1]


def _numbers(told: list[tuple[str, str]]) -> dict[str, list[int]]:
    """By process, in the order they came."""
    found: dict[str, list[int]] = {}
    for number, kind in told:
        if kind in ("job", "stage", "object"):
            process, _, count = number.rpartition("-")
            found.setdefault(process, []).append(int(count))
    return found


def _paused(page: Page) -> Any:
    return page.locator(f"[data-stage='{STAGE}'] [data-state=PAUSED]")


def test_eight_tabs_share_one_connection(looker: Looker, world: World) -> None:
    pages = [looker.page("ann", "/stages") for _ in range(TABS)]
    for page in pages:
        expect(page.locator("[data-live=live]")).to_be_visible()
    open_streams = [
        line
        for line in httpx2.get(f"{world.address}/metrics", verify=False).text.splitlines()
        if "penstock_streams " in line
    ]
    assert [float(line.split()[-1]) for line in open_streams if not line.startswith("#")] == [1.0]
    # The next one takes over when the tab that listens is closed.
    pages[0].close()
    assert world.api("bob").post(f"/api/stages/{STAGE}/pause").status_code == 200
    for page in pages[1:]:
        expect(_paused(page)).to_be_visible()
    assert world.api("bob").post(f"/api/stages/{STAGE}/resume").status_code == 200
    for page in pages[1:]:
        expect(_paused(page)).to_have_count(0)


# What a server that goes away does to a connection: before the request, after it, within the answer.
_HEAD = b"HTTP/1.1 200 OK\r\nAccess-Control-Allow-Origin: *\r\n"
WAYS: dict[str, tuple[bool, bytes, bool]] = {
    # name: (reads the request, sends this, resets instead of closing)
    "closed before the request": (False, b"", False),
    "reset before the request": (False, b"", True),
    "closed before the answer": (True, b"", False),
    "reset before the answer": (True, b"", True),
    "closed within the answer": (True, _HEAD + b"Content-Length: 9\r\n\r\nhalf", False),
    "closed between two chunks": (True, _HEAD + b"Transfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\n", False),
}


def _go_away(listening: socket.socket, reads: bool, sends: bytes, resets: bool) -> None:
    with listening, listening.accept()[0] as connection:
        if reads:
            connection.recv(65536)
        connection.sendall(sends)
        if resets:
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


@pytest.mark.usefixtures("world")  # before the browser, in whose thread it could not be made
def test_the_console_names_a_server_that_goes_away_in_a_known_way(browser: Browser) -> None:
    page = browser.new_page()
    said: list[str] = []
    page.on("console", lambda message: said.append(f"{message.text} "))
    with closing(page):
        for name, way in [*WAYS.items(), ("nobody listens", None)]:
            said.clear()
            listening = socket.create_server(("127.0.0.1", 0))
            address = f"http://127.0.0.1:{listening.getsockname()[1]}/"
            if way is None:
                listening.close()
            else:
                threading.Thread(target=_go_away, args=(listening, *way), daemon=True).start()
            page.evaluate("(address) => fetch(address).then((answer) => answer.text()).catch(() => null)", address)
            assert said and all(GONE.search(one) for one in said), (name, said)


@HOW
def test_a_restart_amid_steady_changes_leaves_every_tab_with_the_last_state(
    looker: Looker, world: World, how: int
) -> None:
    grid_world.pause(world)
    job = grid_world.job(world, [{"Title": f"Lamp {n}", "Brand": "Brand"} for n in range(ROWS)])
    items = grid_world.ids(world, job)
    grid_world.end(world, job, items, 2, result={"columns": {"Matched title": "t0"}})
    pages = [looker.page("ann", f"/jobs/{job}") for _ in range(RESTARTED_TABS)]
    for page in pages:
        expect(page.locator("[data-live=live]")).to_be_visible()
        expect(page.locator("[data-row]")).to_have_count(ROWS)
    with grid_world.Feeder(world, job, grid_world.changing(items, CHANGES_PER_SECOND)):
        for page in pages:
            _wait_for_change(page, after=0)
        with looker.service_away():
            world.stop(how)
            for page in pages:
                expect(page.locator("[data-live=reconnecting]")).to_be_visible()
            world.start()
            for page in pages:
                expect(page.locator("[data-live=live]")).to_be_visible()
        back_at = time.time() * 1000
        for page in pages:
            _wait_for_change(page, after=back_at)
    last = {str(row["task_id"]): row["title"] for row in world.sql(_LAST, job)}
    assert len(last) == ROWS
    for page in pages:
        for item, title in last.items():
            expect(page.locator(f"[data-row='{item}'] {MATCHED}")).to_have_text(title)
        # Each once, and nothing else.
        assert sorted(page.locator("[data-row]").evaluate_all("rows => rows.map((row) => row.dataset.row)")) == sorted(
            last
        )


def _wait_for_change(page: Page, *, after: float) -> None:
    """Until a row tells a time (in ms) at which it was changed."""
    page.wait_for_function(
        """([cells, after]) =>
             [...document.querySelectorAll(cells)].some((one) => Number(one.innerText.slice(1)) > after)""",
        arg=[f"[data-row] {MATCHED}", after],
    )


@HOW
def test_a_restart_loses_no_event_and_doubles_none(looker: Looker, world: World, how: int) -> None:
    pages = [looker.page("ann", "/stages") for _ in range(RESTARTED_TABS)]
    for page in pages:
        expect(page.locator("[data-live=live]")).to_be_visible()
        page.evaluate(RECORD)
    with Listener(world).listening() as listener:
        listener.until("live")
        _change(world, "before")
        before = listener.until("object", type="limit", id="before")
        with looker.service_away():
            world.stop(how)
            for page in pages:
                expect(page.locator("[data-live=reconnecting]")).to_be_visible()
            # Changes go on while nobody listens.
            world.sql("update penstock.stages set paused_at = now(), paused_by = 'bob' where name = 'send_receipt'")
            world.start()
            for page in pages:
                expect(page.locator("[data-live=live]")).to_be_visible()
        for page in pages:
            expect(_paused(page)).to_be_visible()
        _change(world, "after")
        place = listener.until("object", after=before, type="limit", id="after")
        assert any(kind == "reset" for _, kind, _ in listener.heard[before:place]), "what was missed has to be fetched"
        world.api("bob").post(f"/api/stages/{STAGE}/resume")
        for page in pages:
            expect(_paused(page)).to_have_count(0)
        heard = [(number, kind) for number, kind, _ in listener.heard]
    assert _doubled(heard) == []
    for told in [heard, *([tuple(one) for one in page.evaluate("window.told")] for page in pages)]:
        assert _doubled(told) == []
        for numbers in _numbers(told).values():
            assert numbers == sorted(numbers)
    # ann hears every public event: between two that a process told her there is no gap but for what others own.
    for page in pages:
        known = {number for number, _ in heard}
        assert {one[0] for one in page.evaluate("window.told") if one[1] == "object"} <= known


def test_a_change_of_a_stage_is_on_the_screen_before_the_page_would_look_by_itself(
    looker: Looker, world: World
) -> None:
    page = looker.page("ann", "/stages")
    # By itself the page looks every 5 s: here it never does.
    page.add_init_script(
        "const often = setInterval; window.setInterval = (run, ms, ...more) => ms < 2000 ? often(run, ms, ...more) : 0;"
    )
    page.reload()
    expect(page.locator("[data-live=live]")).to_be_visible()
    expect(_paused(page)).to_have_count(0)
    world.api("bob").post(f"/api/stages/{STAGE}/pause")
    try:
        expect(_paused(page)).to_be_visible()
    finally:
        world.api("bob").post(f"/api/stages/{STAGE}/resume")


def test_nothing_moves_while_it_is_paused_and_everything_is_fetched_after(looker: Looker, world: World) -> None:
    page = looker.page("ann", "/schedules")
    pill = page.locator("[data-live]")
    expect(page.locator("[data-live=live]")).to_be_visible()
    pill.click()
    expect(page.locator("[data-live=paused]")).to_be_visible()
    with Listener(world).listening() as listener:
        listener.until("live")
        assert world.api("bob").post("/api/schedules/heartbeat/pause").status_code == 200
        listener.until("object", type="schedule", id="heartbeat")
    expect(page.locator("[data-state=PAUSED]")).to_have_count(0)
    pill.click()
    expect(page.locator("[data-state=PAUSED]")).to_be_visible()
    assert world.api("bob").post("/api/schedules/heartbeat/resume").status_code == 200
    expect(page.locator("[data-state=PAUSED]")).to_have_count(0)


def _change(world: World, key: str) -> None:
    answer = world.api("bob").put("/api/limits", json={"key": key, "rate": 5})
    assert answer.status_code == 200, answer.text
