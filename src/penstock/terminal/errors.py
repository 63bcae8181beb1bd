"""What a command says when it fails, and the exit code it leaves behind.

    0  ok
    1  the work failed (a task ended badly, a check found something, a bug of ours)
    2  the call was wrong
    3  there is no such thing
    4  it was refused: not possible in the present state
    5  no connection to the database
    6  the login was refused
  130  Ctrl-C

Three lines on stderr: one sentence, the cause, the next command; with ``-o json`` one JSON object.
"""

import os
import re
import sys
import traceback
from dataclasses import dataclass

from penstock import errors
from penstock.terminal.options import Options

OK, FAILED, USAGE, NOT_FOUND, REFUSED, NO_CONNECTION, AUTH, INTERRUPTED = 0, 1, 2, 3, 4, 5, 6, 130

# The first match counts, so the more special class comes first: (class, exit code, next command).
_MEANINGS: tuple[tuple[type[BaseException], int, str | None], ...] = (
    (KeyboardInterrupt, INTERRUPTED, None),
    (errors.UnknownTask, NOT_FOUND, "penstock stages list"),
    (errors.UsageError, USAGE, None),
    (errors.TaskNotFound, NOT_FOUND, "penstock tasks list"),
    (errors.JobNotFound, NOT_FOUND, "penstock jobs list"),
    (errors.NotKnown, NOT_FOUND, None),
    (errors.RowNotFound, NOT_FOUND, None),
    (errors.LimitReached, REFUSED, "penstock jobs list"),
    (errors.IllegalMove, REFUSED, None),
    (errors.NotRepeated, REFUSED, None),
    (errors.StaleLease, REFUSED, None),
    (errors.DatabaseLoginRefused, AUTH, "penstock config show"),
    (errors.SchemaOutOfDate, REFUSED, "penstock migrate"),
    (errors.DatabaseUnavailable, NO_CONNECTION, "penstock doctor"),
    (errors.EmbeddedServerError, NO_CONNECTION, "penstock doctor"),
    (errors.DatabaseError, REFUSED, "penstock doctor"),
)
_LISTED = frozenset({"stage", "lane", "schedule", "limit", "user", "token"})
_NEXT_SENTENCE = re.compile(r"(?<=[.!?])\s+(?=[A-Z`])")


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """An error as a person should read it."""

    sentence: str
    cause: str | None
    next_command: str | None
    exit_code: int


class Refused(errors.PenstockError):
    """A command that will not do what was asked, in the present state of things. Leaves exit code 4."""

    def __init__(self, message: str, *, next_command: str | None = None) -> None:
        self.next_command = next_command
        super().__init__(message)


class WrongCall(errors.UsageError):
    """The parser of the command line did not understand the call. Leaves exit code 2."""

    def __init__(self, message: str, *, next_command: str) -> None:
        self.next_command = next_command
        super().__init__(message)


def exit_code_of(error: BaseException) -> int:
    return describe(error).exit_code


def describe(error: BaseException) -> Problem:
    """The sentence is the error's own first one; what follows it says why, or what to do."""
    sentence, _, rest = _NEXT_SENTENCE.sub("\n", _text(error).strip(), count=1).partition("\n")
    cause = rest.strip() or (_text(error.__cause__) if error.__cause__ is not None else None)
    exit_code, next_command = _meaning(error)
    return Problem(sentence=sentence, cause=cause, next_command=next_command, exit_code=exit_code)


def _meaning(error: BaseException) -> tuple[int, str | None]:
    if isinstance(error, Refused):
        return REFUSED, error.next_command
    if isinstance(error, WrongCall):
        return USAGE, error.next_command
    if isinstance(error, errors.NotKnown) and error.kind in _LISTED:
        return NOT_FOUND, f"penstock {error.kind}s list"
    for kind, exit_code, next_command in _MEANINGS:
        if isinstance(error, kind):
            return exit_code, next_command
    return FAILED, None


def _text(error: BaseException) -> str:
    if isinstance(error, errors.PenstockError):
        return str(error)
    kind = type(error).__name__
    return f"{kind}: {error}" if str(error) else kind


def report(error: BaseException, options: Options) -> None:
    """On stderr, whatever the output format: stdout holds data or nothing."""
    if isinstance(error, KeyboardInterrupt):
        _tell("")
        return
    if isinstance(error, BrokenPipeError):
        # The reader has left (`| head`): nobody to tell, and nothing to flush at the end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return
    problem = describe(error)
    if options.verbose or not isinstance(error, errors.PenstockError):
        traceback.print_exception(error, file=sys.stderr)
    if options.json:
        _tell(_as_json(error, problem))
        return
    _tell(f"penstock: {problem.sentence}")
    if problem.cause:
        _tell(f"          {problem.cause}")
    if problem.next_command:
        _tell(f"    next: {problem.next_command}")


def _tell(line: str) -> None:
    sys.stderr.write(line + "\n")
    sys.stderr.flush()


def _as_json(error: BaseException, problem: Problem) -> str:
    import orjson

    return orjson.dumps(
        {
            "error": {
                "type": type(error).__name__,
                "message": problem.sentence,
                "cause": problem.cause,
                "next": problem.next_command,
                "exit_code": problem.exit_code,
            }
        }
    ).decode()
