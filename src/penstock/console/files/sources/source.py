"""What a source is: its parts, what may stand in them, and how its places are spoken to."""

import fnmatch
import os
import re
from collections.abc import AsyncIterator, Iterator, Sequence
from pathlib import PurePosixPath
from typing import Any, Protocol

from penstock.console.storage.sightings import Seen
from penstock.console.storage.sources import NewSource
from penstock.core.payload import clean_text
from penstock.errors import PenstockError, UsageError

BATCH = 1000
# Options that say how a file is read; the others travel to the job.
READING: dict[str, type] = {"encoding": str, "delimiter": str, "header": bool, "sheet": str, "safe": bool}
_NAME = re.compile(r"[a-z0-9][a-z0-9._-]{0,99}")
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,199}")
_MOST_STABLE_SECONDS = 86_400.0
_PLACES: dict[str, tuple[frozenset[str], frozenset[str]]] = {
    # kind: what it needs, what it may have besides
    "folder": (frozenset({"path"}), frozenset()),
    "s3": (frozenset({"bucket"}), frozenset({"prefix", "endpoint", "region"})),
    "ftp": (frozenset({"host"}), frozenset({"path", "port", "tls"})),
}


class SourceUnreachable(PenstockError):
    """The place cannot be listed or read now; the next scan tries again."""

    def __init__(self, what: str, cause: object) -> None:
        said = clean_text(" ".join(str(cause).split())[:500]) or type(cause).__name__
        super().__init__(f"{what}: {said}. Nothing of it was submitted; the next scan tries again.")


class Vanished(PenstockError):
    """The file was listed, and is not there any more."""

    def __init__(self, path: str) -> None:
        super().__init__(f"{path!r} was gone before it could be read.")


class Changed(PenstockError):
    """The file is not the one that was listed."""

    def __init__(self, path: str, how: str) -> None:
        super().__init__(f"{path!r} changed while it was read: {how}. It waits until it stays the same.")


class Place(Protocol):
    """One open place. Paths are relative to it, with ``/`` between their parts."""

    @property
    def settling_seconds(self) -> float:
        """How long two versions may look the same here: the step of its clock. 0: a listed file is whole."""
        ...

    def listing(self) -> AsyncIterator[list[Seen]]:
        """Batches of at most ``BATCH``. Raises ``SourceUnreachable`` where it ends early."""
        ...

    def read(self, path: str, version: str) -> AsyncIterator[bytes]:
        """All of it, or an error: ``Vanished``, ``Changed``, ``SourceUnreachable``. Whoever reads compares the size."""
        ...

    async def delete(self, path: str, version: str) -> bool:
        """False where it is gone or another one by now: then there is nothing to do."""
        ...

    async def move(self, path: str, version: str, target: str) -> bool:
        """Into the folder ``target`` of the place, under the same path."""
        ...


def check(source: NewSource) -> None:
    """Raise for a source that could never work. What only its machine can tell is told by its test."""
    for problem in _problems(source):
        raise UsageError(f"The source {source.name[:100]!r} will not do: {problem}.")


def _problems(source: NewSource) -> Iterator[str]:
    if _NAME.fullmatch(source.name) is None:
        yield "its name has to have 1 to 100 of a-z, 0-9, '.', '_' and '-', and to begin with a letter or digit"
    yield from _place_problems(source.kind, source.place)
    for name, kind in READING.items():
        if name in source.options and not isinstance(source.options[name], kind):
            yield f"its option {name} has to be {'text' if kind is str else 'true or false'}"
    pattern = source.pattern
    if not 0 < len(pattern) <= 500 or pattern.split("/").count("**") > 1 or not _storable(pattern):
        yield f"the pattern {pattern[:100]!r} has to have 1 to 500 characters and at most one '**'"
    if not 0 <= source.stable_seconds <= _MOST_STABLE_SECONDS:
        yield f"stable seconds = {source.stable_seconds:g} have to be from 0 to {_MOST_STABLE_SECONDS:g}"
    if source.after not in ("keep", "move", "delete"):
        yield f"{source.after!r} is nothing to do with a file afterwards; keep, move and delete are"
    if (source.after == "move") != (source.target is not None):
        yield "a target belongs to `move`, and only to it"
    if source.target is not None and not _plain_folder(source.target):
        yield f"the target {source.target[:100]!r} has to be a folder inside the place, such as 'done'"
    for variable in (source.user_env, source.secret_env):
        if variable is not None and _VARIABLE.fullmatch(variable) is None:
            yield f"{variable[:50]!r} is no name of an environment variable; the login itself is never stored"
    if (source.user_env is None) != (source.secret_env is None):
        yield "the variables of user and secret belong together"


def _place_problems(kind: str, place: dict[str, Any]) -> Iterator[str]:
    if kind not in _PLACES:
        yield f"its kind {kind[:50]!r} is none of {', '.join(_PLACES)}"
        return
    needed, further = _PLACES[kind]
    if missing := sorted(needed - {key for key, value in place.items() if value}):
        yield f"a place of kind {kind} needs {', '.join(missing)}"
    if unknown := sorted(place.keys() - needed - further):
        yield f"a place of kind {kind} has no {', '.join(unknown)[:100]}"
    for key, value in place.items():
        wanted: type = {"port": int, "tls": str}.get(key, str)
        if not isinstance(value, wanted) or not _storable(str(value)) or len(str(value)) > 1000:
            yield f"{key} of its place is no {wanted.__name__} that will do"
    if place.get("tls", "none") not in ("none", "explicit", "implicit"):
        yield "tls is none, explicit or implicit"
    if not 1 <= place.get("port", 21) <= 65535:
        yield "its port has to be from 1 to 65535"


def _storable(text: str) -> bool:
    """No control characters, which FTP would take for the end of a command, and nothing that PostgreSQL cannot keep."""
    return text.isprintable() and not any("\ud800" <= sign <= "\udfff" for sign in text)


def storable_path(path: str) -> bool:
    """Names that a ledger and a command can hold, and that stay inside their place."""
    return _storable(path) and not path.startswith("/") and ".." not in path.split("/")


def _plain_folder(text: str) -> bool:
    return 0 < len(text) <= 500 and storable_path(text) and "." not in PurePosixPath(text).parts and text != "."


def login(source: NewSource) -> tuple[str, str] | None:
    """From the environment of this process, at the moment of use. None: anonymous."""
    if source.user_env is None or source.secret_env is None:
        return None
    found = os.environ.get(source.user_env), os.environ.get(source.secret_env)
    if found[0] is None or found[1] is None:
        unset = source.user_env if found[0] is None else source.secret_env
        raise UsageError(f"The source {source.name!r} needs the environment variable {unset}. Set it for this process.")
    return found[0], found[1]


class Wanted:
    """Which paths a source takes: its pattern, without hidden files and without what was moved away."""

    def __init__(self, source: NewSource) -> None:
        self._parts = [
            None if part == "**" else re.compile(fnmatch.translate(part)) for part in source.pattern.split("/")
        ]
        self._target = None if source.target is None else f"{source.target.strip('/')}/"
        self.deep = len(self._parts) > 1
        self.depth = 32 if None in self._parts else len(self._parts)

    def __call__(self, path: str) -> bool:
        names = path.split("/")
        if self.passed_by(path) or any(name.startswith(".") for name in names):
            return False
        return _matches(self._parts, names)

    def enters(self, folder: str) -> bool:
        """Whether files that are wanted may lie in it."""
        visible = not folder.rpartition("/")[2].startswith(".")
        return self.deep and folder.count("/") + 1 < self.depth and visible and not self.passed_by(folder)

    def passed_by(self, path: str) -> bool:
        """Also for folders, so that they are not even listed."""
        return self._target is not None and f"{path}/".startswith(self._target)


def _matches(parts: Sequence[re.Pattern[str] | None], names: Sequence[str]) -> bool:
    if not parts:
        return not names
    if (first := parts[0]) is None:
        return any(_matches(parts[1:], names[skipped:]) for skipped in range(len(names)))
    return bool(names) and first.match(names[0]) is not None and _matches(parts[1:], names[1:])
