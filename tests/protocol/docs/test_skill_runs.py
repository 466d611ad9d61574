"""Makes every call shown in skill.md, in the order of a trade, with only the placeholders replaced."""

import re
from dataclasses import dataclass, field
from textwrap import dedent
from typing import Any

import orjson
import pytest

from protocol.docs.skill import skill_source
from tests.support.market import Agent
from tests.support.panels import evaluator
from tests.support.trade import Trade, binding

WORK = "It was a dark and stormy night; " * 20  # replaces …, the reader's own text
MARK = re.compile(r"<([a-z]{3})_…>")


@dataclass
class Skill:
    """The calls of skill.md, the numbers of those made, and the ids for its placeholders."""

    trade: Trade
    calls: list[dict[str, Any]]
    ids: dict[str, Any] = field(default_factory=dict)  # by prefix: lst, job, bty, prp, dsp, agt
    made: set[int] = field(default_factory=set)

    async def call(self, tool: str, by: Agent | None = None, at: int = 0, **filled: Any) -> Any:
        """Make the `at`-th call of this tool in the file; `filled` replaces its placeholders."""
        number = [place for place, call in enumerate(self.calls) if call["tool"] == tool][at]
        given = {name: self._filled(value) for name, value in self.calls[number]["arguments"].items()}
        marked = {name for name, value in given.items() if "<" in str(value) or name == "if_version"}
        assert marked == filled.keys(), (tool, marked)
        self.made.add(number)
        answer = await self.trade.market.call(tool, by=by, **given | filled)
        self._keep(answer)
        return answer

    def _filled(self, value: Any) -> Any:
        if isinstance(value, dict):
            return {name: self._filled(one) for name, one in value.items()}
        if not isinstance(value, str) or value.endswith(" …"):
            return value
        found = MARK.fullmatch(value)
        return self.ids.get(found[1], value) if found else WORK if value == "…" else value

    def _keep(self, answer: Any) -> None:
        if isinstance(named := answer.get("id"), str):
            self.ids[named.split("_")[0]] = named


async def test_every_call_of_the_skill_runs(trade: Trade) -> None:
    blocks = re.findall(r"^( *)```json\n(.*?)^\1```", skill_source(), re.DOTALL | re.MULTILINE)
    skill = Skill(trade, [orjson.loads(dedent(body)) for _, body in blocks])
    seller, buyer = await _newcomers(skill)
    await _sell_and_buy(skill, seller, buyer)
    await _other_ways(skill, seller, buyer)
    await _bounty(skill, seller, buyer)
    await _beside(skill, seller, buyer)
    assert [call["tool"] for number, call in enumerate(skill.calls) if number not in skill.made] == []


async def _newcomers(skill: Skill) -> tuple[Agent, Agent]:
    """Return a seller that registers and binds as the file says, and a buyer with money."""
    made = await skill.call("register_agent")
    seed = bytes.fromhex(made["keypair"]["secret_key"])
    seller = Agent(made["agent"]["id"], made["agent"]["handle"], made["api_keys"], seed, skill.trade.evm.person(0))
    bound = await skill.call("set_wallet_address", seller, address=seller.wallet.address, signature=binding(seller))
    assert bound["wallet_address"] == seller.wallet.address
    return seller, await skill.trade.agent("Bo", 10_000_000)


async def _sell_and_buy(skill: Skill, seller: Agent, buyer: Agent) -> None:
    listing = await skill.call("create_listing", seller)
    updated = await skill.call("update_listing", seller)
    assert updated["acceptance"][0]["name"] == "not empty"
    found = await skill.call("search_listings")
    assert [one["id"] for one in found["data"]] == [listing["id"]]
    read = await skill.call("get_listing", buyer)
    assert read["how_to_order"]["body_example"]["input"] == {"text": "Once upon a time …"}
    await skill.call("create_job", buyer)
    assert await _two_turns_of_the_loop(skill, seller) == ["open", "open"]
    assert len((await skill.call("list_jobs", seller))["data"]) == 1
    await skill.call("accept_job", seller, at=1)
    delivered = await skill.call("deliver_job", seller)
    assert delivered["output_sealed"]
    seen = await skill.call("get_job", buyer)  # it is the buyer's turn, so this does not wait
    assert (seen["output"], seen["payment"]["status"], seen["output_preview"]) == (None, "due", {"words": 97})
    terms = await skill.call("pay_job", buyer)
    paid = await skill.call(
        "pay_job", buyer, at=1, transaction=_transfer(skill, buyer, terms["pay_to"], terms["amount"])
    )
    assert paid["output"] == {"summary": WORK}
    assert (await skill.call("accept_job", buyer))["status"] == "completed"
    assert (await skill.call("review_job", buyer))["rating"] == 5
    assert (await skill.call("get_receipt", buyer))["signature"]["alg"] == "EdDSA"


async def _two_turns_of_the_loop(skill: Skill, seller: Agent) -> list[str]:
    """Run the file's seller loop twice; return the states of the jobs on which it acts."""
    blocks = re.findall(r"^( *)```python\n(.*?)^\1```", skill_source(), re.DOTALL | re.MULTILINE)
    (loop,) = (dedent(body) for _, body in blocks if "act_on" in body)
    jobs = await skill.trade.market.call("list_jobs", by=seller, role="seller", status=["open", "in_progress"])
    asked: list[Any] = []
    acted: list[str] = []

    def list_events(**given: Any) -> dict[str, str]:
        asked.append(given)
        if len(asked) > 2:
            raise StopIteration
        return {"next_since": f"evt_{len(asked)}"}

    names = {
        "list_events": list_events,
        "list_jobs": lambda **_: jobs,
        "act_on": lambda job: acted.append(job["status"]),
    }
    with pytest.raises(StopIteration):
        exec(loop, names)
    waits = {"types": ["job.*"], "wait_seconds": 20}
    assert asked == [{"since": "now"}, waits | {"since": "evt_1"}, waits | {"since": "evt_2"}]
    return acted


async def _other_ways(skill: Skill, seller: Agent, buyer: Agent) -> None:
    """Make a quote, a revision, a dispute that ends in a split, and its refund."""
    panel = [await evaluator(skill.trade) for _ in range(3)]
    listing = await skill.trade.listing(seller, pricing_model="quote", price=None)
    skill.ids["job"] = (await skill.trade.order(buyer, listing))["id"]
    job = {"id": skill.ids["job"]}
    assert (await skill.call("quote_job", seller))["quoted_price"] == 400_000
    assert (await skill.call("accept_quote", buyer))["status"] == "in_progress"
    await skill.trade.deliver(seller, job)
    await skill.trade.pay(buyer, job)
    assert (await skill.call("request_revision", buyer))["status"] == "in_progress"
    await skill.trade.deliver(seller, job, {"english": "good morning"})
    disputed = await skill.call("dispute_job", buyer)
    assert disputed["status"] == "disputed"
    skill.ids["dsp"] = disputed["dispute_id"]
    for judge in panel[:2]:
        await skill.call("submit_verdict", judge)
    owed = (await skill.trade.seen(seller, job))["refund_expected"]
    assert owed == 200_000
    back = await skill.call("refund_job", seller, transaction=_transfer(skill, seller, buyer.wallet.address, owed))
    assert back["refund_due"] is False


async def _bounty(skill: Skill, seller: Agent, buyer: Agent) -> None:
    bounty = await skill.call("create_bounty", buyer)
    assert [one["id"] for one in (await skill.call("search_bounties"))["data"]] == [bounty["id"]]
    made = await skill.call("propose_on_bounty", seller)
    skill.ids |= {"bty": bounty["id"], "prp": made["id"]}
    assert [one["id"] for one in (await skill.call("list_proposals", buyer))["data"]] == [made["id"]]
    assert (await skill.call("award_bounty", buyer))["job"]["status"] == "in_progress"


async def _beside(skill: Skill, seller: Agent, buyer: Agent) -> None:
    """Make the calls about messages, events, memory, reads and keys; pause the listing last."""
    skill.ids["agt"] = seller.id
    await skill.call("start_thread", buyer, to=seller.handle)
    await skill.call("create_webhook", seller)
    assert (await skill.call("create_schedule", seller))["payload"] == {"job": skill.ids["job"]}
    kept = await skill.trade.market.call("put_memory", by=seller, key="prices/translation", value={"paid": 1})
    assert (await skill.call("put_memory", seller, if_version=kept["version"]))["version"] > kept["version"]
    assert (await skill.call("check_counterparty", buyer))["agent_id"] == seller.id
    assert (await skill.call("create_api_key", seller))["scopes"] == ["read"]
    listing = await skill.trade.listing(seller)
    skill.ids["lst"] = listing["id"]
    assert (await skill.call("update_listing", seller, at=1))["status"] == "paused"


def _transfer(skill: Skill, sender: Agent, to: str, amount_minor: int) -> str:
    return skill.trade.evm.transfer(sender.wallet, to, amount_minor)
