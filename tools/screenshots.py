"""Takes the pictures of docs/screenshots: starts Penstock in a folder of its own, fills in the demonstration, looks.

`make screenshots` calls it. Needs chromium and the built pages. Nothing of the machine's own installation is touched.
"""

import argparse
import io
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2
from PIL import Image
from playwright.sync_api import Page, sync_playwright

ROOT = Path(__file__).resolve().parents[1]
TARGET = ROOT / "docs" / "screenshots"
_COLOURS = 256
_START_SECONDS = 120.0


@dataclass(frozen=True, slots=True)
class World:
    """What the demonstration made, by the names it gave."""

    address: str
    client: httpx2.Client

    def job(self, name: str) -> int:
        jobs = self.client.get("/api/jobs", params={"userId": "all", "pageSize": 200}).json()["items"]
        return int(next(job["jobId"] for job in jobs if job["name"] == name))

    def failed_item(self, job: int) -> int:
        """One that a person can mend: its article number has a sign too many."""
        found = self.client.get(f"/api/jobs/{job}/items", params={"statuses": "ERROR", "pageSize": 50}).json()["items"]
        return int(next(one["itemId"] for one in found if "#" in json.dumps(one)))

    def site(self, job: int) -> int:
        sites = self.client.get(f"/api/analyses/{job}/sites").json()["items"]
        return int(next(one["siteId"] for one in sites if "bakery" in one["url"]))

    def project(self) -> int:
        return int(self.client.get("/api/projects", params={"userId": "all"}).json()["items"][0]["projectId"])


@dataclass(frozen=True, slots=True)
class Shot:
    """``ready``: what has to be on the page before the picture; ``act``: what is pressed first."""

    name: str
    path: Callable[[World], str]
    ready: str = "h1"
    act: Callable[[Page], None] = lambda page: None
    dark: bool = False


def _drop(page: Page) -> None:
    sample = subprocess.run([*_PENSTOCK, "catalogue", "sample-file"], capture_output=True, text=True, check=True).stdout
    file = {"name": "products.csv", "mimeType": "text/csv", "buffer": sample.encode()}
    page.locator("input[type=file]").first.set_input_files(file)  # type: ignore[arg-type]
    page.get_by_role("table").or_(page.get_by_role("grid")).first.wait_for()


def _export(page: Page) -> None:
    page.get_by_role("button", name="Export").first.click()
    page.get_by_role("dialog").wait_for()


CATALOGUE, SITES = "Spring assortment", "Businesses of three towns"
_PENSTOCK = [sys.executable, "-m", "penstock.cli"]
SHOTS = (
    Shot("overview", lambda world: "/?everybody=true"),
    Shot("overview-dark", lambda world: "/?everybody=true", dark=True),
    Shot("upload", lambda world: "/upload", act=_drop),
    Shot("jobs", lambda world: "/jobs?everybody=true", "[data-job]"),
    Shot("job", lambda world: f"/jobs/{world.job(CATALOGUE)}", "[data-row]"),
    Shot(
        "failed-row",
        lambda world: (
            f"/jobs/{world.job(CATALOGUE)}?status=%5B%22ERROR%22%5D&item={world.failed_item(world.job(CATALOGUE))}"
        ),
        "[role=dialog]",
    ),
    Shot("export", lambda world: f"/jobs/{world.job(CATALOGUE)}", "[data-row]", _export),
    Shot("errors", lambda world: "/errors?everybody=true", "[data-group]"),
    Shot("stages", lambda world: "/stages?busy=true"),
    Shot("limits", lambda world: "/limits"),
    Shot("site", lambda world: f"/sites/{world.job(SITES)}/{world.site(world.job(SITES))}?tab=answers"),
    Shot("review", lambda world: f"/linking/{world.project()}/review"),
    Shot("review-dark", lambda world: f"/linking/{world.project()}/review", dark=True),
    Shot("search", lambda world: "/search?q=how%20do%20I%20stop%20a%20dripping%20tap"),
    Shot("index", lambda world: "/index"),
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", action="append", help="The name of a picture; may be repeated.")
    parser.add_argument("--folder", type=Path, default=TARGET)
    chosen = parser.parse_args()
    chromium = (
        os.environ.get("PENSTOCK_TEST_CHROMIUM") or shutil.which("chromium-headless-shell") or shutil.which("chromium")
    )
    if chromium is None:
        raise SystemExit("penstock: chromium is not installed. Run `make programs`.")
    chosen.folder.mkdir(parents=True, exist_ok=True)
    with _up() as (world, link), sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        first = browser.new_context(base_url=world.address)
        page = first.new_page()
        page.goto(link)
        page.get_by_role("button").first.click()
        page.locator("h1").wait_for()
        state: Any = first.storage_state()
        for shot in SHOTS:
            if chosen.only is None or shot.name in chosen.only:
                scheme: Any = "dark" if shot.dark else "light"
                context = browser.new_context(
                    base_url=world.address,
                    storage_state=state,
                    viewport={"width": 1280, "height": 800},
                    color_scheme=scheme,
                    reduced_motion="reduce",
                )
                _save(chosen.folder / f"{shot.name}.png", _taken(context.new_page(), shot, world))
                context.close()
                print(shot.name, file=sys.stderr, flush=True)
        browser.close()


def _taken(page: Page, shot: Shot, world: World) -> bytes:
    page.goto(shot.path(world))
    page.locator("h1").wait_for()
    page.locator(shot.ready).first.wait_for()
    page.wait_for_load_state("load")
    page.locator("[aria-busy=true]").first.wait_for(state="detached")
    shot.act(page)
    page.wait_for_timeout(800)  # charts and letters settle; a picture waits for nobody
    return page.screenshot()


def _save(path: Path, data: bytes) -> None:
    """With few colours: a picture of words needs no more, and a repository keeps every version of it."""
    image = (
        Image.open(io.BytesIO(data))
        .convert("RGB")
        .quantize(_COLOURS, method=Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE)
    )
    image.save(path, optimize=True)


@contextmanager
def _up() -> Iterator[tuple[World, str]]:
    """With the demonstration filled in and moving."""
    with tempfile.TemporaryDirectory(prefix="penstock-screenshots-") as home:
        os.environ["PENSTOCK_HOME"] = home
        up = subprocess.Popen(
            [*_PENSTOCK, "up", "--port", "0", "-o", "json"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, cwd=ROOT
        )
        moving = None
        try:
            assert up.stdout is not None
            told = json.loads(up.stdout.readline())
            subprocess.run([*_PENSTOCK, "demo", "--seconds", "75"], check=True, cwd=ROOT)
            moving = subprocess.Popen([*_PENSTOCK, "demo", "--seconds", "600", "-q"], cwd=ROOT)
            made = subprocess.run(
                [*_PENSTOCK, "tokens", "create", "admin", "-o", "json"], capture_output=True, check=True, cwd=ROOT
            )
            token = json.loads(made.stdout)["token"]
            headers = {"Authorization": f"Bearer {token}"}
            with httpx2.Client(base_url=told["http"], headers=headers, timeout=30) as client:
                yield World(told["http"], client), told["login"]
        finally:
            for process in filter(None, (moving, up)):
                process.send_signal(signal.SIGTERM)
                process.wait(_START_SECONDS)


if __name__ == "__main__":
    main()
