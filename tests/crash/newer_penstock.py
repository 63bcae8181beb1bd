"""``python -m tests.crash.newer_penstock …``: the command line of a Penstock that has one migration more.

The migration changes the busiest tables, and in its middle waits for a lock that a test may hold.
"""

from penstock.cli import main
from penstock.storage import migrate

MIDDLE = 4242
_SQL = f"""
alter table penstock.queue add column added_later integer;
select pg_advisory_xact_lock({MIDDLE});
alter table penstock.outcomes add column added_later integer;
create index outcomes_added_later on penstock.outcomes (added_later);
"""


def have_one_more() -> None:
    known = migrate.migrations()
    newer = migrate.Migration(version=known[-1].version + 1, name="later", sql=_SQL)
    migrate.migrations = lambda: (*known, newer)


if __name__ == "__main__":
    have_one_more()
    main()
