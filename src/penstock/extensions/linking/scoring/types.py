"""Is it the kind of thing that is wanted?"""

from collections.abc import Collection

from penstock.extensions.linking.scoring.finding import Finding


def compare(wanted: Collection[str], there: Collection[str]) -> Finding:
    """Any of the wanted types will do. Nothing known on one side says nothing."""
    if not wanted:
        return Finding(kind="type", value=None, said="no type is wanted")
    if not there:
        return Finding(kind="type", value=None, said="no type is known there")
    found = next((one for one in wanted if one in there), None)
    if found is not None:
        return Finding(kind="type", value=1.0, said=f"is of type {found}")
    return Finding(kind="type", value=0.0, said=f"is of type {_listed(there)}, not {_listed(wanted)}")


def _listed(types: Collection[str]) -> str:
    shown = list(types)[:3]
    return " or ".join(shown) + (" …" if len(types) > len(shown) else "")
