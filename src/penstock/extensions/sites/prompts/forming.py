"""Questions from facts: balanced over their kinds, each once, and the same ones whenever the facts are the same.

Their templates are data in ``templates/<language>.toml``, checked when they are read. One is known as
``name.language@version``. Whoever changes the words of one raises its version, so that an old report still says which
words were asked.
"""

import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from importlib.resources import files
from itertools import zip_longest

from penstock.errors import InvalidDefinition
from penstock.extensions.sites.findings import Prompt, PromptKind, SiteFacts
from penstock.extensions.sites.prompts.material import Material, Piece, fold, gathered

LANGUAGES = ("en", "de", "fr", "es", "it", "nl", "pt", "pl")
FALL_BACK = "en"
# ``category``: what the business is in one phrase; ``other``: the offer behind the one that ``offer`` stands for.
VARIABLES = frozenset({"topic", "offer", "other", "place", "name", "category"})
_GAP = re.compile(r"\{(\w*)\}")
_LONGEST = 200
_KINDS = (PromptKind.TOPIC, PromptKind.OFFER, PromptKind.PLACE, PromptKind.COMPARISON, PromptKind.BRAND)
# The fact that a question is about, where its template has several: the first of these that it holds.
_ABOUT = {
    PromptKind.TOPIC: ("topic",),
    PromptKind.OFFER: ("offer",),
    PromptKind.PLACE: ("place",),
    PromptKind.COMPARISON: ("offer", "topic", "category"),
    PromptKind.BRAND: ("offer", "topic", "place", "name"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Template:
    name: str
    language: str
    version: int
    kind: PromptKind
    text: str

    def __post_init__(self) -> None:
        if problem := self._problem():
            raise InvalidDefinition(what=f"The template {self.label}", problem=problem)

    @property
    def label(self) -> str:
        return f"{self.name}.{self.language}@{self.version}"

    @property
    def variables(self) -> frozenset[str]:
        return frozenset(_GAP.findall(self.text))

    def filled(self, values: dict[str, str]) -> str:
        """In one pass: what a value says is never read as a template."""
        return _GAP.sub(lambda gap: values[gap[1]], self.text)

    def _problem(self) -> str | None:
        if unknown := self.variables - VARIABLES:
            return f"nobody knows the variables {', '.join(sorted(unknown))}; known: {', '.join(sorted(VARIABLES))}"
        if not self.variables or len(self.text) > _LONGEST or _GAP.sub("", self.text).count("{"):
            return f"{self.text!r} needs a variable, matching braces, and at most {_LONGEST} characters"
        if (self.kind is PromptKind.BRAND) != ("name" in self.variables):
            return "questions of the kind brand name the business, and no others do"
        if self.version < 1 or self.kind is PromptKind.OWN:
            return "versions count from 1, and the kind own is for people"
        return None


def language_of(tag: str | None) -> str:
    """The part of a language tag that templates know: ``de-AT`` is ``de``, what nobody wrote templates for ``en``."""
    found = re.split(r"[-_]", (tag or "").strip().lower())[0]
    return found if found in LANGUAGES else FALL_BACK


@cache
def templates(language: str) -> tuple[Template, ...]:
    """Of one language, in the order of the file: earlier ones are used first."""
    listed = tomllib.loads(_text(language))["template"]
    found = tuple(Template(language=language, **{**one, "kind": PromptKind(one["kind"])}) for one in listed)
    for what in ("name", "text"):
        values = [getattr(one, what) for one in found]
        if double := next((value for value in values if values.count(value) > 1), None):
            raise InvalidDefinition(what=f"templates/{language}.toml", problem=f"the {what} {double!r} is there twice")
    return found


def digest() -> str:
    """Changes with any word of any template."""
    return sha256("\0".join(_text(language) for language in LANGUAGES).encode()).hexdigest()[:12]


def _text(language: str) -> str:
    return files(__package__).joinpath("templates", f"{language}.toml").read_text("utf-8")


# How they are formed, and from which words; both decide whether earlier prompts may be used again.
VERSION = f"2-{digest()}"


def form(facts: SiteFacts, *, most: int) -> list[Prompt]:
    """At most ``most``. Every kind gets its turn; a kind that has no facts leaves its turns to the others."""
    material = gathered(facts)
    known = templates(language_of(facts.language))
    by_kind = [_of_kind([one for one in known if one.kind is kind], material) for kind in _KINDS]
    found: dict[str, Prompt] = {}
    for turn in zip_longest(*by_kind):
        for prompt in turn:
            if prompt is None:
                continue
            if len(found) >= most:
                return list(found.values())
            # The same words in another order are the same question: A or B, B or A.
            found.setdefault(" ".join(sorted(fold(prompt.text).split())), prompt)
    return list(found.values())


def _of_kind(wanted: list[Template], material: Material) -> Iterator[Prompt]:
    """Every fact once before any comes twice, and templates in turn: the first questions differ most."""
    fillings = [list(_fillings(template, material)) for template in wanted]
    longest = max((len(one) for one in fillings), default=0)
    for around in range(len(wanted)):
        for number in range(longest):
            place = (number + around) % len(wanted)
            if number < len(fillings[place]):
                prompt = _prompt(wanted[place], fillings[place][number])
                if prompt.kind is PromptKind.BRAND or not material.gives_away(prompt.text):
                    yield prompt


def _fillings(template: Template, material: Material) -> Iterator[Mapping[str, Piece]]:
    """As many as the variable with most facts has; the others begin again."""
    pieces = {variable: material.of(variable) for variable in sorted(template.variables)}
    if not all(pieces.values()):
        return
    for number in range(max(len(one) for one in pieces.values())):
        filling = {variable: one[number % len(one)] for variable, one in pieces.items()}
        texts = [fold(piece.text) for piece in filling.values()]
        if len(set(texts)) == len(texts):  # "bread in bread" is no question
            yield filling


def _prompt(template: Template, filling: Mapping[str, Piece]) -> Prompt:
    about = next(filling[variable] for variable in _ABOUT[template.kind] if variable in filling)
    return Prompt(
        text=template.filled({variable: piece.text for variable, piece in filling.items()}),
        kind=template.kind,
        fact=about.fact,
        page=about.page,
        template=template.label,
    )
