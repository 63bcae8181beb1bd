"""What a site's robots.txt asks of us (RFC 9309): where not to go, how slowly, where its sitemaps are."""

import math
import re
from collections import Counter
from urllib.parse import urlsplit, urlunsplit

from protego import Protego

from penstock.extensions.sites.fetch.fetched import Fetched

# More is not asked for often, and a crawl that rests longer would not end within its stage.
LONGEST_DELAY_SECONDS = 30.0
_MOST_SITEMAPS = 20
# Of one group; what comes after them is not looked at. The longest files of real sites have about a thousand.
_MOST_RULES = 5000
_LONGEST_LINE = 2000
# Comparisons of an address with a rule that one crawl may cost: about a second of work.
_MOST_COMPARISONS = 2_000_000
_AGENT = re.compile(r"user[- ]?agent(?:\s*:\s*|\s+)(.*)", re.IGNORECASE)
_SITE_WIDE = re.compile(r"(site-?maps?|host)\b", re.IGNORECASE)
_OTHERS = "User-agent: (somebody else)"


class Robots:
    """``told`` None: there is no robots.txt, so everything may be read."""

    def __init__(self, told: Protego | None, user_agent: str, comparisons: int = 0) -> None:
        self._told = told
        self._name = _product(user_agent)
        # A count, not a clock: a replay on a slower machine has to come to the same pages.
        self.most_asked = _MOST_COMPARISONS // max(comparisons, 1)

    def allows(self, url: str) -> bool:
        return self._told is None or self._told.can_fetch(url, self._name)

    @property
    def delay_seconds(self) -> float:
        """Between two requests; 0 where nothing is asked for."""
        if self._told is None:
            return 0.0
        delay = self._told.crawl_delay(self._name) or 0.0
        rate = self._told.request_rate(self._name)
        if rate is not None and rate.requests > 0:
            delay = max(delay, rate.seconds / rate.requests)
        return min(max(delay, 0.0), LONGEST_DELAY_SECONDS) if math.isfinite(delay) else 0.0

    @property
    def sitemaps(self) -> list[str]:
        return [] if self._told is None else list(dict.fromkeys(self._told.sitemaps))[:_MOST_SITEMAPS]


def robots_url(url: str) -> str:
    parts = urlsplit(url)
    return urlunsplit((parts.scheme, parts.netloc, "/robots.txt", "", ""))


def understood(fetched: Fetched | None, user_agent: str) -> Robots:
    """A missing file allows everything; so does one that is no text. A large one takes a moment: not for the loop."""
    if fetched is None or not 200 <= fetched.status < 300:
        return Robots(None, user_agent)
    lines = _concerning(fetched.body.decode("utf-8-sig", errors="replace"), _product(user_agent).lower())
    comparisons = len(lines) + sum(line.count("*") for line in lines)
    return Robots(Protego.parse("\n".join(lines)), user_agent, comparisons)


def _product(user_agent: str) -> str:
    """Rules name the product, without version and comment."""
    return user_agent.partition("/")[0].strip() or user_agent


def _concerning(text: str, name: str) -> list[str]:
    """The groups that may speak to us, and the sitemaps. A file that names a thousand others and has a thousand rules
    for them would otherwise be a million rules."""
    kept: list[str] = []
    rules: Counter[str] = Counter()
    agents: set[str] = set()
    begins, sitemaps = True, 0
    for whole in text.splitlines():
        line = whole[:_LONGEST_LINE].partition("#")[0].strip()
        if (said := _AGENT.match(line)) is not None:
            agents, begins = set() if begins else agents, False
            agent = _ours(said[1], name)
            agents |= {agent} if agent else set()
            told = f"User-agent: {agent}" if agent else _OTHERS
            if kept[-1:] != [told]:
                kept.append(told)
        elif _SITE_WIDE.match(line):
            sitemaps += 1
            kept += [line] if sitemaps <= _MOST_SITEMAPS * 5 else []
        elif line:
            begins = True
            if any(rules[agent] < _MOST_RULES for agent in agents):
                rules.update(agents)
                kept.append(line)
    return kept


def _ours(agent: str, name: str) -> str | None:
    """As a name that we may answer to; which of them fits best is decided later."""
    agent = agent.strip().lower()
    bare = agent.replace("*", "")
    return "*" if agent == "*" else bare if bare and bare in name else None
