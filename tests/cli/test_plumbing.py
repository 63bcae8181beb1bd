"""What holds for every command: quick help, global options, sentences, exit codes."""

import io
import signal
import subprocess
import sys
from importlib.metadata import EntryPoint
from typing import Any

import orjson
import pytest
import typer

from penstock import errors, extension
from penstock.cli import app, called
from penstock.cli.app import COMMANDS, module_of, root
from penstock.terminal.errors import Refused, describe
from penstock.terminal.options import Format, Options
from penstock.terminal.output import Column, Output, Progress, duration
from tests.cli.conftest import ROOT, Call, environment, interruptible

NOBODY_LISTENS = "postgresql://somebody:hidden@127.0.0.1:1/nowhere"


def leaves(path: str, command: Any) -> dict[str, Any]:
    if not isinstance(command, typer.core.TyperGroup):
        return {path: command}
    found: dict[str, Any] = {}
    for name in command.list_commands(None):
        found |= leaves(f"{path} {name}", command.get_command(None, name))
    return found


def test_help_imports_little_and_neither_the_engine_nor_a_command_nor_rich():
    """Imports are what its time goes into; how long that is depends on the machine."""
    program = (
        "import sys; from penstock.cli.app import root\n"
        "try: root()(['--help'])\n"
        "except SystemExit: pass\n"
        "print(*sorted(sys.modules), file=sys.stderr)"
    )
    ran = subprocess.run(
        [sys.executable, "-c", program], env=environment(), cwd=ROOT, capture_output=True, text=True, check=True
    )
    loaded = set(ran.stderr.split())
    assert "Commands:" in ran.stdout
    heavy = {"asyncpg", "rich", "pydantic", "prometheus_client", "penstock.core", "penstock.cli.worker"}
    assert loaded & heavy == set()
    assert len(loaded) < 260, "203 when this was written"


@pytest.mark.parametrize("module", ["structlog", "rich", "fastapi", "penstock.workers", "penstock.console"])
def test_an_application_that_only_enqueues_does_not_import(module: str):
    program = f"import sys; from penstock import Penstock; Penstock('shop'); print({module!r} in sys.modules)"
    ran = subprocess.run(
        [sys.executable, "-c", program], env=environment(), cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert ran.stdout.split() == ["False"]


def test_every_listed_command_has_a_module_and_every_command_takes_the_global_options():
    listed = root().list_commands(None)
    assert {"up", "worker", "migrate", "config", "version"} <= set(listed)
    for name in listed:
        for path, command in leaves(name, root().get_command(None, name)).items():
            options = {option for parameter in command.params for option in parameter.opts}
            assert {"--output", "-o", "--app", "--database-url", "--home", "-v", "-q"} <= options, path
            assert command.help, f"{path} does not say what it does"


def test_the_module_of_a_command_is_its_name():
    assert module_of("dead-letters") == "penstock.cli.dead_letters"
    assert all(len(text) < 80 and text.endswith(".") for text in COMMANDS.values())


def test_options_may_stand_before_and_after_the_command_and_the_later_one_wins(call: Call):
    assert orjson.loads(call("-o", "json", "version").stdout)["penstock"]
    assert orjson.loads(call("version", "-o", "json").stdout)["penstock"]
    assert call("-o", "json", "version", "-o", "text").stdout.startswith("penstock ")


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (errors.TaskFailed(task_id=1, status="ERROR", error=None), 1),
        (errors.WaitTimeout(subject="task 1", seconds=1, state="PENDING", ask="penstock tasks why 1"), 1),
        (RuntimeError("a bug"), 1),
        (errors.UsageError("no"), 2),
        (errors.InvalidSetting("PENSTOCK_PORT", -1, "too small"), 2),
        (errors.UnknownTask("x"), 3),
        (errors.TaskNotFound(1), 3),
        (errors.JobNotFound(1), 3),
        (errors.NotKnown(kind="stage", name="x"), 3),
        (errors.IllegalMove(move="cancel", subject="task 1", state="DONE", allowed_from=["PENDING"]), 4),
        (errors.SchemaOutOfDate(found=0, needed=1), 4),
        (errors.DatabaseReadOnly(), 4),
        (Refused("no"), 4),
        (errors.DatabaseUnavailable(what="x", next_step="y"), 5),
        (errors.EmbeddedServerError(what="x", next_step="y"), 5),
        (errors.DatabaseLoginRefused(where="", cause="x"), 6),
        (KeyboardInterrupt(), 130),
    ],
)
def test_each_kind_of_error_has_its_exit_code(error: BaseException, code: int):
    assert describe(error).exit_code == code


def test_no_server_is_one_sentence_the_cause_the_next_command_and_exit_code_5(call: Call):
    ended = call("migrate", "--check", database_url=NOBODY_LISTENS)
    assert ended.returncode == 5
    assert ended.stdout == ""
    sentence, cause, following = ended.stderr.splitlines()
    assert sentence.startswith("penstock: The database cannot be reached: no answer at 127.0.0.1:1/nowhere")
    assert cause.strip() == "Is the server running, and PENSTOCK_DATABASE_URL right?"
    assert following.strip() == "next: penstock doctor"
    assert "hidden" not in ended.stderr


def test_an_error_is_one_json_object_on_stderr_where_json_was_asked_for(call: Call):
    ended = call("migrate", "--check", "-o", "json", database_url=NOBODY_LISTENS)
    assert ended.returncode == 5
    assert ended.stdout == ""
    told = orjson.loads(ended.stderr)["error"]
    assert told["type"] == "DatabaseUnavailable"
    assert told["exit_code"] == 5
    assert told["next"] == "penstock doctor"


def test_a_refused_login_is_exit_code_6(call: Call, server_url: str):
    refused = server_url.replace("postgresql://", "postgresql://nobody_of_that_name:x@", 1).replace("penstock@", "", 1)
    ended = call("migrate", "--check", database_url=refused)
    assert ended.returncode == 6, ended.stderr
    assert "refused the login" in ended.stderr


def test_a_wrong_option_and_a_wrong_setting_are_exit_code_2(call: Call):
    assert call("version", "--nonsense").returncode == 2
    assert call("nonsense").returncode == 2
    ended = call("config", "show", lease_seconds="soon")
    assert ended.returncode == 2
    assert "PENSTOCK_LEASE_SECONDS = 'soon'" in ended.stderr
    assert "Traceback" not in ended.stderr


def test_a_mistyped_command_gets_a_suggestion(call: Call):
    assert "'migrate'" in call("migrat").stderr


def test_ctrl_c_is_exit_code_130_without_a_traceback():
    program = (
        "import asyncio, sys\n"
        "from penstock.terminal.command import run\n"
        "from penstock.terminal.options import Options\n"
        "async def wait(session):\n"
        "    print('waiting', flush=True)\n"
        "    await asyncio.sleep(60)\n"
        "sys.exit(run(Options(), wait))\n"
    )
    with interruptible():
        waiting = subprocess.Popen(
            [sys.executable, "-c", program],
            env=environment(),
            cwd=ROOT,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
    assert waiting.stdout is not None
    assert waiting.stdout.readline() == "waiting\n"
    waiting.send_signal(signal.SIGINT)
    _, told = waiting.communicate(timeout=60)
    assert waiting.returncode == 130
    assert "Traceback" not in told


def test_options_of_the_command_win_over_those_before_it():
    before = Options(output=Format.json, app="a:b")
    assert Options(app="c:d").over(before) == Options(output=Format.json, app="c:d")


def test_a_plain_table_is_aligned_and_never_cut():
    stdout = io.StringIO()
    rows = [{"name": "x" * 200, "n": 1200}, {"name": "y", "n": None}]
    Output(stdout=stdout).table(rows, [Column(key="name", title="name"), Column(key="n", title="tasks", right=True)])
    head, first, second = stdout.getvalue().splitlines()
    assert head.split() == ["name", "tasks"]
    assert first == "x" * 200 + "  1,200"
    assert second.split() == ["y", "–"]
    assert len(second) == len(first)


def test_an_empty_table_is_an_empty_list_for_programs_and_a_hint_on_stderr_for_people():
    stdout, stderr = io.StringIO(), io.StringIO()
    Output(json=True, stdout=stdout, stderr=stderr).table([], ["name"], empty="Nothing yet.")
    assert stdout.getvalue() == "[]\n"
    people = io.StringIO()
    Output(stdout=people, stderr=stderr).table([], ["name"], empty="Nothing yet.")
    assert people.getvalue() == ""
    assert stderr.getvalue() == "Nothing yet.\n"


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def test_progress_on_a_terminal_is_one_line_that_moves():
    clock, terminal = Clock(), Terminal()
    progress = Progress(terminal, 48_213, clock=clock)
    for second in range(6):
        clock.now = 100 + second
        progress.update(11_421 + 212 * second, failed=3)
    assert terminal.getvalue().split("\r\x1b[2K")[-1] == "12,481/48,213 25 % 212/s ETA 2m49s · 3 failed"
    assert "\n" not in terminal.getvalue()
    progress.end(48_213, failed=3)
    assert terminal.getvalue().endswith("3 failed\n")


def test_progress_elsewhere_is_a_plain_line_every_ten_seconds():
    clock, file = Clock(), io.StringIO()
    progress = Progress(file, 1000, clock=clock)
    for second in range(31):
        clock.now = 100 + second
        progress.update(second)
    assert [line.split()[0] for line in file.getvalue().splitlines()] == ["10/1,000", "20/1,000", "30/1,000"]


def test_quiet_leaves_progress_and_remarks_out():
    stderr = io.StringIO()
    quiet = Output(quiet=True, stderr=stderr)
    quiet.say("hello")
    quiet.progress(10).end(10)
    assert stderr.getvalue() == ""


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0, "0.0s"), (9.94, "9.9s"), (48, "48s"), (168, "2m48s"), (11_100, "3h05m"), (1_051_200, "12d04h"), (None, "–")],
)
def test_durations_are_short(seconds: float | None, text: str):
    assert duration(seconds) == text


def test_an_extension_that_cannot_be_loaded_is_named_in_the_help_and_stops_no_other_command(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    broken = [EntryPoint("letters", "no.such.module:extension", extension.GROUP)]
    monkeypatch.setattr(extension, "entry_points", lambda group: broken)
    for arguments in (["--help"], ["version"]):
        assert called(root(), arguments) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "The extension 'letters' cannot be installed: importing no.such.module:extension" in said
    assert called(root(), ["letters"]) == 2
    assert "The extension 'letters' cannot be installed" in capsys.readouterr().err


def test_a_command_of_an_extension_that_penstock_has_itself_is_refused(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    mine = extension.Extension(name="letters", commands={"jobs": ("Mine.", "letters.commands")})
    monkeypatch.setattr(app, "discovered", lambda: (mine,))
    assert called(root(), ["--help"]) == 0
    assert "The extension 'letters' cannot be installed: its command 'jobs'" in " ".join(
        capsys.readouterr().out.split()
    )


def test_a_command_of_an_extension_whose_module_cannot_be_imported_names_both(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    mine = extension.Extension(name="letters", commands={"letters": ("Mine.", "no.such.module")})
    monkeypatch.setattr(app, "discovered", lambda: (mine,))
    assert called(root(), ["letters"]) == 2
    said = capsys.readouterr().err
    assert "The extension 'letters' cannot be installed: importing no.such.module failed" in said
    assert "Traceback" not in said


def test_a_command_of_an_extension_that_the_named_application_lacks_is_refused(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    monkeypatch.setenv("PENSTOCK_APP", "tests.outside.plain_app:app")
    assert called(root(), ["catalogue", "providers"]) == 2
    said = " ".join(capsys.readouterr().err.split())
    assert "The application tests.outside.plain_app:app does not install the extension 'catalogue'" in said


def test_the_help_shows_the_commands_of_the_application_that_is_named_before_it(capsys: pytest.CaptureFixture[str]):
    assert called(root(), ["--app", "tests.outside.plain_app:app", "--help"]) == 0
    shown = capsys.readouterr().out
    assert "doctor" in shown and "catalogue" not in shown
