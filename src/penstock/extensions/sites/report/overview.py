"""What the overview of a job of many sites says: a table, and a short part for each site with an anchor."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime

from penstock.extensions.sites.findings import Finding, Share
from penstock.extensions.sites.report import wording
from penstock.extensions.sites.report.blocks import (
    Block,
    Grid,
    Items,
    Line,
    Meter,
    Page,
    Section,
    Span,
    Title,
    Words,
    address,
    clean,
    line,
    safe_link,
    theirs,
)
from penstock.observe.wording import counted

# Rows of an overview, and sites of it with a part of their own. A page has to stay one that a browser opens at once.
MOST_ROWS = 1000
MOST_DETAILED = 200
_MOST_IMPROVEMENTS = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class SiteLine(Finding):
    """A site in an overview. ``state``: a word for people, such as completed; ``link``: where its own report is."""

    site_id: int
    url: str
    name: str | None = None
    state: str
    coverage: Share | None = None
    visibility: Share | None = None
    unsupported: int | None = None
    problem: str | None = None
    improvements: tuple[str, ...] = ()
    link: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Overview:
    """``total``: how many sites the job has; ``sites`` may hold the first of them only."""

    job_id: int
    name: str | None
    made_at: datetime
    total: int
    sites: tuple[SiteLine, ...]


def page(overview: Overview) -> Page:
    shown = overview.sites[:MOST_ROWS]
    subtitle = line(f"Analysis {overview.job_id} · {counted(overview.total, 'site')} · {wording.day(overview.made_at)}")
    sections = (
        Section(anchor="sites", title="All sites", blocks=tuple(_table(overview, shown))),
        Section(anchor="each", title="Site by site", blocks=tuple(_each(shown[:MOST_DETAILED]))),
    )
    title = clean(overview.name or "", 200) or f"Analysis {overview.job_id}"
    return Page(title=title, subtitle=subtitle, sections=tuple(one for one in sections if one.blocks))


def _table(overview: Overview, shown: tuple[SiteLine, ...]) -> Iterator[Block]:
    if not shown:
        yield Words(line=line("This analysis has no sites."))
        return
    yield Grid(
        caption="Sites of this analysis",
        head=("Site", "State", "Coverage", "Visibility", "Claims without support"),
        rows=tuple(_row(one, number) for number, one in enumerate(shown)),
    )
    if overview.total > len(shown):
        more = overview.total - len(shown)
        yield Words(line=line(f"{counted(more, 'more site')} of this analysis are not shown on this page."))


def _row(site: SiteLine, number: int) -> tuple[Line, ...]:
    anchor = f"#site-{site.site_id}" if number < MOST_DETAILED else None
    return (
        line(Span(clean(site.name or site.url, 200), link=anchor, strange=True)),
        line(theirs(site.state, 60)),
        line(wording.short_share(site.coverage)),
        line(wording.short_share(site.visibility)),
        line("–" if site.unsupported is None else f"{site.unsupported:,}"),
    )


def _each(sites: tuple[SiteLine, ...]) -> Iterator[Block]:
    for site in sites:
        yield Title(line=line(theirs(site.name or site.url, 200)), anchor=f"site-{site.site_id}")
        full = safe_link(site.link)
        yield Words(line=line(address(site.url), *((" · ", Span("its own report", link=full)) if full else ())))
        if site.problem:
            yield Words(line=line(theirs(wording.for_customer(site.problem))))
            for told in wording.for_operator([site.problem]):
                yield Words(line=line("For the operator: ", theirs(told)))
        for label, share in (("Coverage", site.coverage), ("Visibility", site.visibility)):
            if share is not None:
                yield Meter(label=line(label), share=share, words=wording.short_share(share))
        if site.improvements:
            yield Items(lines=tuple(line(theirs(one)) for one in site.improvements[:_MOST_IMPROVEMENTS]))
