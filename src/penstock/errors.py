"""One tree for everything Penstock raises.

    PenstockError
    ├── UsageError                 the call was wrong; nothing was stored
    │   ├── UnknownTask            no task or pipeline of that name
    │   ├── InvalidArguments       the arguments do not fit the task
    │   ├── PayloadTooLarge        over the limit for an input or a result
    │   ├── NotStorable            a value PostgreSQL cannot keep as JSON
    │   ├── InvalidSetting         a setting has a value it may not have
    │   ├── InvalidDefinition      a task, stage or schedule is declared wrongly
    │   ├── InvalidExtension       an extension cannot be installed
    │   ├── PipelineTaken          a task of that name belongs to another application
    │   └── MissingExtra           `pip install penstock` alone does not bring what is needed
    ├── TaskNotFound, JobNotFound, RowNotFound, NotKnown   no such object
    ├── IllegalMove                the object is not in a state that allows it
    ├── NotRepeated                an action on other items is not done a second time
    ├── LimitReached               an owner has as much unfinished as one may have
    ├── StaleLease                 somebody else holds the task by now
    ├── WaitTimeout                the task did not end in the time given
    ├── TaskFailed                 raised by ``result()`` of a task that ended badly
    ├── UnreadableResult           a stored result does not fit the annotation of its task
    ├── DatabaseError
    │   ├── DatabaseUnavailable    no connection
    │   │   ├── DatabaseLoginRefused   user or password are wrong
    │   │   └── DatabaseMissing        the server has no database of that name
    │   ├── TransactionLost        the database took ``ctx.transaction()`` away
    │   ├── DatabaseTooOld         PostgreSQL before 15
    │   ├── DatabaseReadOnly       a standby, or a server in recovery
    │   ├── DatabaseFull           no space left
    │   ├── SchemaOutOfDate        `penstock migrate` has to run first
    │   └── EmbeddedServerError    the embedded server could not be started
    └── HandlerError               what a handler raises on purpose
        ├── TransientError         worth another try
        ├── ThrottledError         the other side asked to slow down
        └── PermanentError         no retry will help

Each error takes data and builds its own sentence: what happened, with which value, what to do next.
"""

from collections.abc import Iterable
from shlex import quote
from typing import Any


class PenstockError(Exception):
    """Root of the tree, so that one ``except`` can catch everything of ours."""


class UsageError(PenstockError):
    """The caller's mistake. Nothing was stored."""


class UnknownTask(UsageError):
    def __init__(self, name: str, known: Iterable[str] = ()) -> None:
        self.name = name
        self.known = tuple(sorted(known))
        listed = ", ".join(self.known) if self.known else "none"
        super().__init__(
            f"No task or pipeline is called {name!r} (known: {listed}). "
            "Check the name, and that the module that defines it is imported or its worker has been started once."
        )


class InvalidArguments(UsageError):
    def __init__(self, task: str, problem: str) -> None:
        self.task = task
        self.problem = problem
        super().__init__(f"The arguments do not fit task {task!r}: {problem}. Nothing was enqueued.")


class PayloadTooLarge(UsageError):
    def __init__(self, *, what: str, size_bytes: int, limit_bytes: int) -> None:
        self.size_bytes = size_bytes
        self.limit_bytes = limit_bytes
        super().__init__(
            f"The {what} is {size_bytes:,} bytes of JSON; at most {limit_bytes:,} are kept. "
            "Store the data elsewhere and pass a reference to it."
        )


class NotStorable(UsageError):
    def __init__(self, *, what: str, problem: str) -> None:
        self.problem = problem
        super().__init__(f"The {what} cannot be stored as JSON: {problem}. Convert it before you hand it to Penstock.")


class InvalidSetting(UsageError):
    def __init__(self, name: str, value: object, problem: str) -> None:
        self.name = name
        self.value = value
        super().__init__(f"{name} = {value!r} will not do: {problem}.")


class InvalidDefinition(UsageError):
    def __init__(self, *, what: str, problem: str) -> None:
        super().__init__(f"{what} is declared wrongly: {problem}.")


class InvalidExtension(UsageError):
    """Nothing of it was registered."""

    def __init__(self, *, name: str, problem: str) -> None:
        self.name = name
        super().__init__(f"The extension {name!r} cannot be installed: {problem}.")


class MissingExtra(UsageError):
    def __init__(self, *, extra: str, what: str) -> None:
        self.extra = extra
        super().__init__(f"{what} needs the extra {extra!r}. Run `pip install 'penstock[{extra}]'`.")


class PipelineTaken(UsageError):
    """Two applications with a task of the same name would run each other's tasks."""

    def __init__(self, *, pipeline: str, application: str | None, owner: str) -> None:
        self.pipeline = pipeline
        self.application = application
        self.owner = owner
        shown = "Penstock itself" if application is None else f"The application {application!r}"
        super().__init__(
            f"{shown} declares {pipeline!r}, which belongs to the application {owner!r} in this database: each would"
            " run the other's tasks. Rename one of them (name=…), or use another database. If the application was"
            f" renamed, run `penstock stages transfer {quote(owner)} {quote(application or 'NEW')}`; to move one"
            f" pipeline, add `--only {quote(pipeline)}`."
        )


class TaskNotFound(PenstockError):
    def __init__(self, task_id: int) -> None:
        self.task_id = task_id
        super().__init__(
            f"There is no task {task_id}. Retention may have removed it; `penstock tasks list` shows what is there."
        )


class JobNotFound(PenstockError):
    def __init__(self, job_id: int) -> None:
        self.job_id = job_id
        super().__init__(f"There is no job {job_id}. `penstock jobs list` shows what is there.")


class RowNotFound(PenstockError):
    def __init__(self, job_id: int, row: int) -> None:
        super().__init__(f"Job {job_id} has no row {row:,}. `penstock items list {job_id}` shows what it has.")


class NotKnown(PenstockError):
    """A stage, lane, schedule or limit that does not exist."""

    def __init__(self, *, kind: str, name: str, known: Iterable[str] = ()) -> None:
        self.kind = kind
        self.name = name
        listed = ", ".join(sorted(known))
        super().__init__(f"There is no {kind} {name!r}." + (f" Known: {listed}." if listed else ""))


class IllegalMove(PenstockError):
    """Nothing was changed: the object is in a state that does not allow the move."""

    def __init__(
        self,
        *,
        move: str,
        subject: str,
        state: str,
        allowed_from: Iterable[str],
        next_step: str = "Look at it again: somebody else may have moved it meanwhile.",
    ) -> None:
        self.move = move
        self.state = state
        self.allowed_from = tuple(allowed_from)
        listed = ", ".join(self.allowed_from)
        super().__init__(
            f"Cannot {move} {subject}: it is {state}, and {move} is possible only from {listed}. {next_step}"
        )


class NotRepeated(PenstockError):
    """Nothing was changed: it would do again, to what is there now, what somebody asked for then."""

    def __init__(self, what: str) -> None:
        super().__init__(f"{what}. It is not repeated: choose those items, and ask for it again.")


class LimitReached(PenstockError):
    """Nothing was stored: one owner's work must not crowd out everybody else's."""

    def __init__(self, *, owner: str, what: str, have: int, most: int) -> None:
        self.owner = owner
        super().__init__(
            f"{owner} has {have:,} unfinished {what}, and {most:,} are possible at once. "
            "Wait until some have ended, or cancel some."
        )


class StaleLease(PenstockError):
    """Somebody else holds the task by now; nothing of this run was stored."""

    def __init__(self, *, task_id: int, lease: int) -> None:
        self.task_id = task_id
        self.lease = lease
        super().__init__(
            f"Lease {lease} on task {task_id} is not the current one any more: the task was rescued, cancelled or "
            "settled by somebody else. Nothing of this run was stored; stop working on it."
        )


class WaitTimeout(PenstockError):
    """The wait is over, the task is not."""

    def __init__(
        self, *, subject: str, seconds: float, ask: str, state: str = "unknown", unreachable: str | None = None
    ) -> None:
        """``unreachable``: why the state is unknown, as the database did not answer."""
        self.seconds = seconds
        self.state = state
        told = f"{subject} is still {state} after {seconds:g} s. It goes on; wait again, or ask `{ask}`."
        if unreachable is not None:
            known = f"{subject[0].lower()}{subject[1:]}"
            told = f"The state of {known} is unknown after {seconds:g} s: {unreachable} Wait again."
        super().__init__(told)


class TaskFailed(PenstockError):
    """Raised by ``result()`` when the task ended as anything but DONE."""

    def __init__(self, *, task_id: int, status: str, error: dict[str, Any] | None) -> None:
        self.task_id = task_id
        self.status = status
        self.error = error or {}
        kind, message = self.error.get("type"), self.error.get("message")
        cause = ": ".join(str(part) for part in (kind, message) if part) or "no cause was recorded"
        super().__init__(f"Task {task_id} ended {status}: {cause}")


class UnreadableResult(PenstockError):
    """Raised by ``result()`` when the stored result does not fit the return annotation of the task."""

    def __init__(self, *, task_id: int, task: str, annotation: str, problem: str, stored: str) -> None:
        self.task_id = task_id
        super().__init__(
            f"The result of task {task_id} ({task!r}) does not fit the return annotation {annotation}: {problem}."
            f" The stored value is {stored}. Read it as it is with `await task.wait()`; then correct the annotation,"
            " or run the task again with `await task.reprocess()`."
        )


class DatabaseError(PenstockError):
    """Something about the database itself."""


class DatabaseUnavailable(DatabaseError):
    def __init__(self, *, what: str, next_step: str) -> None:
        super().__init__(f"The database cannot be reached: {what}. {next_step}")


class DatabaseMissing(DatabaseUnavailable):
    def __init__(self, *, what: str) -> None:
        super().__init__(what=what, next_step="Create the database, or correct PENSTOCK_DATABASE_URL.")


class DatabaseLoginRefused(DatabaseUnavailable):
    def __init__(self, *, where: str, cause: str) -> None:
        super().__init__(
            what=f"the server{where} refused the login ({cause})",
            next_step="Check the user and password in PENSTOCK_DATABASE_URL.",
        )


class TransactionLost(DatabaseError):
    """Not the handler's fault, so it burns no attempt. ``began``: the handler was inside the block already."""

    def __init__(self, *, began: bool, cause: str) -> None:
        self.began = began
        what = "The database ended ctx.transaction()" if began else "ctx.transaction() got no connection"
        super().__init__(f"{what}: {cause.rstrip('.')}. The task runs again by itself; no attempt was burned.")


class DatabaseTooOld(DatabaseError):
    def __init__(self, *, version: str) -> None:
        super().__init__(
            f"The server is PostgreSQL {version}; Penstock needs 15 or newer. Upgrade it, or "
            "unset PENSTOCK_DATABASE_URL."
        )


class DatabaseReadOnly(DatabaseError):
    """``hosts``: what each of several hosts said."""

    def __init__(self, *, hosts: str = "") -> None:
        self.hosts = hosts
        if hosts:
            sentence = (
                f"No host accepts writes ({hosts}). "
                "Wait for the failover to finish, or add the primary to PENSTOCK_DATABASE_URL."
            )
        else:
            sentence = (
                "The database is read-only (a standby, or a server in read-only mode). "
                "Point PENSTOCK_DATABASE_URL at the primary."
            )
        super().__init__(sentence)


class DatabaseFull(DatabaseError):
    def __init__(self, *, what: str) -> None:
        super().__init__(f"The database has no space left: {what}. Free disk space; work goes on by itself afterwards.")


class SchemaOutOfDate(DatabaseError):
    """``extension``: whose tables these are; empty: Penstock's own."""

    def __init__(self, *, found: int, needed: int, extension: str = "") -> None:
        self.found = found
        self.needed = needed
        self.extension = extension
        if extension:
            sentence = (
                f"The schema of the extension {extension!r} is at version {found}, and {needed} is needed."
                " Run `penstock migrate --app module:name` for the application that installs it."
            )
        elif found > needed:
            sentence = (
                f"The schema is at version {found}, newer than this Penstock knows ({needed}). Upgrade the package."
            )
        else:
            sentence = f"The schema is at version {found}, this Penstock needs {needed}. Run `penstock migrate`."
        super().__init__(sentence)


class EmbeddedServerError(DatabaseError):
    def __init__(self, *, what: str, next_step: str) -> None:
        super().__init__(f"The embedded PostgreSQL cannot be used: {what}. {next_step}")


class HandlerError(PenstockError):
    """What a handler raises on purpose, to say how its failure should be treated."""


class TransientError(HandlerError):
    """The same call may work later: retried with growing delays, burns an attempt."""


class ThrottledError(HandlerError):
    """The other side asked to slow down: waits ``retry_after``, burns no attempt.

    With ``key`` the shared limiter of that key is held back for every worker.
    """

    def __init__(self, message: str = "throttled", *, retry_after: float = 1.0, key: str | None = None) -> None:
        self.retry_after = retry_after
        self.key = key
        super().__init__(message)


class PermanentError(HandlerError):
    """No retry will help (bad data, missing configuration): ends as ERROR at once."""
