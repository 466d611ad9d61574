"""Queries of purchases."""

from sqlalchemy import bindparam, literal, select

from storage.query import Query
from storage.tables import AgentRow, KeyRow, ListingRow, PurchaseRow, WalletRow

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
any_key_of: Query[str] = Query(select(KeyRow.id).where(KeyRow.agent_id == bindparam("agent_id")).limit(1))
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
