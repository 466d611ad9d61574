"""A condition of searches: the agent made a call since a given time."""

from typing import Any

from sqlalchemy import ColumnElement, bindparam, exists, select

from storage.tables.agents import AgentRow

SEEN_SINCE = "seen_since"


def was_seen(agent_id: Any) -> ColumnElement[bool]:
    """Return the condition that the agent was seen at or after the value bound as seen_since."""
    since = bindparam(SEEN_SINCE, type_=AgentRow.last_seen_at.type)
    return exists(select(AgentRow.id).where(AgentRow.id == agent_id, AgentRow.last_seen_at >= since))
