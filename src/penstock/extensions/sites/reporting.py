"""Reports of stored analyses: gathers what a report shows, and has it written in the form that was asked for."""

from typing import Any, Literal, assert_never

import orjson

from penstock.extensions.sites import views
from penstock.extensions.sites.report import content, overview
from penstock.extensions.sites.report.blocks import Page, html, markdown
from penstock.extensions.sites.report.content import Report
from penstock.extensions.sites.report.exports import csv, json
from penstock.extensions.sites.report.overview import MOST_ROWS, Overview, SiteLine
from penstock.extensions.sites.views import SiteDetails, SiteView

Connection = Any
Format = Literal["html", "md", "json", "csv"]
_PAGE = 500
_ENDED_WELL = "completed"


async def made(connection: Connection, job_id: int, site_id: int | None, format: Format) -> str:
    """Of one site, or of the whole analysis: an overview where it has several."""
    chosen = site_id if site_id is not None else await views.only_site(connection, job_id)
    if chosen is not None:
        job = await views.require_analysis(connection, job_id)
        found = await views.details(connection, chosen)
        return written(report_of(found, job.metadata.get("options") or {}), format)
    return written(await _overview(connection, job_id), format)


def report_of(found: SiteDetails, options: dict[str, Any]) -> Report:
    site = found.site
    return Report(
        job_id=site.job_id,
        site_id=site.site_id,
        url=site.url,
        analysed_at=found.stages[-1].at if found.stages else site.updated_at,
        facts=found.facts,
        prompts=found.prompts,
        answers=found.answers,
        scores=found.scores,
        options=found.options or options,
        problems=_problems(site),
    )


async def _overview(connection: Connection, job_id: int) -> Overview:
    analysis = await views.analysis(connection, job_id)
    lines: list[SiteLine] = []
    newest, after = analysis.created_at, None
    while len(lines) < MOST_ROWS:
        sites, page = await views.site_page(connection, job_id, after=after, limit=_PAGE)
        lines += [_line(site) for site in sites]
        newest = max([newest, *(site.updated_at for site in sites)])
        if (after := page.next) is None:
            break
    return Overview(
        job_id=job_id, name=analysis.name, made_at=newest, total=analysis.counts.total, sites=tuple(lines[:MOST_ROWS])
    )


def _line(site: SiteView) -> SiteLine:
    scores = site.scores
    return SiteLine(
        site_id=site.site_id,
        url=site.url,
        state=site.current_step,
        name=site.name,
        coverage=scores.coverage if scores else None,
        visibility=scores.visibility if scores else None,
        unsupported=scores.unsupported if scores else None,
        problem=" ".join(_problems(site)) or None,
        improvements=site.improvements,
    )


def _problems(site: SiteView) -> tuple[str, ...]:
    if site.current_step == _ENDED_WELL:
        return ()
    if site.state.finished:
        return (site.error or f"The site ended {site.current_step}.",)
    return (f"This site is not finished: it is at {site.current_step}.", *([site.error] if site.error else []))


def written(report: Report | Overview, format: Format) -> str:
    match format:
        case "html":
            return html(_page(report))
        case "md":
            return markdown(_page(report))
        case "csv":
            return csv(report)
        case "json":
            return orjson.dumps(json(report), option=orjson.OPT_INDENT_2, default=str).decode() + "\n"
        case _:
            assert_never(format)


def _page(report: Report | Overview) -> Page:
    return content.page(report) if isinstance(report, Report) else overview.page(report)
