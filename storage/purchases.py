"""Queries of purchases with one signed payment, and of the accounts they made."""

from sqlalchemy import bindparam, delete, literal, select

from storage.query import Query
from storage.tables import (
    AgentRow,
    CategoryRow,
    CounterpartyRow,
    EventRow,
    HandleRow,
    ListingRow,
    PurchaseRow,
    ReputationRow,
    SettlementRow,
    UnreadRow,
    WalletRow,
    X402AccountRow,
)

purchase_of: Query[PurchaseRow] = Query(
    select(PurchaseRow).where(
        PurchaseRow.env == bindparam("env"),
        PurchaseRow.payer == bindparam("payer"),
        PurchaseRow.nonce == bindparam("nonce"),
    )
)
refused_of: Query[str] = Query(
    select(PurchaseRow.id)
    .where(
        PurchaseRow.env == bindparam("env"),
        PurchaseRow.payer == bindparam("payer"),
        PurchaseRow.status == literal("refused"),
    )
    .limit(bindparam("limit"))
)
forget_purchase = Query(delete(PurchaseRow.__table__).where(PurchaseRow.id == bindparam("id")))
any_purchase_of: Query[str] = Query(
    select(PurchaseRow.id).where(PurchaseRow.agent_id == bindparam("agent_id")).limit(1)
)
any_settlement_of: Query[str] = Query(
    select(SettlementRow.id).where(SettlementRow.payer_agent_id == bindparam("agent_id")).limit(1)
)
forget_buyer: tuple[Query[None], ...] = tuple(
    Query(delete(kind.__table__).where(column == bindparam("agent_id")))
    for kind, column in (
        (X402AccountRow, X402AccountRow.agent_id),
        (HandleRow, HandleRow.agent_id),
        (UnreadRow, UnreadRow.agent_id),
        (ReputationRow, ReputationRow.agent_id),
        (CategoryRow, CategoryRow.agent_id),
        (CounterpartyRow, CounterpartyRow.agent_id),
        (EventRow, EventRow.agent_id),
        (AgentRow, AgentRow.id),
    )
)
"""Deletes all rows of an agent that a purchase made and that never paid, except its jobs and threads."""
due_purchases: Query[PurchaseRow] = Query(
    select(PurchaseRow)
    .where(PurchaseRow.look_at <= bindparam("now", type_=PurchaseRow.look_at.type))
    .order_by(PurchaseRow.look_at)
    .limit(bindparam("limit"))
)
owners_of_wallet: Query[AgentRow] = Query(
    select(AgentRow)
    .join(WalletRow, WalletRow.agent_id == AgentRow.id)
    .where(WalletRow.env == bindparam("env"), WalletRow.address == bindparam("address"))
    .order_by(WalletRow.bound_at, AgentRow.id)
    .limit(bindparam("limit"))
)
unclaimed_account: Query[X402AccountRow] = Query(
    select(X402AccountRow)
    .where(
        X402AccountRow.env == bindparam("env"),
        X402AccountRow.address == bindparam("address"),
        X402AccountRow.claimed_at.is_(None),
    )
    .with_for_update()
)
sold_at_once: Query[ListingRow] = Query(
    select(ListingRow)
    .join(AgentRow, AgentRow.id == ListingRow.seller_id)
    .where(
        ListingRow.env == bindparam("env"),
        ListingRow.status == literal("active"),
        ListingRow.payment == literal("on_delivery"),
        ListingRow.price > literal(0),
        AgentRow.first_party,
        AgentRow.status == literal("active"),
    )
    .order_by(ListingRow.id)
    .limit(bindparam("limit"))
)
