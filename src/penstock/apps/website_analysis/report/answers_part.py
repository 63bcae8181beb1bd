"""The part of a report about answers: who said what to which question, and what on the site bears it."""

from collections.abc import Iterator

from penstock.apps.website_analysis.prompt import Prompt
from penstock.apps.website_analysis.report import wording
from penstock.apps.website_analysis.report.blocks import (
    Block,
    Grid,
    Line,
    Meter,
    Quote,
    Span,
    Title,
    Words,
    address,
    clean,
    line,
    theirs,
)
from penstock.apps.website_analysis.report.document import Report
from penstock.apps.website_analysis.scores import Cell, Coverage, Scores

_MOST_CLAIMS = 100
_MOST_OTHERS = 3


def models_of(scores: Scores) -> tuple[str, ...]:
    """In the order in which they were chosen."""
    return tuple(dict.fromkeys((*(cell.model for cell in scores.cells), *scores.by_model)))


def unanswered(report: Report) -> list[str]:
    """A sentence for each model that left questions open. Its reasons differ in figures only: one stands for all."""
    found: dict[str, list[str]] = {}
    for cell in report.scores.cells if report.scores else ():
        if cell.problem and cell.failed:
            found.setdefault(cell.model, []).append(cell.problem)
    return [
        f"{clean(model, 80)} left {wording.counted(len(problems), 'question')} without all its answers. {problems[0]}"
        for model, problems in found.items()
    ]


def matrix(report: Report, scores: Scores) -> tuple[Block, ...]:
    models = models_of(scores)
    cells = {(cell.prompt, cell.model): cell for cell in scores.cells}
    covered = {one.prompt: one for one in scores.prompts}
    rows = tuple(
        (
            line(theirs(prompt.text)),
            line(_covered(covered.get(prompt.key))),
            *(_cell(cells.get((prompt.key, model))) for model in models),
        )
        for prompt in report.prompts
    )
    meters = tuple(
        Meter(label=line("Visibility: ", theirs(model, 80)), share=share, words=wording.short_share(share))
        for model, share in scores.by_model.items()
    )
    grid = Grid(
        caption="Every question on every model",
        head=("Question", "The site itself", *(clean(model, 80) for model in models)),
        rows=rows,
    )
    return (*meters, Words(line=line(wording.LEGEND)), grid) if rows else meters


def evidence(report: Report, scores: Scores) -> Iterator[Block]:
    """Question by question: the sentence of the site, then what each model said."""
    covered = {one.prompt: one for one in scores.prompts}
    for number, prompt in enumerate(report.prompts, start=1):
        yield Title(line=line(f"{number}. ", theirs(prompt.text)), anchor=f"q{number}")
        yield Words(line=_origin(prompt))
        found = covered.get(prompt.key)
        if found is not None and found.evidence is not None:
            likeness = "" if found.covered else " (the nearest sentence; it does not answer the question)"
            source = line("The site, ", address(found.evidence.page), likeness)
            yield Quote(line=line(theirs(found.evidence.sentence)), source=source)
        else:
            yield Words(line=line("No sentence of the site comes near to an answer."))
        for cell in scores.cells:
            if cell.prompt == prompt.key and cell.excerpt:
                yield Quote(line=line(theirs(cell.excerpt)), source=line("Model ", theirs(cell.model, 80)))


def claims(scores: Scores) -> tuple[Block, ...]:
    """Sentences about the business that the site does not bear. They may be true all the same."""
    found = [(cell.model, claim) for cell in scores.cells for claim in cell.claims if not claim.supported]
    if not found:
        return (Words(line=line("No answer claims anything about the business that the site does not say too.")),)
    rows = tuple((line(theirs(claim.text)), line(theirs(model, 80))) for model, claim in found[:_MOST_CLAIMS])
    grid = Grid(caption="Sentences of answers that nothing on the site supports", head=("Claim", "Model"), rows=rows)
    if len(found) <= _MOST_CLAIMS:
        return (grid,)
    more = f"{len(found) - _MOST_CLAIMS:,} more are in the CSV and JSON forms of this report."
    return grid, Words(line=line(more))


def _origin(prompt: Prompt) -> Line:
    kind = wording.KINDS[prompt.kind].lower()
    page = (" on ", address(prompt.page)) if prompt.page else ()
    return line(f"Asked about {kind}, from ", theirs(prompt.fact, 200) or "a person", *page, ".")


def _covered(found: Coverage | None) -> str:
    if found is None:
        return "– not measured"
    return "● answers it" if found.covered else "○ does not"


def _cell(cell: Cell | None) -> Line:
    if cell is None:
        return line("– not asked")
    others = sorted(cell.others.items(), key=lambda one: (-one[1], one[0]))[:_MOST_OTHERS]
    also = theirs(", ".join(name for name, _ in others), 200)
    problem = theirs(cell.problem, 200)
    return line(
        Span(wording.verdict(cell)),
        *((". Also named: ", also) if also else ()),
        *((". ", problem) if problem else ()),
    )
