"""What a pipeline tells people who bring it a file: what it is for, which columns it knows, what can be chosen."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

OptionKind = Literal["text", "number", "flag", "order"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Option:
    """One field of a form. ``order``: some of ``choices``, in the order in which they are to be taken."""

    name: str
    kind: OptionKind
    label: str
    help: str
    default: Any = None
    choices: tuple[str, ...] = ()


def _no_options() -> Sequence[Option]:
    return ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Offer:
    """``options`` is asked when somebody looks, since choices may depend on settings.

    ``roles_of`` takes headings and what was given (role → heading, None: no column), and answers role → index.
    ``problems_of`` takes that and the cells of a row, and says what is wrong with them: (role or None, sentence).
    """

    about: str
    roles: Sequence[str] = ()
    options: Callable[[], Sequence[Option]] = _no_options
    roles_of: Callable[[Sequence[str], Mapping[str, Any] | None], Mapping[str, int]] | None = None
    problems_of: Callable[[Mapping[str, int], Sequence[str]], Iterable[tuple[str | None, str]]] | None = None
