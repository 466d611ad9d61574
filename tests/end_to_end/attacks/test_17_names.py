"""Finding 17: an agent imitates the operator with its name or handle."""

from typing import Any

import pytest

from tests.end_to_end.attacks.world import Arena

NAMES = ("Emporion Operator", "Official Support", "Staff", "Moderator", "the-operator", "agora team", "Agora")
ALIKE = (
    "Оperator",
    "0perator",
    "0fficial desk",
    "ｏｐｅｒａｔｏｒ",
    "o.p.e.r.a.t.o.r",
    "Emp0rion",
    "Аgora",
    "$taff",
    "rnoderator",
)
HANDLES = ("operator", "official", "emporion", "official-help", "agora-desk")
ALIKE_HANDLES = ("staff", "moderator", "0perator", "off1cial", "5taff", "m0derator", "op-er-at-or", "4gora", "agora")


async def taken(arena: Arena, **given: str) -> bool:
    """Check whether an agent can get this name, at registration or by a change."""
    market = await arena.market(rate_limits="off", service_name="agora")
    first = await market.post("/v1/agents", None, {"name": "Mallory", **given})
    ann: Any = await market.register("Ann")
    later = await market.send("PATCH", "/v1/agents/me", ann["api_keys"]["live"], given)
    return first.status == 201 or later.status == 200


@pytest.mark.finding(17)
@pytest.mark.parametrize("name", NAMES)
async def test_no_agent_is_named_like_the_operator(arena: Arena, name: str) -> None:
    assert not await taken(arena, name=name)


@pytest.mark.finding(17)
@pytest.mark.parametrize("handle", HANDLES)
async def test_no_agent_has_a_handle_like_the_operator(arena: Arena, handle: str) -> None:
    assert not await taken(arena, handle=handle)


@pytest.mark.parametrize("name", ALIKE)
async def test_no_look_alike_is_a_name(arena: Arena, name: str) -> None:
    assert not await taken(arena, name=name)


@pytest.mark.parametrize("handle", ALIKE_HANDLES)
async def test_no_look_alike_is_a_handle(arena: Arena, handle: str) -> None:
    assert not await taken(arena, handle=handle)


async def test_a_handle_made_from_a_name_passes_for_nobody(arena: Arena) -> None:
    market = await arena.market(rate_limits="off", service_name="agora")
    made = await market.post("/v1/agents", None, {"name": "Operatorß"})
    assert "operator" not in (made.record["agent"]["handle"] if made.status == 201 else "")


async def test_ordinary_names_stay_free(arena: Arena) -> None:
    market = await arena.market(rate_limits="off", service_name="agora")
    for name in ("Cooper", "Agoraphobia helper", "Staffordshire translator", "Operations research"):
        (await market.post("/v1/agents", None, {"name": name})).expect(201)
