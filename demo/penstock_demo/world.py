"""The small world of `penstock demo`, part by part. Every part is stored once, however often the command is called."""

import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from penstock.console.people import accounts
from penstock.control import limits, stages
from penstock.control.acting import By, Role
from penstock.core.background import Enqueueable
from penstock.core.enqueue import EnqueueOptions
from penstock.errors import IllegalMove, UsageError
from penstock.insight import job_views
from penstock_demo.ledger import Ledger

if TYPE_CHECKING:
    from penstock.application import Penstock
    from penstock.extensions.linking.project import Project
    from penstock.extensions.linking.shared import RecordLinking
    from penstock.insight.job_views import JobView

# Who steers, and whose the shared articles are.
OWNER = "demo"
GUEST = "demo-guest"
JOB_PREFIX = "demo: "
RECEIPTS = "receipts"
PROJECT_NOTED = "project"
CATALOGUE, SITES, PROJECT = "Spring assortment", "Businesses of three towns", "Card index of the county library"
_ARTICLES_SOURCE = "demo"
_SITE_PAGES = 4
_SITE_PROMPTS = 8
_SUPPLIER_PER_SECOND = 2.0

Part = tuple[str, Callable[[], Awaitable[str]]]


class World:
    """``owner``: whose jobs and projects they are, so that whoever looks sees them. ``size``: rows of the catalogue.
    The settings of ``app`` say where the made-up places are."""

    def __init__(self, app: "Penstock", *, owner: str, size: int) -> None:
        self._app = app
        self._owner = owner
        self._size = size
        self._ledger = Ledger(app)

    def parts(self) -> list[Part]:
        """Those that can be seen at work first come last: they begin in front of whoever looks."""
        return [
            ("people", self._people),
            ("shop", self._shop),
            ("articles", self._articles),
            ("linking", self._linking),
            ("sites", self._sites),
            ("catalogue", self._catalogue),
        ]

    async def _people(self) -> str:
        for name, role in ((OWNER, Role.operator), (GUEST, Role.viewer)):
            try:
                await accounts.create_user(self._app, name, role, by=By.command_line())
            except UsageError:  # there from an earlier time, and disabled since
                await accounts.change_user(self._app, name, disabled=False, by=By.command_line())
        return f"{OWNER} (operator) and {GUEST} (viewer)"

    async def _shop(self) -> str:
        """Quick work, slow work, work that fails and heals, work that does not, a limit, a paused stage."""
        from penstock_demo.shop import SUPPLIER

        await limits.configure(self._app, SUPPLIER, _SUPPLIER_PER_SECOND, 1, by=OWNER)
        await stages.pause(self._app, "print_label", by=OWNER, reason="the printer has no paper")
        await self.shop_job("print_label", [{"order": 4000 + n} for n in range(12)], "labels")
        await self.shop_job("send_receipt", [{"order": 1000 + n} for n in range(25)], RECEIPTS)
        stock = [{"sku": sku} for sku in ("oak-table", "pine-chair", "wool-rug", "unknown-vase", "broken-clock") * 8]
        lines = ("oak-table x 2", "brass-lamp x 1", "wool-rug x 3", "glass-eye x 1", "nonsense")
        await self.shop_job("check_stock", stock, "stock checks")
        await self.shop_job("import_order", [{"line": line} for line in lines * 4], "orders")
        await self.shop_job("build_report", [{"pages": 20 + n} for n in range(6)], "reports")
        await self.shop_job("ask_supplier", [{"sku": f"part-{n:04d}"} for n in range(360)], "delivery times")
        return "a limit of 2 a second, a paused stage, and rows that fail"

    async def _articles(self) -> str:
        from penstock.extensions.articles import articles
        from penstock.extensions.articles.articles import Visibility
        from penstock.extensions.articles.importing import import_path
        from penstock.extensions.articles.shared import ArticleSearch
        from penstock_demo import notes

        told = f"{notes.ARTICLES} notes of a repair shop, shared with everybody"
        async with self._app.connection() as connection:
            there = await articles.page(connection, viewer=None, owner=OWNER, limit=notes.ARTICLES)
        if len(there) == notes.ARTICLES:
            return told
        search = ArticleSearch(self._app)
        try:
            with tempfile.TemporaryDirectory() as folder:
                path = Path(folder) / "workshop-notes.csv"
                path.write_text(notes.file(), "utf-8")
                await import_path(search, path, owner=OWNER, visibility=Visibility.SHARED, source=_ARTICLES_SOURCE)
        finally:
            await search.close()
        return told

    async def _linking(self) -> str:
        from penstock.extensions.linking import matching, projects
        from penstock.extensions.linking.shared import RecordLinking

        linking = RecordLinking(self._app)
        try:
            async with self._app.connection() as connection:
                number = (await self._ledger.read()).get(PROJECT_NOTED, 0)
                project = await projects.get(connection, number)
            if project is None:
                project = await self._project(linking)
                await self._ledger.note(PROJECT_NOTED, project.id, by=OWNER)
            with suppress(IllegalMove):  # its run goes on
                await matching.start(linking, project.id, "new", by=OWNER)
        finally:
            await linking.close()
        return f"project {project.id}: a card index of people, matched against a made-up Wikidata"

    async def _project(self, linking: "RecordLinking") -> "Project":
        from penstock.extensions.linking import saving
        from penstock.extensions.linking.dataset import read_path
        from penstock_demo import card_index

        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "cards.csv"
            path.write_text(card_index.records(), "utf-8")
            dataset = read_path(path, path.name)
            options = {"types": ["Q5"]}
            return await saving.create(
                linking, dataset, name=PROJECT, owner=self._owner, source="sample", options=options
            )

    async def _sites(self) -> str:
        from penstock.console.files.submit import Submission
        from penstock.extensions.sites.submitting import Wish, submit
        from penstock_demo import businesses

        port = (self._app.settings.sample_url or "").rpartition(":")[2]
        urls = [f"http://{slug}.localhost:{port}/" for slug in businesses.businesses()]
        wish = Wish(urls=urls, options={"pages": _SITE_PAGES, "prompts": _SITE_PROMPTS})
        submission = Submission(
            owner=self._owner, pipeline="sites", name=SITES, by=By.command_line(), idempotency_key=f"{JOB_PREFIX}sites"
        )
        added = await submit(self._app, submission, wish)
        await self._ledger.note("sites", added.job_id, by=OWNER)
        return f"analysis {added.job_id} of {added.sites} websites on this machine; one is down, one must not be read"

    async def _catalogue(self) -> str:
        from penstock.console.files.submit import Submission, submit_file
        from penstock.extensions.catalogue import products_import, sample

        await products_import.store(self._app, enumerate(sample.products(), start=1))
        submission = Submission(
            owner=self._owner,
            pipeline="catalogue",
            file_name="spring-assortment.csv",
            name=CATALOGUE,
            options={"providers": ["local", "sample"]},
            by=By.command_line(),
            idempotency_key=f"{JOB_PREFIX}catalogue",
        )
        done = await submit_file(self._app, submission, _once(sample.long_file(self._size).encode()))
        await self._ledger.note("catalogue", done.job_id, by=OWNER)
        return f"job {done.job_id}: {self._size:,} rows of spring-assortment.csv, some of which fail"

    async def shop_job(self, task: str, rows: Sequence[Mapping[str, Any]], name: str) -> None:
        """Where there is no such job yet."""
        if await self.job(name) is None:
            chosen = EnqueueOptions(owner=self._owner)
            job = await Enqueueable[Any, Any](self._app, self._app.pipelines[task], chosen).enqueue_many(
                rows, name=f"{JOB_PREFIX}{name}"
            )
            await self._ledger.note(name, job.id, by=OWNER)

    async def job(self, name: str) -> int | None:
        """None also where somebody has deleted it."""
        return next((view.id for view in await self.jobs(name)), None)

    async def jobs(self, *names: str) -> "list[JobView]":
        """Those of these names, or all."""
        noted = await self._ledger.read()
        async with self._app.connection() as connection:
            return await job_views.these(
                connection, [id for name, id in noted.items() if name != PROJECT_NOTED and (not names or name in names)]
            )


async def _once(data: bytes) -> AsyncIterator[bytes]:
    yield data
