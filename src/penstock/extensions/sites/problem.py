"""Why a site cannot be analysed, in a sentence that a person understands."""

from penstock.errors import PermanentError, TransientError


class SiteProblem(PermanentError):
    """Trying again would not help: no such page, not a website, robots.txt says no."""


class SiteBusy(TransientError):
    """Trying again may help: no answer, an answer 503, a broken connection."""
