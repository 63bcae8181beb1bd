"""The pages about commands, settings, events and metrics are complete and current."""

import pytest

from tools import docs

PAGES = {"cli.md", "settings.md", "events.md", "metrics.md", "service.md"}


def test_the_generated_pages_are_all_there():
    assert {page.name for page in docs.pages()} >= PAGES


@pytest.mark.parametrize("name", sorted(PAGES))
def test_the_page_is_what_the_code_says_now(name: str):
    text = (docs.DOCS / name).read_text(encoding="utf-8")
    assert docs.rewritten(text) == text, "run `make docs` and commit the pages"


def test_every_setting_event_and_metric_is_named_in_its_page():
    for page, names in {
        "settings.md": [f"{docs.PREFIX}{name.upper()}" for name in docs.all_settings()],
        "events.md": list(docs.all_events()),
        "metrics.md": [*docs.COUNTERS, *docs.GAUGES, *docs.TIMES],
    }.items():
        text = (docs.DOCS / page).read_text(encoding="utf-8")
        assert [name for name in names if name not in text] == []


def test_every_exit_code_is_in_the_page_and_in_the_module():
    from penstock.terminal import errors

    text = (docs.DOCS / "cli.md").read_text(encoding="utf-8")
    assert errors.__doc__ is not None
    for code in (0, 1, 2, 3, 4, 5, 6, 130):
        assert f"| {code} |" in text
        assert f"\n{code:>5}  " in errors.__doc__ or f"\n  {code:>3}  " in errors.__doc__
