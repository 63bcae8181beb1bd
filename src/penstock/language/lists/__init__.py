"""Lists of words, one text file each: lines that begin with # say what the list is for."""

from importlib.resources import files


def listed(name: str) -> frozenset[str]:
    text = files(__name__).joinpath(f"{name}.txt").read_text("utf-8")
    return frozenset(word for line in text.splitlines() if not line.startswith("#") for word in line.split())


def phrases(name: str) -> list[str]:
    """Of a list whose entries have several words: commas and line ends stand between them."""
    text = files(__name__).joinpath(f"{name}.txt").read_text("utf-8")
    lines = (line for line in text.splitlines() if not line.startswith("#"))
    return [phrase.strip() for line in lines for phrase in line.split(",") if phrase.strip()]
