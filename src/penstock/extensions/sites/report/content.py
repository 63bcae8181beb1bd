"""What the report about one site says, section by section; and how its figures came about, since they travel without
their makers."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from penstock.extensions.sites.findings import (
    Answer,
    AnswerCell,
    Prompt,
    PromptCoverage,
    PromptKind,
    SiteFacts,
    SiteScoring,
)
from penstock.extensions.sites.models.model import OFFLINE
from penstock.extensions.sites.report import wording
from penstock.extensions.sites.report.blocks import (
    Block,
    Grid,
    Items,
    Line,
    Meter,
    Page,
    Pairs,
    Quote,
    Section,
    Span,
    Title,
    Words,
    address,
    clean,
    line,
    theirs,
)
from penstock.observe.wording import counted

MEANING = (
    "Coverage asks whether one sentence on the pages that were read comes near enough in meaning to an answer of the "
    "question. It does not judge whether that sentence is true, new or well written.",
    "Visibility counts the answers of models that name the business without having been told its name. Questions that "
    "name it do not count, nor does the offline model, which knows nothing but the site.",
    "The intervals tell how much chance is in a figure of so few tries. Differences smaller than that mean nothing.",
    "A claim without support is a sentence about the business that no sentence of the pages bears. It may be true.",
)
LIMITS = (
    "Only the pages that are listed were read, as a program sees them without running scripts. What stands in images, "
    "videos, forms or behind a login is not known.",
    "Models answer differently from one time to the next, and their makers change them without notice. The figures are "
    "of the day given above.",
    "The questions were formed by rules from the site's own words. Customers may ask others.",
    "The offline model answers with sentences of the site itself. It shows what the site says, not what others know.",
)
_MOST_FACTS = 30
_MOST_TOPICS = 60
_MOST_CLAIMS = 100
_MOST_OTHERS = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """``facts`` or ``scores`` None: the site did not get so far, and ``problems`` says why, a sentence each.

    ``options``: as ``Options.as_json`` gives them; empty where they are not known.
    """

    job_id: int
    site_id: int
    url: str
    analysed_at: datetime
    facts: SiteFacts | None
    prompts: tuple[Prompt, ...]
    answers: tuple[Answer, ...]
    scores: SiteScoring | None
    options: Mapping[str, Any]
    problems: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        return (self.facts.name if self.facts else None) or self.url


def blocks(report: Report) -> tuple[Block, ...]:
    if report.facts is None:
        return (Words(line=line("No page of the site was read, so there were no questions, and no model was asked.")),)
    told = line(" ".join(_done(report)))
    meaning = () if report.scores is None else MEANING
    return (Words(line=told), Items(lines=tuple(line(text) for text in (*meaning, *LIMITS))))


def _done(report: Report) -> list[str]:
    pages = len(report.facts.pages) if report.facts else 0
    said = [f"{counted(pages, 'page')} of the site {'was' if pages == 1 else 'were'} read."]
    templates = sorted({clean(prompt.template, 80).rpartition(".")[2] for prompt in report.prompts})
    if report.prompts:
        said.append(f"{counted(len(report.prompts), 'question')} came of it (templates {', '.join(templates)}).")
    models = [clean(str(name), 80) for name in report.options.get("models", ())]
    if models and report.answers:
        samples = int(report.options.get("samples", 1))
        said.append(f"Asked: {', '.join(models)}, each question {counted(samples, 'time')}.")
    if report.scores is not None:
        tokens = report.scores.tokens_in + report.scores.tokens_out
        said.append(
            f"That took {counted(len(report.answers), 'answer')}, {tokens:,} tokens and cost "
            f"{wording.money(report.scores.cost)} in the currency of the models' prices."
        )
    return said


def page(report: Report) -> Page:
    read = f"read {wording.day(report.analysed_at)}" if report.facts else "not read"
    subtitle = line(address(report.url), f" · {read} · analysis {report.job_id}, site {report.site_id}")
    return Page(
        title=clean(report.name, 200) or "Website analysis",
        subtitle=subtitle,
        sections=tuple(section for section in _sections(report) if section.blocks),
        language=report.facts.language if report.facts else None,
    )


def _sections(report: Report) -> Iterator[Section]:
    yield Section(anchor="notes", title="What happened", blocks=_problems(report))
    if report.scores is not None:
        yield Section(anchor="summary", title="Summary", blocks=_summary(report.scores))
    if report.facts is not None:
        yield Section(anchor="facts", title="What the site says about itself", blocks=tuple(_facts(report.facts)))
    if report.scores is None:
        questions = _items(prompt.text for prompt in report.prompts)
        yield Section(anchor="prompts", title="Questions that were formed", blocks=questions)
    else:
        yield Section(anchor="coverage", title="Coverage by topic", blocks=tuple(_coverage(report.scores)))
        yield Section(anchor="matrix", title="Answers by model", blocks=_matrix(report, report.scores))
        yield Section(anchor="evidence", title="Evidence", blocks=tuple(_evidence(report, report.scores)))
        yield Section(anchor="claims", title="Claims without support", blocks=_claims(report.scores))
        yield Section(anchor="improve", title="What to improve", blocks=_improvements(report.scores))
    yield Section(anchor="method", title="Method and limits", blocks=blocks(report))
    yield Section(anchor="operator", title="For the operator", blocks=_for_operator(report))


def _problems(report: Report) -> tuple[Block, ...]:
    told = [*report.problems, *_unanswered(report)]
    if report.facts is None and not told:
        told.append("The site could not be analysed, and no reason was recorded.")
    if not told:
        return ()
    items = _items(wording.for_customer(one) for one in told)
    if report.scores is not None:
        return items
    reached = "The site was read, but its analysis did not end." if report.facts else "The site was not analysed."
    return (Words(line=line(Span(reached, strong=True))), *items)


def _for_operator(report: Report) -> tuple[Block, ...]:
    """What the customer cannot do anything about, for whoever sends the report."""
    told = wording.for_operator([*report.problems, *_unanswered(report)])
    return (Items(lines=tuple(line("For the operator: ", theirs(one)) for one in told)),) if told else ()


def _summary(scores: SiteScoring) -> tuple[Block, ...]:
    claims = counted(scores.unsupported, "claim")
    verb = "has" if scores.unsupported == 1 else "have"
    return (
        Meter(
            label=line("Coverage: questions that the site itself answers"),
            share=scores.coverage,
            words=wording.share(scores.coverage, "question"),
        ),
        Meter(
            label=line("Visibility: answers of models that name the business"),
            share=scores.visibility,
            words=_seen(scores),
        ),
        Words(line=line(f"{claims} in the models' answers {verb} no support on the site.")),
    )


def _seen(scores: SiteScoring) -> str:
    if scores.visibility.count == 0 and {cell.model for cell in scores.cells} == {OFFLINE}:
        return "Not measured: only the offline model was asked, and it knows nothing but the site."
    return wording.share(scores.visibility, "answer")


def _facts(facts: SiteFacts) -> Iterator[Block]:
    contacts = facts.contacts
    rows = {
        "Name": line(theirs(facts.name)),
        "Title": line(theirs(facts.title)),
        "Description": line(theirs(facts.description)),
        "Language": line(theirs(facts.language, 40)),
        "Places": line(theirs("; ".join(facts.places[:_MOST_FACTS]))),
        "Contact": line(theirs("; ".join((*contacts.emails, *contacts.phones, *contacts.addresses)[:_MOST_FACTS]))),
        "Topics": line(theirs("; ".join(topic.text for topic in facts.topics[:_MOST_FACTS]), 1500)),
    }
    yield Pairs(rows=tuple((label, value or line("not found")) for label, value in rows.items()))
    if facts.offers:
        yield Grid(
            caption="Offers",
            head=("Offer", "Price as written", "Page"),
            rows=tuple(
                (line(theirs(one.text, 200)), line(theirs(one.price, 60)) or line("–"), line(address(one.place.page)))
                for one in facts.offers[:_MOST_FACTS]
            ),
        )
    yield Grid(
        caption="Pages that were read",
        head=("Page", "Title", "Words"),
        rows=tuple(
            (line(address(one.url)), line(theirs(one.title, 200)) or line("–"), line(f"{one.words:,}"))
            for one in facts.pages
        ),
    )
    yield from _items(facts.notes[:_MOST_FACTS])


def _coverage(scores: SiteScoring) -> Iterator[Block]:
    if scores.by_kind:
        yield Title(line=line("By kind of question"))
    for kind, share in scores.by_kind.items():
        label = wording.KINDS[PromptKind(kind)] if kind in set(PromptKind) else clean(kind, 60)
        yield Meter(label=line(label), share=share, words=wording.short_share(share))
    topics = list(scores.by_topic.items())
    if topics:
        yield Title(line=line("By fact that the questions came from"))
    for topic, share in topics[:_MOST_TOPICS]:
        yield Meter(label=line(theirs(topic, 200)), share=share, words=wording.short_share(share))
    if len(topics) > _MOST_TOPICS:
        yield Words(line=line(f"{len(topics) - _MOST_TOPICS:,} more are in the CSV and JSON forms of this report."))


def _improvements(scores: SiteScoring) -> tuple[Block, ...]:
    nothing = Words(line=line("Nothing stood out: the site answers the questions that were asked."))
    return _items(scores.improvements) or (nothing,)


def _items(texts: Iterable[str]) -> tuple[Block, ...]:
    lines = tuple(line(theirs(one)) for one in texts)
    return (Items(lines=lines),) if lines else ()


def _unanswered(report: Report) -> list[str]:
    """A sentence for each model that left questions open. Its reasons differ in figures only: one stands for all."""
    found: dict[str, list[str]] = {}
    for cell in report.scores.cells if report.scores else ():
        if cell.problem and cell.failed:
            found.setdefault(cell.model, []).append(cell.problem)
    return [
        f"{clean(model, 80)} left {counted(len(problems), 'question')} without all its answers. {problems[0]}"
        for model, problems in found.items()
    ]


def _matrix(report: Report, scores: SiteScoring) -> tuple[Block, ...]:
    # In the order in which they were chosen.
    models = tuple(dict.fromkeys((*(cell.model for cell in scores.cells), *scores.by_model)))
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


def _evidence(report: Report, scores: SiteScoring) -> Iterator[Block]:
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


def _claims(scores: SiteScoring) -> tuple[Block, ...]:
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


def _covered(found: PromptCoverage | None) -> str:
    if found is None:
        return "– not measured"
    return "● answers it" if found.covered else "○ does not"


def _cell(cell: AnswerCell | None) -> Line:
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
