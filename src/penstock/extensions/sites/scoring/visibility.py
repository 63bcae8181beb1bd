"""Whether models name the business, where among others, and what they say of it that the site says too.

The offline model is left out: it quotes the site, so it would name the business whenever the site does. A claim is
supported by a sentence of the site that is about the same, holds the same numbers and does not deny it. What the site
does not say need not be wrong; it is marked so that a person looks.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from penstock.extensions.sites.findings import Answer, AnswerCell, AnswerClaim, Prompt, SiteFacts
from penstock.extensions.sites.models.model import OFFLINE
from penstock.extensions.sites.scoring.names import Business, Mention, Others
from penstock.extensions.sites.scoring.ranking import Ranking, SimilarSentence
from penstock.extensions.sites.scoring.shares import NOTHING, share
from penstock.language.lists import listed
from penstock.language.sentences import sentences
from penstock.language.words import words

# At or above: the sentence is about the same thing. Lower than for questions: claims are longer, and say more at once.
SUPPORTS = 0.4
_LOOKED_AT = 3
_FEWEST_WORDS = 2
_GOES_ON = re.compile(
    r"(?:it|its|they|their|the (?:company|business|firm|shop|team|owner)|sie|ihre?|das unternehmen|ils?|elles?"
    r"|leurs?)\b",
    re.IGNORECASE,
)
_DENIES = re.compile(
    r"\b(?:(?:do not|don['’]t|does not|doesn['’]t) (?:have|know)"
    r"|no (?:specific |reliable |further )?(?:information|details)"
    r"|not (?:aware|familiar)"
    r"|(?:cannot|can['’]t|could not|couldn['’]t|unable to) (?:find|verify|confirm)|never heard"
    r"|keine (?:\w+ )?informationen|nicht bekannt|kenne ich nicht|(?:pas|aucune) (?:d['’])?informations?)\b",
    re.IGNORECASE,
)
_NUMBER = re.compile(r"\d+(?:[.,:]\d+)*")
_NOT = frozenset({
    "not", "no", "never", "without", "cannot", "don", "doesn", "isn", "nicht", "kein", "keine", "nie", "ohne", "pas",
    "jamais", "sans",
})  # fmt: skip
_MARKUP = re.compile(r"\*\*|__|`|^[ \t]*(?:#+|>|[-*•]|\d{1,2}[.)])[ \t]+", re.MULTILINE)
_LINK = re.compile(r"\[([^\]]+)\]\([^)]*\)")
_SAYS_LITTLE = listed("generic_names")
_EXCERPT_CHARACTERS = 280


def plain(text: str) -> str:
    """An answer without the marks of Markdown."""
    return _MARKUP.sub("", _LINK.sub(r"\1", text))


def names_it(text: str, business: Business) -> bool:
    """A sentence that only says that nothing is known of the business does not count."""
    return any(business.named_in(one) and not _DENIES.search(one) for one in sentences(plain(text)))


def claims(text: str, business: Business, ranking: Ranking) -> list[AnswerClaim]:
    return [_checked(sentence, ranking) for sentence in _about(text, business) if _says_something(sentence, ranking)]


def _about(text: str, business: Business) -> Iterator[str]:
    """Sentences that name the business, and those right after that go on with "it" or "they"."""
    before = False
    for sentence in sentences(plain(text)):
        speaks = business.named_in(sentence) or (before and _GOES_ON.match(sentence) is not None)
        before = speaks
        if speaks and not sentence.endswith(("?", ":")) and not _DENIES.search(sentence):
            yield sentence


def _says_something(sentence: str, ranking: Ranking) -> bool:
    """ "You could try X" cannot be checked."""
    return len([word for word in ranking.asked(sentence) if word not in _SAYS_LITTLE]) >= _FEWEST_WORDS


def _checked(sentence: str, ranking: Ranking) -> AnswerClaim:
    found = ranking.rank(sentence, most=_LOOKED_AT)
    best = next((one for one in found if one.similarity >= SUPPORTS and _denies_alike(sentence, one)), None)
    supported = best is not None and _numbers(sentence) <= set().union(
        *(_numbers(one.passage.sentence) for one in found), *(_numbers(one.passage.heading) for one in found)
    )
    return AnswerClaim(text=sentence, supported=supported, evidence=best.evidence if best and supported else None)


def _denies_alike(sentence: str, found: SimilarSentence) -> bool:
    return bool(_NOT & set(words(sentence))) == bool(_NOT & set(words(found.passage.sentence)))


def _numbers(text: str) -> set[str]:
    return {number.replace(",", ".") for number in _NUMBER.findall(text)}


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
        said = [claim for one in told if is_seen for claim in claims(one, self.business, self._ranking)]
        named = [one for one, (position, _) in zip(told, seen, strict=False) if position is not None]
        return AnswerCell(
            prompt=key,
            model=model,
            samples=len(given),
            failed=len(given) - len(told),
            named=share(len(named), len(told)) if is_seen else NOTHING,
            positions=tuple(position for position, _ in seen if position is not None),
            others=_counted(others for _, others in seen),
            claims=tuple({claim.text: claim for claim in said}.values()),
            excerpt=_excerpt((named or told)[0]) if told else None,
            problem=problems[0] if problems else None,
        )

    def _look(self, text: str, prompt: str, known: list[str]) -> tuple[int | None, list[Mention]]:
        """As which of the names the business comes, and the others. None: it is not named."""
        own = self.business.find(text)
        others = self._others.find(text, prompt=prompt, own=own, known=known)
        if not names_it(text, self.business):
            return None, others
        return 1 + sum(one.start < own[0][0] for one in others), others


def _counted(found: Iterable[Sequence[Mention]]) -> dict[str, int]:
    """By number of samples, then by name; a name in the way it is written most often."""
    counts: Counter[str] = Counter()
    written: dict[str, Counter[str]] = {}
    for mentions in found:
        for mention in mentions:
            counts[mention.key] += 1
            written.setdefault(mention.key, Counter())[mention.name] += 1
    shown = {key: min(forms, key=lambda form: (-forms[form], form)) for key, forms in written.items()}
    return {shown[key]: counts[key] for key in sorted(counts, key=lambda key: (-counts[key], shown[key]))}


def _excerpt(text: str) -> str:
    text = " ".join(text.split())
    if len(text) <= _EXCERPT_CHARACTERS:
        return text
    return text[:_EXCERPT_CHARACTERS].rsplit(" ", 1)[0] + " …"
