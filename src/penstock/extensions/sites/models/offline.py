"""The model that is always there: it answers with sentences of the site, word for word, and needs no network.

The same site and the same question give the same answer, whatever the sample, and nothing is paid. It shows what a
reader of the site would find; whether others know the business is what the other models are asked for.
"""

import asyncio
from threading import Lock

import numpy as np

from penstock import Context
from penstock.extensions.sites.findings import Answer, Evidence, SiteFacts
from penstock.extensions.sites.models.model import OFFLINE, Question
from penstock.extensions.sites.scoring.ranking import ANSWERS, Ranking, SimilarSentence
from penstock.extensions.sites.scoring.ranking import VERSION as RANKING
from penstock.language.embedding import VERSION as EMBEDDING
from penstock.language.embedding import Embedder

NO_ANSWER = "The site does not answer this."
_MOST_SENTENCES = 3
# A further sentence has to be nearly as good as the best, and say something else.
_NEARLY_AS_GOOD = 0.85
_THE_SAME = 0.85
# Sites whose sentences are kept ready: a processor asks all prompts of one before the next.
_SITES_KEPT = 4


class OfflineModel:
    """Extractive. Ranking runs in a thread, so that the loop goes on beside it."""

    name = OFFLINE
    version = f"extractive/1 {RANKING} {EMBEDDING}"

    def __init__(self, embedder: Embedder | None = None) -> None:
        self._embedder = embedder
        self._lock = Lock()
        self._sites: list[tuple[SiteFacts, Ranking]] = []

    def worst_cost(self, question: Question) -> float:
        return 0.0

    async def ask(self, question: Question, ctx: Context) -> Answer:
        evidence = await asyncio.to_thread(self.evidence, question.prompt.text, question.facts)
        return Answer(
            prompt=question.prompt.key,
            model=self.name,
            sample=question.sample,
            text=" ".join(one.sentence for one in evidence) or NO_ANSWER,
            evidence=evidence,
        )

    async def close(self) -> None:
        self._sites = []

    def evidence(self, text: str, facts: SiteFacts) -> tuple[Evidence, ...]:
        """One to three sentences, the best first; none where the site says nothing to it."""
        ranking = self._ranking(facts)
        return tuple(one.evidence for one in _chosen(ranking.rank(text), ranking))

    def _ranking(self, facts: SiteFacts) -> Ranking:
        # One thread prepares a site while others wait for it: preparing it twice would take longer.
        with self._lock:
            for known, ranking in self._sites:
                if known is facts or known == facts:
                    return ranking
            if self._embedder is None:
                self._embedder = Embedder.load()
            ranking = Ranking(facts, self._embedder)
            self._sites = [(facts, ranking), *self._sites[: _SITES_KEPT - 1]]
            return ranking


def _chosen(found: list[SimilarSentence], ranking: Ranking) -> list[SimilarSentence]:
    if not found or found[0].similarity < ANSWERS:
        return []
    chosen = [found[0]]
    for one in found[1:]:
        if len(chosen) == _MOST_SENTENCES or one.similarity < max(ANSWERS, _NEARLY_AS_GOOD * found[0].similarity):
            break
        alike = max(float(np.einsum("j,j->", ranking.vectors[one.index], ranking.vectors[had.index])) for had in chosen)
        if round(alike, 4) < _THE_SAME and not one.passage.is_heading:
            chosen.append(one)
    return chosen
