"""Words that nobody asks for by themselves: labels of menus, questions that stand on the page, articles."""

from penstock.apps.website_analysis.prompts.phrase import fold
from penstock.language.labels import asks, is_label, is_section

ARTICLES = frozenset(
    fold("a an the ein eine einen der die das den un une le la les el los las il lo gli uno una een het um uma").split(
        " "
    )
)


def nobody_asks(text: str) -> bool:
    return is_label(text) or is_section(text) or asks(text)


def with_small_article(text: str) -> str:
    """A heading begins with a capital; inside a question its article does not."""
    first, space, rest = text.partition(" ")
    return f"{first.lower()} {rest}" if space and first.lower() in ARTICLES else text


def without_article(folded: str) -> str:
    first, space, rest = folded.partition(" ")
    return rest if space and first in ARTICLES else folded
