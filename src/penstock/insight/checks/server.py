"""Checks of the server: version, clock, settings, space, and who is in the way of vacuum."""

import shutil
import time

from penstock.observe.finding import Check, Patient, Result, bad, fine, warn
from penstock.observe.wording import ago, size, span
from penstock.storage import server_state
from penstock.storage.dialer import OLDEST_VERSION, version_of

_SKEW_WORTH_TELLING_SECONDS = 1.0
_PINNED_WARN_SECONDS, _PINNED_BAD_SECONDS = 600.0, 3600.0
_LONG_TRANSACTION_SECONDS = 300.0
_DEAD_ROWS_WARN, _DEAD_ROWS_BAD = 50_000, 1_000_000
_CONNECTIONS_WARN, _CONNECTIONS_BAD = 0.8, 0.95
_NOTIFY_WARN, _NOTIFY_BAD = 0.1, 0.5
_DISK_WARN_BYTES, _DISK_BAD_BYTES = 5e9, 1e9


async def version(patient: Patient) -> Result:
    number = patient.connection.get_server_version()
    text = f"PostgreSQL {version_of(patient.connection)}"
    if number.major * 10_000 < OLDEST_VERSION:
        return bad(f"{text}; Penstock needs 15 or newer.", "Upgrade the server, or unset PENSTOCK_DATABASE_URL.")
    return fine(f"{text}.")


async def clock(patient: Patient) -> Result:
    """Told, never a fault: no decision is made with this machine's clock."""
    before = time.time()
    there = (await server_state.clock(patient.connection)).timestamp()
    off = there - (before + time.time()) / 2
    if abs(off) < _SKEW_WORTH_TELLING_SECONDS:
        return fine("This machine and the database agree on the time.")
    direction = "behind" if off > 0 else "ahead of"
    return fine(
        f"This machine is {span(abs(off))} {direction} the database. Harmless: all times are the database's; "
        "only log lines will not line up."
    )


async def durability(patient: Patient) -> Result:
    found = await server_state.settings(patient.connection)
    off = [name for name in ("fsync", "full_page_writes", "synchronous_commit") if found.get(name) == "off"]
    if not off:
        return fine("A commit is on disk before it is answered.")
    listed = ", ".join(off)
    reset = " ".join(f"alter system reset {name};" for name in off)
    if "fsync" in off or "full_page_writes" in off:
        return bad(
            f"{listed} off: a power failure can damage the database.",
            f"{reset} select pg_reload_conf(); or edit postgresql.conf.",
        )
    return warn(
        f"{listed} off: a crash of the server loses the last commits, and their tasks run again or are lost.",
        f"{reset} select pg_reload_conf();",
    )


async def autovacuum(patient: Patient) -> Result:
    found = await server_state.settings(patient.connection)
    off = [name for name in ("autovacuum", "track_counts") if found.get(name) == "off"]
    if off:
        return bad(
            f"{' and '.join(off)} off: the queue table will grow without end.",
            " ".join(f"alter system set {name} = on;" for name in off) + " select pg_reload_conf();",
        )
    disabled = [
        row["table_name"] for row in await server_state.bloat(patient.connection) if row["autovacuum"] == "false"
    ]
    if disabled:
        return bad(
            f"Autovacuum is switched off for {', '.join(disabled)}.",
            " ".join(f"alter table penstock.{name} reset (autovacuum_enabled);" for name in disabled),
        )
    return fine("Autovacuum is on.")


async def bloat(patient: Patient) -> Result:
    rows = {row["table_name"]: row for row in await server_state.bloat(patient.connection)}
    queue = rows["queue"]
    cleaned = max((at for at in (queue["last_autovacuum"], queue["last_vacuum"]) if at is not None), default=None)
    when = f"last cleaned {ago(cleaned, queue['read_at'])}" if cleaned else "never cleaned yet"
    sentence = (
        f"queue has {queue['live']:,} live and {queue['dead']:,} dead rows in {size(queue['size_bytes'])}, {when}."
    )
    if queue["dead"] > max(_DEAD_ROWS_WARN, 5 * queue["live"]):
        fix = "See who pins old rows below, then: vacuum penstock.queue;"
        return bad(sentence, fix) if queue["dead"] > _DEAD_ROWS_BAD else warn(sentence, fix)
    return fine(sentence)


async def pinned_rows(patient: Patient) -> Result:
    """A snapshot held open keeps vacuum away from every row that died after it."""
    holders = [
        one
        for one in await server_state.xmin_holders(patient.connection)
        if one["seconds"] is None or one["seconds"] >= _PINNED_WARN_SECONDS
    ]
    if not holders:
        return fine("Nobody holds an old snapshot open.")
    worst = holders[0]
    age = f"for {span(worst['seconds'])}" if worst["seconds"] is not None else f"for {worst['age_xids']:,} transactions"
    process = f" (pid {worst['pid']})" if worst["pid"] else ""
    others = f" and {len(holders) - 1} more" if len(holders) > 1 else ""
    sentence = (
        f"{worst['kind'].capitalize()} {worst['name']!r}{process}{others} pins old rows {age}: {worst['detail']}."
    )
    fixes = {
        "transaction": f"End it: select pg_terminate_backend({worst['pid']});",
        "prepared transaction": f"commit prepared '{worst['name']}'; or rollback prepared '{worst['name']}';",
        "replication slot": f"If nobody needs it: select pg_drop_replication_slot('{worst['name']}');",
    }
    dangerous = worst["seconds"] is not None and worst["seconds"] >= _PINNED_BAD_SECONDS
    return (bad if dangerous else warn)(sentence, fixes[worst["kind"]])


async def long_transactions(patient: Patient) -> Result:
    found = await server_state.long_transactions(patient.connection, _LONG_TRANSACTION_SECONDS)
    if not found:
        return fine(f"No transaction is open longer than {span(_LONG_TRANSACTION_SECONDS)}.")
    one = found[0]
    who = f"{one['name']!r} (pid {one['pid']})"
    return warn(
        f"{who} is {one['state']} in a transaction for {span(one['seconds'])}: {one['query']}",
        f"Find out what it waits for, or: select pg_terminate_backend({one['pid']});",
    )


async def connections(patient: Patient) -> Result:
    used, ours = await server_state.connections(patient.connection)
    found = await server_state.settings(patient.connection)
    slots = int(found["max_connections"]) - int(found["superuser_reserved_connections"])
    sentence = f"{used} of {slots} connections are in use, {ours} of them by Penstock."
    if used >= slots * _CONNECTIONS_WARN:
        fix = "Raise max_connections (needs a restart), or put PgBouncer in front."
        return bad(sentence, fix) if used >= slots * _CONNECTIONS_BAD else warn(sentence, fix)
    return fine(sentence)


async def notify_queue(patient: Patient) -> Result:
    used = await server_state.notify_usage(patient.connection)
    sentence = f"The NOTIFY queue is {used:.0%} full."
    if used < _NOTIFY_WARN:
        return fine(sentence)
    fix = "A listener sits in an open transaction and does not read; see the long transactions and end it."
    return bad(sentence, fix) if used >= _NOTIFY_BAD else warn(sentence, fix)


async def disk(patient: Patient) -> Result:
    taken = await server_state.database_size(patient.connection)
    holds = f"Database {taken['name']!r} takes {size(taken['size_bytes'])}"
    if patient.home is None:
        return fine(f"{holds}; free space is known on the server only.")
    free = shutil.disk_usage(patient.home).free
    sentence = f"{holds}; {size(free)} are free in {patient.home}."
    if free < _DISK_WARN_BYTES:
        fix = "Free space, set or shorten PENSTOCK_RETENTION_DAYS, delete jobs, or move PENSTOCK_HOME to a larger disk."
        return bad(sentence, fix) if free < _DISK_BAD_BYTES else warn(sentence, fix)
    return fine(sentence)


CHECKS = (
    Check(name="server version", look=version, bare=True),
    Check(name="clock", look=clock, bare=True),
    Check(name="durability", look=durability, bare=True),
    Check(name="disk", look=disk, bare=True),
    Check(name="connections", look=connections, bare=True),
    Check(name="autovacuum", look=autovacuum),
    Check(name="bloat", look=bloat),
    Check(name="pinned rows", look=pinned_rows, bare=True),
    Check(name="long transactions", look=long_transactions, bare=True),
    Check(name="notify queue", look=notify_queue, bare=True),
)
