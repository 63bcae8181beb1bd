"""What can go wrong with an embedding, by what it takes to get it right."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Any, TypeVar

from penstock.errors import InvalidSetting, PermanentError, TransientError


class Category(StrEnum):
    TRANSIENT = "transient"
    CONFIGURATION = "configuration"
    DATA = "data"
    RESOURCE = "resource"


class EmbedderBusy(TransientError):
    """The provider failed or did not answer; a later try may succeed. ``reached``: it did answer, so a smaller batch
    may tell whether one of the texts is to blame."""

    def __init__(self, message: str, *, reached: bool = False) -> None:
        super().__init__(message)
        self.reached = reached


class EmbedderExhausted(TransientError):
    """Memory, disk or quota is used up; a later try may succeed, but somebody should look."""


class EmbedderMisconfigured(PermanentError):
    """Needs a person: the sentence says what to change."""


class TextRefused(PermanentError):
    """This text cannot be embedded; others can."""


_Chosen = TypeVar("_Chosen", bound=StrEnum)


def chosen(kind: type[_Chosen], name: str, text: str) -> _Chosen:
    """Of what somebody wrote for ``name``."""
    try:
        return kind(text)
    except ValueError:
        raise InvalidSetting(name, text, f"use one of {', '.join(kind)}") from None


_BY_TYPE = {
    EmbedderMisconfigured.__qualname__: Category.CONFIGURATION,
    TextRefused.__qualname__: Category.DATA,
    EmbedderExhausted.__qualname__: Category.RESOURCE,
    "MemoryError": Category.RESOURCE,
}


def category_of(error: BaseException) -> Category:
    if isinstance(error, OSError) and error.errno is not None and not isinstance(error, ConnectionError | TimeoutError):
        return Category.RESOURCE
    return _BY_TYPE.get(type(error).__qualname__, Category.TRANSIENT)


def category_of_stored(error: Mapping[str, Any]) -> Category:
    """Of an error as the engine keeps it."""
    found = _BY_TYPE.get(str(error.get("type", "")))
    if found is not None:
        return found
    # Nothing that is tried again helps, and nobody said that the provider is to blame.
    return Category.DATA if error.get("class") == "permanent" else Category.TRANSIENT
