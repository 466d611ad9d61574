"""The oracle of panels: no evaluator is related to another one or to a party, and no seat is drawn again too early.

It follows the events in the order of their commits, so it knows which payments each draw could see. Domains are left
out, because no simulated agent proves one.
"""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import orjson
from sqlalchemy import bindparam, select

from storage.query import Query
from storage.statements import in_json_list, is_one_of
from storage.tables import AgentRow, EventRow, HeldWalletRow, JobRow, SeatRow, SettlementRow
from storage.transaction import Tx
from storage.vocabulary import SeatStatus
from tests.simulation.oracles import Oracle
from tests.simulation.records import Violation

if TYPE_CHECKING:
    from tests.simulation.simulation import Simulation

PAID, PARTIAL, DRAWN = "job.paid", "job.payment_partial", "dispute.panel"
BEYOND = datetime.max.replace(tzinfo=UTC)
PAID_SHARE, COMMON_SHARE = 10, 2  # more than a tenth, more than half (decisions, Independent evaluators)

_events: Query[EventRow] = Query(
    select(EventRow)
    .where(EventRow.id > bindparam("after"), is_one_of(EventRow.kind, (PAID, PARTIAL, DRAWN)))
    .order_by(EventRow.id)
)
_seats: Query[SeatRow] = Query(select(SeatRow).where(SeatRow.dispute_id == bindparam("dispute_id")))
_late: Query[SeatRow] = Query(select(SeatRow).where(SeatRow.voted_at >= SeatRow.deadline_at))
_wallets: Query[Any] = Query(
    select(HeldWalletRow.agent_id, HeldWalletRow.address, AgentRow.first_party)
    .join_from(HeldWalletRow.__table__, AgentRow.__table__, AgentRow.id == HeldWalletRow.agent_id)
    .where(
        AgentRow.first_party.is_(True) | in_json_list(HeldWalletRow.agent_id, "ids"),
        HeldWalletRow.held_at <= bindparam("until", type_=HeldWalletRow.held_at.type),
    )
)
_referrers: Query[Any] = Query(
    select(AgentRow.id, AgentRow.referred_by, AgentRow.first_party).where(in_json_list(AgentRow.id, "ids"))
)


@dataclass(frozen=True, slots=True)
class Sale:
    """A settled payment to a seller."""

    payer: str  # address, lower case
    amount: int
    at: datetime


@dataclass(frozen=True, slots=True)
class Member:
    """A party or an evaluator, with what relates it to others."""

    id: str
    wallets: frozenset[str]
    referrer: str | None
    by_operator: bool  # its referrer is the operator's
    sales: Mapping[str, int] = field(default_factory=dict)  # by payer
    earlier: Mapping[str, int] = field(default_factory=dict)  # those before the order of the job


class Panels(Oracle):
    """Each seat of each panel is independent of the other seats and of both parties."""

    def __init__(self, simulation: "Simulation") -> None:
        super().__init__(simulation)
        self.after = 0
        self.sales: dict[tuple[str, str], list[Sale]] = defaultdict(list)  # by environment and seller
        self.partial: dict[str, list[str]] = defaultdict(list)  # settlements by job
        self.known = set[str]()  # settlements and draws

    async def look(self) -> None:
        late = await self.simulation.read(lambda tx: tx.all(_late))
        if late:
            raise Violation(f"votes count after their deadlines: {late}")
        for event in await self.simulation.read(lambda tx: tx.all(_events, after=self.after)):
            self.after = event.id
            data = orjson.loads(event.data)
            name = f"{data['dispute_id']} {data['round']}" if event.kind == DRAWN else data["settlement_id"]
            if name in self.known:  # both parties get this event
                continue
            self.known.add(name)
            if event.kind == PARTIAL:
                self.partial[data["job_id"]].append(name)
            elif event.kind == PAID:
                await self._paid([*self.partial.pop(data["job_id"], []), name])
            else:
                await self._drawn(data["dispute_id"], data["round"])

    async def _paid(self, settlements: Sequence[str]) -> None:
        for name in settlements:
            row = await self.simulation.read(lambda tx: tx.need(SettlementRow, name))  # noqa: B023 - read at once
            assert row.settled_at is not None
            sale = Sale(row.payer_address.lower(), row.amount, row.settled_at)
            self.sales[row.env, row.payee_agent_id].append(sale)

    async def _drawn(self, dispute_id: str, number: int) -> None:
        """Judge the seats of a round."""
        seats, job, members = await self.simulation.read(lambda tx: self._members(tx, dispute_id, number))
        parties = {job.buyer_id, job.seller_id}
        if number > 1:
            judge_second_draw(dispute_id, seats, self.simulation.scenario.clocks_differ)
        for seat in seats:
            for other in [one for name, one in members.items() if name != seat.agent_id and seat.round == number]:
                why = next(_relations(members[seat.agent_id], other, party=other.id in parties), None)
                if why is not None:
                    raise Violation(f"{seat.agent_id} judges {dispute_id} of {job.id} with {other.id}: {why}")

    def _members(self, tx: Tx, dispute_id: str, number: int) -> tuple[list[SeatRow], JobRow, dict[str, Member]]:
        """Return the seats up to a round, the job, and all evaluators and parties by id."""
        seats = [one for one in tx.all(_seats, dispute_id=dispute_id) if one.round <= number]
        job = tx.one(_job_of, dispute_id=dispute_id)
        assert job is not None
        ids = [job.buyer_id, job.seller_id, *(one.agent_id for one in seats)]
        wallets, operators = defaultdict[str, set[str]](set), set[str]()
        drawn_at = max((one.drawn_at for one in seats), default=job.created_at)
        for agent, address, first_party in tx.all(_wallets, ids=ids, until=drawn_at):
            wallets[agent].add(address.lower())
            operators |= {address.lower()} if first_party else set()
        named = {agent: referrer for agent, referrer, _ in tx.all(_referrers, ids=ids)}
        owned = {one for one, _, own in tx.all(_referrers, ids=[one for one in named.values() if one]) if own}
        return (
            seats,
            job,
            {
                one: Member(
                    one,
                    frozenset(wallets[one] - operators),
                    named.get(one),
                    named.get(one) in owned,
                    self._volume(job.env, one, operators),
                    self._volume(job.env, one, operators, job.created_at),
                )
                for one in ids
            },
        )

    def _volume(self, env: str, seller: str, left_out: set[str], until: datetime | None = None) -> Mapping[str, int]:
        found = Counter[str]()
        for sale in self.sales[env, seller]:
            if sale.payer not in left_out and (until is None or sale.at < until):
                found[sale.payer] += sale.amount
        return found


def judge_second_draw(dispute_id: str, seats: Sequence[SeatRow], clocks_differ: float) -> None:
    """Raise Violation if seats were drawn again while one of the first round could still vote.

    `clocks_differ` is by how many seconds two clocks of the market may differ.
    """
    drawn_at = min(seat.drawn_at for seat in seats if seat.round > 1)
    for seat in seats:
        ended = {SeatStatus.VOTED: seat.voted_at, SeatStatus.MISSED: seat.deadline_at, SeatStatus.PENDING: BEYOND}
        until = ended.get(seat.status)
        if seat.round == 1 and until is not None and until > drawn_at + timedelta(seconds=clocks_differ):
            raise Violation(f"{dispute_id} was drawn again while {seat.agent_id} could vote: {seat}")


_job_of: Query[JobRow] = Query(select(JobRow).where(JobRow.dispute_id == bindparam("dispute_id")))


def _relations(one: Member, other: Member, *, party: bool) -> Iterator[str]:
    """Yield why an evaluator is related to another one or to a party.

    What a party paid an evaluator, and what others paid both, counts only from before the order.
    """
    if one.wallets & other.wallets:
        yield "they had one wallet"
    if one.referrer == other.id or other.referrer == one.id:
        yield "one referred the other"
    if one.referrer is not None and one.referrer == other.referrer and not one.by_operator:
        yield "they have one referrer"
    if _pays(one, other.sales):
        yield f"it paid much of {dict(other.sales)}"
    if _pays(other, one.earlier if party else one.sales):
        yield f"the other paid much of {dict(one.earlier if party else one.sales)}"
    mine, theirs = (one.earlier, other.earlier) if party else (one.sales, other.sales)
    common = mine.keys() & theirs.keys()
    if all(sum(paid[wallet] for wallet in common) * COMMON_SHARE > sum(paid.values()) for paid in (mine, theirs)):
        yield f"{sorted(common)} paid much of both"


def _pays(payer: Member, sales: Mapping[str, int]) -> bool:
    """Say if the wallets of a member paid more than a tenth of sales."""
    return sum(sales.get(wallet, 0) for wallet in payer.wallets) * PAID_SHARE > sum(sales.values())
