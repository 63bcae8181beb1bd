"""A small crawl: robots.txt, the start page, and the few further pages that say most about the site.

The start page decides: where it cannot be read, neither can the site. A further page that cannot is a note.
"""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass

from penstock.errors import ThrottledError
from penstock.extensions.sites.fetch import links
from penstock.extensions.sites.fetch.address import canonical, joined, same_origin, same_site
from penstock.extensions.sites.fetch.fetched import Fetched, Fetcher, ReadAlready, SiteBusy, SiteProblem, failed, plain
from penstock.extensions.sites.fetch.links import LinkCandidate
from penstock.extensions.sites.fetch.robots import Robots, robots_url, understood

Told = Callable[[int, int, str], None]
# Fewer letters than this are a loading sign or a logo, no text.
_FEWEST_LETTERS = 20
_MOST_SITEMAPS = 3
# Of all sitemaps together.
_MOST_LISTED = 5000
# After so many pages in a row without an answer, the site is left in peace.
_MOST_SILENT = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Crawl:
    """``fetched``: everything that could be read, in order, robots.txt and sitemaps included."""

    fetched: tuple[Fetched, ...]
    start: Fetched
    notes: tuple[str, ...]
    # What could not be read, with the reason: a replay then notes the same.
    failed: tuple[Fetched, ...] = ()

    @property
    def kept(self) -> tuple[Fetched, ...]:
        """What has to be kept for a replay."""
        return self.fetched + self.failed


async def crawl(start: str, *, pages: int, fetcher: Fetcher, user_agent: str, told: Told) -> Crawl:
    """Raises ``SiteProblem``, ``SiteBusy`` or ``ThrottledError`` where the start page cannot be read."""
    return await _SiteWalk(canonical(start), pages, fetcher, user_agent, told).walked()


@dataclass(frozen=True, slots=True, kw_only=True)
class _Ruling:
    """The robots.txt of one origin. ``note``: why it was taken as missing."""

    robots: Robots
    answer: Fetched
    note: str | None = None


class _SiteWalk:
    """What takes long for a site that wants it to is done in a thread: the loop belongs to all sites."""

    def __init__(self, start: str, pages: int, fetcher: Fetcher, user_agent: str, told: Told) -> None:
        self._start = start
        self._pages = pages
        self._fetcher = fetcher
        self._user_agent = user_agent
        self._told = told
        self._fetched: list[Fetched] = []
        self._failed: list[Fetched] = []
        self._notes: list[str] = []
        self._rulings: dict[str, _Ruling] = {}
        self._total = pages + 1

    async def walked(self) -> Crawl:
        self._told(0, self._total, f"reading robots.txt of {self._start}")
        robots = await self._admitted(self._start)
        await self._refuse_where_not_allowed(self._start)
        self._told(0, self._total, f"reading {self._start}")
        start = await self._fetcher.get(self._start, kind="page", onward=self._refuse_where_not_allowed)
        self._fetched.append(start)
        if not same_origin(start.final_url, self._start):
            robots = await self._admitted(start.final_url)
        await self._refuse_where_not_allowed(start.final_url)
        self._told(1, self._total, f"read {start.final_url}")
        further = await self._further(start, robots) if self._pages > 0 else []
        await self._refuse_without_text(start, further)
        return Crawl(fetched=tuple(self._fetched), start=start, notes=tuple(self._notes), failed=tuple(self._failed))

    # ---------------------------------------------------------------- robots.txt

    async def _admitted(self, url: str) -> Robots:
        """Of an origin that pages are read from. Only such a file is kept: a replay does not pass the redirects."""
        ruling = await self._ruling(url)
        if ruling.note is None:
            self._fetched.append(ruling.answer)
        else:
            self._notes.append(ruling.note)
            self._failed.append(ruling.answer)
        return ruling.robots

    async def _ruling(self, url: str) -> _Ruling:
        address = robots_url(url)
        if address not in self._rulings:
            self._rulings[address] = await self._asked(address)
        return self._rulings[address]

    async def _asked(self, address: str) -> _Ruling:
        """A robots.txt that leads nowhere is a missing one; one that cannot be had just now means: later (RFC 9309)."""
        try:
            fetched = await self._fetcher.get(address, kind="robots")
        except SiteProblem as problem:
            # Of an unknown host or a bad certificate the start page will say the same.
            note = plain(f"robots.txt was taken as missing: {problem}")
            missing = understood(None, self._user_agent)
            return _Ruling(robots=missing, answer=failed(address, problem, "robots"), note=note)
        except SiteBusy as problem:
            raise SiteBusy(f"Without its robots.txt the site is not read: {problem}") from None
        return _Ruling(robots=await asyncio.to_thread(understood, fetched, self._user_agent), answer=fetched)

    async def _allowed(self, url: str) -> bool:
        return (await self._ruling(url)).robots.allows(url)

    async def _refuse_where_not_allowed(self, url: str) -> None:
        if not await self._allowed(url):
            raise SiteProblem(
                f"The site's robots.txt does not allow {self._user_agent} to read {url}. Ask its owner to allow it."
            )

    # ---------------------------------------------------------------- further pages

    async def _further(self, start: Fetched, robots: Robots) -> list[Fetched]:
        """Tries twice as many as are wanted, so that a few broken links do not leave the site half read."""
        seen, contents = {canonical(start.final_url), self._start}, {start.sha256}
        linked = await asyncio.to_thread(links.linked, start)
        listed = await self._from_sitemaps(start, robots)
        wanted = await asyncio.to_thread(
            links.chosen, [*linked, *listed], robots, without=frozenset(seen), most=self._pages * 2
        )
        self._total = min(self._pages, len(wanted)) + 1
        read: list[Fetched] = []
        silent = 0
        for url in wanted:
            if len(read) == self._pages or silent == _MOST_SILENT:
                break
            try:
                page = await self._page(url, start, seen, contents)
            except ReadAlready as known:
                silent = 0
                self._failed.append(failed(url, known))
                continue
            except (SiteProblem, SiteBusy, ThrottledError) as problem:
                self._note(url, problem)
                if isinstance(problem, ThrottledError):
                    break
                silent += isinstance(problem, SiteBusy)
                continue
            silent = 0
            read.append(page)
            self._fetched.append(page)
            self._told(len(read) + 1, self._total, f"read {page.final_url}")
        return read

    async def _page(self, url: str, start: Fetched, seen: set[str], contents: set[str]) -> Fetched:
        """Not one that was read under another address, nor one that a redirect leads away to."""

        async def refuse_away(onward: str) -> None:
            final = canonical(onward)
            if not same_site(final, start.final_url) or not await self._allowed(final):
                raise SiteProblem(f"{url} leads to {final}, which is not read.")

        self._told(len([one for one in self._fetched if one.kind == "page"]), self._total, f"reading {url}")
        page = await self._fetcher.get(url, kind="page", onward=refuse_away)
        await refuse_away(page.final_url)
        final = canonical(page.final_url)
        known = final in seen or page.sha256 in contents
        seen |= {final, url}
        contents.add(page.sha256)
        if known:
            raise ReadAlready(f"{url} is a page that was read under another address.")
        return page

    async def _from_sitemaps(self, start: Fetched, robots: Robots) -> list[LinkCandidate]:
        waiting = links.own(robots.sitemaps, start)
        if not waiting and (usual := joined(start.final_url, "/sitemap.xml")):
            waiting = [usual]
        listed: list[LinkCandidate] = []
        asked: set[str] = set()
        while waiting and len(asked) < _MOST_SITEMAPS and len(listed) < _MOST_LISTED:
            url = waiting.pop(0)
            if url in asked or not robots.allows(url):
                continue
            asked.add(url)
            sitemaps, pages = await self._sitemap(url, start)
            waiting += sitemaps[:_MOST_SITEMAPS]
            listed += pages[: _MOST_LISTED - len(listed)]
        return listed

    async def _sitemap(self, url: str, start: Fetched) -> tuple[list[str], list[LinkCandidate]]:
        """The sitemaps and the pages of this site that it names."""
        try:
            fetched = await self._fetcher.get(url, kind="sitemap", onward=self._refuse_where_not_allowed)
        except (SiteProblem, SiteBusy, ThrottledError) as problem:
            self._notes.append(plain(f"A sitemap could not be read: {_sentence(problem)}"))
            self._failed.append(failed(url, problem, "sitemap"))
            return [], []
        self._fetched.append(fetched)
        return await asyncio.to_thread(_named_by, fetched, start) if fetched.status < 300 else ([], [])

    async def _refuse_without_text(self, start: Fetched, further: list[Fetched]) -> None:
        if await asyncio.to_thread(_has_text, [start]):
            return
        scripted = links.has_scripts(links.decoded(start.body))
        why = "shows its text only with JavaScript, which is not run here" if scripted else "holds no text"
        if not await asyncio.to_thread(_has_text, further):
            raise SiteProblem(f"The page at {start.final_url} {why}. Give a page whose text is in its HTML.")
        self._notes.append(f"The start page {why}; the site was read from its other pages.")

    def _note(self, url: str, problem: Exception) -> None:
        before = f"{url} was left out, and all after it: " if isinstance(problem, ThrottledError) else ""
        self._notes.append(plain(f"{before}{_sentence(problem)}"))
        self._failed.append(failed(url, problem))


def _named_by(fetched: Fetched, start: Fetched) -> tuple[list[str], list[LinkCandidate]]:
    pages, sitemaps = links.listed(fetched.body)
    return links.own(sitemaps, start), [LinkCandidate(url=canonical(url)) for url in links.own(pages, start)]


def _has_text(pages: list[Fetched]) -> bool:
    return any(links.letters(page.body) >= _FEWEST_LETTERS for page in pages)


def _sentence(problem: Exception) -> str:
    text = str(problem)
    return text if text.endswith(".") else f"{text}."
