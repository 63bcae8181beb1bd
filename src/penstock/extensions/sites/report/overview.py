"""What the overview of a job of many sites says: a table, and a short part for each site with an anchor."""

from collections.abc import Iterator

from penstock.extensions.sites.report import addressed, wording
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
from penstock.extensions.sites.report.document import MOST_DETAILED, MOST_ROWS, Overview, SiteLine
from penstock.insight.wording import counted

_MOST_IMPROVEMENTS = 3


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
            yield Words(line=line(theirs(addressed.for_customer(site.problem))))
            for told in addressed.for_operator([site.problem]):
                yield Words(line=line("For the operator: ", theirs(told)))
        for label, share in (("Coverage", site.coverage), ("Visibility", site.visibility)):
            if share is not None:
                yield Meter(label=line(label), share=share, words=wording.short_share(share))
        if site.improvements:
            yield Items(lines=tuple(line(theirs(one)) for one in site.improvements[:_MOST_IMPROVEMENTS]))
