"""What a newcomer types wrong: answered at once, in the format asked for, with the next step."""

from pathlib import Path

import orjson
import pytest
import typer

from penstock.cli import called, parsing
from penstock.cli.app import root
from penstock.errors import NotKnown
from penstock.terminal.command import run
from penstock.terminal.errors import describe
from penstock.terminal.options import Options
from penstock.terminal.session import Session
from tests.cli.conftest import Call


def refused(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    code = called(root(), arguments)
    written = capsys.readouterr()
    return code, written.out, written.err


@pytest.mark.parametrize(
    ("arguments", "said", "following"),
    [
        (("status", "--nope"), "No such option: --nope", "penstock status --help"),
        (("tasks", "show"), "Missing argument 'ID'.", "penstock tasks show --help"),
        (("tasks", "show", "abc"), "ID = 'abc' will not do: it has to be a whole number", "penstock tasks show --help"),
        (
            ("tasks", "list", "-n", "0"),
            "--limit = '0' will not do: it has to be a number from 1 to 1000",
            "list --help",
        ),
        (("up", "--profile", "x"), "--profile = 'x' will not do: 'x' is not one of 'event', 'paced'", "up --help"),
        (("taks",), "No such command 'taks'.", "penstock --help"),
        (("tasks", "lst"), "No such command 'lst'.", "penstock tasks --help"),
        (("tasks",), "`penstock tasks` needs a command.", "penstock tasks --help"),
        (("limits", "set", "x", "--rate"), "Option '--rate' requires an argument", "penstock --help"),
        (("status", "more"), "Got unexpected extra argument", "penstock status --help"),
    ],
)
@pytest.mark.parametrize("place", ["before", "after"])
def test_what_the_parser_refuses_is_json_where_json_was_asked_for(
    capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...], said: str, following: str, place: str
):
    if place == "after" and arguments[-1] == "--rate":
        pytest.skip("-o would be its argument")
    given = ("-o", "json", *arguments) if place == "before" else (*arguments, "-o", "json")
    code, out, err = refused(capsys, *given)
    assert (code, out) == (2, "")
    told = orjson.loads(err)["error"]
    assert told["message"].startswith(said)
    assert told["next"].endswith(following)
    assert told["exit_code"] == 2


def test_for_people_it_is_the_sentence_how_to_call_it_and_where_to_read_more(capsys: pytest.CaptureFixture[str]):
    code, out, err = refused(capsys, "tasks", "show", "abc")
    assert (code, out) == (2, "")
    sentence, usage, following = err.splitlines()
    assert sentence == "penstock: ID = 'abc' will not do: it has to be a whole number of at least 1."
    assert usage.strip().startswith("Usage: penstock tasks show")
    assert following.strip() == "next: penstock tasks show --help"


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (("-o", "json"), True),
        (("-ojson",), True),
        (("--output=json",), True),
        (("--output", "json", "status", "-o", "text"), False),
        (("status", "--", "-o", "json"), False),
        (("tasks", "enqueue", "--owner", "json"), False),
        (("status", "-o"), False),
    ],
)
def test_the_format_is_read_as_the_parser_would(arguments: tuple[str, ...], expected: bool):
    assert parsing.wants_json(arguments) is expected


def test_what_people_try_first_works(capsys: pytest.CaptureFixture[str]):
    assert refused(capsys, "--version")[0] == 0
    code, out, _ = refused(capsys, "help", "tasks")
    assert code == 0
    assert "Usage: penstock tasks" in out
    code, out, _ = refused(capsys, "config", "-o", "json", "show")
    assert code == 0
    assert orjson.loads(out)


@pytest.mark.parametrize(
    ("reference", "cause"),
    [
        ("tests.cli.serving_app", "names no object"),
        ("tests.cli.nowhere:app", "there is no module 'tests.cli.nowhere'"),
        ("tests.cli.serving_app:nothing", "there is no 'nothing' in tests.cli.serving_app"),
        ("tests.cli.serving_app:add", "not a Penstock application"),
    ],
)
@pytest.mark.parametrize("command", ["worker", "up"])
def test_a_wrong_application_is_one_sentence_before_any_server_starts(
    call: Call, home: Path, command: str, reference: str, cause: str
):
    ended = call(command, "--app", reference, "-o", "json", home=str(home))
    assert ended.returncode == 2
    assert ended.stdout == ""
    assert cause in orjson.loads(ended.stderr)["error"]["message"]
    assert not home.exists()


def test_a_module_that_fails_shows_its_own_lines_once_and_none_of_ours(call: Call, home: Path):
    ended = call("worker", "--app", "tests.cli.broken_app:app", home=str(home))
    assert ended.returncode == 2
    assert ended.stderr.count("Traceback") == 1
    assert "broken_app.py" in ended.stderr
    assert "importlib" not in ended.stderr
    assert ended.stderr.splitlines()[-1].startswith("penstock: Importing tests.cli.broken_app:app failed: RuntimeError")
    assert not home.exists()


def test_a_module_that_ends_the_process_is_told(call: Call, home: Path, tmp_path: Path):
    ended = call("worker", "--app", "tests.cli.quitting_app:app", home=str(home))
    assert ended.returncode == 2
    assert "Importing tests.cli.quitting_app:app ended the process (exit code 7)." in ended.stderr


def test_an_unknown_stage_and_a_wrong_failpoint_are_refused_before_any_server_starts(call: Call, home: Path):
    unknown = call("worker", "--app", "tests.cli.serving_app:app", "--only", "nonsense", home=str(home))
    assert unknown.returncode == 2
    assert "--only 'nonsense' names nothing" in unknown.stderr
    faulty = call("worker", "--app", "tests.cli.serving_app:app", home=str(home), failpoints="before_claim:kill:x")
    assert faulty.returncode == 2
    assert "Traceback" not in faulty.stderr
    assert not home.exists()


@pytest.mark.parametrize("quiet", [(), ("-q",)])
def test_an_unknown_variable_is_never_silent(call: Call, quiet: tuple[str, ...], database_url: str):
    shown = call("config", "show", *quiet, runers="3")
    assert shown.returncode == 0
    assert "PENSTOCK_RUNERS is set, and there is no such setting. Did you mean PENSTOCK_RUNNERS?" in shown.stderr
    refused = call("worker", "--app", "nowhere:app", *quiet, runers="3")
    assert "Did you mean PENSTOCK_RUNNERS?" in refused.stderr
    looked = call("doctor", "-o", "json", *quiet, runers="3", database_url=database_url)
    [found] = [one for one in orjson.loads(looked.stdout) if one["check"] == "settings"]
    assert (found["health"], "PENSTOCK_RUNERS" in found["finding"]) == ("warn", True)
    assert "PENSTOCK_RUNNERS" in found["fix"]


def test_a_wrong_setting_is_answered_at_once_by_every_kind_of_command(call: Call):
    for arguments in (("config", "show"), ("status",), ("worker", "--app", "x:y"), ("doctor",), ("migrate",)):
        ended = call(*arguments, port="abc")
        assert ended.returncode == 2, (arguments, ended.stderr)
        assert "PENSTOCK_PORT = 'abc' will not do: it has to be a whole number from 0 to 65535." in ended.stderr
    assert call("status", database_url="localhost").returncode == 2


def test_a_list_of_commands_holds_whole_sentences(capsys: pytest.CaptureFixture[str]):
    for group in ("tasks", "jobs", "dead-letters", "schedules", "limits", "lanes", "stages", "bench"):
        assert "..." not in refused(capsys, group, "--help")[1].partition("Commands:")[2], group


def test_what_is_not_there_says_where_to_look():
    for kind in ("stage", "lane", "schedule", "limit"):
        assert describe(NotKnown(kind=kind, name="x")).next_command == f"penstock {kind}s list"


def test_ctrl_c_at_a_question_is_no_traceback(capsys: pytest.CaptureFixture[str]):
    def ask(session: Session) -> int:
        raise typer.Abort

    assert run(Options(), ask) == 130
    assert capsys.readouterr().err.strip() == ""
