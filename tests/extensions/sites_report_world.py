"""A made-up analysis as reports get it: a harmless one, and one whose every text is hostile."""

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from penstock.extensions.sites.findings import (
    Answer,
    AnswerCell,
    AnswerClaim,
    Evidence,
    FoundAt,
    PromptCoverage,
    ReadPage,
    Share,
    SiteContacts,
    SiteFacts,
    SiteOffer,
    SiteScoring,
    SiteTopic,
)
from penstock.extensions.sites.prompts.forming import form
from penstock.extensions.sites.report.content import Report
from penstock.extensions.sites.report.overview import Overview, SiteLine
from penstock.extensions.sites.reporting import written
from tests.extensions.page_facts import page_facts

URL = "https://alderby-mill.example/"
MODELS = ("offline", "gull-small", "heron-large")


def share(held: int, count: int) -> Share:
    """Not the interval of the scores; wide enough to be seen."""
    if not count:
        return Share(value=None, low=None, high=None, count=0)
    value = held / count
    return Share(value=value, low=max(value - 0.2, 0.0), high=min(value + 0.15, 1.0), count=count)


def page(url: str, title: str) -> ReadPage:
    text = "We bake sourdough bread in Eikeland every morning."
    return page_facts(url, text, title=title, language="en-GB")


def facts() -> SiteFacts:
    return SiteFacts(
        url=URL,
        name="Alderby Mill Bakery",
        title="Alderby Mill Bakery: bread from our own flour",
        description="A bakery beside the river in Eikeland. Sourdough, rye and courses.",
        language="en-GB",
        canonical=URL,
        topics=tuple(
            SiteTopic(text=text, weight=weight, place=FoundAt(page=URL))
            for text, weight in (("sourdough bread", 0.9), ("baking courses", 0.6), ("rye flour", 0.4))
        ),
        offers=(
            SiteOffer(text="Sourdough loaf", price="4.80 EUR", place=FoundAt(page=f"{URL}shop")),
            SiteOffer(text="Evening baking course", price=None, place=FoundAt(page=f"{URL}courses")),
        ),
        places=("Eikeland",),
        contacts=SiteContacts(emails=("hello@alderby-mill.example",), phones=("+00 555 0100",)),
        pages=(page(URL, "Alderby Mill Bakery"), page(f"{URL}shop", "Shop"), page(f"{URL}courses", "Courses")),
        notes=("The page /old answers 404 and was left out.",),
    )


def report(**other: Any) -> Report:
    known = facts()
    prompts = tuple(form(known, most=10))
    coverage = tuple(
        PromptCoverage(
            prompt=prompt.key,
            covered=number % 3 > 0,
            similarity=0.42 + number / 50,
            evidence=None
            if number % 3 == 0
            else Evidence(sentence=f"We bake it ourselves, batch {number}.", page=f"{URL}shop", similarity=0.6),
        )
        for number, prompt in enumerate(prompts)
    )
    usual = Report(
        job_id=12,
        site_id=345,
        url=URL,
        analysed_at=datetime(2026, 3, 7, 9, 30, tzinfo=UTC),
        facts=known,
        prompts=prompts,
        answers=tuple(
            Answer(prompt=prompt.key, model=model, sample=1, text="An answer.")
            for prompt in prompts
            for model in MODELS
        ),
        scores=SiteScoring(
            coverage=share(6, 10),
            visibility=share(7, 48),
            by_kind={"topic": share(2, 2), "offer": share(1, 2), "brand": share(0, 2)},
            by_topic={"sourdough bread": share(2, 3), "Eikeland": share(0, 2)},
            by_model={"offline": share(0, 0), "gull-small": share(2, 24), "heron-large": share(5, 24)},
            prompts=coverage,
            cells=tuple(_cell(number, prompt.key, model) for number, prompt in enumerate(prompts) for model in MODELS),
            unsupported=1,
            improvements=("Say on a page what the evening course costs.", "Name the town on the start page."),
            cost=0.01234,
            tokens_in=5100,
            tokens_out=2400,
        ),
        options={"models": list(MODELS), "samples": 3, "pages": 5, "budget": 1.0, "prompts": 10},
        problems=("The budget of 1 stopped 2 calls to heron-large.",),
    )
    return replace(usual, **other)


def _cell(number: int, prompt: str, model: str) -> AnswerCell:
    """Every state that a cell may have comes up."""
    failed = 3 if number == 4 and model == "gull-small" else 0
    held = {"offline": 0, "gull-small": number % 4, "heron-large": 3 if number % 2 else 0}[model]
    return AnswerCell(
        prompt=prompt,
        model=model,
        samples=3,
        failed=failed,
        named=share(held, 3) if model != "offline" else share(0, 0),
        positions=tuple(range(1, held + 1)) if model != "offline" else (),
        others={"Corvane Breads": 2, "Dunmoor Oven": 1} if model == "heron-large" else {},
        claims=(AnswerClaim(text="Alderby Mill Bakery opened in 1802.", supported=False, evidence=None),)
        if (number, model) == (1, "heron-large")
        else (),
        excerpt=None if failed else f"You could try Alderby Mill Bakery in Eikeland, among others ({number}).",
        problem="The endpoint gave no answer for 60 s." if failed else None,
    )


ATTACK = "\"'><script>alert(1)</script><img src=x onerror=alert(2)>\u202e\u0000|`[x](javascript:alert(3))"


def attacked(value: Any) -> Any:
    """The same record with the attack in every text that strangers write."""
    if isinstance(value, str):
        return f"{value} {ATTACK}"
    if isinstance(value, tuple):
        return tuple(attacked(one) for one in value)
    return value


def hostile(link: str = "javascript:alert(4)") -> Report:
    known = facts()
    place = FoundAt(page=link)
    bad = replace(
        known,
        url=link,
        name=attacked(known.name),
        title=ATTACK,
        description=ATTACK,
        language='en"><script>',
        topics=tuple(replace(one, text=attacked(one.text), place=place) for one in known.topics),
        offers=tuple(replace(one, text=attacked(one.text), price=ATTACK, place=place) for one in known.offers),
        places=attacked(known.places),
        contacts=SiteContacts(emails=(ATTACK,)),
        pages=tuple(replace(one, url=link, title=ATTACK) for one in known.pages),
        notes=(ATTACK,),
    )
    usual = report()
    scores = usual.scores
    assert scores is not None
    evidence = Evidence(sentence=ATTACK, page=link, similarity=0.5)
    return replace(
        usual,
        url=link,
        facts=bad,
        prompts=tuple(replace(one, text=attacked(one.text), fact=ATTACK, page=link) for one in usual.prompts),
        problems=(ATTACK,),
        options={"models": [ATTACK], "samples": 1},
        scores=_attacked_scores(scores, usual, evidence),
    )


def _attacked_scores(scores: SiteScoring, usual: Report, evidence: Evidence) -> SiteScoring:
    keys = {one.key: replace(one, text=attacked(one.text)).key for one in usual.prompts}
    claim = AnswerClaim(text=ATTACK, supported=False, evidence=evidence)
    return replace(
        scores,
        by_kind={ATTACK: share(1, 2)},
        by_topic={ATTACK: share(1, 2)},
        by_model={ATTACK: share(1, 2)},
        prompts=tuple(replace(one, prompt=keys[one.prompt], evidence=evidence) for one in scores.prompts),
        cells=tuple(
            replace(
                one,
                prompt=keys[one.prompt],
                model=ATTACK,
                others={ATTACK: 1},
                claims=(claim,),
                excerpt=ATTACK,
                problem=ATTACK,
            )
            for one in scores.cells
            if one.model == "heron-large"
        ),
        improvements=(ATTACK,),
    )


def line_of(report: Report, *, state: str, link: str | None = None) -> SiteLine:
    """A report in one line of an overview."""
    scores = report.scores
    return SiteLine(
        site_id=report.site_id,
        url=report.url,
        state=state,
        name=report.facts.name if report.facts else None,
        coverage=scores.coverage if scores else None,
        visibility=scores.visibility if scores else None,
        unsupported=scores.unsupported if scores else None,
        problem=" ".join(report.problems) or None,
        improvements=scores.improvements if scores else (),
        link=link,
    )


def html(report: Report | Overview) -> str:
    return written(report, "html")


def markdown(report: Report | Overview) -> str:
    return written(report, "md")
