"""`penstock catalogue products`: the local product catalogue, and a sample file to look up in it."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from penstock.terminal.command import accept_global_options, command
from penstock.terminal.output import Column
from penstock.terminal.readable import short
from penstock.terminal.session import Session

if TYPE_CHECKING:
    from penstock.extensions.catalogue.products_import import Imported

File = Annotated[Path | None, typer.Argument(metavar="FILE", help="A CSV with a header; columns are found by name.")]
SampleOption = Annotated[bool, typer.Option("--sample", help="Made-up products instead of a file.")]
StrictOption = Annotated[bool, typer.Option("--strict", help="Stop at the first wrong row.")]
RetailerOption = Annotated[str | None, typer.Option("--retailer", help="For rows that name none.")]
Text = Annotated[str, typer.Argument(metavar="TEXT", help="A GTIN, an article number, or words of a title.")]

EMPTY = "Nothing like it. `penstock catalogue products count` tells how many there are."
_LOOSE = 0.2


def register(app: typer.Typer) -> None:
    from penstock.terminal.groups import WholeSentences, new_app

    products = new_app(help="The local product catalogue: import, count, find.", cls=WholeSentences)
    _register_import(products)
    _register_looks(products)
    accept_global_options(products)
    app.add_typer(products, name="products")

    @command(app, "sample-file")
    def sample_file(session: Session) -> None:
        """Print a CSV to upload: rows that find products of `products import --sample`, and some that do not."""
        from penstock.extensions.catalogue import sample

        text = sample.file()
        session.out.show({"csv": text}, text)


def _register_import(app: typer.Typer) -> None:
    @command(app, "import")
    async def import_products(
        session: Session,
        file: File = None,
        sample: SampleOption = False,
        strict: StrictOption = False,
        retailer: RetailerOption = None,
    ) -> None:
        """Add products, or change those that are there: by GTIN, else by retailer and article number, else by name.

        Wrong rows are named and left out. A list may be imported as often as you like.
        """
        from penstock.errors import UsageError

        if (file is None) is not sample:
            raise UsageError("Name a CSV file, or pass --sample for made-up products; not both.")
        await _import(session, file, strict, retailer)


async def _import(session: Session, file: Path | None, strict: bool, retailer: str | None) -> None:
    from penstock.extensions.catalogue import products_import, sample

    app, progress = await session.app(), session.out.progress(None)

    def tell(so_far: "Imported") -> None:
        progress.update(so_far.rows, failed=so_far.wrong)

    if file is None:
        done = await products_import.store(app, enumerate(sample.products(), start=1), tell=tell)
    else:
        done = await products_import.import_file(app, file, strict=strict, retailer=retailer, tell=tell)
    progress.detach()
    for line in done.told:
        session.out.warn(line)
    if done.wrong > len(done.told):
        session.out.warn(f"… and {done.wrong - len(done.told):,} more rows")
    data = {"rows": done.rows, "created": done.created, "changed": done.changed, "doubled": done.doubled}
    text = f"{done.created:,} new, {done.changed:,} changed, {done.doubled:,} doubled, {done.wrong:,} wrong."
    session.out.show(data | {"wrong": done.wrong, "problems": done.told}, text)


def _register_looks(app: typer.Typer) -> None:
    @command(app)
    async def count(session: Session) -> None:
        """How many products there are."""
        from penstock.extensions.catalogue import products

        async with session.connection() as connection:
            found = await products.count(connection)
        session.out.show({"products": found}, f"{found:,} products")
        if not found:
            session.out.say("Add some: `penstock catalogue products import FILE.csv`, or `--sample` for made-up ones.")

    @command(app)
    async def find(session: Session, text: Text) -> None:
        """What the local catalogue knows of a number or a name, the best first."""
        from dataclasses import asdict

        from penstock.extensions.catalogue.products import find as found_for

        async with session.connection() as connection:
            rows = [asdict(product) for product in await found_for(connection, text, least_score=_LOOSE)]
        for row in rows:
            row["price"] = None if row["price"] is None else float(row["price"])
            del row["search_brand"], row["search_title"]
        session.out.table(rows, COLUMNS, empty=EMPTY)


COLUMNS = (
    Column(key="gtin", title="GTIN"),
    Column(key="sku", title="article number", show=lambda value: short(value or "–", 30)),
    Column(key="title", title="title", show=lambda value: short(value, 60)),
    Column(key="price", title="price", right=True, show=lambda value: "–" if value is None else f"{value:,.2f}"),
    Column(key="currency", title="currency"),
    Column(key="retailer", title="retailer", show=lambda value: short(value or "–", 30)),
    Column(key="score", title="score", right=True, show=lambda value: f"{value:.2f}"),
)
