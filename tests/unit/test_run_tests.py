"""`tools/run-tests.sh`: who fails once gets another try alone, who fails twice fails the run."""

import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / "tools" / "run-tests.sh"
FAILS_ONCE = """
from pathlib import Path
def test_fails_once():
    seen = Path(__file__).with_suffix(".seen")
    if not seen.exists():
        seen.touch()
        assert not "the first time"
"""


def run_over(folder: Path, tests: str) -> subprocess.CompletedProcess[str]:
    (folder / "test_them.py").write_text(tests)
    (folder / "pytest.ini").write_text("[pytest]\naddopts = -n 1\n")
    (folder / ".venv").symlink_to(Path(sys.prefix))
    return subprocess.run([SCRIPT, "test_them.py"], check=False, cwd=folder, capture_output=True, text=True, timeout=60)


def test_a_test_that_fails_only_beside_others_is_named_and_does_not_fail_the_run(tmp_path):
    run = run_over(tmp_path, FAILS_ONCE + "def test_passes(): pass\n")
    assert run.returncode == 0, run.stdout
    assert "1 failed, 1 passed" in run.stdout
    assert run.stdout.rstrip().endswith("look at these:\ntest_them.py::test_fails_once")


@pytest.mark.parametrize(
    "tests",
    [
        "def test_fails(): assert False\n",
        FAILS_ONCE + "def test_fails(): assert False\n",
        "\n".join(FAILS_ONCE.replace("once", f"once_{n}").replace(".seen", f".{n}") for n in range(4)),
        "this is not Python",
    ],
    ids=["twice", "one of two twice", "four at once", "unreadable"],
)
def test_what_fails_again_or_too_often_or_cannot_be_read_fails_the_run(tmp_path, tests):
    run = run_over(tmp_path, tests)
    assert run.returncode != 0, run.stdout
    assert "look at these" not in run.stdout
