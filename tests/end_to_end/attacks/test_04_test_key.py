"""Finding 4: an attacker with a leaked test key acts as the agent on live."""

import asyncio
from typing import Any

import pytest

from tests.end_to_end.attacks.world import Agent, Arena, Market, Reply

GRANT = {"grant_type": "client_credentials"}


async def victim(arena: Arena, **more: Any) -> tuple[Market, Agent]:
    """Return an agent with a wallet on live, and its market."""
    market = await arena.market(rate_limits="off", **more)
    return market, await market.agent("Vic", env="live")


async def works(market: Market, key: str, env: str) -> bool:
    answer = await market.get("/v1/agents/me", key)
    return answer.status == 200 and answer.record["env"] == env


def secrets_in(value: Any) -> list[str]:
    """Return every text in an answer that looks like a live key or a token."""
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list):
        return [found for one in value for found in secrets_in(one)]
    return [value] if isinstance(value, str) and value.startswith(("as_live_", "oat_")) else []


@pytest.mark.finding(4)
async def test_a_test_key_makes_no_key_that_works_on_live(arena: Arena) -> None:
    market, vic = await victim(arena)
    child = (await market.post("/v1/agents/me/keys", vic.test, {"env": "test"})).expect(201)["key"]
    found: list[str] = []
    for key in (vic.test, child):
        tries: list[Any] = [
            (await market.post("/v1/agents/me/keys", key, {"env": "live"})).record,
            (await market.post("/v1/agents/me/keys", key, {"env": "live"}, headers={"X-Env": "live"})).record,
            (await market.post("/v1/agents/me/keys?env=live", key, {"env": "live", "scopes": ["*"]})).record,
            await market.a2a_tool("create_api_key", key, env="live"),
            await market.mcp_tool("create_api_key", key, env="live"),
            await market.mcp_tool("call_tool", key, name="create_api_key", arguments={"env": "live"}),
        ]
        for form in ({"scope": "env:live"}, {"scope": "env:live env:test"}, {}):
            login = {**GRANT, "client_id": vic.id, "client_secret": key, **form}
            tries.append((await market.send("POST", "/v1/oauth/token", data=login)).record)
        found += [secret for one in tries for secret in secrets_in(one)]
    assert [secret for secret in found if await works(market, secret, "live")] == []


@pytest.mark.finding(4)
async def test_a_test_key_ends_no_live_key(arena: Arena) -> None:
    market, vic = await victim(arena)
    keys = (await market.get("/v1/agents/me/keys", vic.live)).expect()["data"]
    (live,) = [one["id"] for one in keys if one["env"] == "live"]
    await market.send("DELETE", f"/v1/agents/me/keys/{live}", vic.test)
    await market.a2a_tool("revoke_api_key", vic.test, key_id=live)
    await market.mcp_tool("revoke_api_key", vic.test, key_id=live)
    assert await works(market, vic.live, "live")
    seen = (await market.get("/v1/agents/me/keys", vic.test)).text
    assert live not in seen


@pytest.mark.finding(4)
async def test_a_test_key_does_not_delete_an_agent_that_is_on_live(arena: Arena) -> None:
    market, vic = await victim(arena)
    await market.send("DELETE", "/v1/agents/me", vic.test, {"confirm": vic.handle})
    await market.a2a_tool("delete_me", vic.test, confirm=vic.handle)
    await market.mcp_tool("delete_me", vic.test, confirm=vic.handle)
    assert await works(market, vic.live, "live")
    assert (await market.get(f"/v1/agents/{vic.id}")).status == 200


@pytest.mark.finding(4)
async def test_a_test_key_changes_nothing_a_live_agent_is_known_by(arena: Arena) -> None:
    market, vic = await victim(arena)
    (await market.post("/v1/agents/me/domains", vic.live, {"domain": "vic.dev"})).expect(201)

    async def known_by() -> Any:
        me = (await market.get("/v1/agents/me", vic.live)).expect()
        shown = {name: me[name] for name in ("name", "handle", "endpoints", "evaluator", "erc8004", "verified_domain")}
        domains = (await market.get("/v1/agents/me/domains", vic.live)).expect()["data"]
        return shown, [(one["domain"], one["status"]) for one in domains]

    before = await known_by()
    for change in (
        {"name": "Mallory"},
        {"handle": "mallory-was-here"},
        {"endpoints": {"webhook_url": "https://m.dev/h"}},
    ):
        await market.send("PATCH", "/v1/agents/me", vic.test, change)
        await market.a2a_tool("update_me", vic.test, **change)
        await market.mcp_tool("update_me", vic.test, **change)
    await market.post("/v1/agents/me/domains", vic.test, {"domain": "mallory.dev"})
    await market.send("DELETE", "/v1/agents/me/domains/vic.dev", vic.test)
    await market.post("/v1/agents/me/evaluator", vic.test, {"enabled": True})
    await market.post("/v1/agents/me/erc8004", vic.test, {"agent_id": "1"})
    await market.send("DELETE", "/v1/agents/me/erc8004", vic.test)
    assert await known_by() == before


@pytest.mark.finding(4)
async def test_a_test_key_reads_and_writes_no_memory_of_live(arena: Arena) -> None:
    market, vic = await victim(arena)
    path = "/v1/memory/strategy"
    (await market.send("PUT", path, vic.live, {"value": "bid at most 3"})).expect()
    read: Reply = await market.get(path, vic.test)
    await market.send("PUT", path, vic.test, {"value": "bid 999"})
    await market.send("DELETE", path, vic.test)
    assert "bid at most 3" not in read.text
    assert (await market.get(path, vic.live)).expect()["value"] == "bid at most 3"


async def test_a_repeated_call_gives_a_test_key_no_secret_of_a_live_one(arena: Arena) -> None:
    """A transcript that leaks the test key also contains Idempotency-Keys."""
    market, vic = await victim(arena)
    repeat = {"Idempotency-Key": "from-the-transcript"}
    made = (await market.post("/v1/agents/me/keys", vic.live, {"env": "live"}, headers=repeat)).expect(201)
    again = await market.post("/v1/agents/me/keys", vic.test, {"env": "live"}, headers=repeat)
    assert made["key"] not in again.text


async def test_of_many_tries_at_once_in_two_processes_none_reaches_live(arena: Arena) -> None:
    market, vic = await victim(arena, postgres=True, processes=2)
    calls = [market.post("/v1/agents/me/keys", vic.test, {"env": "live"}) for _ in range(8)]
    calls += [market.send("DELETE", "/v1/agents/me", vic.test, {"confirm": vic.handle}) for _ in range(8)]
    answers = await asyncio.gather(*calls)
    assert [secret for one in answers for secret in secrets_in(one.record)] == []
    assert await works(market, vic.live, "live")


async def test_the_owner_still_does_all_of_it(arena: Arena) -> None:
    market, vic = await victim(arena)
    made = (await market.post("/v1/agents/me/keys", vic.live, {"env": "test"})).expect(201)
    (await market.send("DELETE", f"/v1/agents/me/keys/{made['id']}", vic.test)).expect()
    assert (await market.send("PATCH", "/v1/agents/me", vic.live, {"name": "Victoria"})).expect()["name"] == "Victoria"
    fresh = await market.agent("Only on test")
    (await market.send("PATCH", "/v1/agents/me", fresh.test, {"name": "Renamed"})).expect()
    (await market.send("DELETE", "/v1/agents/me", fresh.test, {"confirm": fresh.handle})).expect()
