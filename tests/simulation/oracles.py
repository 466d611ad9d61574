"""The oracles of a run. Each observes the answers, or reads the rows from time to time, and raises Violation."""

from collections import deque
from collections.abc import Iterator
from datetime import timedelta
from typing import TYPE_CHECKING, Any, NamedTuple

from sqlalchemy import bindparam, select

from storage.query import Query
from storage.statements import is_one_of
from storage.tables import AgentRow, EventRow, PurchaseRow, SettlementRow
from storage.transaction import Tx
from storage.vocabulary import AgentStatus, Env, PurchaseStatus
from tests.simulation.records import Observation, Violation
from tools.kernel.ids import Prefix, first_id
from tools.operator.recompute import recompute
from tools.purchases.rules import Outcome

if TYPE_CHECKING:
    from tests.simulation.chain import SimulatedChain
    from tests.simulation.simulation import Simulation

REMEMBERED = 200  # acknowledged calls that are repeated after a crash
REPEATED = 12  # of them, each time
UNSORTED = timedelta(seconds=600)  # ids are sorted by the clocks of the processes, which differ by less
PAGE = 1_000

_settlements = Query(select(SettlementRow).where(SettlementRow.id > bindparam("after")).order_by(SettlementRow.id))
_purchase = PurchaseRow.__table__.c
_ended: Query[Any] = Query(
    select(
        _purchase.id,
        _purchase.env,
        _purchase.payer,
        _purchase.nonce,
        _purchase.status,
        _purchase.reason,
        _purchase.tx_hash,
    ).where(
        is_one_of(_purchase.status, (PurchaseStatus.PAID, PurchaseStatus.CLOSED)),
        _purchase.updated_at >= bindparam("since", type_=_purchase.updated_at.type),
    )
)
events_from = Query(select(EventRow).where(EventRow.id > bindparam("after")).order_by(EventRow.id).limit(PAGE))
_agents = Query(select(AgentRow.id))


class Ended(NamedTuple):
    """A purchase at its end."""

    id: str
    env: str
    payer: str
    nonce: str
    status: PurchaseStatus
    reason: str | None
    tx_hash: str | None


class Oracle:
    """One kind of check.

    `observe` sees each answer; `look` runs from time to time and after each crash.
    """

    def __init__(self, simulation: "Simulation") -> None:
        self.simulation = simulation

    def chain_of(self, env: str | None) -> "SimulatedChain":
        """Return the chain of an environment."""
        return self.simulation.live if env == Env.LIVE else self.simulation.chain

    def observe(self, seen: Observation) -> None: ...
    async def look(self) -> None: ...

    async def after_crash(self) -> None:
        await self.look()

    async def at_end(self) -> None:
        await self.look()


class Money(Oracle):
    """Each settlement equals one transfer in its block, and each transfer settles at most once.

    A purchase that ended was charged if it is paid, and not if it was closed.

    The transfer had its confirmations. Only a reorg that is deeper than these may have removed it later, because the
    contract settles a payment once it is confirmed.
    """

    def __init__(self, simulation: "Simulation") -> None:
        super().__init__(simulation)
        self.used = dict[str, str]()  # by transfer: the settlement
        self.ended = dict[str, Ended]()  # purchases by id
        self.looked_at = simulation.clock.now()

    async def look(self) -> None:
        now = self.simulation.clock.now()
        since = self.looked_at - UNSORTED
        after = first_id(Prefix.SETTLEMENT, since)
        settled, ended = await self.simulation.read(
            lambda tx: (tx.all(_settlements, after=after), tx.all(_ended, since=since))
        )
        for row in settled:
            self._settled(row)
        self.ended |= {row[0]: Ended(*row) for row in ended}
        self.looked_at = now
        for row in self.ended.values():
            self._judge_purchase(row)

    def _judge_purchase(self, row: Ended) -> None:
        chain = self.chain_of(row.env)
        charged = chain.was_charged(row.payer, row.nonce, row.tx_hash)
        if charged != (row.status is PurchaseStatus.PAID) and row.reason != Outcome.TOGETHER:
            raise Violation(f"charged: {charged}, after {row.status}: {row}")

    def _settled(self, row: SettlementRow) -> None:
        before = self.used.setdefault(row.tx_hash, row.id)
        if before != row.id:
            raise Violation(f"transfer {row.tx_hash} settles {before} and {row.id}")
        parties = row.payer_address.lower(), row.pay_to.lower(), row.amount
        block = row.block_number, int(row.block_time.timestamp())
        chain = self.chain_of(row.env)
        found = [*chain.transfers_of(row.tx_hash), *chain.once_final(row.tx_hash)]
        if parties not in [(one.sender, one.recipient, one.amount) for one in found]:
            raise Violation(f"settlement {row.id} of {parties} is not in {row.tx_hash}: {found}")
        if block not in [(one.block_number, one.block_time) for one in found]:
            raise Violation(f"settlement {row.id} is of {block}, and {row.tx_hash} is not in that block: {found}")


class Repeats(Oracle):
    """A repeat with the same idempotency key gives the same answer, also after a crash."""

    def __init__(self, simulation: "Simulation") -> None:
        super().__init__(simulation)
        self.acknowledged = deque[Observation](maxlen=REMEMBERED)

    def observe(self, seen: Observation) -> None:
        if not seen.call.op.safe and seen.answer.status < 300 and seen.call.wire == "door":
            self.acknowledged.append(seen)

    async def look(self) -> None: ...

    async def after_crash(self) -> None:
        known = [*self.acknowledged]
        for seen in self.simulation.random.sample(known, min(REPEATED, len(known))):
            again = await self.simulation.repeat(seen.call)
            if again is not None and again != seen.answer and await self._is_active(seen.agent):
                raise Violation(f"{seen.call} was answered with {seen.answer}, and after a crash with {again}")

    async def _is_active(self, agent_id: str | None) -> bool:
        """Tell if an agent may call now; the operator suspends some."""
        row = await self.simulation.read(lambda tx: tx.get(AgentRow, agent_id))
        return row is None or row.status is AgentStatus.ACTIVE


class Events(Oracle):
    """The numbers of events rise in the order of commits, so no reader misses one.

    An event stays as long as its agent.
    """

    def __init__(self, simulation: "Simulation") -> None:
        super().__init__(simulation)
        self.after = 0
        self.seen: dict[int, str] = {}  # the agent of each event

    async def look(self) -> None:
        while rows := await self.simulation.read(lambda tx: tx.all(events_from, after=self.after)):
            for row in rows:
                if row.id <= self.after:
                    raise Violation(f"event {row.id} was read after {self.after}")
                self.after = row.id
                self.seen[row.id] = row.agent_id

    async def at_end(self) -> None:
        await self.look()
        found = {row.id for row in await self.simulation.read(lambda tx: [*all_events(tx)])}
        missed = sorted(found - self.seen.keys())
        lost = {agent for event, agent in self.seen.items() if event not in found}
        left = await self.simulation.read(lambda tx: [one for one in sorted(lost) if tx.get(AgentRow, one)])
        if missed or left:
            raise Violation(f"a reader in their order missed the events {missed}, and {left} lost some of theirs")


def all_events(tx: Tx) -> Iterator[EventRow]:
    after = 0
    while rows := tx.all(events_from, after=after):
        yield from rows
        after = rows[-1].id


class Recounted(Oracle):
    """Stored counts and sums equal the recomputed ones."""

    async def look(self) -> None: ...

    async def at_end(self) -> None:
        store = self.simulation.machine.store
        assert store is not None
        drifted = [str(drift) async for drift in recompute(store) if drift.keys]
        if drifted:
            raise Violation(f"recomputed: {drifted}")


ORACLES = (Money, Repeats, Events, Recounted)
