"""Prompts as a person leaves them after reading what was formed."""

from collections.abc import Iterable, Sequence

from penstock.errors import UsageError
from penstock.extensions.sites.prompt import Prompt, PromptKind
from penstock.extensions.sites.prompts.phrase import fold, one_line

MOST = 200
LONGEST = 500
OWN_TEMPLATE = "own@1"


def edited(texts: Iterable[str], formed: Sequence[Prompt]) -> list[Prompt]:
    """In the order given. What was left as it was formed keeps its fact; anything else is a person's own question."""
    known = {prompt.text: prompt for prompt in formed}
    found: dict[str, Prompt] = {}
    for number, text in enumerate(texts, start=1):
        if number > MOST:
            raise UsageError(f"There are more than {MOST} prompts. Leave some out; nothing was changed.")
        line = _line(number, text)
        found.setdefault(fold(line) or line, known.get(line) or _own(line))
    if not found:
        raise UsageError("No prompt is left, so there would be nothing to ask. Keep at least one; nothing was changed.")
    return list(found.values())


def _line(number: int, text: str) -> str:
    line = one_line(text, LONGEST + 1)
    if not line:
        raise UsageError(f"Prompt {number} is empty. Write a question, or leave it out; nothing was changed.")
    if len(text) > LONGEST:
        raise UsageError(
            f"Prompt {number} has {len(text):,} characters; at most {LONGEST} are asked. Shorten it: nothing changed."
        )
    return line


def _own(text: str) -> Prompt:
    return Prompt(text=text, kind=PromptKind.OWN, fact="Written by a person", page=None, template=OWN_TEMPLATE)
