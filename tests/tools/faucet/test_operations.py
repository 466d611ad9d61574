"""The faucet: 1 test USDC a day for each agent, at most three a day from one address; nothing is paid twice."""

import asyncio
from datetime import timedelta
from typing import Any

import orjson
import pytest

from server.adapters.faucet import MAX_ANSWER_BYTES, RpcFaucet
from server.settings import BadSettings, config_of, read_settings
from storage.tables import FaucetClaimRow
from storage.vocabulary import Env
from tests.requirements import covers
from tests.server.adapters.test_facilitator import answers, facilitator
from tests.support.faucet import open_faucet
from tests.support.market import Agent
from tests.support.refusals import limited
from tests.support.trade import Trade
from tools.engine.ports import FaucetLost, FaucetRefused

HASH = "0x" + "ab" * 32


async def claim(trade: Trade, agent: Agent, ip: str = "203.0.113.9", **approach: Any) -> Any:
    answer = await trade.market.answer("claim_test_funds", key=agent.keys["test"], ip=ip, **approach)
    return orjson.loads(answer.body)


@covers("second.faucet.claim", "second.faucet.status")
async def test_a_claim_is_sent_to_the_bound_wallet_and_shown(trade: Trade) -> None:
    faucet, ada = open_faucet(trade.market), await trade.agent("Ada")
    before = await trade.market.call("get_faucet", by=ada)
    assert (before["amount"], before["last_claim"], before["next_claim_at"]) == (1_000_000, None, None)
    assert before["next_steps"][0]["tool"] == "claim_test_funds"
    made = await trade.market.call("claim_test_funds", by=ada)
    assert faucet.given == [(ada.wallet.address, 1_000_000)]
    assert (made["display"], made["address"], made["gas_included"]) == ("1.000000 USDC", ada.wallet.address, False)
    assert (made["transaction"], made["explorer_url"]) == (f"0x{1:064x}", f"https://sepolia.basescan.org/tx/0x{1:064x}")
    after = await trade.market.call("get_faucet", by=ada)
    assert (after["last_claim"]["transaction"], after["next_claim_at"]) == (made["transaction"], made["next_claim_at"])
    assert after["next_steps"] == []


@covers("second.faucet.once_a_day")
async def test_an_agent_claims_once_in_a_day_of_utc(trade: Trade) -> None:
    faucet, ada = open_faucet(trade.market), await trade.agent("Ada")
    midnight = trade.market.clock.now().replace(hour=0, minute=0, second=0, microsecond=0) + timedelta(days=1)
    trade.market.clock.at = midnight - timedelta(seconds=1)
    made = await trade.market.call("claim_test_funds", by=ada)
    refused = await trade.market.refusal("claim_test_funds", by=ada)
    assert (refused["code"], refused["details"]["next_claim_at"]) == ("faucet_claimed_today", made["next_claim_at"])
    trade.market.clock.at = midnight
    await trade.market.call("claim_test_funds", by=ada)
    assert len(faucet.given) == 2


@covers("second.faucet.address")
async def test_one_address_claims_three_times_in_a_day(trade: Trade) -> None:
    faucet = open_faucet(limited(trade, enforced=True).market)
    agents = [await trade.agent(f"Agent {number}") for number in range(4)]
    said = [await claim(trade, one, "198.51.100.7") for one in agents]
    assert [one.get("object") for one in said] == ["faucet_claim"] * 3 + [None]
    assert said[3]["error"]["code"] == "rate_limited"
    assert (await claim(trade, agents[3], "198.51.100.8"))["object"] == "faucet_claim"
    assert len(faucet.given) == 4


async def test_many_claims_at_once_are_one(trade: Trade) -> None:
    faucet, ada = open_faucet(trade.market), await trade.agent("Ada")
    said = await asyncio.gather(*(claim(trade, ada) for _ in range(8)))
    assert [one["object"] for one in said if "object" in one] == ["faucet_claim"]
    assert {one["error"]["code"] for one in said if "error" in one} == {"faucet_claimed_today"}
    assert len(faucet.given) == 1


async def test_a_claim_for_which_nothing_was_sent_counts_for_nothing(trade: Trade) -> None:
    faucet, ada = open_faucet(limited(trade, enforced=True).market), await trade.agent("Ada")
    faucet.fails = FaucetRefused("it is empty")
    for _ in range(4):
        assert (await claim(trade, ada))["error"]["code"] == "faucet_unavailable"
    assert (await trade.market.call("get_faucet", by=ada))["last_claim"] is None
    faucet.fails = None
    assert (await claim(trade, ada))["object"] == "faucet_claim"


async def test_a_claim_of_which_nothing_is_known_is_not_sent_again_that_day(trade: Trade) -> None:
    faucet, ada = open_faucet(trade.market), await trade.agent("Ada")
    faucet.fails = FaucetLost("TimeoutError")
    assert "may have been sent" in (await claim(trade, ada))["error"]["hint"]
    faucet.fails = None
    assert (await claim(trade, ada))["error"]["code"] == "faucet_claimed_today"
    assert (await trade.market.call("get_faucet", by=ada))["last_claim"]["transaction"] is None
    assert faucet.given == []


async def test_a_dry_run_sends_nothing_and_a_repeat_is_answered_alike(trade: Trade) -> None:
    faucet, ada = open_faucet(trade.market), await trade.agent("Ada")
    assert (await claim(trade, ada, dry_run=True))["transaction"] is None
    assert faucet.given == []
    assert await trade.market.store.read(lambda tx: tx.get(FaucetClaimRow, ada.id)) is None
    first, again = [await claim(trade, ada, repeat="c" * 22) for _ in range(2)]
    assert (first, len(faucet.given)) == (again, 1)


def test_the_market_names_its_own_faucet_where_it_has_one() -> None:
    def faucet(sandbox: str | None = None, **given: Any) -> tuple[str | None, str | None]:
        house = config_of(read_settings(_env_file=None, **given), bytes(32), sandbox)
        return house.networks[Env.TEST].faucet, house.networks[Env.LIVE].faucet

    assert faucet() == ("https://faucet.circle.com", None)
    own = ("https://market.example/v1/sandbox/faucet", None)
    base = {"base_url": "https://market.example", "test_faucet_url": "https://faucet.example/rpc"}
    assert faucet(**base) == faucet("http://127.0.0.1:8545", **base) == own
    with pytest.raises(BadSettings, match="EMPORION_TEST_FAUCET_URL"):
        read_settings(_env_file=None, test_faucet_url="ftp://faucet.example")


@pytest.mark.parametrize("gives_gas", [False, True])
async def test_the_faucet_is_asked_for_gas_first(gives_gas: bool) -> None:
    asked: list[Any] = []

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        call = orjson.loads(await reader.read(MAX_ANSWER_BYTES))
        asked.append((call["method"], call["params"]))
        await answers(orjson.dumps({"jsonrpc": "2.0", "id": 1, "result": HASH.upper().replace("X", "x")}))(
            reader, writer
        )

    async with facilitator(answer) as served:
        faucet = RpcFaucet(served.url, gives_gas=gives_gas)
        assert await faucet.give("0xAda", 5) == HASH
        await faucet.close()
    assert asked == [("dev_gas", ["0xAda"])] * gives_gas + [("dev_faucet", ["0xAda", 5])]


LOST = [
    b"not json",
    b"[]",
    b"",
    b'{"result": "0x12"}',
    b'{"result": 7}',
    b'{"result": "%s"}' % (b"x" * MAX_ANSWER_BYTES),
]


@pytest.mark.parametrize("body", LOST)
async def test_an_answer_that_is_none_leaves_open_what_was_sent(body: bytes) -> None:
    async with facilitator(answers(body)) as served:
        faucet = RpcFaucet(served.url, gives_gas=False)
        with pytest.raises(FaucetLost):
            await faucet.give("0xAda", 5)
        await faucet.close()
        gas_first = RpcFaucet(served.url, gives_gas=True)
        with pytest.raises(FaucetRefused):
            await gas_first.give("0xAda", 5)
        await gas_first.close()


async def test_a_faucet_that_refuses_or_is_not_there_sent_nothing() -> None:
    async def silent(reader: asyncio.StreamReader, _: asyncio.StreamWriter) -> None:
        await reader.read()  # until the client has given up

    async with facilitator(answers(b'{"error": {"code": -32000, "message": "dry"}}')) as served:
        faucet = RpcFaucet(served.url, gives_gas=False)
        with pytest.raises(FaucetRefused):
            await faucet.give("0xAda", 5)
        await faucet.close()
    async with facilitator(silent) as served:
        faucet = RpcFaucet(served.url, gives_gas=False, timeout_in_seconds=0.2)
        with pytest.raises(FaucetLost):
            await faucet.give("0xAda", 5)
        await faucet.close()
    closed = RpcFaucet(served.url, gives_gas=False)
    with pytest.raises(FaucetRefused):
        await closed.give("0xAda", 5)
    await closed.close()
