"""What may be an article. Refused before anything is stored, with a sentence that says what to change."""

from penstock.config import Settings
from penstock.errors import PayloadTooLarge, UsageError
from penstock.extensions.articles.settings import ArticleSettings

LONGEST_TITLE = 300
LONGEST_MESSAGE = 500
_PRIORITIES = ("high", "normal", "low")


def check_text(settings: Settings, title: str, content: str, message: str | None = None) -> None:
    if not title.strip():
        raise UsageError("The title is empty; give the article one.")
    if len(title) > LONGEST_TITLE:
        raise UsageError(f"The title has {len(title):,} characters; at most {LONGEST_TITLE} are kept.")
    if message is not None and len(message) > LONGEST_MESSAGE:
        raise UsageError(f"The message has {len(message):,} characters; at most {LONGEST_MESSAGE} are kept.")
    if len(content) > settings.of(ArticleSettings).max_characters:
        raise ArticleTooLong(len(content), settings.of(ArticleSettings).max_characters)
    for name, text in (("title", title), ("content", content), ("message", message or "")):
        _check_storable(name, text)


def check_priority(priority: str) -> None:
    if priority not in _PRIORITIES:
        raise UsageError(f"The priority {priority[:50]!r} is unknown; use {', '.join(_PRIORITIES)}.")


class ArticleTooLong(PayloadTooLarge):
    def __init__(self, characters: int, most: int) -> None:
        self.size_bytes, self.limit_bytes = characters, most
        UsageError.__init__(
            self,
            f"The text has {characters:,} characters; at most {most:,} are kept. Split it into several articles, or "
            "raise PENSTOCK_ARTICLES_MAX_CHARACTERS.",
        )


def _check_storable(name: str, text: str) -> None:
    place = text.find("\0")
    if place >= 0:
        raise UsageError(f"The {name} has a NUL character at place {place:,}, as files that are no text have.")
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise UsageError(
            f"The {name} has half a character (a lone surrogate) at place {error.start:,}, which cannot be stored."
        ) from None
