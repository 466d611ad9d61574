"""The oracle of secrets: private texts carry tokens, and what leaves the market shows each one only to its readers."""

import re
from collections import Counter
from collections.abc import Collection, Iterator, MutableMapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from enum import Enum
from typing import TYPE_CHECKING, Any, NamedTuple

import orjson
import structlog
from sqlalchemy import bindparam, select

from server.logs import redact
from storage.query import Query
from storage.rows import metadata
from storage.table_dump import next_page
from storage.tables import DisputeRow, JobRow, SeatRow, SettlementRow
from storage.transaction import Tx
from storage.vocabulary import DisputeStatus
from tests.simulation.oracles import Oracle, events_from
from tests.simulation.records import Observation, Violation
from tests.support.market import OPERATOR_SECRET, PEPPER

if TYPE_CHECKING:
    from tests.simulation.simulation import Simulation

TOKEN = re.compile(rb"taint[0-9]{8}")
SECRET = re.compile(rb"as_(?:live|test)_[0-9A-Za-z]{40}|whsec_[0-9A-Za-z+/=_-]{16,}|\b[0-9a-f]{64}\b")
ISSUED = re.compile(rb'"(?:live|test|key|secret|secret_key)": ?"([^"]+)"')
ISSUES = {"register_agent", "create_api_key", "recover_agent", "claim_x402_account", "create_webhook"}
OPERATOR = "operator"  # it may read all texts, but no key
BUYS = "buy_with_x402"  # without an account: the payment is the proof
LAST_ROUND = 2  # of a panel: missed seats are drawn again once
PRINTED = ("error", "exception", "critical")  # kinds of log lines; a run expects the others

_job = Query(select(JobRow).where(JobRow.id == bindparam("id")))
_case = Query(select(DisputeRow).where(DisputeRow.id == bindparam("id")))
_settlements_of = Query(select(SettlementRow).where(SettlementRow.job_id == bindparam("job_id")))
_seat = Query(
    select(SeatRow.agent_id).where(
        SeatRow.dispute_id == bindparam("dispute_id"), SeatRow.agent_id == bindparam("agent_id")
    )
)
_outcomes: Query[str | None] = Query(select(SeatRow.outcome).where(SeatRow.dispute_id == bindparam("dispute_id")))
_seat_between = Query(
    select(SeatRow.agent_id)
    .join(DisputeRow, DisputeRow.id == SeatRow.dispute_id)
    .where(
        SeatRow.agent_id == bindparam("agent_id"),
        DisputeRow.buyer_id.in_((bindparam("one"), bindparam("other"))),
        DisputeRow.seller_id.in_((bindparam("one"), bindparam("other"))),
    )
    .limit(1)
)


class Kind(Enum):
    """A kind of private text. The value names its readers beside its author and the operator."""

    OUTPUT = "the buyer once it has paid, and the evaluators of the job"
    LETTER = "one other agent, and the evaluators of a case between both"
    VOTE = "the parties and the evaluators of a case once it is closed"
    NOTE = "no other agent"


class Private(NamedTuple):
    """A private text. `about` is its job, its other reader or its case."""

    kind: Kind
    author: str
    about: str


class Taint(Oracle):
    """Private texts are shown only to their readers, and keys only by the call that issues them."""

    def __init__(self, simulation: "Simulation") -> None:
        super().__init__(simulation)
        self.texts: dict[bytes, Private] = {}  # by token
        self.secrets: dict[bytes, str | None] = {one.encode(): None for one in (OPERATOR_SECRET, PEPPER.hex())}
        self.after = 0
        simulation.web.watch = self.delivered

    def token(self, kind: Kind, author: str, about: str = "") -> str:
        """Return a unique token for a private text."""
        token = f"taint{len(self.texts):08d}"
        self.texts[token.encode()] = Private(kind, author, about)
        return token

    def observe(self, seen: Observation) -> None:
        call = f"{seen.agent} {seen.call.idempotency_key}"  # its message may arrive twice
        self.answered(orjson.dumps(seen.answer.body), (seen.agent,), seen.call.operation, call)

    async def look(self) -> None:
        """Search the events since the last look."""
        while rows := await self.simulation.read(lambda tx: tx.all(events_from, after=self.after)):
            for row in rows:
                self.after = row.id
                self.left(row.data.encode(), (row.agent_id,), f"the event {row.kind} {row.id}")

    async def at_end(self) -> None:
        """Search the rows of all tables for keys, which the market may keep only as hashes."""
        await self.look()
        await self.simulation.read(self._search_rows)

    def _search_rows(self, tx: Tx) -> None:
        for name in sorted(metadata.tables):
            last = None
            while rows := next_page(tx, metadata.tables[name].info["row"], last):
                last = rows[-1]
                for row in rows:
                    self.left(repr(row.__dict__).encode(), (OPERATOR,), f"a row of {name}")

    # -- what leaves the market ----------------------------------------------------------------------------------------

    def answered(self, text: bytes, readers: Collection[str | None], operation: str, call: str) -> None:
        """Search the answer of a call, which may issue keys."""
        if operation in ISSUES:
            for secret in ISSUED.findall(text):
                if SECRET.fullmatch(secret):
                    self.secrets.setdefault(secret, call)
        self.left(text, readers, operation, call)

    def delivered(self, url: str, body: bytes) -> None:
        """Search the body of a webhook, whose URL ends with the id of its owner."""
        self.left(body, (url.rpartition("/")[2],), f"a webhook to {url}")

    @contextmanager
    def searching_logs(self) -> Iterator[None]:
        """Search the lines that the market logs, as the log of a server would have them."""
        processors = structlog.get_config()["processors"]
        processors.insert(0, self._logged)
        try:
            yield
        finally:
            processors.remove(self._logged)

    def _logged(self, logger: Any, method: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
        written = redact(logger, method, structlog.processors.format_exc_info(logger, method, {**event}))
        self.left(repr(written).encode(), (), f"the log line {event['event']}")
        if method not in PRINTED:
            raise structlog.DropEvent
        return event

    def left(self, text: bytes, readers: Collection[str | None], place: str, call: str | None = None) -> None:
        """Search a text that left the market for what none of its readers may have.

        `call` is the call it answers. A violation is raised later, because the market might catch it here.
        """
        for secret in SECRET.findall(text):
            if self._leaks(secret, call):
                self.simulation.start(_fail(f"{place} shows the secret {secret.decode()}"))
        for token in dict.fromkeys(TOKEN.findall(text)):
            private = self.texts[token]
            if not {OPERATOR, private.author, private.about} & {*readers}:
                self.simulation.start(self._check(token, readers, place))

    def _leaks(self, secret: bytes, call: str | None) -> bool:
        if secret not in self.secrets:
            return b"_" in secret  # the form of a key, but no call issued it; other hex is a hash
        return call is None or self.secrets[secret] != call

    async def _check(self, token: bytes, readers: Collection[str | None], place: str) -> None:
        """Raise Violation unless one of the readers may read a private text by now."""
        private = self.texts[token]
        buys = place == BUYS and private.about not in self.simulation.identities  # an agent has an account
        now = self.simulation.machine.clock.now()
        for reader in readers:
            if await self.simulation.read(lambda tx: may_read(tx, private, reader, now, buys=buys)):  # noqa: B023
                return
        raise Violation(f"{place} shows {token.decode()} to {[*readers]}: {private}")


async def _fail(message: str) -> None:
    raise Violation(message)


def may_read(tx: Tx, private: Private, agent: str | None, now: datetime, *, buys: bool) -> bool:
    """Tell if another agent may read a private text, or a client that `buys` without an account."""
    match private.kind:
        case Kind.OUTPUT:
            return _may_read_output(tx, private.about, agent, buys=buys)
        case Kind.LETTER:
            return buys or tx.one(_seat_between, agent_id=agent, one=private.author, other=private.about) is not None
        case Kind.VOTE:
            return _may_read_vote(tx, private.about, agent, now)
        case Kind.NOTE:
            return False


def _may_read_output(tx: Tx, job_id: str, agent: str | None, *, buys: bool) -> bool:
    job = tx.one(_job, id=job_id)
    if job is None:
        return False
    if buys or agent == job.buyer_id:
        paid = sum(row.amount for row in tx.all(_settlements_of, job_id=job_id) if row.kind == "payment")
        return paid >= (job.price or 0)
    return tx.one(_seat, dispute_id=job.dispute_id, agent_id=agent) is not None


def _may_read_vote(tx: Tx, dispute_id: str, agent: str | None, now: datetime) -> bool:
    case = tx.one(_case, id=dispute_id)
    if case is None or not is_closed(case, tx.all(_outcomes, dispute_id=dispute_id), now):
        return False
    return agent in (case.buyer_id, case.seller_id) or tx.one(_seat, dispute_id=dispute_id, agent_id=agent) is not None


def is_closed(case: DisputeRow, outcomes: Sequence[str | None], now: datetime) -> bool:
    """Tell if a case is closed, also by a deadline that no worker has written yet.

    After the second round a strict plurality decides (decisions, 6 Disputes).
    """
    if (
        case.status != DisputeStatus.PANEL
        or case.round < LAST_ROUND
        or case.verdict_by is None
        or now < case.verdict_by
    ):
        return case.status == DisputeStatus.RESOLVED
    most = Counter(one for one in outcomes if one is not None).most_common(2)
    return bool(most) and most[0][1] > sum(count for _, count in most[1:])
