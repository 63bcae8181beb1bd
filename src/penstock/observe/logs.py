"""Structured logs of every transition, one line per batch with the ids in it."""

import logging
import sys
from collections.abc import Mapping, Sequence
from typing import Any, TextIO, cast

import orjson
import structlog

from penstock.config import Settings
from penstock.events import Event, Subscriber

_LEVELS = {"debug": logging.DEBUG, "info": logging.INFO, "warning": logging.WARNING, "error": logging.ERROR}
# A line names at most so many ids; how many were left out is always said. Programs can read more than people.
_IDS_FOR_PROGRAMS = 1000
_IDS_FOR_PEOPLE = 5
# For other subscribers: as long as the ids, and one lookup away from them.
_NOT_LOGGED = frozenset({"job_of"})


def make_logger(settings: Settings) -> Any:
    """A logger of its own, so that the application's logging set-up is left alone."""
    return structlog.wrap_logger(structlog.PrintLogger(current_stderr()), **style(settings))


def current_stderr() -> TextIO:
    return cast(TextIO, _Stderr())


class _Stderr:
    """Wherever errors go at the time: whoever replaces ``sys.stderr`` may close the one we began with."""

    def write(self, text: str) -> int:
        return sys.stderr.write(text)

    def flush(self) -> None:
        sys.stderr.flush()


def style(settings: Settings) -> dict[str, Any]:
    """How a line looks and which are told, for whoever sets up a logger of ours."""
    renderer: Any = (
        structlog.processors.JSONRenderer(serializer=lambda value, **_: orjson.dumps(value, default=str).decode())
        if _as_json(settings)
        else structlog.dev.ConsoleRenderer(colors=sys.stderr.isatty())
    )
    return {
        "processors": [
            structlog.contextvars.merge_contextvars,
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            renderer,
        ],
        "wrapper_class": structlog.make_filtering_bound_logger(_LEVELS[settings.log_level]),
        "cache_logger_on_first_use": True,
    }


def log_subscriber(settings: Settings, labels: Mapping[int, str]) -> Subscriber:
    """``labels``: names of stages by id, filled in when the application is known."""
    logger = make_logger(settings)
    threshold = _LEVELS[settings.log_level]
    as_json = _as_json(settings)

    def on_event(event: Event) -> None:
        if _LEVELS[event.level] < threshold:
            return
        data = {key: value for key, value in event.data.items() if key not in _NOT_LOGGED}
        if "stage" in data:
            data["stage"] = labels.get(data["stage"], data["stage"])
        if (task_ids := data.get("tasks")) is not None:
            data = data | (_listed(task_ids) if as_json else {"tasks": _told(task_ids)})
        error = data.get("error")
        if isinstance(error, str) and error.startswith("{"):
            data = data | {"error": _brief(error)}
        getattr(logger, event.level)(event.name, **data)

    return on_event


def _as_json(settings: Settings) -> bool:
    return settings.log_format == "json" or (settings.log_format == "auto" and not sys.stderr.isatty())


def _listed(task_ids: Sequence[int]) -> dict[str, Any]:
    left_out = len(task_ids) - _IDS_FOR_PROGRAMS
    return {"tasks": task_ids} if left_out <= 0 else {"tasks": task_ids[:_IDS_FOR_PROGRAMS], "left_out": left_out}


def _told(task_ids: Sequence[int]) -> str:
    """As many as a person reads: a batch of a thousand is still one line of a terminal."""
    shown = ", ".join(str(one) for one in task_ids[:_IDS_FOR_PEOPLE])
    left_out = len(task_ids) - _IDS_FOR_PEOPLE
    return shown if left_out <= 0 else f"{shown}, … {left_out:,} more"


def _brief(error: str) -> Any:
    """A stored error without its traceback, which stays in the database."""
    try:
        described = orjson.loads(error)
    except ValueError:
        return error
    described.pop("traceback", None)
    return described
