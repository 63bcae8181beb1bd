"""Telling outside listeners. One function per query of ``sql/changes.sql``."""

from collections.abc import Sequence

from penstock.storage.queries import Command, Pairs, Value, load

_sql = load("changes")

CHANNEL = "penstock_changes"


tell = Command[[str]](_sql.tell)  # payload
# Seconds since 1970, as the database sees it.
clock = Value[[], float](_sql.clock)
# Jobs that do not exist are left out.
owners = Pairs[[Sequence[int]], int, str | None](_sql.owners)  # job_ids
