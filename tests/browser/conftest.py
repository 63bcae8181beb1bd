"""Penstock as people meet it: `penstock up` as a process, and Debian's chromium in front of it.

A file of tests shares one database, one `penstock up` and one browser. Every page that a test opens is held to the same
rules when it closes: no error on the console, which is also where a breach of the page's policy is told.
"""

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect, sync_playwright

from tests.browser.looking import SECONDS, Looker
from tests.browser.world import World

CHROMIUM = "PENSTOCK_TEST_CHROMIUM"
# What is there sooner is not waited for; a machine that does other things beside takes its time.
expect.set_options(timeout=SECONDS)


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """For one file only: while it lives, its thread has a running event loop, which other tests do not expect."""
    # The shell has the same engine without the windows, and needs a quarter less of the processor.
    program = os.environ.get(CHROMIUM) or shutil.which("chromium-headless-shell") or shutil.which("chromium")
    if program is None:
        pytest.fail(f"chromium is not installed, and {CHROMIUM} names none. Run `make programs`.")
    with sync_playwright() as playwright:
        launched = playwright.chromium.launch(
            executable_path=program,
            args=[
                "--no-sandbox",  # as root there is none to be had; only pages of our own are opened
                "--disable-gpu",  # there is none; a tenth of the processor time goes into doing without
                "--disable-dev-shm-usage",
                "--js-flags=--expose-gc",
                "--enable-precise-memory-info",
            ],
        )
        yield launched
        launched.close()


@pytest.fixture(scope="module")
def world(module_database_url: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    """A fresh instance with users of every role: ann and bob are operators, eve is a viewer, root is an admin."""
    made = World(module_database_url, tmp_path_factory.mktemp("up"))
    try:
        made.start()
        yield made
    finally:
        made.close()


@pytest.fixture
def looker(browser: Browser, world: World, request: pytest.FixtureRequest) -> Iterator[Looker]:
    """``looker.page("ann")`` is a tab that ann is signed in to; afterwards nothing may stand on its console."""
    made = Looker(browser, world, shots=_shots(request))
    yield made
    made.close()


def _shots(request: pytest.FixtureRequest) -> Path | None:
    """With PENSTOCK_TEST_SHOTS a picture of every page is kept when its test ends, also of a failed one."""
    folder = os.environ.get("PENSTOCK_TEST_SHOTS")
    return Path(folder) / request.node.name if folder else None
