"""The commands that README and docs/article-search.md show find what they say."""

import re
import shlex
from collections.abc import Callable
from pathlib import Path
from urllib.request import Request, urlopen

import orjson
import pytest

from tests.cli.conftest import ROOT, Background, Call
from tests.cli.test_articles_cli import Articles, articles, data, worker

__all__ = ["articles", "worker"]

Start = Callable[..., Background]
_COMMAND = re.compile(r"^\$ penstock articles (.*?)(?:\s{2,}#.*)?$", re.MULTILINE)


def commands(page: str) -> list[list[str]]:
    """Of the first block that shows articles being imported."""
    text = (ROOT / page).read_text(encoding="utf-8")
    [block] = [one for one in re.findall(r"```console\n(.*?)```", text, re.DOTALL) if "articles sample-folder" in one]
    return [shlex.split(line) for line in _COMMAND.findall(block)]


@pytest.mark.parametrize("page", ["README.md", "docs/article-search.md"])
def test_the_first_example_finds_how_to_get_money_back(
    articles: Articles, worker: Background, tmp_path: Path, page: str
):
    folder = str(tmp_path / "handbook")
    shown = [[folder if word == "handbook" else word for word in line] for line in commands(page)]
    assert [line[0] for line in shown[:3]] == ["sample-folder", "import", "search"]
    told = {line[0]: articles(*line) for line in shown}
    assert {name: done.returncode for name, done in told.items()} == dict.fromkeys(told, 0), told
    assert told["search"].stdout.splitlines()[0].split()[:3] == ["1.", "Returns", "returns"], told["search"].stdout
    assert "12 of 12 articles are indexed" in told["search"].stderr


def test_the_sample_folder_overwrites_nothing_of_somebody_else(articles: Articles, tmp_path: Path):
    assert data(articles("sample-folder", str(tmp_path), "-o", "json"))["files"][-1] == "workshops.md"
    assert articles("sample-folder", str(tmp_path)).returncode == 0
    (tmp_path / "returns.md").write_text("# Mine")
    refused = articles("sample-folder", str(tmp_path))
    assert (refused.returncode, "is another text" in refused.stderr) == (2, True)
    assert (tmp_path / "returns.md").read_text() == "# Mine"
    assert articles("sample-folder", "/proc/nowhere").returncode == 2


def test_the_example_over_http_finds_the_article_that_it_saves(start: Start, call: Call, database_url: str):
    text = (ROOT / "docs/article-search.md").read_text(encoding="utf-8")
    body = re.search(r"/api/articles \\\n\s+-d '(\{.*?\})'", text)
    asked = re.search(r"'http://127\.0\.0\.1:8080(/api/search\?q=[^']+)'", text)
    assert body is not None and asked is not None
    address = start("up", "--port", "0", "-o", "json", database_url=database_url).announced()["http"]
    assert call("users", "create", "ann", database_url=database_url).returncode == 0
    token = call("tokens", "create", "ann", database_url=database_url).stdout.strip()
    headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
    with urlopen(Request(f"{address}/api/articles", body[1].encode(), headers), timeout=60) as saved:
        assert saved.status == 201
        slug = orjson.loads(saved.read())["slug"]
    with urlopen(Request(address + asked[1], headers=headers), timeout=60) as answer:
        assert [hit["slug"] for hit in orjson.loads(answer.read())["items"]] == [slug]
