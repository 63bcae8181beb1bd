"""What answers say of the business, and whether the site says so too.

A claim is supported by a sentence of the site that is about the same, holds the same numbers and does not deny it. What
the site does not say need not be wrong; it is marked so that a person looks.
"""

import re
from collections.abc import Iterator

from penstock.extensions.sites.scores import AnswerClaim
from penstock.extensions.sites.scoring.names import Business
from penstock.extensions.sites.scoring.ranking import Ranking, SimilarSentence
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
_NOT = frozenset(
    (
        "not",
        "no",
        "never",
        "without",
        "cannot",
        "don",
        "doesn",
        "isn",
        "nicht",
        "kein",
        "keine",
        "nie",
        "ohne",
        "pas",
        "jamais",
        "sans",
    )
)
_MARKUP = re.compile(r"\*\*|__|`|^[ \t]*(?:#+|>|[-*•]|\d{1,2}[.)])[ \t]+", re.MULTILINE)
_LINK = re.compile(r"\[([^\]]+)\]\([^)]*\)")
_SAYS_LITTLE = listed("generic_names")


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
