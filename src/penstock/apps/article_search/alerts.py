"""Looks for trouble with embedding and tells about it: once when it begins, every hour while it lasts, and when it is
over. Any number of processes may look; the table decides which of them tells."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum
from typing import Any

import orjson

from penstock import Penstock
from penstock.apps.article_search import webhook
from penstock.apps.article_search.names import PIPELINE
from penstock.config import Settings
from penstock.storage.queries import load

_sql = load("alerts", "penstock.apps.article_search")
Connection = Any

_AGAIN_SECONDS = 3600.0
# Longer than a webhook may take: whoever died while telling is replaced after that.
_SENDING_SECONDS = 3 * webhook.TIMEOUT_SECONDS
_MARKS = frozenset({"since", "closed_at", "sending_until"})


class Kind(StrEnum):
    BACKED_UP = "backed-up"
    FAILING = "failing"
    WORKER_DOWN = "worker-down"


@dataclass(frozen=True, slots=True, kw_only=True)
class Alert:
    """``state``: open or closed. ``told_at``: when the webhook, or without one the log, last took it. ``problem``: why
    the webhook did not take it this time."""

    kind: Kind
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


_SENTENCES = {
    Kind.BACKED_UP: "More than {backed} embeddings wait longer than {waiting_seconds} s, the oldest since {oldest_at}. "
    "Start more workers, raise PENSTOCK_ARTICLES_BATCH_SIZE, or look at `penstock articles stats`.",
    Kind.FAILING: "{failures} embeddings failed within an hour, the last with: {last_error} "
    "Look at `penstock articles tasks --status failed`; `penstock articles retry-failed` starts them again.",
    Kind.WORKER_DOWN: "Embeddings wait since {oldest_at}, and no worker serves them; the last one was seen {seen_at}. "
    "Start one: `penstock worker`, or `penstock up`.",
}
_OVER = {
    Kind.BACKED_UP: "The queue of embeddings is short again.",
    Kind.FAILING: "Embeddings do not fail repeatedly any more.",
    Kind.WORKER_DOWN: "Embeddings are served again, or none waits.",
}


async def watch(app: Penstock) -> list[Alert]:
    """One look. Returns what it told, or tried to tell; a webhook that does not answer is no error here."""
    forgotten = []
    async with app.connection() as connection:
        trouble = _trouble(await _signs(connection, app.settings), app.settings)
        for kind in Kind:
            if (details := trouble.get(kind)) is None:
                if (ended := await _close(connection, kind)) is not None:
                    forgotten.append(ended)
            elif not await _open(connection, kind, details):
                await _refresh(connection, kind, details)
        taken = await _take(connection)
    for ended in forgotten:
        _log(app, ended)
    return [await _tell(app, alert) for alert in taken]


async def opened(connection: Connection) -> list[Alert]:
    """What is not over."""
    return [_alert(row) for row in await connection.fetch(_sql.opened)]


def _trouble(signs: Mapping[str, Any], settings: Settings) -> dict[Kind, dict[str, Any]]:
    """Pure: which alerts these signs call for, with what their sentences say."""
    found: dict[Kind, dict[str, Any]] = {}
    if signs["backed"] > settings.articles_alert_waiting:
        # Counting stops behind the limit.
        waiting = {
            "backed": settings.articles_alert_waiting,
            "waiting_seconds": settings.articles_alert_waiting_seconds,
        }
        found[Kind.BACKED_UP] = waiting | {"oldest_at": signs["oldest_at"]}
    if signs["failures"] >= settings.articles_alert_failures:
        found[Kind.FAILING] = {
            "failures": signs["failures"],
            "last_error": signs["last_error"],
            "last_failure_at": signs["last_failure_at"],
        }
    if signs["silent"]:
        found[Kind.WORKER_DOWN] = {"oldest_at": signs["oldest_at"], "seen_at": signs["seen_at"]}
    return found


async def _tell(app: Penstock, alert: Alert) -> Alert:
    """To the webhook where there is one, and always to the log. Only what was taken is not told again."""
    problem = None
    if (address := app.settings.articles_alert_webhook) is not None:
        problem = await webhook.post(address, _message(alert))
    began = alert.opened_at if alert.state == "open" else None
    async with app.connection() as connection:
        if problem is None:
            await connection.execute(_sql.told, alert.kind, began)
        else:
            await connection.execute(_sql.not_told, alert.kind, began)
    told = replace(alert, problem=problem)
    _log(app, told)
    return told


def _message(alert: Alert) -> dict[str, Any]:
    return {
        "kind": alert.kind,
        "state": alert.state,
        "since": alert.opened_at,
        "sentence": alert.sentence,
        "details": dict(alert.details),
    }


def _log(app: Penstock, alert: Alert) -> None:
    more = {} if alert.problem is None else {"webhook": alert.problem}
    app.events.emit(
        "articles.alert",
        kind=alert.kind.value,
        state=alert.state,
        since=alert.opened_at.isoformat(),
        sentence=alert.sentence,
        **more,
    )


async def _signs(connection: Connection, settings: Settings) -> Mapping[str, Any]:
    row: Mapping[str, Any] = await connection.fetchrow(
        _sql.signs,
        PIPELINE,
        settings.articles_alert_waiting_seconds,
        settings.articles_alert_silent_seconds,
        settings.articles_alert_waiting + 1,
    )
    return row


async def _open(connection: Connection, kind: Kind, details: Mapping[str, Any]) -> bool:
    """False: it is open already."""
    return await connection.fetchval(_sql.open, kind, _stored(details)) is not None


async def _refresh(connection: Connection, kind: Kind, details: Mapping[str, Any]) -> None:
    await connection.execute(_sql.refresh, kind, _stored(details))


async def _close(connection: Connection, kind: Kind) -> Alert | None:
    """The one that is over although nobody was told that it began: only the log hears of it."""
    row = await connection.fetchrow(_sql.close, kind)
    if row is None or row["known"]:
        return None
    return Alert(kind=kind, state="closed", opened_at=row["opened_at"], told_at=None, details={})


async def _take(connection: Connection) -> list[Alert]:
    return [_alert(row) for row in await connection.fetch(_sql.take, _SENDING_SECONDS, _AGAIN_SECONDS)]


def _alert(row: Mapping[str, Any]) -> Alert:
    details = orjson.loads(row["details"])
    is_open = row["opened_at"] is not None
    return Alert(
        kind=Kind(row["kind"]),
        state="open" if is_open else "closed",
        opened_at=row["opened_at"] if is_open else datetime.fromisoformat(details["since"]),
        told_at=row["told_at"],
        details={key: value for key, value in details.items() if key not in _MARKS},
    )


def _stored(details: Mapping[str, Any]) -> str:
    return orjson.dumps(details).decode()


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
