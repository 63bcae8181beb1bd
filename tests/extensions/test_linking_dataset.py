"""Datasets: what is read, what columns mean, and what is refused."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

from penstock.config import load
from penstock.console.files.refused import FileRefused
from penstock.errors import InvalidSetting, UsageError
from penstock.extensions.linking.dataset import (
    checked_roles,
    read_objects,
    read_path,
    suggested_roles,
)
from penstock.extensions.linking.project import Options, Project, Wanted, query_of, wanted_of

_NOW = datetime(2024, 1, 1, tzinfo=UTC)


def test_roles_are_suggested_by_the_names_of_columns() -> None:
    roles = suggested_roles(["Full Name", "also_known_as", "Born", "P213", "Remarks", "name"])
    assert {column: (one.role, one.property) for column, one in roles.items()} == {
        "Full Name": ("name", None),
        "also_known_as": ("alias", None),
        "Born": ("property", "P569"),
        "P213": ("property", "P213"),
    }


@pytest.mark.parametrize(
    ("roles", "told"),
    [
        ({"nom": {"role": "name"}}, "There is no column 'nom' in the dataset. Its columns are name, born."),
        ({"born": {"role": "property", "property": "P569"}}, "0 columns have the role name"),
        ({"name": {"role": "title"}}, "cannot be 'title'. Use one of name, alias"),
        ({"name": {"role": "name"}, "born": {"role": "property"}}, "names one of the source, such as P569"),
    ],
)
def test_roles_that_do_not_fit_are_refused_with_the_columns_there_are(
    roles: dict[str, dict[str, str]], told: str
) -> None:
    with pytest.raises(UsageError, match=told.replace("(", r"\(")):
        checked_roles(["name", "born"], roles)


def test_a_record_is_read_by_the_roles_of_its_columns() -> None:
    columns = ("name", "alias", "language", "type", "born")
    options = Options.of({"languages": ["en"], "types": ["Q5"]}, load())
    project = Project(
        id=1,
        name="People",
        owner="ada",
        source="wikidata",
        columns=columns,
        roles=suggested_roles(columns),
        options={},
        run=0,
        types_key="",
        job_id=None,
        started_at=None,
        ended_at=None,
        created_at=_NOW,
        updated_at=_NOW,
    )
    cells = {"name": " Ada\u00a0 Quillfeather ", "alias": "A. Q.; Adi | ", "language": "DE", "born": "1815 | 1816"}
    wanted = wanted_of(project, options, cells)
    assert wanted == Wanted(
        name="Ada Quillfeather",
        aliases=("A. Q.", "Adi"),
        languages=("de", "en"),
        types=("Q5",),
        properties={"P569": ("1815", "1816")},
    )
    assert query_of(wanted) == "Ada Quillfeather"
    assert query_of(Wanted(name="—")) is None


def test_csv_and_json_rows_give_the_same_records(tmp_path: Path) -> None:
    path = tmp_path / "people.csv"
    path.write_text("name;born\nAda;1815\nBruno;\n", encoding="utf-8")
    from_csv = read_path(path, path.name)
    from_json = read_objects([{"name": "Ada", "born": 1815}, {"name": "Bruno", "born": None}])
    assert (from_csv.columns, list(from_csv.rows)) == (from_json.columns, list(from_json.rows))


def test_rows_that_cannot_be_kept_are_refused_with_their_number() -> None:
    for row in ({"name": {"first": "Ada"}}, {"name": "A\0da"}, {"name": "x" * 10_001}):
        with pytest.raises(FileRefused, match="Row 2"):
            list(read_objects([{"name": "Ada"}, row]).rows)


@pytest.mark.parametrize(
    "given", [{"accept_score": 2.0}, {"accept_gap": -1}, {"candidates": 0}, {"languages": ["e n"]}, {"colour": 1}]
)
def test_options_beyond_their_bounds_are_refused(given: dict[str, object]) -> None:
    with pytest.raises(InvalidSetting):
        Options.of(given, load())
