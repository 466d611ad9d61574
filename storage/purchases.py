"""Queries of purchases with one signed payment, and of the accounts they made."""

from sqlalchemy import bindparam, literal, select

from storage.query import Query
from storage.statements import LIMIT, delete_where, first_rows, matching
from storage.tables.agents import AgentRow, HandleRow, WalletRow
from storage.tables.events import EventRow
from storage.tables.listings import ListingRow
from storage.tables.messages import UnreadRow
from storage.tables.payments import PurchaseRow, SettlementRow, X402AccountRow
from storage.tables.reputation import CategoryRow, CounterpartyRow, ReputationRow

purchase_of: Query[PurchaseRow] = Query(
    select(PurchaseRow).where(*matching(PurchaseRow.env, PurchaseRow.payer, PurchaseRow.nonce))
)
refused_of: Query[str] = Query(
    select(PurchaseRow.id)
    .where(*matching(PurchaseRow.env, PurchaseRow.payer), PurchaseRow.status == literal("refused"))
    .limit(LIMIT)
)
forget_purchase = delete_where(PurchaseRow, *matching(PurchaseRow.id))
any_purchase_of: Query[str] = Query(select(PurchaseRow.id).where(*matching(PurchaseRow.agent_id)).limit(1))
any_settlement_of: Query[str] = Query(
    select(SettlementRow.id).where(SettlementRow.payer_agent_id == bindparam("agent_id")).limit(1)
)
_OF_BUYER = (X402AccountRow, HandleRow, UnreadRow, ReputationRow, CategoryRow, CounterpartyRow, EventRow)
forget_buyer: tuple[Query[None], ...] = (
    *(delete_where(kind, *matching(kind.agent_id)) for kind in _OF_BUYER),
    delete_where(AgentRow, AgentRow.id == bindparam("agent_id")),
)
"""Deletes all rows of an agent that a purchase made and that never paid, except its jobs and threads."""
due_purchases: Query[PurchaseRow] = first_rows(
    PurchaseRow, PurchaseRow.look_at <= bindparam("now"), by=[PurchaseRow.look_at]
)
owners_of_wallet: Query[AgentRow] = Query(
    select(AgentRow)
    .join(WalletRow, WalletRow.agent_id == AgentRow.id)
    .where(*matching(WalletRow.env, WalletRow.address))
    .order_by(WalletRow.bound_at, AgentRow.id)
    .limit(LIMIT)
)
unclaimed_account: Query[X402AccountRow] = Query(
    select(X402AccountRow)
    .where(*matching(X402AccountRow.env, X402AccountRow.address), X402AccountRow.claimed_at.is_(None))
    .with_for_update()
)
sold_at_once: Query[ListingRow] = Query(
    select(ListingRow)
    .join(AgentRow, AgentRow.id == ListingRow.seller_id)
    .where(
        *matching(ListingRow.env),
        ListingRow.status == literal("active"),
        ListingRow.payment == literal("on_delivery"),
        ListingRow.price > literal(0),
        AgentRow.first_party,
        AgentRow.status == literal("active"),
    )
    .order_by(ListingRow.id)
    .limit(LIMIT)
)
