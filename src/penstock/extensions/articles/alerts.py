"""Looks for trouble with embedding and tells about it: once when it begins, every hour while it lasts, and when it is
over. Any number of processes may look; the table decides which of them tells."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum
from typing import Any

import httpx2
import orjson

from penstock import Penstock
from penstock.extensions.articles.names import PIPELINE
from penstock.extensions.articles.settings import ArticleSettings
from penstock.storage.queries import load

_sql = load("alerts", "penstock.extensions.articles")
Connection = Any

WEBHOOK_SECONDS = 5.0
_AGAIN_SECONDS = 3600.0
# Longer than a webhook may take: whoever died while telling is replaced after that.
_SENDING_SECONDS = 3 * WEBHOOK_SECONDS
_MARKS = frozenset({"since", "closed_at", "sending_until"})


class AlertKind(StrEnum):
    BACKED_UP = "backed-up"
    FAILING = "failing"
    WORKER_DOWN = "worker-down"


@dataclass(frozen=True, slots=True, kw_only=True)
class Alert:
    """``state``: open or closed. ``told_at``: when the webhook, or without one the log, last took it. ``problem``: why
    the webhook did not take it this time."""

    kind: AlertKind
    state: str
    opened_at: datetime
    told_at: datetime | None
    details: Mapping[str, Any]
    problem: str | None = None

    @property
    def sentence(self) -> str:
        if self.state == "closed":
            return _OVER[self.kind]
        return _SENTENCES[self.kind].format(**{key: _shown(value) for key, value in self.details.items()})

    @property
    def facts(self) -> dict[str, Any]:
        """For the webhook and the log."""
        since = self.opened_at.isoformat()
        return {"kind": self.kind.value, "state": self.state, "since": since, "sentence": self.sentence}


_SENTENCES = {
    AlertKind.BACKED_UP: "More than {backed} embeddings wait longer than {waiting_seconds} s, "
    "the oldest since {oldest_at}. Start more workers, raise PENSTOCK_ARTICLES_BATCH_SIZE, "
    "or look at `penstock articles stats`.",
    AlertKind.FAILING: "{failures} embeddings failed within an hour, the last with: {last_error} "
    "Look at `penstock articles tasks --status failed`; `penstock articles retry-failed` starts them again.",
    AlertKind.WORKER_DOWN: "Embeddings wait since {oldest_at}, and no worker serves them; "
    "the last one was seen {seen_at}. Start one: `penstock worker`, or `penstock up`.",
}
_OVER = {
    AlertKind.BACKED_UP: "The queue of embeddings is short again.",
    AlertKind.FAILING: "Embeddings do not fail repeatedly any more.",
    AlertKind.WORKER_DOWN: "Embeddings are served again, or none waits.",
}


async def watch(app: Penstock) -> list[Alert]:
    """One look. Returns what it told, or tried to tell; a webhook that does not answer is no error here."""
    async with app.connection() as connection:
        trouble = await _trouble(connection, app.settings.of(ArticleSettings))
        for kind in AlertKind:
            if kind not in trouble:
                # Over although nobody was told that it began: only the log hears of it.
                if (row := await connection.fetchrow(_sql.close, kind)) is not None and not row["known"]:
                    began = row["opened_at"]
                    _log(app, Alert(kind=kind, state="closed", opened_at=began, told_at=None, details={}))
                continue
            details = orjson.dumps(trouble[kind]).decode()
            if await connection.fetchval(_sql.open, kind, details) is None:
                await connection.execute(_sql.refresh, kind, details)
        taken = [_alert(row) for row in await connection.fetch(_sql.take, _SENDING_SECONDS, _AGAIN_SECONDS)]
    return [await _tell(app, alert) for alert in taken]


async def opened(connection: Connection) -> list[Alert]:
    """What is not over."""
    return [_alert(row) for row in await connection.fetch(_sql.opened)]


async def _trouble(connection: Connection, settings: ArticleSettings) -> dict[AlertKind, dict[str, Any]]:
    """Which alerts are called for now, with what their sentences say."""
    most, waiting_seconds = settings.alert_waiting, settings.alert_waiting_seconds
    # Counting stops behind the limit.
    limits = (waiting_seconds, settings.alert_silent_seconds, most + 1)
    signs: Mapping[str, Any] = await connection.fetchrow(_sql.signs, PIPELINE, *limits)
    found: dict[AlertKind, dict[str, Any]] = {}
    if signs["backed"] > most:
        waiting = {"backed": most, "waiting_seconds": waiting_seconds}
        found[AlertKind.BACKED_UP] = waiting | {"oldest_at": signs["oldest_at"]}
    if signs["failures"] >= settings.alert_failures:
        names = ("failures", "last_error", "last_failure_at")
        found[AlertKind.FAILING] = {name: signs[name] for name in names}
    if signs["silent"]:
        found[AlertKind.WORKER_DOWN] = {"oldest_at": signs["oldest_at"], "seen_at": signs["seen_at"]}
    return found


async def _tell(app: Penstock, alert: Alert) -> Alert:
    """To the webhook where there is one, and always to the log. Only what was taken is not told again."""
    problem = None
    if (address := app.settings.of(ArticleSettings).alert_webhook) is not None:
        problem = await _post(address, alert.facts | {"details": dict(alert.details)})
    began = alert.opened_at if alert.state == "open" else None
    async with app.connection() as connection:
        await connection.execute(_sql.told if problem is None else _sql.not_told, alert.kind, began)
    told = replace(alert, problem=problem)
    _log(app, told)
    return told


def _log(app: Penstock, alert: Alert) -> None:
    more = {} if alert.problem is None else {"webhook": alert.problem}
    app.events.emit("articles.alert", **alert.facts, **more)


def _alert(row: Mapping[str, Any]) -> Alert:
    details = orjson.loads(row["details"])
    is_open = row["opened_at"] is not None
    return Alert(
        kind=AlertKind(row["kind"]),
        state="open" if is_open else "closed",
        opened_at=row["opened_at"] if is_open else datetime.fromisoformat(details["since"]),
        told_at=row["told_at"],
        details={key: value for key, value in details.items() if key not in _MARKS},
    )


def _shown(value: Any) -> str:
    match value:
        case None:
            return "never"
        case int():
            return f"{value:,}"
        case float():
            return f"{value:g}"
        case _:
            return str(value)


async def _post(address: str, message: Mapping[str, Any]) -> str | None:
    """None: it was taken. Whatever is wrong with the address or with who answers there is returned, never raised.

    Redirects are not followed, and the answer is not read: its status says enough.
    """
    try:
        async with (
            asyncio.timeout(WEBHOOK_SECONDS),
            httpx2.AsyncClient(timeout=WEBHOOK_SECONDS) as client,
            client.stream(
                "POST", address, content=orjson.dumps(message), headers={"content-type": "application/json"}
            ) as answer,
        ):
            status = answer.status_code
    except (TimeoutError, httpx2.TimeoutException):  # on a busy machine either may come first
        return f"The webhook did not answer within {WEBHOOK_SECONDS:g} s; it is tried again."
    except Exception as error:
        # A misspelt address fails in many ways. The error's text may hold the address, which is a secret.
        return f"The webhook cannot be reached ({type(error).__name__}). Check PENSTOCK_ARTICLES_ALERT_WEBHOOK."
    return None if 200 <= status < 300 else f"The webhook answered with status {status}; it is tried again."
