"""What an import reads, one by one: texts that may become articles, and what cannot be taken."""

from collections.abc import Generator
from dataclasses import dataclass

from penstock.apps.article_search.article import Visibility
from penstock.apps.article_search.markdown import parse
from penstock.intake.encoding import encoding_of
from penstock.intake.refused import FileRefused

# Where a text is none: nothing of it could be found, and an article that had one would lose it.
EMPTY = "There is no text in it, or nothing behind the title."


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """``source`` is stable: the same one imported again is the same article. ``where`` is for people."""

    where: str
    source: str
    title: str
    content: str
    message: str | None = None
    visibility: Visibility | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Refusal:
    where: str
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """``share``: how much of the whole is read with it, 0 to 1."""

    found: Draft | Refusal
    share: float


# Blocking; read in a thread. Closing it early closes the files.
Entries = Generator[Entry, None, None]


def decoded(data: bytes, *, where: str) -> str | Refusal:
    """In whatever encoding the bytes are."""
    try:
        return data.decode(encoding_of(data))
    except FileRefused as error:
        return Refusal(where=where, why=f"{error.problem[:1].upper()}{error.problem[1:]} {error.next_step}")
    except UnicodeDecodeError as error:
        why = f"Byte {error.start:,} is not {error.encoding}, which the bytes before it are. Save the file as UTF-8."
        return Refusal(where=where, why=why)


def of_markdown(data: bytes, *, where: str, source: str, name: str) -> Draft | Refusal:
    """``name``: the title of a file that names none itself."""
    text = decoded(data, where=where)
    if isinstance(text, Refusal):
        return text
    found = parse(text)
    return Draft(where=where, source=source, title=found.title or name, content=found.content)
