"""The moves of bounties, proposals and disputes, derived from events and seats."""

from collections.abc import Iterator

import orjson
from sqlalchemy import bindparam, select

from storage.query import Query
from storage.statements import in_json_list, is_one_of
from storage.tables import EventRow, SeatRow
from storage.vocabulary import BountyStatus, ProposalStatus, SeatStatus
from tests.simulation.history import PAGE
from tests.simulation.matrix import Row, name_of
from tools.bounties.rules import BOUNTY_MOVES, PROPOSAL_MOVES

Found = tuple[Row, str]  # with the id of its bounty, proposal or dispute, if it happens once for each
DECIDED = ("dispute.decided", "dispute.escalated")
READ_KINDS = (
    "bounty.proposal_received",
    "bounty.awarded",
    "bounty.closed",
    "bounty.expired",
    "dispute.panel",
    *DECIDED,
)
SEATS = {SeatStatus.VOTED: "vote", SeatStatus.MISSED: "miss a vote", SeatStatus.VOID: "void a seat"}
events_after: Query[EventRow] = Query(
    select(EventRow)
    .where(EventRow.id > bindparam("after"), is_one_of(EventRow.kind, READ_KINDS))
    .order_by(EventRow.id)
    .limit(PAGE)
)
seats_of: Query[SeatRow] = Query(
    select(SeatRow).where(in_json_list(SeatRow.dispute_id, "ids")).order_by(SeatRow.dispute_id, SeatRow.agent_id)
)


def _bounty(action: str) -> Row:
    return "bounties", next(name_of(one) for one in BOUNTY_MOVES if one.action == action)


def _proposal(action: str, source: ProposalStatus | None, target: ProposalStatus) -> Row:
    place = action, source, target
    return "proposals", next(name_of(one) for one in PROPOSAL_MOVES if (one.action, one.source, one.target) == place)


PENDING, REJECTED = ProposalStatus.PENDING, ProposalStatus.REJECTED
ANSWERED = {  # moves without an event, by the operation that makes them
    "create_bounty": _bounty("post"),
    "close_bounty": _bounty("close"),
    "withdraw_proposal": _proposal("withdraw", PENDING, ProposalStatus.WITHDRAWN),
}


def moves_in(event: EventRow) -> Iterator[Found]:
    """Yield the moves that an event of READ_KINDS is about."""
    data = orjson.loads(event.data)
    about: str = data.get("dispute_id") or data.get("proposal_id") or data["bounty_id"]
    match event.kind:
        case "bounty.proposal_received":
            yield _proposal("propose", PENDING if data["updated"] else None, PENDING), str(event.id)
        case "bounty.awarded":
            yield _bounty("award"), data["bounty_id"]
            yield _proposal("award", PENDING, ProposalStatus.ACCEPTED), about
        case "bounty.closed":
            action = "award" if data["status"] == BountyStatus.AWARDED else "close"
            yield _proposal(action, PENDING, REJECTED), about
        case "bounty.expired":
            yield (_proposal("expire", PENDING, REJECTED) if data["proposal_id"] else _bounty("expire")), about
        case "dispute.panel":
            yield ("disputes", f"draw round {data['round']}"), about
        case "dispute.escalated":
            yield ("disputes", f"escalate: {data['reason']}"), about
        case "dispute.decided":
            yield ("disputes", f"decide by {data['decided_by']}"), about
