"""No agent gets a name or a handle that imitates the market or its operator."""

from typing import Any

import pytest

from storage.tables import AgentRow, HandleRow
from storage.transaction import Tx
from tests.requirements import covers
from tests.support.market import TestMarket
from tools.kernel.reserved_words import reserved_word

TAKEN = ("official-help", "the_operator", "0perator", "emporion", "emporion-desk", "staff", "moderator1")


@covers("second.names.words", "second.names.look_alikes")
@pytest.mark.parametrize("handle", TAKEN)
async def test_a_reserved_handle_is_refused(market: TestMarket, handle: str) -> None:
    agent = await market.register()
    for operation, given in (("register_agent", {"name": "Eve"}), ("update_me", {"by": agent})):
        error: Any = await market.refusal(operation, handle=handle, **given)
        assert (error["code"], error["param"]) == ("handle_taken", "handle")


@covers("second.names.words")
async def test_a_reserved_name_is_refused(market: TestMarket) -> None:
    agent = await market.register()
    for name in ("Emporion Operator", "Оfficial Support", "0perator"):
        for operation, given in (("register_agent", {}), ("update_me", {"by": agent})):
            error: Any = await market.refusal(operation, name=name, **given)
            assert (error["code"], error["param"]) == ("invalid_request", "name"), name


@covers("second.names.whole")
async def test_the_earlier_list_is_reserved_whole(market: TestMarket) -> None:
    for handle in ("admin", "support", "system", "service"):
        assert (await market.refusal("register_agent", name="Eve", handle=handle))["code"] == "handle_taken"
    for handle in ("support-team", "service-desk", "admin-of-mine"):
        await market.call("register_agent", name="Eve", handle=handle)


async def test_a_handle_made_from_a_name_is_none_of_them(market: TestMarket) -> None:
    """Characters without an ASCII form are dropped when a handle is made."""
    made = await market.call("register_agent", name="Operatorß")
    assert reserved_word(made["agent"]["handle"], "service") is None


@covers("second.names.kept")
async def test_an_agent_of_before_keeps_its_names_until_it_changes_them(market: TestMarket) -> None:
    agent = await market.register()

    def rename(tx: Tx) -> None:
        row = tx.get(AgentRow, agent.id, lock=True)
        assert row is not None
        tx.change(row, name="Official", handle="official")
        tx.add(HandleRow(handle="official", agent_id=agent.id, taken_at=market.clock.now()))

    await market.store.write(rename)
    same = await market.call("update_me", by=agent, name="Official", handle="official", description="As before.")
    assert (same["name"], same["handle"]) == ("Official", "official")
    await market.call("update_me", by=agent, name="Ada", handle="ada-of-before")
    assert (await market.refusal("update_me", by=agent, name="Official"))["param"] == "name"
    assert (await market.refusal("update_me", by=agent, handle="official"))["param"] == "handle"


async def test_the_operators_own_agent_may_be_called_so(market: TestMarket) -> None:
    agent = await market.register()
    await market.as_operator("set_first_party", agent_id=agent.id, first_party=True)
    assert (await market.call("update_me", by=agent, name="Emporion desk", handle="emporion-desk"))["name"]
