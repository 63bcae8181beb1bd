"""HTML that cannot be forgotten to be escaped: text becomes HTML only through :func:`tag`."""

from html import escape


class Html(str):
    """Finished HTML. Everything else is text, and is escaped."""

    __slots__ = ()


_VOID = frozenset({"meta", "rect"})


def tag(name: str, /, *inside: str, **attributes: str | None) -> Html:
    """An element. A trailing ``_`` of an attribute's name is left out, any other is a hyphen; None: no attribute."""
    given = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{escape(value)}"'
        for key, value in attributes.items()
        if value is not None
    )
    if name in _VOID:
        return Html(f"<{name}{given}>" if name == "meta" else f"<{name}{given}/>")
    return Html(f"<{name}{given}>{joined(*inside)}</{name}>")


def joined(*parts: str) -> Html:
    return Html("".join(part if isinstance(part, Html) else escape(part) for part in parts))
