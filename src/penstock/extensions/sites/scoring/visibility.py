"""Whether models name the business, where among others, and what they say of it.

The offline model is left out: it quotes the site, so it would name the business whenever the site does.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from penstock.extensions.sites.answer import Answer
from penstock.extensions.sites.facts import SiteFacts
from penstock.extensions.sites.models.model import OFFLINE
from penstock.extensions.sites.prompt import Prompt
from penstock.extensions.sites.scores import AnswerCell, AnswerClaim
from penstock.extensions.sites.scoring.claims import claims, names_it
from penstock.extensions.sites.scoring.names import Business
from penstock.extensions.sites.scoring.others import Mention, Others
from penstock.extensions.sites.scoring.ranking import Ranking
from penstock.extensions.sites.scoring.shares import NOTHING, share

_EXCERPT_CHARACTERS = 280


@dataclass(frozen=True, slots=True)
class _Seen:
    named: bool
    position: int | None
    others: tuple[Mention, ...]


class Seeing:
    """Looks at the answers of one site."""

    def __init__(self, facts: SiteFacts, ranking: Ranking) -> None:
        self.business = Business(facts.name, facts.url)
        self._others = Others([facts.name] if facts.name else [], facts.places)
        self._ranking = ranking

    def cells(self, prompts: Sequence[Prompt], answers: Sequence[Answer]) -> list[AnswerCell]:
        """In the order of the prompts, models by name."""
        asked: dict[tuple[str, str], list[Answer]] = {}
        for answer in sorted(answers, key=lambda one: (one.model, one.sample)):
            asked.setdefault((answer.prompt, answer.model), []).append(answer)
        texts = {prompt.key: prompt.text for prompt in prompts}
        known = self._known(answers, texts)
        return [
            self._cell(key, model, texts[key], given, known)
            for key in texts
            for (prompt, model), given in asked.items()
            if prompt == key
        ]

    def _known(self, answers: Sequence[Answer], texts: dict[str, str]) -> list[str]:
        """Names from all answers, so that one found in a list is found in running text too."""
        names = {
            mention.name
            for answer in answers
            if answer.model != OFFLINE and answer.text is not None
            for mention in self._others.find(answer.text, prompt=texts.get(answer.prompt, ""), own=[])
            if not self.business.named_in(mention.name)
        }
        return sorted(names)

    def _cell(self, key: str, model: str, text: str, given: list[Answer], known: list[str]) -> AnswerCell:
        told = [answer.text for answer in given if answer.text is not None]
        problems = [answer.problem for answer in given if answer.problem is not None]
        is_seen = model != OFFLINE
        seen = [self._look(one, text, known) for one in told] if is_seen else []
        said = _once(claim for one in told for claim in claims(one, self.business, self._ranking)) if is_seen else ()
        named = [one for one, look in zip(told, seen, strict=False) if look.named]
        return AnswerCell(
            prompt=key,
            model=model,
            samples=len(given),
            failed=len(given) - len(told),
            named=share(len(named), len(told)) if is_seen else NOTHING,
            positions=tuple(look.position for look in seen if look.position is not None),
            others=_counted(look.others for look in seen),
            claims=said,
            excerpt=_excerpt((named or told)[0]) if told else None,
            problem=problems[0] if problems else None,
        )

    def _look(self, text: str, prompt: str, known: list[str]) -> _Seen:
        own = self.business.find(text)
        others = self._others.find(text, prompt=prompt, own=own, known=known)
        if not names_it(text, self.business):
            return _Seen(False, None, tuple(others))
        return _Seen(True, 1 + sum(one.start < own[0][0] for one in others), tuple(others))


def _counted(found: Iterable[tuple[Mention, ...]]) -> dict[str, int]:
    """By number of samples, then by name; a name in the way it is written most often."""
    counts: Counter[str] = Counter()
    written: dict[str, Counter[str]] = {}
    for mentions in found:
        for mention in mentions:
            counts[mention.key] += 1
            written.setdefault(mention.key, Counter())[mention.name] += 1
    shown = {key: min(forms, key=lambda form: (-forms[form], form)) for key, forms in written.items()}
    return {shown[key]: counts[key] for key in sorted(counts, key=lambda key: (-counts[key], shown[key]))}


def _once(found: Iterable[AnswerClaim]) -> tuple[AnswerClaim, ...]:
    return tuple({claim.text: claim for claim in found}.values())


def _excerpt(text: str) -> str:
    text = " ".join(text.split())
    if len(text) <= _EXCERPT_CHARACTERS:
        return text
    return text[:_EXCERPT_CHARACTERS].rsplit(" ", 1)[0] + " …"
