"""Which column means what: told by the submitter, or guessed from the headings."""

from collections.abc import Mapping, Sequence
from typing import Any

from penstock.errors import PermanentError
from penstock.extensions.catalogue.folding import fold

# Role → headings that mean it, the surest first, as `fold` writes them: English, German, Dutch, French and
# Spanish. A column has one role, and the roles are given away in this order: what is more special comes first.
HEADINGS: dict[str, tuple[str, ...]] = {
    "gtin": (
        "gtin", "gtin14", "gtin13", "gtin 14", "gtin 13", "ean", "ean13", "ean 13", "ean8", "ean code", "upc",
        "upc code", "barcode", "bar code", "isbn", "jan", "strichcode", "streepjescode", "code barres", "code barre",
        "code a barres", "gencod", "codigo de barras", "codigo ean", "codice a barre",
    ),
    "sku": (
        "sku", "mpn", "article number", "article no", "item number", "item no", "part number", "part no",
        "product code", "product number", "model number", "artikelnummer", "artikelnr", "artikel nr", "art nr",
        "bestellnummer", "herstellernummer", "teilenummer", "artikelcode", "productcode", "bestelnummer",
        "reference", "ref", "reference fabricant", "numero d article", "code article", "code produit", "referencia",
        "codigo de articulo", "codigo de producto", "numero de pieza", "codice articolo",
    ),
    "url": ("url", "product url", "link", "deeplink", "product link", "webadresse", "lien", "enlace", "adresse web"),
    "currency": ("currency", "wahrung", "waehrung", "valuta", "devise", "moneda", "divisa"),
    "price": ("price", "unit price", "sale price", "preis", "stuckpreis", "prijs", "prix", "precio", "prezzo"),
    "retailer": (
        "retailer", "seller", "merchant", "shop", "store", "handler", "haendler", "verkaufer", "winkel", "verkoper",
        "marchand", "vendeur", "magasin", "tienda", "vendedor",
    ),
    "brand": (
        "brand", "manufacturer", "make", "vendor", "marke", "hersteller", "merk", "fabrikant", "marque", "fabricant",
        "marca", "fabricante",
    ),
    "title": (
        "title", "product title", "product name", "item name", "name", "product", "item", "produktname", "titel",
        "artikelbezeichnung", "bezeichnung", "artikelname", "produkt", "artikel", "productnaam", "artikelnaam", "naam",
        "nom du produit", "titre", "nom", "designation", "libelle", "produit", "article", "nombre del producto",
        "titulo", "nombre", "producto", "articulo", "description", "product description", "beschreibung",
        "omschrijving", "descripcion", "nome",
    ),
}  # fmt: skip
ROLES = tuple(HEADINGS)


def roles_of(columns: Sequence[str], given: Mapping[str, Any] | None = None) -> dict[str, int]:
    """Role → index of its column. What is given (role → heading, null: no column) counts before every guess."""
    roles = _given(columns, given or {})
    folded = [fold(column) for column in columns]
    for role, headings in HEADINGS.items():
        if role not in (given or {}) and (found := _best(folded, headings, set(roles.values()))) is not None:
            roles[role] = found
    return roles


def _given(columns: Sequence[str], given: Mapping[str, Any]) -> dict[str, int]:
    roles = {}
    for role, heading in given.items():
        if role not in HEADINGS:
            raise PermanentError(f"There is no role {role!r} of a column. Use {', '.join(ROLES)}.")
        if heading is None:
            continue
        if heading not in columns:
            shown = ", ".join(columns[:20])
            raise PermanentError(f"The role {role} was given to the column {heading!r}; the file has: {shown}.")
        roles[role] = list(columns).index(heading)
    return roles


def _best(folded: Sequence[str], headings: Sequence[str], taken: set[int]) -> int | None:
    """The heading itself before one that only holds it among other words."""
    for rank in (_equal, _within):
        for heading in headings:
            for index, column in enumerate(folded):
                if index not in taken and rank(heading, column):
                    return index
    return None


def _equal(heading: str, column: str) -> bool:
    return heading == column


def _within(heading: str, column: str) -> bool:
    return f" {heading} " in f" {column} "
