"""Why a file was not taken."""

from penstock.errors import UsageError


class FileRefused(UsageError):
    """The file, or one row of it, cannot be read. ``row`` counts data rows from 1, as people see them in the grid."""

    def __init__(self, problem: str, next_step: str, *, row: int | None = None, column: str | None = None) -> None:
        self.problem = problem
        self.next_step = next_step
        self.row = row
        self.column = column
        where = "" if row is None else f"Row {row:,}: "
        super().__init__(f"{where}{problem} {next_step}")
