"""Concurrent moves on one open bounty: every pair of the moves that the tables allow."""

from dataclasses import dataclass
from itertools import combinations
from typing import Any

from storage.vocabulary import Actor, BountyStatus, ProposalStatus
from tests.support.bounties import bounty, propose
from tests.support.job_races import Move
from tests.support.market import Agent
from tests.support.trade import Trade
from tools.bounties.rules import BOUNTY_MOVES, PROPOSAL_MOVES

CHOSEN, OTHER, LATE = "chosen", "other", "late"  # sellers: the first two have proposed, the third has not
OPERATIONS = {
    "award": "award_bounty",
    "close": "close_bounty",
    "withdraw": "withdraw_proposal",
    "propose": "propose_on_bounty",
}
PRICED = (("price", 7),)
MOVES = (
    Move("buyer", "award_bounty", (("proposal", CHOSEN),)),
    Move("buyer", "award_bounty", (("proposal", OTHER),)),
    Move("buyer", "close_bounty"),
    Move(CHOSEN, "withdraw_proposal"),
    Move(CHOSEN, "propose_on_bounty", PRICED),
    Move(LATE, "propose_on_bounty", PRICED),
)
PAIRS = [*combinations(MOVES, 2)]
NAMED = [" + ".join(f"{one.operation} {dict(one.given).get('proposal', one.by)}" for one in pair) for pair in PAIRS]
MOST = 15  # bounties of one buyer, below the limit of 20 open ones

Outcome = tuple[
    int, int, str, int, tuple[str, ...], int
]  # both statuses; the bounty's status and proposal count, its proposals' statuses, the number of jobs


def in_the_tables() -> set[str]:
    """Return the operations that parties can call on an open bounty with a pending proposal."""
    bounties = {move.action for move in BOUNTY_MOVES if move.source is BountyStatus.OPEN and move.actor is Actor.BUYER}
    proposals = {
        move.action
        for move in PROPOSAL_MOVES
        if move.source in (None, ProposalStatus.PENDING) and move.actor is not Actor.CLOCK
    }
    return {OPERATIONS[action] for action in bounties | proposals}


@dataclass(frozen=True)
class Contest:
    """A bounty with two proposals, and its parties."""

    parties: dict[str, Agent]
    posted: Any
    proposals: dict[str, Any]

    def given(self, move: Move) -> dict[str, Any]:
        said = dict(move.given)
        if "proposal" in said:
            said = {"proposal_id": self.proposals[said["proposal"]]["id"]}
        return {"bounty_id": self.posted["id"], **said}

    def key(self, move: Move) -> str:
        return self.parties[move.by].keys["test"]


async def parties(trade: Trade) -> dict[str, Agent]:
    return {
        "buyer": await trade.market.register("Bo"),
        **{name: await trade.agent(name) for name in (CHOSEN, OTHER, LATE)},
    }


async def contest(trade: Trade, among: dict[str, Agent]) -> Contest:
    posted = await bounty(trade, among["buyer"])
    proposals = {name: await propose(trade, among[name], posted) for name in (CHOSEN, OTHER)}
    return Contest(among, posted, proposals)


async def outcome(trade: Trade, one: Contest, answers: tuple[Any, Any]) -> Outcome:
    buyer = one.parties["buyer"]
    seen = await trade.market.call("get_bounty", by=buyer, bounty_id=one.posted["id"])
    proposals = (await trade.market.call("list_proposals", by=buyer, bounty_id=one.posted["id"]))["data"]
    jobs = (await trade.market.call("list_jobs", by=buyer, limit=100))["data"]
    made = [job["id"] for job in jobs if job["bounty_id"] == one.posted["id"]]
    assert made == ([seen["awarded_job_id"]] if seen["awarded_job_id"] else []), "one award, one job, and it is shown"
    stands = sorted(f"{_name(one, proposal)} {proposal['status']}" for proposal in proposals)
    return answers[0].status, answers[1].status, seen["status"], seen["proposal_count"], tuple(stands), len(made)


def _name(one: Contest, proposal: Any) -> str:
    return next(name for name, agent in one.parties.items() if agent.id == proposal["seller"]["id"])
