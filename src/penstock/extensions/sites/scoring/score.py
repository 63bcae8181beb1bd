"""Scores of a site: what its pages answer, who names it, and what to improve. Pure."""

from collections.abc import Iterable, Sequence
from math import fsum

from penstock.extensions.sites.answer import Answer
from penstock.extensions.sites.facts import SiteFacts
from penstock.extensions.sites.models.model import OFFLINE
from penstock.extensions.sites.prompt import Prompt
from penstock.extensions.sites.scores import AnswerCell, PromptCoverage, Share, SiteScoring
from penstock.extensions.sites.scoring.improvements import improvements
from penstock.extensions.sites.scoring.ranking import ANSWERS, Ranking
from penstock.extensions.sites.scoring.shares import clustered, share
from penstock.extensions.sites.scoring.visibility import Seeing
from penstock.language.embedding import Embedder


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
