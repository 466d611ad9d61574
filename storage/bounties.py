"""Queries of bounties and proposals, and of sellers' listings that help to compare proposals."""

from functools import cache
from typing import Any

from sqlalchemy import Select, bindparam, func, literal, or_, select, update

from storage.json_in import in_json_list
from storage.query import Query
from storage.tables import BountyRow, DocumentRow, ListingRow, ProposalRow

MAX_EXAMPLE = 8_192  # characters of an example that is checked against a bounty's schema
EXAMPLES_EACH = 3

OPEN_NOW = (  # by the clock, because the sweep of expired bounties may not have run yet
    BountyRow.status == literal("open"),
    BountyRow.expires_at > bindparam("now"),
)
bounties_among = Query(select(BountyRow).where(in_json_list(BountyRow.id, "ids")))
documents_among = Query(select(DocumentRow).where(in_json_list(DocumentRow.hash, "ids")))
bounties_of_buyer = Query(
    select(BountyRow)
    .where(
        BountyRow.buyer_id == bindparam("buyer_id"),
        BountyRow.env == bindparam("env"),
        BountyRow.id < bindparam("before"),
    )
    .order_by(BountyRow.id.desc())
    .limit(bindparam("limit"))
)
open_bounties_of: Query[int] = Query(
    select(func.count())
    .select_from(BountyRow.__table__)
    .where(
        BountyRow.buyer_id == bindparam("buyer_id"),
        BountyRow.env == bindparam("env"),
        *OPEN_NOW,
    )
)
due_bounties = Query(
    select(BountyRow)
    .where(
        BountyRow.status == literal("open"),
        BountyRow.expires_at >= bindparam("since"),
        BountyRow.expires_at <= bindparam("until"),
        or_(BountyRow.expires_at > bindparam("since"), BountyRow.id > bindparam("after")),
    )
    .order_by(BountyRow.expires_at, BountyRow.id)
    .limit(bindparam("limit"))
    .with_for_update(skip_locked=True)
)

proposal_of = Query(
    select(ProposalRow)
    .where(ProposalRow.bounty_id == bindparam("bounty_id"), ProposalRow.seller_id == bindparam("seller_id"))
    .with_for_update()
)
own_proposal = Query(
    select(ProposalRow).where(
        ProposalRow.bounty_id == bindparam("bounty_id"), ProposalRow.seller_id == bindparam("seller_id")
    )
)
reject_pending = Query(
    update(ProposalRow.__table__)
    .where(ProposalRow.bounty_id == bindparam("_bounty_id"), ProposalRow.status == literal("pending"))
    .values(status=literal("rejected"), version=ProposalRow.version + 1, updated_at=bindparam("updated_at"))
    .returning(*ProposalRow.__table__.c)
)
proposals_by_price = Query(
    select(ProposalRow)
    .where(
        ProposalRow.bounty_id == bindparam("bounty_id"),
        ProposalRow.price >= bindparam("price"),
        or_(ProposalRow.price > bindparam("price"), ProposalRow.id > bindparam("after")),
    )
    .order_by(ProposalRow.price, ProposalRow.id)
    .limit(bindparam("limit"))
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
    .where(
        ProposalRow.buyer_id == bindparam("buyer_id"),
        ProposalRow.env == bindparam("env"),
        ProposalRow.status == literal("pending"),
        *OPEN_NOW,
    )
    .order_by(ProposalRow.id)
    .limit(bindparam("limit"))
)


@cache
def bounties_at(env: str) -> Query[BountyRow]:
    """Build the query of an agent's open bounties in one environment, by id.

    Bounties that another unit of work has locked are skipped.
    """
    return Query(_undecided(BountyRow, BountyRow.buyer_id, env, "open").with_for_update(skip_locked=True))


@cache
def proposals_at(env: str) -> Query[ProposalRow]:
    """Build the query of an agent's pending proposals in one environment, by id.

    They are not locked, because their bounties are, one by one.
    """
    return Query(_undecided(ProposalRow, ProposalRow.seller_id, env, "pending"))


def _undecided(row: Any, owner: Any, env: str, status: str) -> Select[Any]:
    mine = (owner == bindparam("agent_id"), row.env == literal(env), row.status == literal(status))
    return select(row).where(*mine, row.id > bindparam("after")).order_by(row.id).limit(bindparam("limit"))


# Active listings of sellers: their output schemas and examples.

_on_sale = (
    in_json_list(ListingRow.seller_id, "ids"),
    ListingRow.env == bindparam("env"),
    ListingRow.status == literal("active"),
)
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
