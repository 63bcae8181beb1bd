"""How the figures came about, and what they do not say. Part of every report: figures travel without their makers."""

from penstock.extensions.sites.report import wording
from penstock.extensions.sites.report.blocks import Block, Items, Words, clean, line
from penstock.extensions.sites.report.document import Report
from penstock.insight.wording import counted

MEANING = (
    "Coverage asks whether one sentence on the pages that were read comes near enough in meaning to an answer of the "
    "question. It does not judge whether that sentence is true, new or well written.",
    "Visibility counts the answers of models that name the business without having been told its name. Questions that "
    "name it do not count, nor does the offline model, which knows nothing but the site.",
    "The intervals tell how much chance is in a figure of so few tries. Differences smaller than that mean nothing.",
    "A claim without support is a sentence about the business that no sentence of the pages bears. It may be true.",
)
LIMITS = (
    "Only the pages that are listed were read, as a program sees them without running scripts. What stands in images, "
    "videos, forms or behind a login is not known.",
    "Models answer differently from one time to the next, and their makers change them without notice. The figures are "
    "of the day given above.",
    "The questions were formed by rules from the site's own words. Customers may ask others.",
    "The offline model answers with sentences of the site itself. It shows what the site says, not what others know.",
)


def blocks(report: Report) -> tuple[Block, ...]:
    if report.facts is None:
        return (Words(line=line("No page of the site was read, so there were no questions, and no model was asked.")),)
    told = line(" ".join(_done(report)))
    meaning = () if report.scores is None else MEANING
    return (Words(line=told), Items(lines=tuple(line(text) for text in (*meaning, *LIMITS))))


def _done(report: Report) -> list[str]:
    pages = len(report.facts.pages) if report.facts else 0
    said = [f"{counted(pages, 'page')} of the site {'was' if pages == 1 else 'were'} read."]
    templates = sorted({clean(prompt.template, 80).rpartition(".")[2] for prompt in report.prompts})
    if report.prompts:
        said.append(f"{counted(len(report.prompts), 'question')} came of it (templates {', '.join(templates)}).")
    models = [clean(str(name), 80) for name in report.options.get("models", ())]
    if models and report.answers:
        samples = int(report.options.get("samples", 1))
        said.append(f"Asked: {', '.join(models)}, each question {counted(samples, 'time')}.")
    if report.scores is not None:
        tokens = report.scores.tokens_in + report.scores.tokens_out
        said.append(
            f"That took {counted(len(report.answers), 'answer')}, {tokens:,} tokens and cost "
            f"{wording.money(report.scores.cost)} in the currency of the models' prices."
        )
    return said
