"""The offline model: sentences of the site, word for word, or the sentence that it has none."""

import asyncio

import pytest

from penstock.extensions.sites.models.model import Question
from penstock.extensions.sites.models.offline import NO_ANSWER, OfflineModel
from penstock.extensions.sites.scoring.ranking import passages
from penstock.language.embedding import Embedder
from tests.extensions.sites_scoring_pairs import BAKERY, BICYCLES
from tests.extensions.sites_scoring_world import HOME, facts, facts_of, page, prompt


@pytest.fixture(scope="module")
def embedder() -> Embedder:
    return Embedder.load()


async def ask(model, text, about, sample=1):
    return await model.ask(Question(prompt=prompt(text), sample=sample, facts=about), None)


async def test_it_answers_in_the_words_of_the_site_with_evidence(embedder):
    answer = await ask(OfflineModel(embedder), "How much does a full bicycle service cost?", facts_of(BICYCLES))
    assert "A full service costs 79 euros and takes two working days." in answer.text
    assert 1 <= len(answer.evidence) <= 3
    assert all(one.sentence in BICYCLES.sentences and one.page == HOME for one in answer.evidence)
    assert all(0.45 <= one.similarity <= 1 for one in answer.evidence)
    assert (answer.cost, answer.tokens_in, answer.problem, answer.model) == (0, 0, None, "offline")


async def test_it_says_so_where_the_site_has_no_answer(embedder):
    model = OfflineModel(embedder)
    for about in (facts_of(BICYCLES), facts(), facts(page(""))):
        answer = await ask(model, "Does the workshop sell aeroplanes made of glass?", about)
        assert (answer.text, answer.evidence) == (NO_ANSWER, ())


async def test_samples_models_and_threads_agree(embedder):
    about = facts_of(BAKERY)
    model = OfflineModel(embedder)
    given = await asyncio.gather(*(ask(model, "Was kostet ein Roggenbrot?", about, sample) for sample in range(1, 9)))
    other = await ask(OfflineModel(), "Was kostet ein Roggenbrot?", facts_of(BAKERY))
    assert {(one.text, one.evidence) for one in given} == {(other.text, other.evidence)}
    assert [one.sample for one in given] == list(range(1, 9))


async def test_many_sites_do_not_answer_for_each_other(embedder):
    model = OfflineModel(embedder)
    sites = [facts(page(f"The entry fee of the museum is {number} euros.")) for number in range(10, 22)]
    for _ in range(2):
        for number, about in enumerate(sites, 10):
            answer = await ask(model, "How much is the entry fee of the museum?", about)
            assert answer.text == f"The entry fee of the museum is {number} euros."


async def test_a_heading_lends_its_words_to_the_sentences_under_it(embedder):
    under = facts(
        page(
            "Opening hours\nMonday to Friday 9:00 to 18:00.\nHistory\nBuilt in 1900.",
            headings=("Opening hours", "History"),
        )
    )
    answer = await ask(OfflineModel(embedder), "What are the opening hours of Quillfeather Cycles?", under)
    assert answer.text == "Monday to Friday 9:00 to 18:00."


async def test_the_same_sentence_on_every_page_is_quoted_once(embedder):
    line = "We repair electric bicycles of all makes."
    about = facts(*(page(line, url=f"{HOME}{number}") for number in range(5)))
    answer = await ask(OfflineModel(embedder), "Who repairs electric bicycles?", about)
    assert (answer.text, [one.page for one in answer.evidence]) == (line, [f"{HOME}0"])
    assert [one.page for one in passages(about) if one.sentence == line] == [f"{HOME}0"]
