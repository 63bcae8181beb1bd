"""Websites and a model on loopback for the browser tests, in a thread: the loop of the test is the driver's."""

import asyncio
import html
import threading
from importlib.resources import files

from tests.extensions.model_world import Called, ModelServer, Said, says
from tests.extensions.site_answers import Answer, page
from tests.extensions.site_world import Place, SiteWorld

PAGES = ("index", "repairs", "hire", "about", "contact")
IMAGE = "<img src=x onerror=alert(1)>"
SCRIPT = '"><script>alert(2)</script>'
LINK = "javascript:alert(3)"


def sample() -> dict[str, str]:
    """The sample site that comes along."""
    folder = files("penstock.extensions.sites").joinpath("sample_site")
    return {"/" if name == "index" else f"/{name}": folder.joinpath(f"{name}.html").read_text() for name in PAGES}


def hostile() -> dict[str, str]:
    """Markup as text in every place that facts are taken from."""
    image, script = html.escape(IMAGE), html.escape(SCRIPT)
    return {
        "/": f"""<!doctype html><html lang=en><head><title>{image} Bicycles</title>
        <meta name=description content="{script} Repairs">
        <meta property="og:site_name" content="{image} Cycles">
        <link rel=canonical href="{LINK}"></head><body><main>
        <h1>{image} bicycle repairs</h1><h2>{script} bicycle hire</h2>
        <p>We repair {image} bicycles within two days. {script} A full service costs 79 euros.</p>
        <ul><li>{image} full service: 79 euros</li><li>{script} flat tyre: 15 euros</li></ul>
        <p>Write to <a href="mailto:us@cycles.example">us@cycles.example</a> or <a href="{LINK}">here</a>.</p>
        <p>We hire out bicycles by the day, and we clean and oil them before you take one with you.</p>
        </main></body></html>"""
    }


def said(called: Called) -> Said:
    """Names the business, who else there is, something the site says, something it does not, and markup."""
    return says(
        "For repairs go to Willow Lane Bicycles or to Harbour Wheels."
        " Willow Lane Bicycles gives twelve months of guarantee on every repair."
        f" Willow Lane Bicycles was founded on the moon in 1702. {IMAGE} [here]({LINK})"
    )


class SitesWeb:
    """``bicycles``: the sample site; ``hostile``; ``broken``: answers 404 until ``mend``."""

    bicycles: Place
    hostile: Place
    broken: Place
    allowed: str
    model_url: str

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._ready = threading.Event()
        self._end: asyncio.Event | None = None
        self._thread = threading.Thread(target=self._loop.run_until_complete, args=(self._serve(),), daemon=True)

    def start(self) -> "SitesWeb":
        self._thread.start()
        assert self._ready.wait(60)
        return self

    def stop(self) -> None:
        assert self._end is not None
        self._loop.call_soon_threadsafe(self._end.set)
        self._thread.join(60)
        self._loop.close()

    def mend(self) -> None:
        self.broken.pages.update(sample())

    async def _serve(self) -> None:
        self._end = asyncio.Event()
        async with SiteWorld() as world, ModelServer(said, key=None) as model:
            self.bicycles = world.add(sample())
            self.hostile = world.add(hostile())
            self.broken = world.add({"*": Answer(status=404, body=b"gone")})
            addresses = "".join(f"<url><loc>{self.bicycles.url(path)}</loc></url>" for path in ("/", "/repairs"))
            self.bicycles.pages["/list.xml"] = page(
                f'<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">{addresses}</urlset>',
                content_type="application/xml",
            )
            self.allowed = ",".join((*world.allowed(), f"127.0.0.1:{model.port}"))
            self.model_url = model.url
            self._ready.set()
            await self._end.wait()
