"""What people decided about a site, on a real database."""

import asyncpg
import pytest

from penstock.errors import InvalidArguments
from penstock.extensions.sites import orders
from penstock.extensions.sites.findings import Prompt, PromptKind

QUESTION = Prompt(text="Who bakes?", kind=PromptKind.OWN, fact="Written by a person", page=None, template="own@1")


async def test_nothing_was_decided_about_a_new_site(connection: asyncpg.Connection) -> None:
    assert await orders.get(connection, 7) is None


async def test_edited_prompts_come_back_as_they_were(connection: asyncpg.Connection) -> None:
    await orders.set_prompts(connection, 7, [QUESTION], by="ada")
    order = await orders.get(connection, 7)
    assert order is not None
    assert (order.prompts, order.approved_at, order.options, order.decided_by) == ((QUESTION,), None, {}, "ada")
    await orders.set_prompts(connection, 7, None, by="bo")
    order = await orders.get(connection, 7)
    assert order is not None and order.prompts is None and order.decided_by == "bo"


async def test_the_first_approval_counts_and_tells_which_sites_it_freed(connection: asyncpg.Connection) -> None:
    await orders.approve(connection, [8], by="ada")
    first = await orders.get(connection, 8)
    assert await orders.approve(connection, [9, 8, 9], by="bo") == [9]
    assert await orders.get(connection, 8) == first
    assert first is not None and first.approved_at is not None


async def test_an_approval_ends_when_the_prompts_change(connection: asyncpg.Connection) -> None:
    await orders.set_prompts(connection, 7, [QUESTION], by="ada")
    await orders.approve(connection, [7], by="ada")
    await orders.set_prompts(connection, 7, [QUESTION], by="bo")
    same = await orders.get(connection, 7)
    assert same is not None and same.approved_at is not None
    other = Prompt(text="Who sells?", kind=PromptKind.OWN, fact="", page=None, template="own@1")
    await orders.set_prompts(connection, 7, [other], by="bo")
    changed = await orders.get(connection, 7)
    assert changed is not None and changed.approved_at is None


async def test_options_of_the_next_run_replace_earlier_ones_and_leave_prompts_alone(
    connection: asyncpg.Connection,
) -> None:
    await connection.execute(
        "insert into penstock.outcomes (task_id, lane, stage, status, attempts, run) values (7, 1, 1, 2, 1, 1),"
        " (8, 1, 1, 2, 1, 4)"
    )
    await orders.set_prompts(connection, 7, [QUESTION], by="ada")
    await orders.set_options(connection, [7, 8], {"pages": 3, "models": ["offline"]}, by="ada")
    await orders.set_options(connection, [7], {"replay": True}, by="ada")
    first, second = await orders.get(connection, 7), await orders.get(connection, 8)
    assert first is not None and first.options == {"replay": True} and first.prompts == (QUESTION,)
    assert second is not None and second.options == {"pages": 3, "models": ["offline"]}
    assert (first.for_run, second.for_run) == (2, 5)


async def test_an_unknown_option_is_refused_with_the_known_ones(connection: asyncpg.Connection) -> None:
    with pytest.raises(InvalidArguments, match=r"no option is called depth; known: models, pages"):
        await orders.set_options(connection, [7], {"depth": 3}, by="ada")
    assert await orders.get(connection, 7) is None
