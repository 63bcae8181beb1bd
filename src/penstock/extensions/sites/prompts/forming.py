"""Questions from facts: balanced over their kinds, each once, and the same ones whenever the facts are the same."""

from collections.abc import Iterator, Mapping
from itertools import zip_longest

from penstock.extensions.sites.facts import SiteFacts
from penstock.extensions.sites.prompt import Prompt, PromptKind
from penstock.extensions.sites.prompts.material import Material, Piece, gathered
from penstock.extensions.sites.prompts.phrase import fold
from penstock.extensions.sites.prompts.template import Template, digest, language_of, templates

# How they are formed, and from which words; both decide whether earlier prompts may be used again.
VERSION = f"2-{digest()}"
_KINDS = (PromptKind.TOPIC, PromptKind.OFFER, PromptKind.PLACE, PromptKind.COMPARISON, PromptKind.BRAND)
# The fact that a question is about, where its template has several: the first of these that it holds.
_ABOUT = {
    PromptKind.TOPIC: ("topic",),
    PromptKind.OFFER: ("offer",),
    PromptKind.PLACE: ("place",),
    PromptKind.COMPARISON: ("offer", "topic", "category"),
    PromptKind.BRAND: ("offer", "topic", "place", "name"),
}


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
