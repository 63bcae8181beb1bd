"""Product lists into the local catalogue: batch by batch, wrong rows named and left out."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path
from typing import BinaryIO

from penstock import Penstock
from penstock.console.files.csv_rows import HEAD_BYTES, read, shape_of_head
from penstock.console.files.refused import FileRefused
from penstock.extensions.catalogue import products
from penstock.extensions.catalogue.folding import fold
from penstock.extensions.catalogue.understood import Understood, roles_of, understand

_BATCH = 1000
_CHUNK_BYTES = 256 * 1024
_TOLD = 20


@dataclass(slots=True)
class Imported:
    """``wrong`` rows were left out, and ``told`` holds the first sentences about them; of ``doubled`` ones the later
    counted."""

    created: int = 0
    changed: int = 0
    wrong: int = 0
    doubled: int = 0
    told: list[str] = field(default_factory=list)

    @property
    def rows(self) -> int:
        """All that were read."""
        return self.created + self.changed + self.wrong + self.doubled


async def import_file(
    app: Penstock,
    path: Path,
    *,
    strict: bool = False,
    retailer: str | None = None,
    tell: Callable[[Imported], None] = lambda so_far: None,
) -> Imported:
    """``strict``: a wrong row ends it, and the batches before it stay. ``retailer``: for lists that name none."""
    return await store(app, _rows(path, retailer), strict=strict, tell=tell)


async def store(
    app: Penstock,
    rows: Iterable[tuple[int, Understood]],
    *,
    strict: bool = False,
    tell: Callable[[Imported], None] = lambda so_far: None,
) -> Imported:
    """Rows with their numbers; each batch is one statement, so a list that is cut can simply be imported again."""
    imported, source = Imported(), iter(rows)
    while batch := list(islice(source, _BATCH)):
        good = [product for number, product in batch if _good(imported, number, product, strict)]
        async with app.connection() as connection:
            created, changed = await products.upsert(connection, good)
        imported.created += created
        imported.changed += changed
        imported.doubled += len(good) - created - changed
        tell(imported)
    return imported


def _good(imported: Imported, number: int, product: Understood, strict: bool) -> bool:
    problem = _problem(product)
    if problem is None:
        return True
    if strict:
        raise FileRefused(f"{problem}.", "Correct the row, or import without --strict to leave it out.", row=number)
    imported.wrong += 1
    if len(imported.told) < _TOLD:
        imported.told.append(f"Row {number:,}: {problem}")
    return False


def _problem(product: Understood) -> str | None:
    """A price that cannot be read would be found as no price at all, so it counts as well."""
    if product.title is None or not fold(product.title):
        return "it has no title"
    for role, problem in product.problems.items():
        return f"{role}: {problem}"
    return None


def _rows(path: Path, retailer: str | None) -> Iterator[tuple[int, Understood]]:
    with _opened(path) as file:
        head = file.read(HEAD_BYTES)
        shape = shape_of_head(head, whole=len(head) < HEAD_BYTES)
        roles = _roles(shape.columns)
        file.seek(0)
        for number, cells in enumerate(read(lambda: file.read(_CHUNK_BYTES), shape), start=1):
            product = understand(roles, cells)
            yield number, product if product.retailer or not retailer else replace(product, retailer=retailer)


def _opened(path: Path) -> BinaryIO:
    try:
        return path.open("rb")
    except OSError as error:
        raise FileRefused(f"{str(path)!r} cannot be read ({error.strerror}).", "Check its name and rights.") from None


def _roles(columns: Sequence[str]) -> dict[str, int]:
    roles = roles_of(columns)
    if "title" not in roles:
        raise FileRefused(
            f"no column holds titles; the columns are {', '.join(columns[:20])}.",
            "Call one of them title, and others brand, sku, gtin, price, currency, retailer, url.",
        )
    return roles
