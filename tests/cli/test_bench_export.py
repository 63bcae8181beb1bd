"""The export bench runs once, tiny, so that it cannot rot."""

import io

import orjson

from penstock.terminal.options import Format, Options
from penstock.terminal.output import Output
from penstock.terminal.session import Session
from penstock_bench import export


async def test_the_export_bench_writes_every_row_in_both_formats(server_url: str) -> None:
    session = Session(Options(output=Format.json, database_url=server_url, quiet=True))
    out = io.StringIO()
    session.out = Output(json=True, quiet=True, stdout=out, stderr=io.StringIO())
    await export.export(session, export.Sizes(rows=2_500, rounds=1))
    figures = orjson.loads(out.getvalue())
    assert figures["rows"] == 2_500
    assert figures["csv_rows_per_second"] > 0
    assert figures["xlsx_rows_per_second"] > 0
    # This process and the writer: more than either alone.
    assert figures["peak_rss_mb"] > 60
    assert figures["first_byte_ms"] > 0
