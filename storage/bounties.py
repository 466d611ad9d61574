"""Queries of bounties, proposals and bounty alerts, and of sellers' listings that help to compare proposals."""

from typing import Any

from sqlalchemy import bindparam, func, literal, or_, select, update

from storage.query import Query
from storage.statements import (
    LIMIT,
    after_id,
    count,
    delete_where,
    due_rows,
    first_rows,
    in_json_list,
    is_one_of,
    matching,
    newest_ids,
    newest_of,
    newest_rows,
    rows_among,
)
from storage.tables import AgentRow, BountyAlertRow, BountyMatchRow, BountyRow, DocumentRow, ListingRow, ProposalRow
from storage.vocabulary import UNDECIDED, ProposalStatus

MAX_EXAMPLE = 8_192  # characters of an example that is checked against a bounty's schema
EXAMPLES_EACH = 3

OPEN_NOW = (  # by the clock, because the sweep of expired bounties may not have run yet
    BountyRow.status == literal("open"),
    BountyRow.expires_at > bindparam("now"),
)
_UNDECIDED = is_one_of(BountyRow.status, UNDECIDED)
_UNDECIDED_NOW = (_UNDECIDED, BountyRow.expires_at > bindparam("now"))
_BUYERS = matching(BountyRow.buyer_id, BountyRow.env)
bounties_among = rows_among(BountyRow, BountyRow.id)
documents_among = rows_among(DocumentRow, DocumentRow.hash)
bounties_of_buyer: Query[BountyRow] = newest_rows(BountyRow, *_BUYERS)
undecided_bounties_of = count(BountyRow, *_BUYERS, *_UNDECIDED_NOW)
due_bounties: Query[BountyRow] = due_rows(BountyRow, BountyRow.expires_at, _UNDECIDED)

proposals_by_id: Query[ProposalRow] = newest_of(
    ProposalRow,
    [
        newest_ids(ProposalRow, ProposalRow.seller_id, ProposalRow.status == literal(status.value))
        for status in ProposalStatus
    ],
)
proposals_by_seller: Query[ProposalRow] = Query(
    after_id(select(ProposalRow).where(*matching(ProposalRow.bounty_id)), ProposalRow.seller_id)
)
_own_proposal = select(ProposalRow).where(*matching(ProposalRow.bounty_id, ProposalRow.seller_id))
own_proposal = Query(_own_proposal)
proposal_of = Query(_own_proposal.with_for_update())
reject_pending = Query(
    update(ProposalRow.__table__)
    .where(ProposalRow.bounty_id == bindparam("_bounty_id"), ProposalRow.status == literal("pending"))
    .values(status=literal("rejected"), version=ProposalRow.version + 1, updated_at=bindparam("updated_at"))
    .returning(*ProposalRow.__table__.c)
)
proposals_by_price: Query[ProposalRow] = first_rows(
    ProposalRow,
    *matching(ProposalRow.bounty_id),
    ProposalRow.price >= bindparam("price"),
    or_(ProposalRow.price > bindparam("price"), ProposalRow.id > bindparam("after")),
    by=(ProposalRow.price, ProposalRow.id),
)
awaiting_decision: Query[Any] = Query(
    select(
        ProposalRow.id,
        ProposalRow.bounty_id,
        BountyRow.title,
        ProposalRow.seller_id,
        ProposalRow.price,
        ProposalRow.payment,
        BountyRow.expires_at,
        ProposalRow.created_at,
    )
    .select_from(ProposalRow.__table__.join(BountyRow.__table__, BountyRow.id == ProposalRow.bounty_id))
    .where(*matching(ProposalRow.buyer_id, ProposalRow.env), ProposalRow.status == literal("pending"), *_UNDECIDED_NOW)
    .order_by(ProposalRow.id)
    .limit(LIMIT)
)


# Active listings of sellers: their output schemas and examples.

_on_sale = in_json_list(ListingRow.seller_id, "ids"), *matching(ListingRow.env), ListingRow.status == literal("active")
sellers_of_schema: Query[str] = Query(
    select(ListingRow.seller_id).where(*_on_sale, ListingRow.output_schema == bindparam("schema")).distinct()
)
_shown = (
    select(
        ListingRow.seller_id,
        ListingRow.example_output,
        func.row_number().over(partition_by=ListingRow.seller_id, order_by=ListingRow.id.desc()).label("place"),
    )
    .where(*_on_sale, ListingRow.example_output.is_not(None), func.length(ListingRow.example_output) <= MAX_EXAMPLE)
    .subquery()
)
examples_of_sellers: Query[Any] = Query(
    select(_shown.c.seller_id, _shown.c.example_output).where(_shown.c.place <= EXAMPLES_EACH)
)

# Alerts: the bounties to announce, and the agents to notify.

ANY_MATCH: Query[str] = Query(select(BountyMatchRow.bounty_id).limit(1))
next_match = Query(select(BountyMatchRow).order_by(BountyMatchRow.bounty_id).limit(1).with_for_update(skip_locked=True))
matched = delete_where(BountyMatchRow, *matching(BountyMatchRow.bounty_id))
_ALERTED = *matching(BountyAlertRow.env), BountyAlertRow.enabled, BountyAlertRow.agent_id > bindparam("after")
alerted_agents = Query(  # ordered by id, so that two processes lock the rows in the same order
    select(BountyAlertRow).where(*_ALERTED).order_by(BountyAlertRow.agent_id).limit(LIMIT).with_for_update()
)
active_among_alerted = Query(
    select(AgentRow)
    .join_from(AgentRow.__table__, BountyAlertRow.__table__, BountyAlertRow.agent_id == AgentRow.id)
    .where(*_ALERTED, BountyAlertRow.agent_id <= bindparam("until"), AgentRow.status == literal("active"))
)
bounties_before = count(BountyRow, *_BUYERS, BountyRow.id >= bindparam("since"), BountyRow.id < bindparam("before"))
