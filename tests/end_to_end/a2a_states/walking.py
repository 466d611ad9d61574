"""Walks a job along a journey over REST while both parties follow it over A2A and try every A2A request."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

import httpx

from protocol.a2a.task_view import FINAL, STATES
from storage.vocabulary import Actor, JobStatus
from tests.end_to_end.a2a_states.follower import ENDED, Follower
from tests.end_to_end.a2a_states.journeys import BUYER, CLOCK, OPERATOR, PANEL, ROWS, SELLER, Journey, Key, Step, listed
from tests.support.a2a_requests import HTTP_1, RPC_03, RPC_1, A2a
from tests.support.a2a_tasks import Desk, data_in, task_in
from tests.support.bounties import award, bounty, propose
from tests.support.market import OPERATOR_SECRET, Agent
from tests.support.panels import REASON
from tests.support.trade import Trade
from tools.jobs.return_rules import FREE as FREE_RETURNS

REST, A2A = "REST", "A2A"
GONE, FIXED = -32004, -32002  # UnsupportedOperation, TaskNotCancelable
NOTE = "I have thought about it."
SAYING = {"decline", "cancel", "request_revision", "quote", "dispute"}
Passes = Callable[[datetime], Awaitable[None]]


@dataclass
class Party:
    """One side of the job: its agent, its subscriptions, and the record as it last read it."""

    agent: Agent
    role: Actor
    desk: Desk
    followers: list[Follower] = field(default_factory=list)
    record: Any = None

    @property
    def rests(self) -> bool:
        waits = self.record["waiting_on"]
        return self.state in FINAL or (waits is not None and waits["who"] == self.role)

    @property
    def state(self) -> str:
        return STATES[self.record["status"]]

    @property
    def readable(self) -> Any:
        return None if self.record["output_sealed"] else self.record["output_hash"]


@dataclass
class Walk:
    """One journey; `wires` are the clients to follow with, `hand` the protocol to cancel with."""

    trade: Trade
    journey: Journey
    wires: list[httpx.AsyncClient]
    passes: Passes | None = None
    calls_off: Callable[[str], Awaitable[None]] | None = None  # cancels the job as the market itself does
    hand: str = REST
    judges: list[Agent] = field(default_factory=list)
    said: int = 0

    async def go(self, asked_after: set[int]) -> None:
        """Make all steps; try the A2A requests after the steps with these numbers."""
        await self.begin()
        try:
            for number, step in enumerate(self.journey.steps):
                if number:
                    await self.take(step)
                if number in asked_after:
                    await self.talks()
                    await self.does_not_cancel()
            await self.ends()
        finally:
            for party in (self.buyer, self.seller):
                for follower in party.followers:
                    await follower.leave()
            for judge in self.judges:
                await self.trade.market.call("set_evaluator", by=judge, enabled=False)

    async def begin(self) -> None:
        seller, buyer = await self.trade.parties()
        for _ in range(self.journey.judges):
            self.judges.append(await self.trade.market.register("Judge"))
            await self.trade.market.call("set_evaluator", by=self.judges[-1], enabled=True)
        self.buyer = Party(buyer, BUYER, Desk(A2a(self.wires[0]), buyer))
        self.seller = Party(seller, SELLER, Desk(A2a(self.wires[-1]), seller))
        job = await (self._awarded() if self.journey.steps[0].action == "award" else self._ordered())
        assert job["status"] == self.journey.steps[0].to
        self.job_id, self.thread_id = job["id"], job["thread_id"]
        for party, forms in ((self.buyer, (RPC_1, RPC_03)), (self.seller, (HTTP_1,))):
            await self._reads(party)
            key = party.agent.keys["test"]
            for number, form in enumerate(forms):
                for returns in (False, True) if party is self.buyer else (False,):
                    wire = self.wires[(number + returns) % len(self.wires)]
                    party.followers.append(Follower(wire, key, form, self.job_id, returns=returns))
            for follower in party.followers:
                await self._is_shown(party, follower)

    async def take(self, step: Step) -> None:
        """Make a step over REST; check that each follower gets one update that matches the record."""
        for party in (self.buyer, self.seller):
            for follower in party.followers:
                if follower.returns and party.state not in FINAL:
                    await follower.leave()
                    follower.again()
                    await self._is_shown(party, follower)
        readable = {party.role: party.readable for party in (self.buyer, self.seller)}
        before, accepts = STATES[self.buyer.record["status"]], self.accepts_too(step)
        await getattr(self, f"_{step.action}")(step)
        for party in (self.buyer, self.seller):
            await self._reads(party)
            assert party.record["status"] == step.to
            noted = (
                step.action in SAYING
                and (self.hand == REST or step.action != "cancel")
                and party.role != step.by
                and step.by is not CLOCK
            )
            for follower in party.followers:
                if (
                    before in FINAL
                ):  # a payment revives it: the subscription has ended, so the follower subscribes again
                    follower.again()
                    await self._is_shown(party, follower)
                    continue
                if accepts:
                    accepted = (await follower.next())["statusUpdate"]["status"]
                    assert accepted["state"] == STATES[JobStatus.IN_PROGRESS]
                if noted:
                    await self._hears_words(follower, NOTE, before)
                await self._hears_of(party, follower, new=party.readable not in (None, readable[party.role]))

    def accepts_too(self, step: Step) -> bool:
        """Check whether the step delivers an order that nobody has accepted: two events tell of it."""
        return step.action == "deliver" and self.buyer.record["status"] == JobStatus.OPEN

    async def _hears_of(self, party: Party, follower: Follower, *, new: bool) -> None:
        event = await follower.next()
        if new:
            assert data_in(follower.form, event["artifactUpdate"]["artifact"]) == party.record["output"]
            event = await follower.next()
        status = event["statusUpdate"]["status"]
        assert (status["state"], data_in(follower.form, status["message"])["status"]) == (
            party.state,
            party.record["status"],
        )
        if follower.form == RPC_03:
            assert event["statusUpdate"]["final"] == party.rests
        if party.rests:
            assert await follower.next() is ENDED
            follower.again()
            await self._is_shown(party, follower)

    async def _is_shown(self, party: Party, follower: Follower) -> None:
        """Check a subscription's first event: the task as in GetTask, or an error if it has ended."""
        event = await follower.next()
        if party.state in FINAL:
            assert event["error"]["code"] == (GONE if follower.form != HTTP_1 else 400)
            assert await follower.next() is ENDED
            return
        assert event["task"]["status"]["state"] == party.state
        read = task_in(await party.desk.task(follower.form, self.job_id))
        for name in ("id", "contextId", "artifacts", "history", "metadata"):
            assert event["task"].get(name) == read.get(name), name
        assert read["status"]["state"] == party.state

    async def _hears_words(self, follower: Follower, words: str, state: str) -> None:
        status = (await follower.next())["statusUpdate"]["status"]
        said = status["message"]
        assert [part["text"] for part in said["parts"] if "text" in part] == [words]
        assert status["state"] == state

    async def talks(self) -> None:
        """Check that both parties' messages arrive, and are refused once the task has ended."""
        for party, other in ((self.buyer, self.seller), (self.seller, self.buyer)):
            for form in (RPC_1, RPC_03):
                self.said += 1
                words = f"How is it going? {self.said}"
                sent = await party.desk.say(form, words, taskId=self.job_id, messageId=f"m-{party.role}-{self.said}")
                page = await self.trade.market.call(
                    "list_messages", by=other.agent, thread_id=self.thread_id, order="desc", limit=1
                )
                newest = [one["body"] for one in page["data"]]
                if party.state in FINAL:
                    assert sent.error[0] == GONE, sent.raw
                    assert newest != [words]
                    continue
                assert task_in(sent)["status"]["state"] == party.state
                assert newest == [words]
                for follower in other.followers:
                    await self._hears_words(follower, words, other.state)

    async def _return(self, step: Step) -> None:
        await self._call("cancel_job", step, fault="input")

    async def _return_too_often(self, step: Step) -> None:
        for _ in range(FREE_RETURNS):
            other = await self.trade.job_at("in_progress", self.seller.agent, self.buyer.agent, price=0)
            await self.trade.market.call("cancel_job", by=self.seller.agent, job_id=other["id"], fault="input")
        await self._return(step)

    async def does_not_cancel(self) -> None:
        """Check that a cancellation that is no move of the table is refused or changes nothing."""
        for party in (self.buyer, self.seller):
            row = ROWS.get(Key(party.record["status"], "cancel", party.role, self._cancelled_by(party)))
            if "cancel" in party.record["available_actions"] or (row is not None and not row.listed):
                continue
            told = await self.trade.market.answer("cancel_job", {"job_id": self.job_id}, key=party.agent.keys["test"])
            for form in (RPC_1, RPC_03):
                heard = await party.desk.task(form, self.job_id, "cancel")
                if told.status == 200:
                    assert task_in(heard)["status"]["state"] == party.state in FINAL
                else:
                    assert (told.status, heard.error[0]) == (409, FIXED), heard.raw
            await self._reads(party, unchanged=True)

    async def ends(self) -> None:
        """Check that paying an owed refund leaves the ended task unchanged."""
        record = self.seller.record
        if not record["refund_due"]:
            return
        sent = self.trade.evm.transfer(
            self.seller.agent.wallet, self.buyer.agent.wallet.address, record["refund_expected"]
        )
        await self.trade.market.call("refund_job", by=self.seller.agent, job_id=self.job_id, transaction=sent)
        for party in (self.buyer, self.seller):
            await self._reads(party)
            assert not party.record["refund_due"]
            for follower in party.followers:
                follower.again()
                await self._is_shown(party, follower)
                task = task_in(await party.desk.task(follower.form, self.job_id))
                assert task["status"]["state"] == party.state

    async def _reads(self, party: Party, *, unchanged: bool = False) -> None:
        record = await self.trade.market.call("get_job", by=party.agent, job_id=self.job_id)
        assert not unchanged or record["status"] == party.record["status"]
        party.record = record

    def _cancelled_by(self, party: Party) -> Any:
        found = [key.to for key in ROWS if key[:3] == (party.record["status"], "cancel", party.role)]
        return found[0] if found else None

    # --- the steps over REST ----------------------------------------------------------------------------------------

    async def _ordered(self) -> Any:
        listing = await self.trade.market.call("create_listing", by=self.seller.agent, **listed(self.journey.offer))
        return await self.trade.order(self.buyer.agent, listing)

    async def _awarded(self) -> Any:
        posted = await bounty(self.trade, self.buyer.agent)
        proposed = await propose(self.trade, self.seller.agent, posted, **self.journey.offer)
        return (await award(self.trade, self.buyer.agent, posted, proposed))["job"]

    async def _call(self, operation: str, step: Step, **given: Any) -> Any:
        agent = (self.buyer if step.by is BUYER else self.seller).agent
        return await self.trade.market.call(operation, by=agent, job_id=self.job_id, **given)

    async def _accept(self, step: Step) -> None:
        await self._call("accept_job", step)

    async def _accept_quote(self, step: Step) -> None:
        await self._call("accept_quote", step)

    async def _quote(self, step: Step) -> None:
        price = (self.seller.record["quoted_price"] or 100_000) + 10_000
        await self._call("quote_job", step, price=price, message=NOTE)

    async def _decline(self, step: Step) -> None:
        await self._call("decline_job", step, reason=NOTE)

    async def _cancel(self, step: Step) -> None:
        if self.hand == REST:
            await self._call("cancel_job", step, reason=NOTE)
            return
        party = self.buyer if step.by is BUYER else self.seller
        for form in (RPC_1, RPC_03):
            task = task_in(await party.desk.task(form, self.job_id, "cancel"))
            assert task["status"]["state"] == STATES[step.to], "cancelled, and the second time as well"

    async def _deliver(self, step: Step) -> None:
        output = {"english": f"good day {self.seller.record['revision_count']}"}
        await self._call("deliver_job", step, output=output)

    async def _pay(self, step: Step) -> None:
        await self.trade.pay(self.buyer.agent, {"id": self.job_id})

    async def _request_revision(self, step: Step) -> None:
        await self._call("request_revision", step, message=NOTE)

    async def _dispute(self, step: Step) -> None:
        await self._call("dispute_job", step, reason=NOTE)

    async def _withdraw_dispute(self, step: Step) -> None:
        await self.trade.market.call(
            "withdraw_dispute", by=self.buyer.agent, dispute_id=self.buyer.record["dispute_id"]
        )

    async def _resolve(self, step: Step) -> None:
        if step.by is OPERATOR:
            path, ruling = f"/v1/admin/jobs/{self.job_id}/resolve", {"verdict": "buyer"}
            ruled = await self.wires[0].post(path, json=ruling, headers={"X-Admin-Token": OPERATOR_SECRET})
            assert ruled.status_code == 200, ruled.text
            return
        assert step.by is PANEL
        for judge in self.judges[:2]:
            (case,) = (await self.trade.market.call("list_disputes", by=judge, role="evaluator"))["data"]
            vote = {"dispute_id": case["id"], "outcome": "buyer", "rationale": REASON}
            await self.trade.market.call("submit_verdict", by=judge, **vote)

    async def _call_off(self, step: Step) -> None:
        assert self.calls_off is not None
        await self.calls_off(self.job_id)

    async def _wait(self, step: Step) -> None:
        row = ROWS[Key(self.buyer.record["status"], *step)]
        assert self.passes is not None
        assert row.deadline is not None
        await self.passes(datetime.fromisoformat(self.buyer.record["deadlines"][row.deadline]) + row.grace)

    _expire = _fail = _complete = _remind = _wait
