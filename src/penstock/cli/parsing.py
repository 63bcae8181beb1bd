"""What the parser of the command line refuses, told like every other error: a sentence, how to call it, exit code 2."""

import sys
from collections.abc import Sequence
from typing import Any

from penstock.errors import UsageError
from penstock.terminal.errors import USAGE, WrongCall, report
from penstock.terminal.options import Format, Options

_NOUNS = {"int_parsing": "a whole number", "int_from_float": "a whole number", "float_parsing": "a number"}


def as_meant(arguments: Sequence[str]) -> list[str]:
    """What people try first: `penstock --version` and `penstock help tasks`."""
    match list(arguments):
        case ["--version" | "-V", *more]:
            return ["version", *more]
        case ["help", *more]:
            return [*more, "--help"]
        case others:
            return others


def refused_by_parser(error: BaseException) -> bool:
    """Whether typer brings a click of its own or uses the installed one: what the parser raises knows its message."""
    return hasattr(error, "format_message")


def tell(error: Any, arguments: Sequence[str]) -> int:
    """Say it, in the format that was asked for, and return the exit code."""
    context = getattr(error, "ctx", None)
    as_json = wants_json(arguments)
    path = "penstock" if context is None else context.command_path
    if type(error).__name__ == "NoArgsIsHelpError" and not as_json:
        sys.stderr.write(error.format_message().rstrip("\n") + "\n")
        return USAGE
    sentence = f"`{path}` needs a command." if _without_command(error) else _sentence(error)
    usage = "" if context is None or " Did you mean" in sentence else " " + " ".join(context.get_usage().split())
    return told(WrongCall(f"{sentence}{usage}", next_command=f"{path} --help"), arguments)


def told(error: UsageError, arguments: Sequence[str]) -> int:
    report(error, Options(output=Format.json if wants_json(arguments) else Format.text))
    return USAGE


def wants_json(arguments: Sequence[str]) -> bool:
    """Read without the parser, because it is the parser that failed. The last one counts, as there."""
    chosen = ""
    for position, argument in enumerate(arguments):
        following = arguments[position + 1] if position + 1 < len(arguments) else ""
        match argument.partition("="):
            case ("--", "", _):
                break
            case ("-o" | "--output", "", _):
                chosen = following
            case ("--output", "=", value):
                chosen = value
            case _ if argument.startswith("-o") and not argument.startswith("--"):
                chosen = argument[2:]
    return chosen == Format.json


def _without_command(error: Any) -> bool:
    return type(error).__name__ == "NoArgsIsHelpError" or error.format_message() == "Missing command."


def _sentence(error: Any) -> str:
    """Of a bad value: which, and what is allowed. The others say enough by themselves."""
    details = getattr(error.__cause__, "errors", None)
    parameter = getattr(error, "param", None)
    if details is None or parameter is None:
        said = str(error.format_message()).strip()
        return said if said.endswith((".", "?")) else f"{said}."
    found = details()[0]
    is_option = parameter.param_type_name == "option"
    name = max(parameter.opts, key=len) if is_option else parameter.metavar or str(parameter.name).upper()
    return f"{name} = {found['input']!r} will not do: {_allowed(found, parameter)}."


def _allowed(found: Any, parameter: Any) -> str:
    lowest, highest = getattr(parameter, "min", None), getattr(parameter, "max", None)
    noun = _NOUNS.get(found["type"], "a number")
    if lowest is not None and highest is not None:
        return f"it has to be {noun} from {lowest} to {highest}"
    if lowest is not None or highest is not None:
        return (
            f"it has to be {noun} of at {'most' if lowest is None else 'least'} {highest if lowest is None else lowest}"
        )
    if found["type"] in _NOUNS:
        return f"it has to be {noun}"
    return str(found["msg"]).removeprefix("Value error, ").removesuffix(".")
