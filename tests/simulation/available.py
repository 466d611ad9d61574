"""The oracle of available_actions: each job's actions are exactly those that the market accepts, tried by dry run."""

from collections import Counter
from collections.abc import Iterator, Mapping
from datetime import datetime
from functools import partial
from random import Random
from typing import TYPE_CHECKING, Any

from sqlalchemy import bindparam, select

from storage.agents import wallets_ever_held
from storage.query import Query
from storage.tables import AgentRow, SeatRow
from storage.transaction import Tx
from storage.vocabulary import AgentStatus, SeatStatus
from tests.simulation.model.lifecycle import BUYER, JOB, SELLER, kind, state_of
from tests.simulation.oracles import Oracle
from tests.simulation.records import Json, Observation, Violation
from tests.simulation.wires import Answer

if TYPE_CHECKING:
    from tests.simulation.simulation import Simulation

Place = tuple[str, str]  # a state of a job, and the role of the caller
Tried = Counter[tuple[Place, str]]  # by place and action

ENOUGH = 1_000  # checks that a series makes of each place
EVERY = 500  # operations between two checks of one place, at least
REMEMBERED = 50  # jobs of each state, the newest
PLACES = tuple((state, role) for state in sorted({kind(one) for one in JOB.moves}) for role in (BUYER, SELLER))
# The market decides these without a look at a chain, so that a dry run needs no money.
CALLS: Mapping[str, tuple[str, Json]] = {
    "accept": ("accept_job", {}),
    "decline": ("decline_job", {}),
    "cancel": ("cancel_job", {}),
    "quote": ("quote_job", {"price": 250_000}),
    "accept_quote": ("accept_quote", {}),
    "deliver": ("deliver_job", {"output": {"english": "good day"}}),
    "request_revision": ("request_revision", {"message": "Warmer, please."}),
    "dispute": ("dispute_job", {"reason": "It is empty."}),
    "withdraw_dispute": ("withdraw_dispute", {}),
    "review": ("review_job", {"rating": 5}),
    "message": ("post_message", {"body": "How is it going?"}),
    "pay": ("pay_job", {}),
}
_waiting: Query[Any] = Query(
    select(SeatRow.agent_id, AgentRow.status)
    .join_from(SeatRow.__table__, AgentRow.__table__, AgentRow.id == SeatRow.agent_id, isouter=True)
    .where(SeatRow.dispute_id == bindparam("dispute_id"), SeatRow.status == SeatStatus.PENDING)
)
TERMS = "payment_required"  # accepts a payment: the answer without a transaction
# Accepting again renews the lease of a worker, and a dry run shows no output.
REPEATABLE = {"thread_id", "worker", "lease_until", "next_steps", "deliveries", "output"}
REPEATABLE |= {"output_bytes", "output_hash", "output_salt", "output_commitment"}
NOT_NOW = {"invalid_transition", "job_not_payable", "not_paid", "job_not_settled", "not_found", "forbidden"}
NOT_NOW |= {"dispute_closed"}


class Actions(Oracle):
    """The available_actions of a job are exactly those that a dry run accepts.

    The places that were tried least are tried first: when an answer shows them, and later in jobs that it remembers.
    """

    def __init__(self, simulation: "Simulation") -> None:
        super().__init__(simulation)
        self.tried: Tried = Counter()
        self.looks = Counter[Place]()
        self.random = Random(simulation.seed)
        self.jobs: dict[str, dict[str, Json]] = {state: {} for state, _ in PLACES}  # by state and id, as seen last

    def observe(self, seen: Observation) -> None:
        shown = jobs_in(seen.answer)
        for job in shown:
            self._remember(job)
        if seen.call.key is not None and seen.agent is not None:
            self._try_one({place_of(job): (seen.call.key, job["id"]) for job in shown})

    async def look(self) -> None:
        places: dict[Place, tuple[str, str]] = {}
        for state, role in PLACES:
            jobs = [*self.jobs[state].values()]
            job = self.random.choice(jobs) if jobs else {}
            agent = self.simulation.identities.get((job.get(role) or {}).get("id"))
            if agent is not None:
                places[state, role] = agent.keys[job["env"]], job["id"]
        self._try_one(places)

    def _remember(self, job: Json) -> None:
        for jobs in self.jobs.values():
            jobs.pop(job["id"], None)
        jobs = self.jobs[kind(state_of(job))]
        jobs[job["id"]] = job
        if len(jobs) > REMEMBERED:
            del jobs[next(iter(jobs))]

    def _try_one(self, places: Mapping[Place, tuple[str, str]]) -> None:
        """Try the place with the fewest checks, if its next one is due; each has a key and a job."""
        place = min(places, key=lambda one: self.looks[one], default=None)
        if place is not None and self.looks[place] < self.simulation.made / EVERY:
            self.looks[place] += 1
            key, job_id = places[place]
            self.simulation.start(self._look_at(key, place, job_id))

    async def _look_at(self, key: str, place: Place, job_id: str) -> None:
        """Try all actions on a job; judge them if the job stayed as it was."""
        before = await self.simulation.ask(key, "get_job", job_id=job_id)
        if before is not None and not before.refused:
            self._remember(before.body)
            self.looks[place] -= 1  # the job may have moved on
            place = place_of(before.body)
            self.looks[place] += 1
        answers = [] if before is None or before.refused else [await self._try(key, before.body, one) for one in CALLS]
        after = await self.simulation.ask(key, "get_job", job_id=job_id)
        if before is None or before != after or not answers or None in answers or self._is_due(before.body):
            self.looks[place] -= 1
            return
        for action, answer in zip(CALLS, answers, strict=True):
            assert answer is not None
            self.tried[place_of(before.body), action] += 1
            await self._judge(before.body, action, answer)

    async def _judge(self, job: Json, action: str, answer: Answer) -> None:
        """Judge an answer, unless an evaluator left: then the next write decides the case."""
        try:
            judge(job, action, answer)
        except Violation:
            if job["status"] != "disputed" or not await self.simulation.read(partial(has_left, job=job)):
                raise

    def _is_due(self, job: Json) -> bool:
        """Tell if the time of a dispute is over.

        The next write or a worker decides it, because a read draws no panel.
        """
        until = (job["waiting_on"] or {}).get("until") if job["status"] == "disputed" else None
        return until is not None and datetime.fromisoformat(until) <= self.simulation.machine.clock.now()

    async def _try(self, key: str, job: Json, action: str) -> Answer | None:
        operation, given = CALLS[action]
        about = {"withdraw_dispute": "dispute_id", "message": "thread_id"}.get(action)
        subject = {"job_id": job["id"]} if about is None else {about: job[about] or "dsp_none"}
        answer = await self.simulation.ask(key, operation, dry_run=True, **subject, **given)
        return None if answer is None or answer.code == "rate_limited" else answer


def has_left(tx: Tx, job: Json) -> bool:
    """Tell if an evaluator without a vote is inactive, or came to hold a wallet of a party."""
    payment, parties = job["payment"], [job[role]["id"] for role in (BUYER, SELLER)]
    near = {payment["pay_to"], payment["pay_from"]}
    near.update(wallet for party in parties for wallet in tx.all(wallets_ever_held, agent_id=party))
    return any(
        status is not AgentStatus.ACTIVE or not near.isdisjoint(tx.all(wallets_ever_held, agent_id=agent))
        for agent, status in tx.all(_waiting, dispute_id=job["dispute_id"])
    )


def place_of(job: Json) -> Place:
    return kind(state_of(job)), job["role"]


def judge(job: Json, action: str, answer: Answer) -> None:
    """Raise Violation if an action is offered and refused, or accepted and not offered."""
    offered, accepted = action in job["available_actions"], answer.code in (None, TERMS)
    about = f"{action} of {job['id']}, {job['status']}, by its {job['role']}, which may {job['available_actions']}"
    if offered and answer.code in NOT_NOW:
        raise Violation(f"offered and refused with {answer.code}: {about}")
    if not offered and accepted and (changed := _changes(job, action, answer)):
        raise Violation(f"not offered and accepted: {about}; it changes {sorted(changed)}")


def _changes(job: Json, action: str, answer: Answer) -> set[str]:
    """Return what an accepted action would change; nothing if its result already holds.

    A seller's cancellation before work is a decline, which is offered.
    """
    if answer.code == TERMS:
        return {"payment"}
    if action == "cancel" and job["role"] == SELLER and "decline" in job["available_actions"]:
        return set()
    if action == "withdraw_dispute":
        return {"status"} if job["status"] == "disputed" else set()
    shown: dict[str, Any] = answer.body
    return {name for name in job if shown.get(name, job[name]) != job[name]} - REPEATABLE


def jobs_in(answer: Answer) -> list[Json]:
    """Return the jobs that an answer shows to one of their parties."""
    body = answer.body
    if answer.refused or not isinstance(body, dict):
        return []
    found = body["data"] if body.get("object") == "list" else [body]
    return [one for one in found if isinstance(one, dict) and one.get("object") == "job" and "role" in one]


def fewest(tried: Tried) -> dict[Place, int]:
    """Return for each place how often its least tried action was tried."""
    return {place: min(tried[place, action] for action in CALLS) for place in PLACES}


def lines(tried: Tried, enough: int = ENOUGH) -> Iterator[str]:
    """Yield the counts of checks as text: the smallest, and the places with too few.

    A run of usual length cannot reach ENOUGH; only a series can.
    """
    counts = fewest(tried)
    least = min(PLACES, key=lambda place: counts[place])
    yield f"available_actions: {tried.total():,} checks, at least {counts[least]:,} of each action, state and role"
    few = [f"{state} by the {role} {counts[state, role]:,}" for state, role in PLACES if counts[state, role] < enough]
    if few and enough == 1:
        yield f"never checked: {', '.join(one.removesuffix(' 0') for one in few)}"
    elif few:
        yield f"fewer than {enough:,} checks: {', '.join(few)}"
