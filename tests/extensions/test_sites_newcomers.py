"""What people meet first: a model that only their terminal knows, and the example of the documentation."""

import asyncio
import re
import sys
from pathlib import Path

from penstock.extensions.sites.findings import ASKING
from penstock.testing import drain
from tests.cli.conftest import ROOT, environment
from tests.extensions import site_answers
from tests.extensions.site_world import SiteWorld
from tests.extensions.test_sites_pipeline import analysing

_SECONDS = 90


async def test_a_model_that_the_workers_do_not_know_ends_the_site_at_once_with_what_to_do(database_url: str) -> None:
    async with SiteWorld() as sites:
        place = sites.add(site_answers.small_site())
        async with analysing(database_url, sites) as world:
            # It was stored by a service that has another file of models.
            world.app.pipelines["sites"].check_options = None
            job = await world.submit(place.url(), models=["gull"])
            await drain(world.app)
            [task] = await world.outcomes(job)
    assert (task["state"], task["stage"], task["attempts"]) == ("ERROR", ASKING, 1), "no try would change it"
    said = task["error"]["message"]
    assert "does not know the model 'gull'; it knows offline." in said
    assert "start them again with PENSTOCK_SITES_MODELS_FILE" in said


async def test_the_example_of_the_documentation_writes_a_report(database_url: str, tmp_path: Path) -> None:
    text = (ROOT / "docs" / "website-analysis.md").read_text("utf-8")
    [code] = re.findall(r"```python\n(# analyse\.py\n.*?)```", text, re.DOTALL)
    (tmp_path / "analyse.py").write_text(code)
    async with SiteWorld() as sites:
        url = sites.add(site_answers.small_site()).url()
        settings = {"DATABASE_URL": database_url, "SITES_ALLOWED_HOSTS": ",".join(sites.allowed())}
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-c",
            "import asyncio, sys, analyse; asyncio.run(analyse.analyse(sys.argv[1]))",
            url,
            cwd=tmp_path,
            env=environment(**{f"PENSTOCK_{name}": value for name, value in settings.items()}),
            stderr=asyncio.subprocess.PIPE,
        )
        try:
            _, errors = await asyncio.wait_for(process.communicate(), _SECONDS)
        finally:
            if process.returncode is None:
                process.kill()
                await process.wait()
    assert process.returncode == 0, errors.decode()
    page = (tmp_path / "report.html").read_text("utf-8")
    assert "Copperfield Bakery" in page and "Coverage by topic" in page
