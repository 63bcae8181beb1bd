"""The process in which parsers run: whatever happens in it, the caller gets a sentence and lives on."""

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from penstock.console.files.capped import CappedChild, Caps
from penstock.console.files.refused import FileRefused
from penstock.errors import TransientError

ROOT = Path(__file__).resolve().parents[2]
CAPS = Caps(memory_mb=100, cpu_seconds=2, answer_seconds=60.0)
MB = 1024 * 1024


@pytest.fixture(autouse=True)
def _path(monkeypatch):
    """The unruly parser is no part of the package; a child has to be told where it is."""
    monkeypatch.setenv("PYTHONPATH", str(ROOT), prepend=os.pathsep)


def make(caps: Caps = CAPS) -> CappedChild:
    return CappedChild("tests.unit.unruly_parser", caps, subject="workbook")


@pytest.fixture
def child() -> Iterator[CappedChild]:
    with make() as made:
        yield made


def answers(child: CappedChild, do: str, **order):
    return list(child.ask({"do": do, **order}))


def gone(pid: int) -> bool:
    """Ended: not there any more, or only as an entry that its new parent has yet to collect."""
    try:
        return psutil.Process(pid).status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True


def wait_until(condition, seconds: float = 60.0) -> bool:
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.02)
    return True


def test_one_child_serves_many_requests_with_bytes_beside_the_json(child):
    for length in (0, 1, 3 * MB):
        blob = os.urandom(length)
        [(told, back)] = child.ask({"do": "echo"}, blob)
        assert (told["length"], back) == (length, blob)
    assert child.requests == 3


def test_a_child_may_use_what_it_is_given(child):
    assert answers(child, "eat", mb=60) == [({"kind": "eaten", "mb": 60}, b"")]


@pytest.mark.parametrize("how", [{"do": "eat", "mb": 400}, {"do": "abort"}])
def test_a_child_out_of_memory_is_a_refusal_and_the_parent_stays_small(child, how):
    before = psutil.Process().memory_info().rss
    with pytest.raises(FileRefused, match="the workbook needs more than 100 MB to be read"):
        list(child.ask(how))
    assert not child.usable
    assert gone(child.pid)
    assert psutil.Process().memory_info().rss - before < 10 * MB


def test_a_crash_is_a_refusal_that_names_the_signal(child):
    with pytest.raises(FileRefused, match=r"cannot be read.*SIGSEGV"):
        answers(child, "crash")


def test_a_panic_that_is_no_exception_is_a_refusal(child):
    with pytest.raises(FileRefused, match="KeyboardInterrupt"):
        answers(child, "panic")


def test_a_child_that_somebody_ended_is_worth_another_try(child):
    with pytest.raises(TransientError, match="ended from outside"):
        answers(child, "ended")


def test_a_child_that_keeps_silent_is_ended():
    with make(Caps(memory_mb=100, cpu_seconds=5, answer_seconds=1.0)) as child:
        with pytest.raises(FileRefused, match="takes more than 1 s to be read"):
            answers(child, "hang")
        assert gone(child.pid)


def test_a_child_that_computes_for_too_long_is_ended_by_its_cap(child):
    with pytest.raises(FileRefused, match="takes more than 2 s to be read"):
        answers(child, "spin")


def test_a_refusal_comes_over_with_row_and_column_and_the_child_stays(child):
    with pytest.raises(FileRefused, match=r"^Row 7: no good\. Do better\.$") as refused:
        answers(child, "refuse")
    assert (refused.value.row, refused.value.column) == (7, "sku")
    assert answers(child, "eat", mb=1)


def test_what_a_parser_prints_disturbs_nothing(child):
    assert answers(child, "talk") == [({"kind": "talked"}, b"")]


def test_a_parser_cannot_fill_the_disk(child):
    with pytest.raises(FileRefused, match="OSError"):
        answers(child, "noise")


def test_garbage_instead_of_an_answer_is_a_refusal(child):
    answers(child, "eat", mb=1)  # between exec and its first instruction a process has no command line
    descriptor = int(psutil.Process(child.pid).cmdline()[4])
    with pytest.raises(FileRefused, match="a frame of"):
        answers(child, "garbage", descriptor=descriptor)


def test_a_long_answer_passes_through_a_small_parent(child):
    before = psutil.Process().memory_info().rss
    count = sum(len(blob) for _, blob in child.ask({"do": "stream", "pieces": 200}))
    assert count == 200 * MB
    assert psutil.Process().memory_info().rss - before < 20 * MB


def test_a_child_knows_no_secrets_and_is_capped_in_its_own_session(child, monkeypatch):
    monkeypatch.setenv("PENSTOCK_DATABASE_URL", "postgresql://penstock:secret@nowhere/x")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
    with make() as fresh:
        [(told, _)] = answers(fresh, "know")
    assert "secret" not in str(told["environment"])
    assert told["session"] == fresh.pid
    caps = told["caps"]
    assert caps["RLIMIT_CORE"] == 0
    assert caps["RLIMIT_NOFILE"] == 32
    assert 0 < caps["RLIMIT_FSIZE"] <= 64 * 1024
    assert 0 < caps["RLIMIT_CPU"] <= 4
    assert 100 * MB < caps["RLIMIT_AS"] < 400 * MB


@pytest.mark.parametrize("doing", ["hang", "spin"])
def test_a_child_ends_with_its_parent_even_when_it_is_busy(doing):
    program = (
        "import sys; from penstock.console.files.capped import CappedChild, Caps\n"
        "child = CappedChild('tests.unit.unruly_parser', Caps(memory_mb=100, cpu_seconds=60, answer_seconds=60.0), "
        "subject='x')\n"
        "list(child.ask({'do': 'echo'})); print(child.pid, flush=True)\n"
        f"list(child.ask({{'do': '{doing}'}}))"
    )
    parent = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True)
    assert parent.stdout is not None
    with parent.stdout as lines:
        pid = int(lines.readline())
        assert not gone(pid)
        parent.kill()
        parent.wait()
    assert wait_until(lambda: gone(pid))


def test_a_child_outlives_the_thread_that_started_it():
    from threading import Thread

    made: list[CappedChild] = []
    thread = Thread(target=lambda: made.append(make()))
    thread.start()
    thread.join()
    with made[0] as child:
        assert answers(child, "eat", mb=1)
        assert answers(child, "eat", mb=1)


def test_closing_ends_the_child_and_leaves_no_descriptor():
    before = psutil.Process().num_fds()
    for _ in range(3):
        with make() as child:
            stream = child.ask({"do": "stream", "pieces": 1000})
            next(stream)
        assert gone(child.pid)
    assert psutil.Process().num_fds() == before


@pytest.mark.parametrize("name", ["memory_mb", "cpu_seconds", "answer_seconds"])
def test_caps_of_nothing_are_refused(name):
    with pytest.raises(ValueError, match=f"{name} = 0"):
        Caps(**({"memory_mb": 1, "cpu_seconds": 1, "answer_seconds": 1.0} | {name: 0}))
