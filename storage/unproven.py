"""Queries that find an agent which acts on a wallet it has not proven."""

from typing import Any

from sqlalchemy import String, cast, exists, func, literal, or_, select

from storage.json_in import in_json_list
from storage.query import Query
from storage.tables import (
    AgentRow,
    HeldWalletRow,
    JobRow,
    KeyRow,
    ListingRow,
    PurchaseRow,
    SettlementRow,
    WalletRow,
    X402AccountRow,
)

wallets_unproven: Query[Any] = Query(
    select(WalletRow.agent_id, WalletRow.env).where(
        in_json_list(WalletRow.agent_id, "ids"),
        ~exists().where(HeldWalletRow.agent_id == WalletRow.agent_id, HeldWalletRow.address == WalletRow.address),
    )
)
payers_unproven: Query[str] = Query(
    select(SettlementRow.id).where(
        in_json_list(SettlementRow.job_id, "ids"),
        SettlementRow.kind == literal("payment"),
        ~exists().where(
            HeldWalletRow.agent_id == SettlementRow.payer_agent_id,
            HeldWalletRow.address == SettlementRow.payer_address,
        ),
        ~exists().where(
            PurchaseRow.job_id == SettlementRow.job_id,
            PurchaseRow.payer == func.lower(cast(SettlementRow.payer_address, String)),
        ),
        ~exists().where(JobRow.id == SettlementRow.job_id, JobRow.pay_from == SettlementRow.payer_address),
    )
)
_ACTS = or_(
    exists().where(WalletRow.agent_id == AgentRow.id),
    exists().where(KeyRow.agent_id == AgentRow.id, KeyRow.status == literal("active")),
    exists().where(ListingRow.seller_id == AgentRow.id, ListingRow.status == literal("active")),
    AgentRow.status == literal("active"),
    ~exists().where(
        PurchaseRow.agent_id == AgentRow.id, PurchaseRow.payer == func.lower(cast(X402AccountRow.address, String))
    ),
)
accounts_unproven: Query[str] = Query(
    select(AgentRow.id)
    .select_from(AgentRow.__table__.outerjoin(X402AccountRow.__table__, X402AccountRow.agent_id == AgentRow.id))
    .where(
        in_json_list(AgentRow.id, "ids"),
        or_(
            X402AccountRow.agent_id.is_not(None) & X402AccountRow.claimed_at.is_(None) & _ACTS,
            (AgentRow.status == literal("unclaimed"))
            & or_(X402AccountRow.agent_id.is_(None), X402AccountRow.claimed_at.is_not(None)),
        ),
    )
)
"""Unclaimed accounts that own or do something or whose wallet bought nothing.

Also unclaimed agents without such an account.
"""
