"""The labelled records, and how many of them are linked rightly without a person."""

import io
import json
import statistics
from pathlib import Path

import pytest

from penstock.errors import UsageError
from penstock.extensions.linking.scoring.weights import Weights
from penstock.extensions.linking.settings import LinkingSettings
from penstock.terminal.options import Options
from penstock.terminal.output import Output
from penstock.terminal.session import Session
from penstock_bench import linking, linking_set
from penstock_bench.linking_set import LabelledRecords

ACCEPT_SCORE: float = LinkingSettings.model_fields["accept_score"].default
ACCEPT_GAP: float = LinkingSettings.model_fields["accept_gap"].default


@pytest.fixture(scope="module")
def labelled() -> LabelledRecords:
    return linking_set.load(linking_set.usual())


def test_what_is_accepted_by_itself_is_right_and_most_is_accepted(labelled: LabelledRecords) -> None:
    figures = linking.figures_of(linking.match_all(labelled, Weights()), ACCEPT_SCORE, ACCEPT_GAP)
    assert figures["precision"] >= 0.97, figures["wrong"]
    assert figures["recall"] >= 0.85
    assert figures["held_out_precision"] >= 0.97, figures["wrong"]
    assert figures["held_out_recall"] >= 0.85
    precisions = [row["wrong"] for row in figures["curve"]]
    assert precisions == sorted(precisions, reverse=True), "a higher threshold accepts less that is wrong"


def test_properties_are_what_tells_namesakes_apart(labelled: LabelledRecords) -> None:
    """Without them the set must be hard, or the figures above would say little."""
    bare = Weights.from_options(
        dict.fromkeys(("type", "identifier", "date", "place", "item", "url", "number", "text", "silence"), 0)
    )
    figures = linking.figures_of(linking.match_all(labelled, bare), ACCEPT_SCORE, ACCEPT_GAP)
    assert figures["precision"] < 0.9 or figures["recall"] < 0.6, figures


def test_the_set_is_as_large_and_as_mixed_as_promised(labelled: LabelledRecords) -> None:
    assert len(labelled.entities) >= 400
    assert len(labelled.records) >= 300
    assert 0.3 <= statistics.fmean(one.held_out for one in labelled.records) <= 0.36
    kinds = {one.difficulty for one in labelled.records}
    for kind in kinds:
        part = [one for one in labelled.records if one.difficulty == kind]
        assert len(part) >= 15, kind
        assert 0.25 <= statistics.fmean(one.held_out for one in part) <= 0.4, kind
    assert statistics.fmean(one.expected is None for one in labelled.records) >= 0.15


def write_set(folder: Path, expected: str) -> None:
    (folder / "entities.json").write_text('[{"id": "E1", "labels": {"en": "Varnholt"}}]')
    row = {"name": "Varnholt", "aliases": [], "languages": ["en"], "types": [], "properties": {}}
    labels = {"difficulty": "homonym", "expected": expected, "held_out": False}
    (folder / "records.json").write_text(json.dumps([row | labels]))


@pytest.mark.parametrize("as_json", [True, False])
def test_the_bench_tells_its_figures_as_json_and_as_tables(tmp_path: Path, as_json: bool) -> None:
    write_set(tmp_path, "E1")
    session = Session(Options())
    session.out = Output(json=as_json, stdout=io.StringIO(), stderr=io.StringIO())
    linking.linking(session, tmp_path)
    assert isinstance(session.out.stdout, io.StringIO)
    told = session.out.stdout.getvalue()
    if as_json:
        figures = json.loads(told)
        names = ("precision", "recall", "held_out_precision", "held_out_recall", "records", "entities")
        assert [figures[name] for name in names] == [1.0, 1.0, 1.0, 1.0, 1, 1]
    else:
        assert "homonym" in told and "accept score" in told and "pairs/s" in told


def test_a_set_with_an_unknown_answer_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"no .*entities\.json"):
        linking_set.load(tmp_path)
    write_set(tmp_path, "E2")
    with pytest.raises(UsageError, match="'E2'"):
        linking_set.load(tmp_path)
