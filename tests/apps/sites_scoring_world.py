"""Facts, prompts and answers for the tests of scoring, made in a line each."""

from penstock.apps.website_analysis.answer import Answer
from penstock.apps.website_analysis.facts import Facts, Heading, PageFacts
from penstock.apps.website_analysis.prompt import Prompt, PromptKind
from tests.apps.sites_scoring_pairs import Site

HOME = "https://www.shop.example/"


def page(text: str, *, url: str = HOME, headings: tuple[str, ...] = (), title: str | None = None) -> PageFacts:
    return PageFacts(
        url=url,
        status=200,
        sha256="0" * 64,
        content_type="text/html",
        charset="utf-8",
        title=title,
        description="What this page is about.",
        language="en",
        canonical=None,
        headings=tuple(Heading(level=2, text=one) for one in headings),
        open_graph={},
        json_ld=(),
        text=text,
        words=len(text.split()),
        links=(),
    )


def facts(*pages: PageFacts, name: str | None = "Quillfeather Cycles", places: tuple[str, ...] = ()) -> Facts:
    return Facts(
        url=HOME, name=name, title=None, description=None, language="en", canonical=None, places=places, pages=pages
    )


def facts_of(site: Site) -> Facts:
    text = "\n".join(f"{heading}\n" + "\n".join(sentences) for heading, sentences in site.sections)
    headings = tuple(heading for heading, _ in site.sections)
    return facts(page(text, headings=headings), name=site.name, places=(site.place,) if site.place else ())


def prompt(text: str, kind: PromptKind = PromptKind.TOPIC, fact: str = "bicycles") -> Prompt:
    return Prompt(text=text, kind=kind, fact=fact, page=HOME, template="test/1")


def answer(asked: Prompt, text: str | None, *, model: str = "gpt", sample: int = 1, **more) -> Answer:
    return Answer(prompt=asked.key, model=model, sample=sample, text=text, **more)
