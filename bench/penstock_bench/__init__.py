"""`penstock bench …`: measures Penstock on this machine. One file per bench; ``bench/README.md`` explains them."""

import asyncio
import signal
from collections.abc import Coroutine
from pathlib import Path
from typing import Annotated, Any

import typer

from penstock.terminal.command import command
from penstock.terminal.errors import FAILED, OK
from penstock.terminal.session import Session

QuickOption = Annotated[bool, typer.Option("--quick", help="Smaller, within a minute.")]
SeedOption = Annotated[int | None, typer.Option("--seed", help="Of the plan of faults: the same seed, the same plan.")]
CorpusArgument = Annotated[
    Path | None, typer.Argument(help="Folder of NAME.html and NAME.json; the repository's own, if left out.")
]
LabelledArgument = Annotated[
    Path | None, typer.Argument(help="Folder of articles_*.toml and queries_*.toml; the repository's own, if left out.")
]
LinkingArgument = Annotated[
    Path | None, typer.Argument(help="Folder of entities.json and records.json; the repository's own, if left out.")
]
KeepOption = Annotated[bool, typer.Option("--keep", help="Leave the database, logs and ledger behind for a look.")]


def register(app: typer.Typer) -> None:
    @command(app)
    def throughput(session: Session, quick: QuickOption = False) -> None:
        """One runner through 50,000 no-op tasks, against the same statements driven bare."""
        from penstock_bench import throughput as bench

        _run(bench.throughput(session, bench.QUICK if quick else bench.FULL))

    @command(app)
    def enqueue(session: Session, quick: QuickOption = False) -> None:
        """Storing tasks in batches, against the bare inserts; and one by one."""
        from penstock_bench import enqueue as bench

        _run(bench.enqueue(session, bench.QUICK if quick else bench.FULL))

    @command(app)
    def latency(session: Session, quick: QuickOption = False) -> None:
        """From the enqueue to the start of the handler, on an idle worker."""
        from penstock_bench import latency as bench

        _run(bench.latency(session, bench.QUICK if quick else bench.FULL))

    @command(app)
    def growth(session: Session, quick: QuickOption = False) -> None:
        """Does it stay fast: with millions waiting, with a thousand lanes, while a long reader holds back vacuum."""
        from penstock_bench import growth as bench

        _run(bench.growth(session, bench.QUICK if quick else bench.FULL))

    @command(app)
    def ingest(session: Session, quick: QuickOption = False) -> None:
        """A million rows of CSV through the whole intake, against COPY of the same rows."""
        from penstock_bench import ingest as bench

        _run(bench.ingest(session, bench.QUICK if quick else bench.FULL))

    @command(app)
    def export(session: Session, quick: QuickOption = False) -> None:
        """A million finished rows as CSV and as XLSX: rows a second, memory, time to the first byte."""
        from penstock_bench import export as bench

        _run(bench.export(session, bench.QUICK if quick else bench.FULL))

    @command(app)
    def pages(session: Session, quick: QuickOption = False) -> None:
        """Lists of a job of ten million rows, against those of a job of ten thousand."""
        from penstock_bench import pages as bench

        _run(bench.pages(session, bench.QUICK if quick else bench.FULL))

    @command(app)
    def transports(session: Session, quick: QuickOption = False) -> None:
        """The same tasks over PostgreSQL, Redis and RabbitMQ, and what a relay sends in a second."""
        from penstock_bench import transports as bench

        _run(bench.transports_bench(session, bench.QUICK if quick else bench.FULL))

    @command(app)
    def search(session: Session, quick: QuickOption = False) -> None:
        """100,000 chunks embedded, stored, indexed and searched; and saves beside all that."""
        from penstock_bench import search as bench

        _run(bench.search(session, bench.QUICK if quick else bench.FULL))

    @command(app)
    def limiter(session: Session, quick: QuickOption = False) -> None:
        """Four processes at ten times the demand of a limit: kept, used, and stopped by an answer 429."""
        from penstock_bench import limiter as bench

        _run(bench.limiter(session, bench.QUICK if quick else bench.FULL))

    @command(app)
    def extraction(session: Session, corpus: CorpusArgument = None) -> None:
        """How much of what people read on saved pages of websites is found: a table by field."""
        from penstock_bench import extraction as bench

        bench.extraction(session, corpus)

    @command(app)
    def retrieval(session: Session, labelled: LabelledArgument = None) -> None:
        """How well search answers questions in other words than the articles: a table by mode."""
        from penstock_bench import retrieval as bench

        _run(bench.retrieval(session, labelled))

    @command(app)
    def linking(session: Session, labelled: LinkingArgument = None) -> None:
        """Records with known answers against things of similar names: what is accepted, and is it right?"""
        from penstock_bench import linking as bench

        bench.linking(session, labelled)

    @command(app)
    async def storm(
        session: Session, quick: QuickOption = False, seed: SeedOption = None, keep: KeepOption = False
    ) -> int:
        """Kill and freeze workers under load, then check that nothing was lost or settled twice."""
        from dataclasses import replace

        from penstock_bench import storm as bench
        from penstock_bench.storm_options import LONG, QUICK

        options = replace(QUICK if quick else LONG, seed=seed, keep=keep, tell=session.out.say)
        figures = await bench.storm(options)
        session.out.show(figures, lambda: "\n".join(f"{name}: {value}" for name, value in figures.items()))
        return FAILED if figures["lost"] or figures["settled_twice"] else OK


def _run(work: Coroutine[Any, Any, None]) -> None:
    """On the loop that runners use. SIGTERM ends a bench like Ctrl-C: its server is stopped, its folder removed."""
    import uvloop

    uvloop.run(_terminable(work))


async def _terminable(work: Coroutine[Any, Any, None]) -> None:
    running = asyncio.ensure_future(work)
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, running.cancel)
    try:
        await running
    except asyncio.CancelledError:
        raise KeyboardInterrupt from None
