"""Circuits of limiter keys, one for the whole fleet. One function per query of ``sql/circuits.sql``."""

from dataclasses import dataclass

from penstock.errors import InvalidSetting
from penstock.model import LONGEST_SECONDS
from penstock.storage.limits import checked_key, whole_number
from penstock.storage.queries import Changed, Command, Connection, Record, Value, load

_sql = load("circuits")

MOST_FAILURES = 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Failed:
    """What a failure did. ``opened``: it was this one that opened the circuit."""

    failures: int
    pause_seconds: float
    open: bool
    opened: bool


def check(key: str, failures: object, seconds: object) -> None:
    """Raises InvalidSetting."""
    if not whole_number(failures, 1, MOST_FAILURES):
        raise InvalidSetting(
            f"circuit_failures of limit {key!r}", failures, f"it has to be a whole number from 1 to {MOST_FAILURES:,}"
        )
    if not (isinstance(seconds, int | float) and 0 < seconds <= LONGEST_SECONDS):
        raise InvalidSetting(f"circuit_seconds of limit {key!r}", seconds, "use more than 0 seconds, at most 10 years")


async def configure(connection: Connection, key: str, failures: int, seconds: float) -> None:
    """Opens after so many failures in a row, and lets one call try again after so many seconds."""
    check(checked_key(key), failures, seconds)
    await connection.execute(_sql.configure, key, failures, float(seconds))


# False: there was none.
remove = Changed[[str]](_sql.remove)  # key
# None: there is no circuit, or it is open and this was not its newest probe.
failed = Record[[str, int | None], Failed](_sql.failed, Failed)  # key, token
# The token of the probe; None: somebody else has it, or the circuit is not open any more.
probe = Value[[str], int | None](_sql.probe)  # key
give_back = Command[[str, int]](_sql.give_back)  # key, token


async def succeeded(connection: Connection, key: str, token: int | None) -> bool:
    """True: this closed the circuit."""
    return await connection.fetchval(_sql.succeeded, key, token) is True
