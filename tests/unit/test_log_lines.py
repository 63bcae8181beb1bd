"""What a log line says about a batch: whole for programs, short for people."""

import orjson
import pytest

from penstock.config import load
from penstock.events import Event
from penstock.observe.logs import log_subscriber

THOUSAND = list(range(1, 1001))


def line(capsys: pytest.CaptureFixture[str], log_format: str, task_ids: list[int]) -> str:
    log = log_subscriber(load(log_format=log_format, log_level="debug"), {7: "mail"})
    log(Event(name="tasks.claimed", data={"stage": 7, "tasks": task_ids}))
    return capsys.readouterr().err


def test_a_thousand_ids_are_five_and_a_count_on_the_console(capsys: pytest.CaptureFixture[str]):
    written = line(capsys, "console", THOUSAND)
    assert "1, 2, 3, 4, 5, … 995 more" in written
    assert len(written) < 200
    assert written.count("\n") == 1


def test_five_ids_are_all_shown_on_the_console(capsys: pytest.CaptureFixture[str]):
    written = line(capsys, "console", THOUSAND[:5])
    assert "1, 2, 3, 4, 5" in written
    assert "more" not in written


def test_json_lines_keep_up_to_a_thousand_ids_and_count_the_rest(capsys: pytest.CaptureFixture[str]):
    assert orjson.loads(line(capsys, "json", THOUSAND))["tasks"] == THOUSAND
    longer = orjson.loads(line(capsys, "json", [*THOUSAND, 1001, 1002]))
    assert (longer["tasks"], longer["left_out"]) == (THOUSAND, 2)
