"""Which sentences of a site answer a question, best first.

Three signs are put together: how near question and sentence are in meaning (embeddings), how many of the question's
telling words the sentence has, each weighed by its rarity on the site and matched by meaning as well as by spelling,
and whether it holds the kind of thing that is asked for: "How much is X?" is not answered by a sentence about X without
an amount. Words for the kind itself ("cost", "open") then say nothing about the subject and are left out of the
comparison. Early sentences and those under a fitting heading gain a little. The numbers were set on the labelled
questions of tests/extensions/sites_scoring_pairs.py.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from penstock.extensions.sites.findings import Evidence, ReadPage, SiteFacts
from penstock.language.embedding import Embedder, Vectors
from penstock.language.sentences import sentences
from penstock.language.words import folded, stem, telling

_CURRENCY = (
    r"(?:[€$£¥₹]|\b(?:euros?|eur|dollars?|usd|pounds?|gbp|chf|francs?|franken|pln|kr|sek|nok|dkk|yen|złoty|zł)\b)"
)
_NUMBER = r"\d[\d.,\u00a0 ]*"
_WEEKDAY = (
    r"\b(?:mon|tues?|wednes|thurs?|fri|satur|sun)(?:day)?s?\b|\bweekdays?\b|\bdaily\b|\b(?:mon|diens|donners|frei|sams|sonn)tags?\b"
    r"|\bmittwochs?\b|\btäglich\b|\bwerktags\b|\b(?:lundi|mardi|mercredi|jeudi|vendredi|samedi|dimanche)s?\b"
    r"|\b(?:lunes|martes|miércoles|jueves|viernes|sábado|domingo)s?\b|\b(?:lunedì|martedì|mercoledì|giovedì|venerdì|sabato|domenica)\b"
)
# A word or two is a label, not a sentence.
_FEWEST_CHARACTERS = 12
# A site of very long pages is answered from their beginnings.
MOST_PASSAGES = 5000
Numbers = npt.NDArray[np.float64]
# Goes into what an answer of the offline model is remembered by.
VERSION = "1"
# At or above: the site answers the question.
ANSWERS = 0.45
_MEANING, _WORDS = 0.45, 0.55
_EARLY = 0.03
_HEADING_SHARE = 0.5
_HAS_KIND, _LACKS_KIND = 0.12, 0.65
_IS_HEADING = 0.85
_KIND_ALONE = 0.7
_SHORTEST_PART = 5
_RELATED = 0.8
# Word vectors nearer than this begin to count as the same word.
_WORD_NEARNESS = 0.45
# Cosines of unrelated sentences are not zero; this is where meaning begins.
_MEANING_FLOOR = 0.15


@dataclass(frozen=True, slots=True)
class Kind:
    """``asks`` finds it in a question, ``holds`` in an answer."""

    name: str
    asks: re.Pattern[str]
    holds: re.Pattern[str]


def _kind(name: str, asks: str, holds: str) -> Kind:
    return Kind(name, re.compile(asks, re.IGNORECASE), re.compile(holds, re.IGNORECASE))


PRICE = _kind(
    "price",
    r"\bhow much\b|\bcosts?\b|\bprice[sd]?\b|\bpricing\b|\bfees?\b|\bkoste[nt]\b|\bpreise?\b|\bwie viel\b"
    r"|\bcombien coût\w*|\bcoûte\w*"
    r"|\bprix\b|\btarifs?\b|\bprecios?\b|\bcuestan?\b|\bprezz[oi]\b|\bquanto costa\w*|\bprijs\w*|\bpreço\w*"
    r"|\bkost\b|\bcustam?\b|\bkosztuj\w*|\bcena\b|\bile\b",
    rf"{_CURRENCY}\s*{_NUMBER}|{_NUMBER}\s*{_CURRENCY}|\bfree\b|\bkostenlos\b|\bgratuite?s?\b|\bgratis\b",
)
HOURS = _kind(
    "hours",
    r"\b(?:when|what time|until when|hours)\b.*\b(?:open|close[sd]?|opening)\b|\bopen(?:ing)? (?:hours|times|on)\b"
    r"|\bwann\b.*\b(?:geöffnet|offen|auf)\b|\böffnungszeiten\b|\bquand\b.*\bouvert\w*|\bhoraires\b|\bhorarios?\b|\borario?\b"
    r"|\bopeningstijden\b|\bis\b.*\bopen on\b",
    rf"\b\d{{1,2}}[:.h]\d\d\b|\b\d{{1,2}}\s*(?:am|pm|uhr|h)\b|{_WEEKDAY}",
)
CONTACT = _kind(
    "contact",
    r"\bcontact\b|\bphone number\b|\bget in touch\b|\breach\b|\btelefon\w*|\bkontakt\w*|\berreich\w*|\btéléphone\b"
    r"|\bjoindre\b"
    r"|\bcontacto\b|\bcontactar\b|\bcontattare\b|\bbereiken\b|\bskontaktowa\w*",
    r"[\w.+-]+@[\w-]+\.\w+|(?:\+|\b)\d[\d ()/.-]{5,}\d|\be-?mails?\b|\bcontact form\b|\bkontaktformular\b",
)
LENGTH = _kind(
    "length",
    r"\bhow long\b|\bhow quick\w*|\bhow fast\b|\bwie lange\b|\bwie schnell\b|\bcombien de temps\b"
    r"|\bcuánto tiempo\b|\bquanto tempo\b",
    r"\b(?:\d+|one|two|three|four|five|six|seven|eight|nine|ten|twelve|zwei|drei|vier|deux|trois|quatre)\b.{0,20}"
    r"\b(?:minutes?|hours?|days?|weeks?|months?|years?|minuten?|stunden?|tagen?|wochen?|monaten?|jahren?|heures?|jours?"
    r"|semaines?|mois"
    r"|ans|años|días|horas|giorni|ore)\b|\bsince \d{4}|\bseit \d{4}|\bdepuis \d{4}|\bwhile you wait\b",
)
PLACE = _kind(
    "place",
    r"\bwhere (?:is|are|can i find)\b|\baddress\b|\bwo (?:ist|sind|liegt|finde)\b|\badresse\b"
    r"|\boù (?:se trouve|est|sont)\b"
    r"|\bdónde está\b|\bdove (?:si trova|è)\b",
    r"(?-i:\b\d+[a-z]?,? [A-ZÀ-Ý]\w+|\b[A-ZÀ-Ý][\w.]+ \d+[a-z]?\b(?! ?\d))"
    r"|\b(?:street|road|avenue|square|straße|strasse|platz|rue|calle|via)\b"
    r"|\b(?:at|in|near|am|im|à|en)\s+(?-i:[A-ZÀ-Ý])",
)
KINDS = (PRICE, HOURS, CONTACT, LENGTH, PLACE)


def asked_for(question: str) -> Kind | None:
    return next((kind for kind in KINDS if kind.asks.search(question)), None)


def subject(question: str, kind: Kind | None) -> str:
    """The question without the words that name the kind; the whole one where nothing would be left."""
    return question if kind is None else kind.asks.sub(" ", question)


@dataclass(frozen=True, slots=True, kw_only=True)
class Passage:
    """What could answer something: ``sentence`` as it stands on the page, with the heading above it; ``order`` counts
    within the page, from 0."""

    sentence: str
    page: str
    heading: str
    order: int
    is_heading: bool = False


def passages(facts: SiteFacts) -> list[Passage]:
    """Each sentence once, from the page that has it first: what stands on every page says nothing about one of them."""
    seen: set[str] = set()
    kept: list[Passage] = []
    for passage in (*_of_pages(facts), *_of_facts(facts)):
        key = " ".join(folded(passage.sentence).split())
        if key in seen or len(kept) >= MOST_PASSAGES:
            continue
        seen.add(key)
        kept.append(passage)
    return kept


def _of_pages(facts: SiteFacts) -> Iterator[Passage]:
    for page in facts.pages:
        yield from _of_text(page)
    for page in facts.pages:
        for text in (page.description, page.title):
            for order, sentence in enumerate(sentences(text or "")):
                if len(sentence) >= _FEWEST_CHARACTERS:
                    yield Passage(sentence=sentence, page=page.url, heading="", order=order, is_heading=True)


def _of_text(page: ReadPage) -> Iterator[Passage]:
    """A line that equals a heading of the page stands over what follows, up to the next."""
    headings = {folded(heading.text).strip() for heading in page.headings}
    current = ""
    order = 0
    for line in page.text.splitlines():
        # Extracted text may mark headings the way Markdown does.
        label = line.strip().lstrip("#").strip()
        if folded(label) in headings:
            current = label
            if len(label) >= _FEWEST_CHARACTERS:
                yield Passage(sentence=label, page=page.url, heading="", order=order, is_heading=True)
            continue
        for sentence in sentences(line):
            if len(sentence) >= _FEWEST_CHARACTERS or any(sign.isdigit() for sign in sentence):
                yield Passage(sentence=sentence, page=page.url, heading=current, order=order)
                order += 1


def _of_facts(facts: SiteFacts) -> Iterator[Passage]:
    """What stands outside the main text, such as in a footer or a list of prices: a visitor sees it too."""
    for offer in facts.offers:
        if offer.place.quote and len(offer.place.quote) >= _FEWEST_CHARACTERS:
            yield Passage(sentence=offer.place.quote, page=offer.place.page, heading=offer.text, order=0)
    contacts = facts.contacts
    lines = (
        *((text, "Address") for text in contacts.addresses),
        *((text, "Contact") for text in (*contacts.phones, *contacts.emails)),
    )
    for text, label in lines:
        yield Passage(sentence=text, page=facts.url, heading=f"{label} {facts.name or ''}".strip(), order=0)


@dataclass(frozen=True, slots=True, kw_only=True)
class SimilarSentence:
    """``similarity`` from 0 to 1, rounded, so that the last bits of a machine's arithmetic decide nothing."""

    passage: Passage
    similarity: float
    index: int

    @property
    def evidence(self) -> Evidence:
        return Evidence(sentence=self.passage.sentence, page=self.passage.page, similarity=self.similarity)


class Ranking:
    """The sentences of one site, ready to be asked. Does not change after it was made."""

    def __init__(self, facts: SiteFacts, embedder: Embedder) -> None:
        self._embedder = embedder
        self.passages: list[Passage] = passages(facts)
        self.vectors: Vectors = embedder.embed([one.sentence for one in self.passages])
        self._everywhere = {stem(word) for text in (facts.name or "", *facts.places) for word in telling(text)}
        bodies = [telling(one.sentence) for one in self.passages]
        headings = [telling(one.heading) for one in self.passages]
        self._vocabulary = sorted({word for words in (*bodies, *headings) for word in words})
        numbers = {word: number for number, word in enumerate(self._vocabulary)}
        self._stems = [stem(word) for word in self._vocabulary]
        self._words = embedder.embed(self._vocabulary)
        self._bodies = _Bags([[numbers[word] for word in words] for words in bodies])
        self._headings = _Bags([[numbers[word] for word in words] for words in headings])
        self._rarity = _rarity(bodies)
        self._usual = max(self._rarity.values(), default=1.0)
        self._early = np.array([max(0.0, 1 - one.order / 20) for one in self.passages])
        self._is_heading = np.array([one.is_heading for one in self.passages], dtype=bool)

    def rank(self, question: str, *, most: int = 10) -> list[SimilarSentence]:
        """Best first; equal ones in the order of the site."""
        if not self.passages:
            return []
        kind = asked_for(question)
        similarities = self._similarities(question, kind)
        order = np.argsort(-similarities, kind="stable")[:most]
        return [
            SimilarSentence(passage=self.passages[index], similarity=float(similarities[index]), index=int(index))
            for index in order
        ]

    def _similarities(self, question: str, kind: Kind | None) -> Numbers:
        asked = self.asked(question)
        subjects = self.asked(subject(question, kind)) if kind is not None else asked
        (vector,) = self._embedder.embed([" ".join(asked) or question])
        cosines = np.einsum("ij,j->i", self.vectors, vector).astype(np.float64)
        meaning = np.clip((cosines - _MEANING_FLOOR) / (1 - _MEANING_FLOOR), 0, 1)
        holds = np.array([kind is not None and bool(kind.holds.search(one.sentence)) for one in self.passages])
        overlap = self._overlap(subjects or asked or sorted(set(telling(question))))
        if kind is not None and not subjects:
            # "When are you open?" has no subject but the site: the kind itself is what is asked for.
            overlap = _KIND_ALONE * holds + (1 - _KIND_ALONE) * overlap
        scores = _MEANING * meaning + _WORDS * overlap + _EARLY * self._early
        if kind is not None:
            scores = np.where(holds, scores + _HAS_KIND, scores * _LACKS_KIND)
        scores = np.where(self._is_heading, scores * _IS_HEADING, scores)
        rounded: Numbers = np.round(np.clip(scores, 0, 1), 4)
        return rounded

    def asked(self, text: str) -> list[str]:
        """Telling words without name and places of the site: they stand for all of it, not for one of its sentences."""
        return list(dict.fromkeys(word for word in telling(text) if stem(word) not in self._everywhere))

    def _overlap(self, asked: Sequence[str]) -> Numbers:
        """Share of the asked words, by rarity, that each passage has, itself or in its heading."""
        if not asked:
            return np.zeros(len(self.passages))
        weights = np.array([self._rarity.get(stem(word), self._usual) for word in asked])
        near = self._nearness(asked)
        found = np.maximum(self._bodies.best(near), _HEADING_SHARE * self._headings.best(near))
        return np.asarray((weights[:, None] * found).sum(axis=0) / weights.sum())

    def _nearness(self, asked: Sequence[str]) -> Numbers:
        """Each asked word against each word of the site: 1 for the same stem, less for related ones."""
        cosines = np.einsum("ij,kj->ik", self._embedder.embed(asked), self._words).astype(np.float64)
        near: Numbers = _RELATED * np.clip((cosines - _WORD_NEARNESS) / (1 - _WORD_NEARNESS), 0, 1)
        for row, word in enumerate(asked):
            root = stem(word)
            for column, other in enumerate(self._stems):
                near[row, column] = max(near[row, column], _spelled_alike(root, other))
        return near


class _Bags:
    """The words of all passages in one row of numbers, so that a question is compared with all at once."""

    def __init__(self, bags: list[list[int]]) -> None:
        self._filled = np.array([bool(bag) for bag in bags], dtype=bool)
        self._starts = np.cumsum([0, *(len(bag) for bag in bags if bag)])[:-1]
        self._flat = np.array([number for bag in bags for number in bag], dtype=np.int64)

    def best(self, near: Numbers) -> Numbers:
        """(asked words, passages): the nearest word that each passage has."""
        result = np.zeros((near.shape[0], len(self._filled)))
        if len(self._flat):
            result[:, self._filled] = np.maximum.reduceat(near[:, self._flat], self._starts, axis=1)
        return result


def _spelled_alike(one: str, other: str) -> float:
    """Compounds meet their parts: "Hochzeitstorte" has "Torte" in it."""
    if one == other:
        return 1.0
    short, long = sorted((one, other), key=len)
    if len(short) >= _SHORTEST_PART and (long.startswith(short) or long.endswith(short)):
        return 0.3 + 0.7 * len(short) / len(long)
    return 0.0


def _rarity(bodies: list[list[str]]) -> dict[str, float]:
    """By stem: what few sentences say tells more."""
    counts: dict[str, int] = {}
    for words in bodies:
        for root in {stem(word) for word in words}:
            counts[root] = counts.get(root, 0) + 1
    total = len(bodies)
    return {root: float(np.log(1 + (total - count + 0.5) / (count + 0.5))) for root, count in counts.items()}
