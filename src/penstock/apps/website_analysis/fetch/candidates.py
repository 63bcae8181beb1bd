"""Which further pages are worth asking for. Pure, and slow for a site that wants it to be: never run on the loop."""

from collections.abc import Iterable, Set

from penstock.apps.website_analysis.fetch import markup, ranking
from penstock.apps.website_analysis.fetch.address import canonical, joined, same_site
from penstock.apps.website_analysis.fetch.fetched import Fetched
from penstock.apps.website_analysis.fetch.ranking import Candidate
from penstock.apps.website_analysis.fetch.robots import Robots


def linked(start: Fetched) -> list[Candidate]:
    base, found = markup.links(markup.decoded(start.body))
    relative_to = (joined(start.final_url, base) if base else None) or start.final_url
    candidates = []
    for link in found:
        url = joined(relative_to, link.href)
        if url is not None and same_site(url, start.final_url):
            candidates.append(Candidate(url=canonical(url), text=link.text))
    return candidates


def own(places: Iterable[str], start: Fetched) -> list[str]:
    """Those that are addresses of this site, made absolute."""
    absolute = (joined(start.final_url, place) for place in places)
    return [url for url in absolute if url is not None and same_site(url, start.final_url)]


def chosen(candidates: Iterable[Candidate], robots: Robots, *, without: Set[str], most: int) -> list[str]:
    """The best ``most`` of them that robots.txt allows. Ranked first: asking robots.txt is what costs."""
    wanted: list[str] = []
    asked = 0
    for url in ranking.ordered(candidates):
        if url in without:
            continue
        if len(wanted) == most or asked == robots.most_asked:
            break
        asked += 1
        if robots.allows(url):
            wanted.append(url)
    return wanted
