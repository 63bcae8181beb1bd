"""Tabs of signed-in users, and what every one of them is held to."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Locator, Page, Response, ViewportSize, expect

from tests.browser.world import World
from tests.cli.conftest import ROOT
from tests.sizes import LONG

AXE = ROOT / "ui" / "node_modules" / "axe-core" / "axe.min.js"
WIDE = ViewportSize(width=1280, height=800)
NARROW = ViewportSize(width=360, height=740)
# Both themes, and a telephone.
LOOKS = {"light": (WIDE, "light"), "dark": (WIDE, "dark"), "narrow": (NARROW, "light")}
SECONDS = 60_000
# How Chromium names a server that went away; test_live.py provokes each.
GONE = re.compile(
    "net::ERR_(CONNECTION_REFUSED|CONNECTION_RESET|SOCKET_NOT_CONNECTED|EMPTY_RESPONSE"
    "|CONTENT_LENGTH_MISMATCH|INCOMPLETE_CHUNKED_ENCODING) "
)

# The page has drawn itself anew when a second frame begins; colours then fade into each other for a moment.
_DRAWN = """async () => {
  await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
  await Promise.allSettled(document.getAnimations().map((one) => one.finished));
}"""

# The router has drawn the screen of the address when the location that it resolved is the one that it was given.
_GO = """async (path) => {
  const router = window.__TSR_ROUTER__;
  await router.navigate({ href: path });
  const there = () => {
    const { status, location, resolvedLocation } = router.state;
    return status === "idle" && resolvedLocation?.href === location.href;
  };
  while (!there()) await new Promise((done) => requestAnimationFrame(done));
  return router.state.location.pathname;
}"""

# Serious and critical findings. What axe looks at is kept: elements, attributes, words, and where they are seen. Where
# nothing of it differs from the last time, only colours can, as in the other theme: rules about the rest would find the
# same again.
_AXE = """async (everything) => {
  const looked = [location.href, document.title, document.body.textContent];
  for (const one of document.querySelectorAll("*")) {
    const { x, y, width, height } = one.getBoundingClientRect();
    const seen = one.checkVisibility({ visibilityProperty: true, opacityProperty: true });
    looked.push(one.tagName, x, y, width, height, seen);
    for (const { name, value } of one.attributes)
      if (name !== "data-mantine-color-scheme") looked.push(name, value);
  }
  const now = looked.join("|");
  const known = !everything && now === window.looked;
  window.looked = now;
  const { violations } = await axe.run(document, {
    runOnly: known
      ? { type: "rule", values: ["color-contrast", "link-in-text-block"] }
      : ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"],
    resultTypes: ["violations"],
    selectors: false,
  });
  return violations
    .filter(({ impact }) => impact === "serious" || impact === "critical")
    .flatMap(({ id, help, nodes }) =>
      nodes.map((node) => `${id}: ${help}: ${node.html.slice(0, 200)} ${(node.failureSummary ?? "").slice(0, 200)}`));
}"""


def in_reach(button: Locator) -> None:
    """Nobody has to move a table sideways to find it, on a phone neither."""
    expect(button).to_be_visible()
    box, viewport = button.bounding_box(), button.page.viewport_size
    assert box is not None and viewport is not None
    assert box["x"] >= 0 and box["x"] + box["width"] <= viewport["width"], box


class Looker:
    """``page("ann")`` opens a tab of a browser that ann is signed in to; her tabs share it, as at her desk."""

    def __init__(self, browser: Browser, world: World, shots: Path | None = None) -> None:
        self._browser = browser
        self._world = world
        self._shots = shots
        self._contexts: dict[str, BrowserContext] = {}
        self._schemes: dict[Page, str] = {}
        self.faults: list[str] = []
        # Patterns of console errors that a test provokes, e.g. the 422 of a refused form.
        self.expected: list[str] = []

    def page(self, name: str = "ann", path: str = "/", *, dark: bool = False, narrow: bool = False) -> Page:
        key = f"{name}{dark}{narrow}"
        if key not in self._contexts:
            self._contexts[key] = self._browser.new_context(
                viewport=NARROW if narrow else WIDE,
                color_scheme="dark" if dark else "light",
                reduced_motion="reduce",
                base_url=self._world.address,
            )
            self._contexts[key].set_default_timeout(SECONDS)
            self._contexts[key].add_cookies([self._world.session_cookie(name)])
        page = self._contexts[key].new_page()
        self._schemes[page] = "dark" if dark else "light"
        self._watch(page)
        page.goto(path)
        expect(page.locator("h1")).to_be_visible(timeout=SECONDS)
        return page

    def go(self, page: Page, path: str) -> None:
        """To another screen as a link leads there: a quarter of the work of loading it with ``page.goto``."""
        if LONG:
            page.goto(path)
            return
        at = page.evaluate(_GO, path)
        assert at == path.partition("?")[0], f"{path} leads to {at}"

    def looks(self, page: Page, *, stay: bool = False, dark: bool = True) -> Iterator[str]:
        """The open screen in each look, without loading it again; it ends in the light, or with ``stay`` in the last.

        The next screen of a walk then begins in that look, so that every other one is met on a telephone first.
        Without ``dark`` only the sizes differ.
        """
        names = [name for name in LOOKS if dark or name != "dark"]
        if stay and page.viewport_size == NARROW:
            names.reverse()
        for name in names:
            self._look(page, *LOOKS[name])
            yield name
        if not stay:
            self._look(page, *LOOKS["light"])

    @contextmanager
    def service_away(self) -> Iterator[None]:
        """In this block, and nowhere else, the console may say that nobody answers. It ends when somebody does."""
        before = len(self.faults)
        yield
        # An answer of a page comes behind everything its console said before.
        for context in self._contexts.values():
            for page in context.pages:
                page.evaluate("0")
        self.faults[before:] = [one for one in self.faults[before:] if not GONE.search(one)]

    def axe(self, page: Page) -> list[str]:
        """Serious and critical findings, one line each."""
        # Evaluated by the debugger, as the policy of the page lets no foreign script in.
        if not page.evaluate("typeof window.axe === 'object'"):
            page.evaluate(AXE.read_text() + "; undefined")
        found: list[str] = page.evaluate(_AXE, LONG)
        return found

    def shot(self, page: Page, name: str) -> None:
        """A picture on the way, where PENSTOCK_TEST_SHOTS asks for pictures."""
        if self._shots is not None:
            self._shots.mkdir(parents=True, exist_ok=True)
            page.screenshot(path=self._shots / f"{name}.png", full_page=True)

    def close(self) -> None:
        for context in self._contexts.values():
            for number, page in enumerate(context.pages):
                if self._shots is not None:
                    self._shots.mkdir(parents=True, exist_ok=True)
                    page.screenshot(path=self._shots / f"{number}.png", full_page=True)
            context.close()
        unexpected = [one for one in self.faults if not any(re.search(pattern, one) for pattern in self.expected)]
        assert not unexpected, unexpected

    def _watch(self, page: Page) -> None:
        def said(message: ConsoleMessage) -> None:
            if message.type in ("error", "warning"):
                self.faults.append(f"{message.type}: {message.text} ({page.url})")

        def answered(response: Response) -> None:
            if response.status >= 500:
                self.faults.append(f"{response.status} {response.url}")

        page.on("console", said)
        page.on("pageerror", lambda error: self.faults.append(f"uncaught: {error} ({page.url})"))
        page.on("response", answered)

    def _look(self, page: Page, size: ViewportSize, scheme: str) -> None:
        # Where nothing changes, nothing is laid out and drawn again.
        if page.viewport_size != size:
            page.set_viewport_size(size)
        if self._schemes.get(page) != scheme:
            page.emulate_media(color_scheme="dark" if scheme == "dark" else "light")
            self._schemes[page] = scheme
        page.evaluate(_DRAWN)
