"""What the report about one site says, section by section."""

from collections.abc import Iterator

from penstock.apps.website_analysis.facts import Facts
from penstock.apps.website_analysis.models.model import OFFLINE
from penstock.apps.website_analysis.prompt import PromptKind
from penstock.apps.website_analysis.report import addressed, answers_part, method, wording
from penstock.apps.website_analysis.report.blocks import (
    Block,
    Grid,
    Items,
    Meter,
    Page,
    Pairs,
    Section,
    Span,
    Title,
    Words,
    address,
    clean,
    line,
    theirs,
)
from penstock.apps.website_analysis.report.document import Report
from penstock.apps.website_analysis.scores import Scores

_MOST_FACTS = 30
_MOST_TOPICS = 60


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
        yield Section(anchor="prompts", title="Questions that were formed", blocks=_questions(report))
    else:
        yield Section(anchor="coverage", title="Coverage by topic", blocks=tuple(_coverage(report.scores)))
        yield Section(anchor="matrix", title="Answers by model", blocks=answers_part.matrix(report, report.scores))
        yield Section(anchor="evidence", title="Evidence", blocks=tuple(answers_part.evidence(report, report.scores)))
        yield Section(anchor="claims", title="Claims without support", blocks=answers_part.claims(report.scores))
        yield Section(anchor="improve", title="What to improve", blocks=_improvements(report.scores))
    yield Section(anchor="method", title="Method and limits", blocks=method.blocks(report))
    yield Section(anchor="operator", title="For the operator", blocks=_for_operator(report))


def _problems(report: Report) -> tuple[Block, ...]:
    told = [*report.problems, *answers_part.unanswered(report)]
    if report.facts is None and not told:
        told.append("The site could not be analysed, and no reason was recorded.")
    if not told:
        return ()
    lines = tuple(line(theirs(addressed.for_customer(one))) for one in told)
    if report.scores is not None:
        return (Items(lines=lines),)
    reached = "The site was read, but its analysis did not end." if report.facts else "The site was not analysed."
    return (Words(line=line(Span(reached, strong=True))), Items(lines=lines))


def _for_operator(report: Report) -> tuple[Block, ...]:
    """What the customer cannot do anything about, for whoever sends the report."""
    told = addressed.for_operator([*report.problems, *answers_part.unanswered(report)])
    return (Items(lines=tuple(line("For the operator: ", theirs(one)) for one in told)),) if told else ()


def _summary(scores: Scores) -> tuple[Block, ...]:
    claims = wording.counted(scores.unsupported, "claim")
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


def _seen(scores: Scores) -> str:
    if scores.visibility.count == 0 and {cell.model for cell in scores.cells} == {OFFLINE}:
        return "Not measured: only the offline model was asked, and it knows nothing but the site."
    return wording.share(scores.visibility, "answer")


def _facts(facts: Facts) -> Iterator[Block]:
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
    if facts.notes:
        yield Items(lines=tuple(line(theirs(one)) for one in facts.notes[:_MOST_FACTS]))


def _questions(report: Report) -> tuple[Block, ...]:
    if not report.prompts:
        return ()
    return (Items(lines=tuple(line(theirs(prompt.text)) for prompt in report.prompts)),)


def _coverage(scores: Scores) -> Iterator[Block]:
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


def _improvements(scores: Scores) -> tuple[Block, ...]:
    if not scores.improvements:
        return (Words(line=line("Nothing stood out: the site answers the questions that were asked.")),)
    return (Items(lines=tuple(line(theirs(one)) for one in scores.improvements)),)
