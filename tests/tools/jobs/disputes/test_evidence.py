"""Clauses about evidence in a dispute: until when it is accepted; neither floods nor quick votes suppress it."""

from dataclasses import dataclass
from typing import Any

import pytest

from storage.tables import JobRow
from tests.requirements import covers
from tests.requirements.probes import write_row
from tests.support.market import Agent
from tests.support.panels import Court, evaluator
from tests.support.trade import Trade

WINDOW = 86_400  # time for a verdict on live
LONG = "x" * 20_000


@dataclass
class LiveCase:
    """A disputed job on live with a panel of three."""

    trade: Trade
    seller: Agent
    buyer: Agent
    job: Any
    judges: list[Agent]

    @staticmethod
    async def opened(trade: Trade) -> "LiveCase":
        judges = [await evaluator(trade, trust_tier=1) for _ in range(3)]
        seller, buyer = await trade.parties()
        job = await trade.job_at("revealed", seller, buyer, price=0)
        await write_row(trade.market, JobRow, job["id"], env="live")
        await trade.market.store.write(
            lambda tx: tx.cursor.execute(f"UPDATE threads SET env = 'live' WHERE id = '{job['thread_id']}'")
        )
        made = await trade.market.call("dispute_job", by=buyer, on="live", job_id=job["id"], reason="Empty.")
        return LiveCase(trade, seller, buyer, made, judges)

    async def seen(self, by: Agent) -> Any:
        return await self.trade.market.call("get_dispute", by=by, on="live", dispute_id=self.job["dispute_id"])

    async def says(self, by: Agent, body: str, **given: Any) -> Any:
        message = {"thread_id": self.job["thread_id"], "body": body, **given}
        return await self.trade.market.call("post_message", by=by, on="live", **message)

    async def vote(self, by: Agent, outcome: str = "buyer") -> Any:
        """Vote; return the error, or None if the vote counts."""
        given = {"dispute_id": self.job["dispute_id"], "outcome": outcome, "rationale": "I read it."}
        return (await self.trade.market.answer("submit_verdict", given, key=by.keys["live"])).error


def bodies(case: Any) -> list[str]:
    return [one["body"] for one in case["case"]["messages"]]


@covers("second.evidence.window", "second.evidence.closes")
async def test_on_live_no_vote_counts_in_the_first_tenth_of_the_time_to_vote(trade: Trade) -> None:
    case = await LiveCase.opened(trade)
    first, second, _ = case.judges
    refused = await case.vote(first)
    assert (refused["code"], refused["details"]["retry_after_seconds"]) == ("evidence_open", WINDOW / 10)
    seen = await case.seen(case.seller)
    assert seen["votes_received"] == 0
    assert (seen["evidence"]["open"], seen["evidence"]["done"]) == (True, [])
    assert seen["evidence"]["votes_count_from"] == refused["details"]["votes_count_from"]
    trade.market.pass_seconds(WINDOW / 10 - 1)
    assert (await case.vote(first))["details"]["retry_after_seconds"] == 1
    await case.says(case.seller, "It is all there: see line 3.")
    trade.market.pass_seconds(1)
    assert await case.vote(first) is None
    await case.says(case.buyer, "Too late.")
    seen = await case.seen(second)
    assert seen["evidence"]["open"] is False
    assert bodies(seen) == ["Empty.", "It is all there: see line 3."], "the same for all evaluators"


@covers("second.evidence.done")
async def test_votes_count_at_once_when_both_parties_have_said_that_they_are_done(trade: Trade) -> None:
    case = await LiveCase.opened(trade)
    await case.says(case.buyer, "Look at the output.", evidence_done=True)
    await case.says(case.buyer, "Once more.", evidence_done=True)
    assert (await case.vote(case.judges[0]))["code"] == "evidence_open", "one of them twice is not both"
    await case.says(case.seller, "I have nothing to add.")
    assert (await case.vote(case.judges[0]))["code"] == "evidence_open"
    await case.says(case.seller, "Really nothing.", evidence_done=True)
    assert (await case.seen(case.buyer))["evidence"]["done"] == ["buyer", "seller"]
    assert await case.vote(case.judges[0]) is None


@covers("second.evidence.window")
async def test_on_test_votes_count_at_once(trade: Trade) -> None:
    court = await Court.opened(trade)
    first, *_ = await court.panel()
    assert (await court.vote(first, "buyer"))["my_vote"]["status"] == "voted"


@covers("second.evidence.done")
async def test_evidence_is_done_only_where_a_dispute_waits_for_it(trade: Trade) -> None:
    seller, buyer = await trade.parties()
    job = await trade.job_at("revealed", seller, buyer, price=0)
    direct = await trade.market.call("start_thread", by=buyer, to=seller.handle, body="Hello.")
    said = {"body": "Done.", "evidence_done": True}
    for thread in (job["thread_id"], direct["thread"]["id"]):
        refused = await trade.market.refusal("post_message", by=buyer, thread_id=thread, **said)
        assert (refused["code"], refused["param"]) == ("invalid_request", "evidence_done")
    await trade.market.call("dispute_job", by=buyer, job_id=job["id"], reason="Empty.")
    refused = await trade.market.refusal("post_message", by=buyer, thread_id=job["thread_id"], **said)
    assert refused["param"] == "evidence_done", "the operator decides: there is no panel"
    stranger = await trade.market.register("Eve")
    refused = await trade.market.refusal("post_message", by=stranger, thread_id=job["thread_id"], **said)
    assert refused["code"] == "not_found"


@covers("second.evidence.done", "second.evidence.closes")
async def test_after_the_first_vote_no_step_posts_evidence_and_none_is_done(trade: Trade) -> None:
    court = await Court.opened(trade)
    first, *_ = await court.panel()
    await court.vote(first, "buyer")
    for party in (court.buyer, court.seller):
        job, case = await trade.seen(party, court.job), await court.seen(party)
        named = [one["tool"] for one in job["next_steps"]]
        assert named == [one["tool"] for one in case["next_steps"]]
        assert named == ["get_dispute", *(["withdraw_dispute"] if party is court.buyer else [])]
        said = {"thread_id": court.job["thread_id"], "body": "One more.", "evidence_done": True}
        refused = await trade.market.refusal("post_message", by=party, **said)
        assert (refused["code"], refused["param"]) == ("invalid_request", "evidence_done")
        assert "evidence closed" in refused["message"]
        del said["evidence_done"]
        assert (await trade.market.call("post_message", by=party, **said))["id"]


@covers("second.evidence.bounds", "second.evidence.pinned", "second.evidence.says_who")
@pytest.mark.parametrize("flooding", ["seller", "buyer"])
async def test_a_flood_of_one_party_takes_nothing_from_the_other(trade: Trade, flooding: str) -> None:
    court = await Court.opened(trade)
    flooder, other = (court.seller, court.buyer) if flooding == "seller" else (court.buyer, court.seller)

    async def says(by: Agent, body: str) -> None:
        await trade.market.call("post_message", by=by, thread_id=court.job["thread_id"], body=body)

    await says(flooder, "My first answer.")
    await says(other, "EVIDENCE-1")
    for _ in range(10):
        await says(flooder, LONG)
        await says(other, "And?")
    await says(other, "EVIDENCE-2")
    (judge, *_) = await court.panel()
    case = (await court.seen(judge))["case"]
    shown = [one["body"] for one in case["messages"]]
    assert {"EVIDENCE-1", "EVIDENCE-2", "My first answer.", court.job["dispute_reason"]} <= {*shown}
    assert shown.count("And?") == 10
    assert shown.count(LONG) == 6
    other_side = "buyer" if flooding == "seller" else "seller"
    assert case["messages_left_out"] == {flooding: 4, other_side: 0}
    assert case["messages_truncated"] is True


@covers("second.evidence.pinned")
async def test_the_messages_that_opened_and_first_answered_the_dispute_are_always_kept(trade: Trade) -> None:
    seller, buyer = await trade.parties()
    judge = await evaluator(trade)
    job = await trade.job_at("revealed", seller, buyer, price=0)

    async def both(body: str, times: int) -> None:
        for _ in range(times):
            for agent in (buyer, seller):
                await trade.market.call("post_message", by=agent, thread_id=job["thread_id"], body=body)

    await both(LONG, 3)
    made = await trade.market.call("dispute_job", by=buyer, job_id=job["id"], reason="This is why.")
    await trade.market.call("post_message", by=seller, thread_id=job["thread_id"], body="This is my answer.")
    await both(LONG, 8)
    court = Court(trade, seller, buyer, made, made["dispute_id"], {judge.id: judge})
    shown = bodies(await court.seen(judge))
    assert {"This is why.", "This is my answer."} <= {*shown}


@covers("second.evidence.stated", "event.kind.dispute.panel")
async def test_the_rule_is_stated_in_the_case_in_the_event_and_in_the_next_steps(trade: Trade) -> None:
    case = await LiveCase.opened(trade)
    for party in (case.seller, case.buyer):
        seen = await case.seen(party)
        (told,) = [
            one["data"]
            for one in (await trade.market.call("list_events", by=party, on="live"))["data"]
            if one["type"] == "dispute.panel"
        ]
        assert told["votes_count_from"] == seen["evidence"]["votes_count_from"]
        assert told["evidence"] == seen["evidence"]["rule"]
        for word in ("evidence_done", "100 messages", "128 KB", "first vote"):
            assert word in told["evidence"]
        assert seen["next_steps"][0]["tool"] == "post_message"
        assert seen["next_steps"][0]["arguments"]["thread_id"] == case.job["thread_id"]
        job = await trade.market.call("get_job", by=party, on="live", job_id=case.job["id"])
        first = job["next_steps"][0]
        assert (first["tool"], "evidence" in first["why"]) == ("post_message", True)
    steps = [one["tool"] for one in (await case.seen(case.buyer))["next_steps"]]
    assert steps == ["post_message", "get_dispute", "withdraw_dispute"]
