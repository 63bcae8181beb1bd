"""Scores of a site: what its pages answer, who names it, and what to do next, the most useful first. Pure."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from math import fsum

from penstock.extensions.sites.findings import (
    Answer,
    AnswerCell,
    Prompt,
    PromptCoverage,
    PromptKind,
    Share,
    SiteFacts,
    SiteScoring,
)
from penstock.extensions.sites.models.model import OFFLINE
from penstock.extensions.sites.scoring.ranking import ANSWERS, CONTACT, HOURS, LENGTH, PLACE, PRICE, Ranking, asked_for
from penstock.extensions.sites.scoring.shares import clustered, share
from penstock.extensions.sites.scoring.visibility import Seeing
from penstock.language.embedding import Embedder

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


def score(facts: SiteFacts, prompts: Sequence[Prompt], answers: Sequence[Answer], embedder: Embedder) -> SiteScoring:
    """Coverage needs no model, so a site has scores even where every model failed."""
    asked = list({prompt.key: prompt for prompt in prompts}.values())
    ranking = Ranking(facts, embedder)
    seeing = Seeing(facts, ranking)
    coverage = [_coverage(prompt, ranking) for prompt in asked]
    cells = seeing.cells(asked, answers)
    echoes = {prompt.key for prompt in asked if seeing.business.named_in(prompt.text)}
    models = sorted({answer.model for answer in answers})
    return SiteScoring(
        coverage=_covered(coverage),
        visibility=_visibility(cells, echoes),
        by_kind=_split(coverage, [str(prompt.kind) for prompt in asked]),
        by_topic=_split(coverage, [prompt.fact for prompt in asked]),
        by_model={model: _visibility([one for one in cells if one.model == model], echoes) for model in models},
        prompts=tuple(coverage),
        cells=tuple(cells),
        unsupported=len({claim.text for cell in cells for claim in cell.claims if not claim.supported}),
        improvements=improvements(facts, asked, coverage, cells),
        cost=round(fsum(answer.cost for answer in answers), 9),
        tokens_in=sum(answer.tokens_in for answer in answers),
        tokens_out=sum(answer.tokens_out for answer in answers),
    )


def _coverage(prompt: Prompt, ranking: Ranking) -> PromptCoverage:
    """The nearest sentence is kept as evidence only where it answers."""
    best = next(iter(ranking.rank(prompt.text, most=1)), None)
    if best is None:
        return PromptCoverage(prompt=prompt.key, covered=False, similarity=0.0, evidence=None)
    covered = best.similarity >= ANSWERS
    evidence = best.evidence if covered else None
    return PromptCoverage(prompt=prompt.key, covered=covered, similarity=best.similarity, evidence=evidence)


def _covered(coverage: Iterable[PromptCoverage]) -> Share:
    found = [one.covered for one in coverage]
    return share(sum(found), len(found))


def _split(coverage: Sequence[PromptCoverage], labels: Sequence[str]) -> dict[str, Share]:
    """Coverage per label, in the order in which the labels first come."""
    return {
        label: _covered(one for one, its in zip(coverage, labels, strict=True) if its == label)
        for label in dict.fromkeys(labels)
    }


def _visibility(cells: Iterable[AnswerCell], echoes: set[str]) -> Share:
    """Over prompts that do not name the business themselves: an answer to those would only repeat the name."""
    by_prompt: dict[str, tuple[int, int]] = {}
    for cell in cells:
        if cell.model == OFFLINE or cell.prompt in echoes:
            continue
        hits, count = by_prompt.get(cell.prompt, (0, 0))
        named = round((cell.named.value or 0.0) * cell.named.count)
        by_prompt[cell.prompt] = (hits + named, count + cell.named.count)
    return clustered(list(by_prompt.values()))


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
