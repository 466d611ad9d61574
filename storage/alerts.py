"""Queries of bounty alerts: the bounties to announce, and the agents to notify."""

from sqlalchemy import bindparam, delete, func, literal, select

from storage.query import Query
from storage.tables import AgentRow, BountyAlertRow, BountyMatchRow, BountyRow

ANY_MATCH: Query[str] = Query(select(BountyMatchRow.bounty_id).limit(1))
next_match = Query(select(BountyMatchRow).order_by(BountyMatchRow.bounty_id).limit(1).with_for_update(skip_locked=True))
matched: Query[None] = Query(delete(BountyMatchRow.__table__).where(BountyMatchRow.bounty_id == bindparam("bounty_id")))
alerted_agents = Query(  # ordered by id, so that two processes lock the rows in the same order
    select(BountyAlertRow)
    .where(
        BountyAlertRow.env == bindparam("env"),
        BountyAlertRow.enabled,
        BountyAlertRow.agent_id > bindparam("after"),
    )
    .order_by(BountyAlertRow.agent_id)
    .limit(bindparam("limit"))
    .with_for_update()
)
active_among_alerted = Query(
    select(AgentRow)
    .join_from(AgentRow.__table__, BountyAlertRow.__table__, BountyAlertRow.agent_id == AgentRow.id)
    .where(
        BountyAlertRow.env == bindparam("env"),
        BountyAlertRow.enabled,
        BountyAlertRow.agent_id > bindparam("after"),
        BountyAlertRow.agent_id <= bindparam("until"),
        AgentRow.status == literal("active"),
    )
)
bounties_before: Query[int] = Query(
    select(func.count())
    .select_from(BountyRow.__table__)
    .where(
        BountyRow.buyer_id == bindparam("buyer_id"),
        BountyRow.env == bindparam("env"),
        BountyRow.id >= bindparam("since"),
        BountyRow.id < bindparam("before"),
    )
)
