"""A small crawl: robots.txt, the start page, and the few further pages that say most about the site.

The start page decides: where it cannot be read, neither can the site. A further page that cannot is a note.
"""

from collections.abc import Callable
from dataclasses import dataclass

from penstock.apps.website_analysis.fetch import markup, ranking, sitemap
from penstock.apps.website_analysis.fetch.address import canonical, joined, same_origin, same_site
from penstock.apps.website_analysis.fetch.fetched import Fetched
from penstock.apps.website_analysis.fetch.fetcher import Fetcher
from penstock.apps.website_analysis.fetch.kept import failed
from penstock.apps.website_analysis.fetch.ranking import Candidate
from penstock.apps.website_analysis.fetch.robots import Robots, robots_url, understood
from penstock.apps.website_analysis.problem import SiteBusy, SiteProblem
from penstock.errors import ThrottledError

Told = Callable[[int, int, str], None]
# Fewer letters than this are a loading sign or a logo, no text.
_FEWEST_LETTERS = 20
_MOST_SITEMAPS = 3
# After so many pages in a row without an answer, the site is left in peace.
_MOST_SILENT = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Crawl:
    """``fetched``: everything that could be read, in order, robots.txt and sitemaps included."""

    fetched: tuple[Fetched, ...]
    start: Fetched
    notes: tuple[str, ...]
    # Further pages that could not be read, with the reason: a replay then notes the same.
    failed: tuple[Fetched, ...] = ()

    @property
    def kept(self) -> tuple[Fetched, ...]:
        """What has to be kept for a replay."""
        return self.fetched + self.failed


async def crawl(start: str, *, pages: int, fetcher: Fetcher, user_agent: str, told: Told) -> Crawl:
    """Raises ``SiteProblem``, ``SiteBusy`` or ``ThrottledError`` where the start page cannot be read."""
    return await _Walk(canonical(start), pages, fetcher, user_agent, told).walked()


class _Walk:
    def __init__(self, start: str, pages: int, fetcher: Fetcher, user_agent: str, told: Told) -> None:
        self._start = start
        self._pages = pages
        self._fetcher = fetcher
        self._user_agent = user_agent
        self._told = told
        self._fetched: list[Fetched] = []
        self._failed: list[Fetched] = []
        self._notes: list[str] = []
        self._total = pages + 1

    async def walked(self) -> Crawl:
        self._told(0, self._total, f"reading robots.txt of {self._start}")
        robots = await self._robots(self._start)
        self._refuse_where_not_allowed(robots, self._start)
        self._told(0, self._total, f"reading {self._start}")
        start = await self._fetcher.get(self._start, kind="page")
        self._fetched.append(start)
        if not same_origin(start.final_url, self._start):
            robots = await self._robots(start.final_url)
        self._refuse_where_not_allowed(robots, start.final_url)
        self._told(1, self._total, f"read {start.final_url}")
        further = await self._further(start, robots) if self._pages > 0 else []
        self._refuse_without_text(start, further)
        return Crawl(fetched=tuple(self._fetched), start=start, notes=tuple(self._notes), failed=tuple(self._failed))

    async def _robots(self, url: str) -> Robots:
        """A robots.txt that leads nowhere is a missing one; one that cannot be had just now means: later (RFC 9309)."""
        address = robots_url(url)
        try:
            fetched = await self._fetcher.get(address, kind="robots")
        except SiteProblem as problem:
            # Of an unknown host or a bad certificate the start page will say the same.
            self._notes.append(f"robots.txt was taken as missing: {problem}")
            return understood(None, self._user_agent)
        except SiteBusy as problem:
            raise SiteBusy(f"Without its robots.txt the site is not read: {problem}") from None
        self._fetched.append(fetched)
        return understood(fetched, self._user_agent)

    def _refuse_where_not_allowed(self, robots: Robots, url: str) -> None:
        if not robots.allows(url):
            raise SiteProblem(
                f"The site's robots.txt does not allow {self._user_agent} to read {url}. Ask its owner to allow it."
            )

    async def _further(self, start: Fetched, robots: Robots) -> list[Fetched]:
        """Tries twice as many as are wanted, so that a few broken links do not leave the site half read."""
        candidates = [*self._linked(start), *await self._from_sitemaps(start, robots)]
        seen, contents = {canonical(start.final_url), self._start}, {start.sha256}
        wanted = [url for url in ranking.ordered(candidates) if url not in seen and robots.allows(url)]
        self._total = min(self._pages, len(wanted)) + 1
        read: list[Fetched] = []
        silent = 0
        for url in wanted[: self._pages * 2]:
            if len(read) == self._pages or silent == _MOST_SILENT:
                break
            try:
                page = await self._page(url)
            except ThrottledError as busy:
                self._note(url, f"{url} was left out, and all after it: {_sentence(busy)}")
                break
            except SiteBusy as problem:
                silent += 1
                self._note(url, _sentence(problem))
                continue
            except SiteProblem as problem:
                self._note(url, _sentence(problem))
                continue
            silent = 0
            if self._is_new(page, start, robots, seen, contents):
                read.append(page)
                self._fetched.append(page)
                self._told(len(read) + 1, self._total, f"read {page.final_url}")
        return read

    async def _page(self, url: str) -> Fetched:
        self._told(len([one for one in self._fetched if one.kind == "page"]), self._total, f"reading {url}")
        return await self._fetcher.get(url, kind="page")

    def _is_new(self, page: Fetched, start: Fetched, robots: Robots, seen: set[str], contents: set[str]) -> bool:
        """Not one that was read under another address, nor one that a redirect led away to."""
        final = canonical(page.final_url)
        away = not same_site(final, start.final_url) or not robots.allows(final)
        if away:
            self._note(page.url, f"{page.url} leads to {final}, which is not read.")
        elif final in seen or page.sha256 in contents:
            self._failed.append(failed(page.url, f"{page.url} is a page that was read under another address."))
            away = True
        seen |= {final, page.url}
        contents.add(page.sha256)
        return not away

    def _linked(self, start: Fetched) -> list[Candidate]:
        base, found = markup.links(markup.decoded(start.body))
        relative_to = (joined(start.final_url, base) if base else None) or start.final_url
        candidates = []
        for link in found:
            url = joined(relative_to, link.href)
            if url is not None and same_site(url, start.final_url):
                candidates.append(Candidate(url=canonical(url), text=link.text))
        return candidates

    async def _from_sitemaps(self, start: Fetched, robots: Robots) -> list[Candidate]:
        named = [url for one in robots.sitemaps if (url := joined(start.final_url, one))]
        waiting = [url for url in named if same_site(url, start.final_url)]
        if not waiting and (usual := joined(start.final_url, "/sitemap.xml")):
            waiting = [usual]
        candidates: list[Candidate] = []
        asked: set[str] = set()
        while waiting and len(asked) < _MOST_SITEMAPS:
            url = waiting.pop(0)
            if url in asked or not robots.allows(url):
                continue
            asked.add(url)
            found = await self._sitemap(url)
            waiting += [url for url in found.sitemaps if same_site(url, start.final_url)]
            absolute = (joined(start.final_url, one) for one in found.pages)
            candidates += [Candidate(url=canonical(one)) for one in absolute if one and same_site(one, start.final_url)]
        return candidates

    async def _sitemap(self, url: str) -> sitemap.Sitemap:
        try:
            fetched = await self._fetcher.get(url, kind="sitemap")
        except (SiteProblem, SiteBusy, ThrottledError) as problem:
            self._notes.append(f"A sitemap could not be read: {_sentence(problem)}")
            return sitemap.Sitemap()
        self._fetched.append(fetched)
        return sitemap.understood(fetched.body) if fetched.status < 300 else sitemap.Sitemap()

    def _refuse_without_text(self, start: Fetched, further: list[Fetched]) -> None:
        if markup.letters(start.body) >= _FEWEST_LETTERS:
            return
        scripted = markup.has_scripts(markup.decoded(start.body))
        why = "shows its text only with JavaScript, which is not run here" if scripted else "holds no text"
        if not any(markup.letters(page.body) >= _FEWEST_LETTERS for page in further):
            raise SiteProblem(f"The page at {start.final_url} {why}. Give a page whose text is in its HTML.")
        self._notes.append(f"The start page {why}; the site was read from its other pages.")

    def _note(self, url: str, sentence: str) -> None:
        self._notes.append(sentence)
        self._failed.append(failed(url, sentence))


def _sentence(problem: Exception) -> str:
    text = str(problem)
    return text if text.endswith(".") else f"{text}."
