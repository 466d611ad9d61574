"""One job of the script: its parties, its transfers, and its expected end."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from tests.end_to_end.world.cast import Json, World
from tests.support.market import Agent


@dataclass
class Deal:
    """A job, as its script moves it and counts its money."""

    world: World
    seller: Agent
    buyer: Agent
    on: str = "test"
    job: Any = None
    status: str = ""  # the expected one at the end
    settled_minor: int = 0
    stray_minor: int = 0  # orphans, and parts of a price that was never complete
    refunded_minor: int = 0
    payments: int = 0  # transfers to the seller that the market knows
    first_party: bool = False
    case: str | None = None
    verdict: str | None = None  # the expected outcome of its case

    @property
    def ref(self) -> Json:
        return {"job_id": self.job["id"]}

    @property
    def done(self) -> bool:
        """Completed, or resolved in favour of another than the buyer."""
        return self.status == "completed" or (self.status == "resolved" and self.verdict != "buyer")

    @property
    def volume_minor(self) -> int:
        """The amount paid and not sent back, of a job that is done.

        Refunds first cover transfers that were no payment.
        """
        if not self.done:
            return 0
        return self.settled_minor - max(0, self.refunded_minor - self.stray_minor)

    async def order(self, kind: str = "fixed", **given: Any) -> None:
        listing = self.world.listings[self.world.name_of(self.seller), self.on, kind]
        order = {"listing_id": listing["id"], "input": {"text": "guten Tag"}} | given
        self.job = await self.world.call("create_job", self.buyer, self.on, **order)

    async def sells(self, operation: str, **given: Any) -> None:
        await self._do(operation, self.seller, given)

    async def buys(self, operation: str, **given: Any) -> None:
        await self._do(operation, self.buyer, given)

    async def _do(self, operation: str, by: Agent, given: Json) -> None:
        answer = await self.world.call(operation, by, self.on, **self.ref, **given)
        self.job = answer if answer["object"] == "job" else self.job

    async def refused(self, code: str, operation: str, by: Agent, **given: Any) -> Any:
        return await self.world.refused(code, operation, by, self.on, **self.ref, **given)

    async def deliver(self, **output: Any) -> None:
        await self.sells("deliver_job", output={"english": "good day", **output})

    # -- money -----------------------------------------------------------------------------------------------------

    async def send(self, amount_minor: int | None = None) -> str:
        """Send a transfer to the seller, of the terms' amount or another, without reporting it."""
        terms = await self.world.call("pay_job", self.buyer, self.on, **self.ref)
        return self.transfer(amount_minor or terms["amount"], terms["pay_to"])

    def transfer(self, amount_minor: int, to: str | None = None) -> str:
        return self.world.evms[self.on].transfer(self.buyer.wallet, to or self.seller.wallet.address, amount_minor)

    async def pay(self, amount_minor: int | None = None) -> None:
        await self.show(await self.send(amount_minor))
        assert self.job["payment"]["status"] == "paid", self.job

    async def show(self, transaction: str) -> None:
        """Report a payment that covers the price, together with earlier parts."""
        await self.buys("pay_job", transaction=transaction)
        self.settled_minor += self.world.sent[transaction].amount_minor + self.stray_minor
        self.stray_minor, self.payments = 0, self.payments + 1

    async def stray(self, transaction: str, code: str | None = None) -> Any:
        """Report a transfer that does not pay this job.

        It is recorded, and refused with `code` if given.
        """
        if code is None:
            await self.buys("pay_job", transaction=transaction)
        else:
            await self.refused(code, "pay_job", self.buyer, transaction=transaction)
        self.stray_minor, self.payments = (
            self.stray_minor + self.world.sent[transaction].amount_minor,
            self.payments + 1,
        )

    async def back(self, amount_minor: int, *, enough: bool = True) -> None:
        """Send money back and report it."""
        evm = self.world.evms[self.on]
        sent = evm.transfer(self.seller.wallet, self.buyer.wallet, amount_minor)
        if enough:
            await self.sells("refund_job", transaction=sent)
            assert self.job["refund_due"] is False, self.job
        else:
            await self.refused("payment_invalid", "refund_job", self.seller, transaction=sent)
        self.refunded_minor += amount_minor

    # -- the end ---------------------------------------------------------------------------------------------------

    async def ends(self, status: str, owed_minor: int = 0, seen_by: Sequence[Agent] = ()) -> None:
        """Check that both parties see this status and this amount to send back."""
        self.status = status
        for agent in seen_by or (self.seller, self.buyer):
            seen = await self.world.call("get_job", agent, self.on, **self.ref)
            assert (seen["status"], seen["refund_expected"] or 0) == (status, owed_minor), seen
        self.first_party = self.seller.id == self.world.cast["House Press"].id


@dataclass
class Ledger:
    """Every deal of the world, with the script's counts."""

    world: World
    deals: list[Deal] = field(default_factory=list)
    kinds: list[str] = field(default_factory=list)

    def deal(self, kind: str, seller: str, buyer: str, on: str = "test") -> Deal:
        made = Deal(self.world, self.world.cast[seller], self.world.cast[buyer], on)
        self.deals.append(made)
        self.kinds.append(kind)
        return made
