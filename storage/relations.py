"""Queries of relations between agents before a time: wallets, domains, payers; and referrals."""

from typing import Any

from sqlalchemy import bindparam, func, literal, select

from storage.json_in import in_json_list
from storage.query import Query
from storage.tables import AgentRow, HeldDomainRow, HeldWalletRow, SettlementRow

referrals_of: Query[Any] = Query(
    select(AgentRow.id, AgentRow.referred_by, AgentRow.first_party).where(in_json_list(AgentRow.id, "ids"))
)
wallets_of_agents: Query[Any] = Query(
    select(HeldWalletRow.agent_id, HeldWalletRow.address).where(
        in_json_list(HeldWalletRow.agent_id, "ids"),
        HeldWalletRow.held_at < bindparam("until", type_=HeldWalletRow.held_at.type),
    )
)
domains_of_agents: Query[Any] = Query(
    select(HeldDomainRow.agent_id, HeldDomainRow.domain).where(
        in_json_list(HeldDomainRow.agent_id, "ids"),
        HeldDomainRow.held_at < bindparam("until", type_=HeldDomainRow.held_at.type),
    )
)
payers_of_agents: Query[Any] = Query(
    select(SettlementRow.payee_agent_id, SettlementRow.payer_address, func.sum(SettlementRow.amount))
    .where(
        in_json_list(SettlementRow.payee_agent_id, "ids"),
        SettlementRow.env == bindparam("env"),
        SettlementRow.kind == literal("payment"),
        SettlementRow.status == literal("settled"),
        SettlementRow.settled_at < bindparam("until", type_=SettlementRow.settled_at.type),
    )
    .group_by(SettlementRow.payee_agent_id, SettlementRow.payer_address)
)
operators_wallets: Query[str] = Query(
    select(HeldWalletRow.address)
    .join_from(HeldWalletRow.__table__, AgentRow.__table__, AgentRow.id == HeldWalletRow.agent_id)
    .where(AgentRow.first_party == bindparam("first_party"))
    .distinct()
)
