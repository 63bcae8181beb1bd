"""Facts, prompts and answers for the tests of scoring, made in a line each."""

from penstock.extensions.sites.findings import Answer, Prompt, PromptKind, ReadHeading, ReadPage, SiteFacts
from tests.extensions.page_facts import page_facts
from tests.extensions.sites_scoring_pairs import Site

HOME = "https://www.shop.example/"


def page(text: str, *, url: str = HOME, headings: tuple[str, ...] = (), title: str | None = None) -> ReadPage:
    seen = tuple(ReadHeading(level=2, text=one) for one in headings)
    return page_facts(url, text, title=title, description="What this page is about.", headings=seen)


def facts(*pages: ReadPage, name: str | None = "Quillfeather Cycles", places: tuple[str, ...] = ()) -> SiteFacts:
    return SiteFacts(
        url=HOME, name=name, title=None, description=None, language="en", canonical=None, places=places, pages=pages
    )


def facts_of(site: Site) -> SiteFacts:
    text = "\n".join(f"{heading}\n" + "\n".join(sentences) for heading, sentences in site.sections)
    headings = tuple(heading for heading, _ in site.sections)
    return facts(page(text, headings=headings), name=site.name, places=(site.place,) if site.place else ())


def prompt(text: str, kind: PromptKind = PromptKind.TOPIC, fact: str = "bicycles") -> Prompt:
    return Prompt(text=text, kind=kind, fact=fact, page=HOME, template="test/1")


def answer(asked: Prompt, text: str | None, *, model: str = "gpt", sample: int = 1, **more) -> Answer:
    return Answer(prompt=asked.key, model=model, sample=sample, text=text, **more)
