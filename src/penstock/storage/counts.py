"""Counters that no settle waits for. One function per query of ``sql/counts.sql``."""

from penstock.storage.queries import Affected, Value, load

_sql = load("counts")


fold = Value[[int], int](_sql.fold)  # batch
expire_statistics = Affected[[float]](_sql.expire_statistics)  # keep_seconds
