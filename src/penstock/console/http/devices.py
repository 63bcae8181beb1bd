"""What a browser calls itself, in a few words that people know: "Firefox on Linux"."""

# Of each list the first that is found: browsers name their ancestors too.
_BROWSERS = (
    ("Edg", "Edge"),
    ("OPR/", "Opera"),
    ("SamsungBrowser", "Samsung Internet"),
    ("Firefox", "Firefox"),
    ("FxiOS", "Firefox"),
    ("CriOS", "Chrome"),
    ("Chrome", "Chrome"),
    ("Chromium", "Chromium"),
    ("Safari", "Safari"),
    ("curl", "curl"),
    ("python", "Python"),
)
_SYSTEMS = (
    ("iPhone", "iPhone"),
    ("iPad", "iPad"),
    ("Android", "Android"),
    ("CrOS", "ChromeOS"),
    ("Windows", "Windows"),
    ("Macintosh", "macOS"),
    ("Linux", "Linux"),
)


def device(agent: str | None) -> str:
    browser = _first(_BROWSERS, agent)
    system = _first(_SYSTEMS, agent)
    if browser is None:
        return system or "An unknown browser"
    return browser if system is None else f"{browser} on {system}"


def _first(known: tuple[tuple[str, str], ...], agent: str | None) -> str | None:
    return next((name for sign, name in known if sign.lower() in (agent or "").lower()), None)
