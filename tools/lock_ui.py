"""Writes `ui/package-lock.json` anew from `ui/package.json`: `make lock-ui`.

From nothing, because npm forgets the packages of other platforms when it starts from what is installed here. No address
stays in it: those of the registry are left out by `ui/.npmrc`, those of people who take donations here.
"""

import json
import shutil
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

import build_ui

LOCK = build_ui.UI / "package-lock.json"


def main() -> None:
    command, environment = build_ui.npm()
    LOCK.unlink(missing_ok=True)
    shutil.rmtree(build_ui.UI / "node_modules", ignore_errors=True)
    build_ui.run(
        [*command, "install", "--package-lock-only", "--loglevel=error"], environment, "Locking what pages need"
    )
    LOCK.write_text(without_addresses(LOCK.read_text("utf-8")), "utf-8")


def without_addresses(text: str) -> str:
    lock = json.loads(text)
    for package in lock["packages"].values():
        package.pop("funding", None)
    return json.dumps(lock, indent=2, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    main()
