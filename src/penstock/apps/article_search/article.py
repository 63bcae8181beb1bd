"""The records of an article."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum


class Visibility(StrEnum):
    """``SHARED``: everybody who may log in reads and finds it; only its owner and admins change it."""

    PRIVATE = "private"
    SHARED = "shared"


class Operation(StrEnum):
    """Why an embedding task exists."""

    CREATE = "create"
    UPDATE = "update"
    DELETE = "delete"
    REINDEX = "reindex"


@dataclass(frozen=True, slots=True, kw_only=True)
class Article:
    """An article with its current text. ``shared_from``: first revision that others may read. ``task_id``: the
    embedding task of this revision; None: none was wanted."""

    id: int
    slug: str
    title: str
    content: str
    revision: int
    owner: str
    visibility: Visibility
    shared_from: int | None
    source: str | None
    message: str | None
    author: str
    task_id: int | None
    created_at: datetime
    updated_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """An article in a list, without its text."""

    id: int
    slug: str
    title: str
    revision: int
    owner: str
    visibility: Visibility
    shared_from: int | None
    task_id: int | None
    created_at: datetime
    updated_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Revision:
    """One text that an article had."""

    revision: int
    title: str
    content: str
    message: str | None
    author: str
    task_id: int | None
    created_at: datetime
