"""Three hundred short articles about the work of a made-up repair shop for everything, to have something to search."""

import csv
import io
import random
from collections.abc import Mapping
from importlib.resources import files
from typing import Any

import orjson

_SEED = 1933
ARTICLES = 300


_ENDINGS = (
    "If in doubt, bring it in on a Tuesday, when there is time to talk.",
    "Write down what you did; the next person will be glad, and it may be you.",
    "Photographs before the first screw save an hour afterwards.",
    "None of this needs talent. It needs light, a table and no telephone.",
    "The rest is practice, and practice is mostly patience.",
    "What we do not know we look up, and then we write it here.",
)


def articles(number: int = ARTICLES) -> list[tuple[str, str]]:
    """(title, Markdown), the same ones each time."""
    chance = random.Random(_SEED)
    made = [_article(chance, topic, angle) for angle in _told("angles.json") for topic in _told("topics.json")]
    chance.shuffle(made)
    return made[:number]


def file(number: int = ARTICLES) -> str:
    """As a CSV that `penstock articles import` takes."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(["title", "content"])
    writer.writerows(articles(number))
    return out.getvalue()


def _told(name: str) -> list[dict[str, Any]]:
    """A topic: ``thing`` is what it is about, ``fault`` what goes wrong with it, ``tool`` what helps, ``sign`` what one
    notices, ``care`` what keeps it well. An angle: a title, and two sentences about all of these."""
    told: list[dict[str, Any]] = orjson.loads(files("penstock_demo").joinpath("sample_notes", name).read_bytes())
    return told


def _article(chance: random.Random, topic: Mapping[str, str], angle: Mapping[str, Any]) -> tuple[str, str]:
    head = angle["title"].format(**topic)
    first, second = (text.format(**topic) for text in angle["texts"])
    parts = [
        first,
        "## What to look for",
        f"{second} Look closely for {topic['sign']}, and do not stop at the first place.",
        "## What helps",
        "Keep {tool} within reach. In the long run nothing does more for {thing} than {care}.".format(**topic),
        *chance.sample(_ENDINGS, 2),
    ]
    return head[0].upper() + head[1:], "\n\n".join(part[0].upper() + part[1:] for part in parts)
