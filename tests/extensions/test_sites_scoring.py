"""Scores of a site as a whole: coverage, visibility, spread, claims, and what to improve."""

import json
from dataclasses import replace

import pytest

from penstock.extensions.sites.findings import PromptKind, SiteScoring
from penstock.extensions.sites.models.offline import OfflineModel
from penstock.extensions.sites.scoring.score import score
from penstock.extensions.sites.scoring.shares import NOTHING, clustered, share
from penstock.language.embedding import Embedder
from tests.extensions.sites_scoring_pairs import BICYCLES
from tests.extensions.sites_scoring_world import HOME, answer, facts, facts_of, page, prompt

SITE = facts_of(BICYCLES)
WHO = prompt("Who repairs electric bikes in Harrowmere?", PromptKind.PLACE, "Harrowmere")
PRICE = prompt("How much does a bicycle lift into orbit cost?", PromptKind.OFFER, "lift")
BRAND = prompt("What is Quillfeather Cycles known for?", PromptKind.BRAND, "Quillfeather Cycles")


@pytest.fixture(scope="module")
def embedder() -> Embedder:
    return Embedder.load()


def test_coverage_needs_no_answer_of_a_model(embedder):
    scores = score(SITE, [WHO, PRICE], [], embedder)
    assert (scores.coverage.value, scores.coverage.count) == (0.5, 2)
    assert scores.by_kind["place"].value == 1 and scores.by_kind["offer"].value == 0
    assert scores.by_topic["lift"].value == 0
    covered, missing = scores.prompts
    assert covered.covered and covered.evidence.sentence in BICYCLES.sentences and covered.evidence.page == HOME
    assert not missing.covered and missing.evidence is None
    assert (scores.visibility, scores.by_model, scores.cells, scores.cost) == (NOTHING, {}, (), 0)


def test_visibility_counts_samples_places_and_others(embedder):
    given = [
        answer(WHO, "1. Spoke & Saddle\n2. Quillfeather Cycles\n3. Velodrome Bros", cost=0.01, tokens_in=5),
        answer(WHO, "Quilfeather Cycles is the best known.", sample=2, cost=0.02, tokens_out=7),
        answer(WHO, "I would go to Spoke & Saddle.", sample=3),
        answer(WHO, None, sample=4, problem="The endpoint refused the key."),
    ]
    scores = score(SITE, [WHO], given, embedder)
    (cell,) = scores.cells
    assert (cell.samples, cell.failed, cell.named.count) == (4, 1, 3)
    assert cell.named.value == pytest.approx(2 / 3, abs=1e-4)
    assert cell.named.low < cell.named.value < cell.named.high
    assert cell.positions == (2, 1)
    assert cell.others == {"Spoke & Saddle": 2, "Velodrome Bros": 1}
    assert cell.problem == "The endpoint refused the key." and cell.excerpt.startswith("1. Spoke")
    assert scores.by_model["gpt"].value == scores.visibility.value == cell.named.value
    assert (scores.cost, scores.tokens_in, scores.tokens_out) == (0.03, 5, 7)


async def test_the_offline_model_counts_for_coverage_and_never_for_visibility(embedder):
    given = [answer(WHO, "Quillfeather Cycles repairs electric bicycles.", model=OfflineModel.name)]
    scores = score(SITE, [WHO], given, embedder)
    (cell,) = scores.cells
    assert cell.named == scores.visibility == scores.by_model["offline"] == NOTHING
    assert (cell.claims, cell.others, cell.excerpt) == ((), {}, "Quillfeather Cycles repairs electric bicycles.")
    assert scores.coverage.value == 1


def test_repeating_the_name_of_the_question_is_not_visibility(embedder):
    given = [answer(BRAND, "Quillfeather Cycles is known for repairs."), answer(WHO, "Ask around.")]
    scores = score(SITE, [BRAND, WHO], given, embedder)
    assert [cell.named.value for cell in scores.cells] == [1, 0]
    assert (scores.visibility.value, scores.visibility.count) == (0, 1)
    assert score(SITE, [BRAND], given[:1], embedder).visibility == NOTHING


def test_not_knowing_the_business_is_not_naming_it(embedder):
    given = [answer(WHO, "I have no information about Quillfeather Cycles.")]
    (cell,) = score(SITE, [WHO], given, embedder).cells
    assert (cell.named.value, cell.positions, cell.claims) == (0, (), ())


def test_claims_without_support_are_marked_and_counted_once(embedder):
    text = (
        "Quillfeather Cycles has repaired bicycles since 1998. It won the national award for workshops in 2015. "
        "You could try Quillfeather Cycles. Spoke & Saddle sells helmets."
    )
    scores = score(SITE, [WHO, PRICE], [answer(WHO, text), answer(WHO, text, sample=2), answer(PRICE, text)], embedder)
    told = {claim.text: claim.supported for claim in scores.cells[0].claims}
    assert told == {
        "Quillfeather Cycles has repaired bicycles since 1998.": True,
        "It won the national award for workshops in 2015.": False,
    }
    assert scores.unsupported == 1
    assert any("won the national award" in sentence for sentence in scores.improvements)


def test_improvements_are_sentences_that_can_be_acted_on(embedder):
    given = [answer(WHO, "1. Spoke & Saddle\n2. Velodrome Bros"), answer(WHO, "Spoke & Saddle", sample=2)]
    about = replace(SITE, pages=(*SITE.pages, replace(page("Short."), url=f"{HOME}thin", description=None)))
    said = score(about, [PRICE, WHO], given, embedder).improvements
    assert said[0] == (
        f"No page answers “{PRICE.text}”; add the price, or from which amount it starts, for example on {HOME}."
    )
    assert any("is named 0 times, less often than Spoke & Saddle (2), Velodrome Bros (1)" in one for one in said)
    assert f"{HOME}thin has no description; add one sentence that says what the page answers." in said
    assert all(one.endswith(".") for one in said)


def test_the_same_input_gives_the_same_scores_whatever_the_order_of_the_answers(embedder):
    given = [
        answer(WHO, f"Quillfeather Cycles, Spoke & Saddle and {name} Wheels Inc.", sample=sample, model=model)
        for sample, name in enumerate(("Amber", "Birch", "Cedar"), 1)
        for model in ("b", "a")
    ]
    one = score(SITE, [WHO, PRICE], given, embedder)
    other = score(SITE, [WHO, PRICE], given[::-1], Embedder.load())
    assert json.dumps(one.as_json()) == json.dumps(other.as_json())
    assert SiteScoring.from_json(json.loads(json.dumps(one.as_json()))) == one
    assert [cell.model for cell in one.cells] == ["a", "b"]


def test_a_site_without_text_or_name_has_scores(embedder):
    for about in (facts(name=None), facts(page(""), name=None)):
        scores = score(about, [WHO], [answer(WHO, "Nobody.")], embedder)
        assert (scores.coverage.value, scores.visibility.value) == (0, 0)
        assert scores.improvements
    assert score(facts(), [], [], embedder).coverage == NOTHING


def test_shares_come_with_wilson_intervals():
    half = share(5, 10)
    assert (half.value, half.low, half.high) == (0.5, 0.2366, 0.7634)
    none = share(0, 3)
    assert (none.value, none.low) == (0, 0) and none.high == pytest.approx(0.5615, abs=1e-4)
    assert share(0, 0) == NOTHING == clustered([]) == clustered([(0, 0)])


def test_samples_of_one_prompt_tell_less_than_as_many_prompts():
    alike = clustered([(10, 10), (0, 10), (10, 10), (0, 10)])
    mixed = clustered([(5, 10)] * 4)
    assert alike.value == mixed.value == 0.5 and alike.count == mixed.count == 40
    assert alike.high - alike.low > 1.8 * (mixed.high - mixed.low)
    assert clustered([(3, 3)] * 2) == replace(share(2, 2), count=6)
