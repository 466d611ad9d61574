"""The oracles of a run. Each observes the answers, or reads the rows from time to time, and raises Violation."""

import re
from collections import deque
from collections.abc import Iterator
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import orjson
from sqlalchemy import bindparam, select

from storage.query import Query
from storage.tables import AgentRow, EventRow, JobRow, SeatRow, SettlementRow
from storage.transaction import Tx
from storage.vocabulary import Env
from tests.simulation.population import MOVES
from tests.simulation.records import Observation, Violation
from tests.simulation.wires import Answer
from tools.kernel.ids import Prefix, first_id
from tools.operator.recompute import recompute

if TYPE_CHECKING:
    from tests.simulation.simulation import Simulation

REMEMBERED = 200  # acknowledged calls that are repeated after a crash
REPEATED = 12  # of them, each time
UNSORTED = timedelta(seconds=600)  # ids are sorted by the clocks of the processes, which differ by less
TOKEN = re.compile(rb"taint[0-9]{8}")
PAGE = 1_000
# The market decides these without a look at a chain, so that a dry run needs no money.
TRIED = ("accept", "decline", "cancel", "quote", "accept_quote", "deliver", "request_revision", "dispute", "review")
GIVEN: dict[str, dict[str, Any]] = {
    "quote": {"price": 250_000}, "request_revision": {"message": "Warmer, please."}, "review": {"rating": 5},
    "dispute": {"reason": "It is empty."}, "deliver": {"output": {"english": "good day"}},
}  # fmt: skip
# Accepting again renews the lease of a worker, and a dry run shows no output.
REPEATABLE = {"thread_id", "worker", "lease_until", "next_steps", "deliveries", "output"}
REPEATABLE |= {"output_bytes", "output_hash", "output_salt", "output_commitment"}
NOT_NOW = {"invalid_transition", "job_not_payable", "not_paid", "job_not_settled", "not_found", "forbidden"}

_settlements = Query(select(SettlementRow).where(SettlementRow.id > bindparam("after")).order_by(SettlementRow.id))
_settlements_of = Query(select(SettlementRow).where(SettlementRow.job_id == bindparam("job_id")))
_seat = Query(
    select(SeatRow.agent_id).where(
        SeatRow.dispute_id == bindparam("dispute_id"), SeatRow.agent_id == bindparam("agent_id")
    )
)
_events = Query(select(EventRow).where(EventRow.id > bindparam("after")).order_by(EventRow.id).limit(PAGE))
_job = Query(select(JobRow).where(JobRow.id == bindparam("id")))


class Oracle:
    """One kind of check.

    `observe` sees each answer; `look` runs from time to time and after each crash.
    """

    def __init__(self, simulation: "Simulation") -> None:
        self.simulation = simulation

    def observe(self, seen: Observation) -> None: ...
    async def look(self) -> None: ...

    async def after_crash(self) -> None:
        await self.look()

    async def at_end(self) -> None:
        await self.look()


class Money(Oracle):
    """Each settlement equals one transfer of the chain, and each transfer settles at most once.

    The transfer had its confirmations. Only a reorg that is deeper than these may have removed it later, because the
    contract settles a payment once it is confirmed.
    """

    def __init__(self, simulation: "Simulation") -> None:
        super().__init__(simulation)
        self.used = dict[str, str]()  # by transfer: the settlement
        self.looked_at = simulation.clock.now()

    async def look(self) -> None:
        now = self.simulation.clock.now()
        after = first_id(Prefix.SETTLEMENT, self.looked_at - UNSORTED)
        for row in await self.simulation.read(lambda tx: tx.all(_settlements, after=after)):
            self._settled(row)
        self.looked_at = now

    def _settled(self, row: SettlementRow) -> None:
        before = self.used.setdefault(row.tx_hash, row.id)
        if before != row.id:
            raise Violation(f"transfer {row.tx_hash} settles {before} and {row.id}")
        parties = row.payer_address.lower(), row.pay_to.lower(), row.amount
        chain = self.simulation.live if row.env == Env.LIVE else self.simulation.chain
        found = [*chain.transfers_of(row.tx_hash), *chain.once_final(row.tx_hash)]
        if parties not in [(one.sender, one.recipient, one.amount) for one in found]:
            raise Violation(f"settlement {row.id} of {parties} is not in {row.tx_hash}: {found}")


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
            if again is not None and again != seen.answer:
                raise Violation(f"{seen.call} was answered with {seen.answer}, and after a crash with {again}")


class Actions(Oracle):
    """The available_actions of a job are exactly those that a dry run accepts."""

    def __init__(self, simulation: "Simulation") -> None:
        super().__init__(simulation)
        self.tried: dict[tuple[str, str, str, bool], int] = {}  # by status, role, action and whether it was offered

    async def look_at(self, key: str, job_id: str) -> None:
        for action in TRIED:
            before = await self.simulation.ask(key, "get_job", job_id=job_id)
            operation = {"accept_quote": action, "request_revision": action}.get(action, f"{action}_job")
            answer = await self.simulation.ask(key, operation, dry_run=True, job_id=job_id, **GIVEN.get(action, {}))
            after = await self.simulation.ask(key, "get_job", job_id=job_id)
            if before is None or answer is None or after is None or before.refused or before != after:
                continue
            self._judge(before.body, action, answer)

    def _judge(self, job: dict[str, Any], action: str, answer: Answer) -> None:
        offered = action in job["available_actions"]
        place = job["status"], job["role"], action, offered
        self.tried[place] = self.tried.get(place, 0) + 1
        about = f"{action} of {job['id']}, {job['status']}, by its {job['role']}, which may {job['available_actions']}"
        if offered and answer.code in NOT_NOW:
            raise Violation(f"offered and refused with {answer.code}: {about}")
        changed = {name for name in job if answer.body.get(name, job[name]) != job[name]}
        declines = action == "cancel" and job["role"] == "seller" and "decline" in job["available_actions"]
        # What is already so may be asked for again, and a seller's cancellation before work is a decline.
        if not offered and answer.code is None and not declines and not changed <= REPEATABLE:
            raise Violation(f"not offered and accepted: {about}; it changes {sorted(changed)}")


class Events(Oracle):
    """The numbers of events rise in the order of commits, so no reader misses one.

    An event stays as long as its agent.
    """

    def __init__(self, simulation: "Simulation") -> None:
        super().__init__(simulation)
        self.after = 0
        self.seen: dict[int, str] = {}  # the agent of each event

    async def look(self) -> None:
        while rows := await self.simulation.read(lambda tx: tx.all(_events, after=self.after)):
            for row in rows:
                if row.id <= self.after:
                    raise Violation(f"event {row.id} was read after {self.after}")
                self.after = row.id
                self.seen[row.id] = row.agent_id

    async def at_end(self) -> None:
        await self.look()
        found = {row.id for row in await self.simulation.read(lambda tx: [*_all_events(tx)])}
        missed = sorted(found - self.seen.keys())
        lost = {agent for event, agent in self.seen.items() if event not in found}
        left = await self.simulation.read(lambda tx: [one for one in sorted(lost) if tx.get(AgentRow, one)])
        if missed or left:
            raise Violation(f"a reader in their order missed the events {missed}, and {left} lost some of theirs")


def _all_events(tx: Tx) -> Iterator[EventRow]:
    after = 0
    while rows := tx.all(_events, after=after):
        yield from rows
        after = rows[-1].id


class Taint(Oracle):
    """A secret text is shown only to the agents that may read it."""

    def __init__(self, simulation: "Simulation") -> None:
        super().__init__(simulation)
        self.owners: dict[bytes, tuple[str, str]] = {}  # by token: its author and its job

    def new_token(self, author: str, job_id: str) -> str:
        token = f"taint{len(self.owners):08d}"
        self.owners[token.encode()] = author, job_id
        return token

    def observe(self, seen: Observation) -> None:
        text = orjson.dumps(seen.answer.body)
        for token in dict.fromkeys(TOKEN.findall(text)):
            author, job_id = self.owners[token]
            if seen.agent != author:
                self.simulation.check_later(self._allowed(token, job_id, seen))

    async def _allowed(self, token: bytes, job_id: str, seen: Observation) -> None:
        """Check that a reader is the buyer of a paid or free job, or its judge."""
        buys = seen.call.operation == "buy_with_x402"  # without an account: the payment is the proof
        if not await self.simulation.read(lambda tx: _may_read(tx, job_id, seen.agent, buys=buys)):
            raise Violation(f"{seen.call.operation} shows {token.decode()} of {job_id} to {seen.agent}: {seen.answer}")


def _may_read(tx: Tx, job_id: str, agent: str | None, *, buys: bool) -> bool:
    """Tell if an agent other than the seller may read a job's output."""
    job = tx.one(_job, id=job_id)
    if job is None:
        return False
    if buys or agent == job.buyer_id:
        paid = sum(row.amount for row in tx.all(_settlements_of, job_id=job_id) if row.kind == "payment")
        return paid >= (job.price or 0)
    return tx.one(_seat, dispute_id=job.dispute_id, agent_id=agent) is not None


class Recounted(Oracle):
    """Stored counts and sums equal the recomputed ones."""

    async def look(self) -> None: ...

    async def at_end(self) -> None:
        store = self.simulation.machine.store
        assert store is not None
        drifted = [str(drift) async for drift in recompute(store) if drift.keys]
        if drifted:
            raise Violation(f"recomputed: {drifted}")


ORACLES = (Money, Repeats, Actions, Events, Taint, Recounted)
assert set(TRIED) <= set(MOVES)
