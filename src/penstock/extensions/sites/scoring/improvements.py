"""What to do next, in sentences that can be acted on. The most useful come first; no more than a page of them."""

from collections import Counter
from collections.abc import Iterator, Sequence

from penstock.extensions.sites.facts import SiteFacts
from penstock.extensions.sites.prompt import Prompt, PromptKind
from penstock.extensions.sites.scores import AnswerCell, PromptCoverage
from penstock.extensions.sites.scoring.asked_for import CONTACT, HOURS, LENGTH, PLACE, PRICE, asked_for

_MOST = 15
_MOST_CLAIMS = 5
_MOST_QUESTIONS = 8
_THIN_WORDS = 50
_ADD_BY_KIND_OF_THING = {
    PRICE.name: "add the price, or from which amount it starts",
    HOURS.name: "add the opening hours with days and times",
    CONTACT.name: "add a telephone number or an e-mail address",
    LENGTH.name: "add how long it takes or since when",
    PLACE.name: "add the full address",
}
_ADD_BY_PROMPT = {
    PromptKind.TOPIC: "add a paragraph about “{fact}” that answers it in its first sentence",
    PromptKind.OFFER: "add a sentence on “{fact}” that says who it is for and what it includes",
    PromptKind.PLACE: "add a sentence that names “{fact}” together with what is offered there",
    PromptKind.COMPARISON: "add what sets “{fact}” apart, in terms that can be checked",
    PromptKind.BRAND: "add a sentence about “{fact}” that answers it in plain words",
    PromptKind.OWN: "add a sentence that answers it",
}


def improvements(
    facts: SiteFacts, prompts: Sequence[Prompt], coverage: Sequence[PromptCoverage], cells: Sequence[AnswerCell]
) -> tuple[str, ...]:
    said = (
        *_unanswered(prompts, coverage),
        *_unsupported(cells),
        *_outnamed(facts, cells),
        *_pages(facts),
    )
    return tuple(dict.fromkeys(said))[:_MOST]


def _unanswered(prompts: Sequence[Prompt], coverage: Sequence[PromptCoverage]) -> Iterator[str]:
    open_keys = {one.prompt for one in coverage if not one.covered}
    missing = [prompt for prompt in prompts if prompt.key in open_keys]
    for prompt in missing[:_MOST_QUESTIONS]:
        kind = asked_for(prompt.text)
        add = _ADD_BY_KIND_OF_THING[kind.name] if kind else _ADD_BY_PROMPT[prompt.kind].format(fact=prompt.fact)
        where = f", for example on {prompt.page}" if prompt.page else ""
        yield f"No page answers “{prompt.text}”; {add}{where}."
    if len(missing) > _MOST_QUESTIONS:
        more = len(missing) - _MOST_QUESTIONS
        yield f"{more} more questions have no answer on the site; the table of prompts lists them."


def _unsupported(cells: Sequence[AnswerCell]) -> Iterator[str]:
    loose = {claim.text: cell.model for cell in reversed(cells) for claim in cell.claims if not claim.supported}
    for text, model in sorted(loose.items())[:_MOST_CLAIMS]:
        yield f"{model} says “{text}”, and no page supports it; if it is true, say so on the site, if not, say what is."


def _outnamed(facts: SiteFacts, cells: Sequence[AnswerCell]) -> Iterator[str]:
    """Who is named more often than the business, over all answers of models that were asked from memory."""
    answered = sum(cell.named.count for cell in cells)
    own = sum(round((cell.named.value or 0) * cell.named.count) for cell in cells)
    others: Counter[str] = Counter()
    for cell in cells:
        others.update(cell.others)
    ahead = sorted((name for name, count in others.items() if count > own), key=lambda name: (-others[name], name))[:3]
    if ahead:
        listed = ", ".join(f"{name} ({others[name]})" for name in ahead)
        yield (
            f"In {answered} answers {facts.name or 'the business'} is named {own} times, less often than {listed}; "
            "compare what their pages say about the same questions."
        )


def _pages(facts: SiteFacts) -> Iterator[str]:
    if facts.name is None:
        yield "The name of the business was not found; put it into the title and into structured data (schema.org)."
    for page in facts.pages:
        if not page.description:
            yield f"{page.url} has no description; add one sentence that says what the page answers."
        if page.words < _THIN_WORDS:
            yield f"{page.url} has {page.words} words of text; a reader or a model finds little to quote there."
