"""Tables of bounty alerts: the agents that want them, and the bounties still to be announced."""

from datetime import datetime

from sqlalchemy import Index, text
from sqlalchemy.orm import Mapped, mapped_column

from storage.rows import JsonText, Row

_ON = text("enabled")


class BountyAlertRow(
    Row,
    name="bounty_alerts",
    parts=[Index("ix_bounty_alerts_on", "env", "agent_id", sqlite_where=_ON, postgresql_where=_ON)],
):
    """An agent's setting for bounty alerts, and the buyers of the bounties sent on a UTC day."""

    agent_id: Mapped[str] = mapped_column(primary_key=True)
    env: Mapped[str] = mapped_column(primary_key=True)
    version: Mapped[int] = mapped_column(default=1)
    enabled: Mapped[bool]
    day: Mapped[str] = mapped_column(default="")
    buyers: Mapped[list[str]] = mapped_column(JsonText, default=[])  # of each bounty it was sent on that day
    strangers: Mapped[int] = mapped_column(default=0)  # how many of them had never paid
    updated_at: Mapped[datetime]


class BountyMatchRow(Row, name="bounty_matches"):
    """A bounty still to be announced, to agents with ids after `after`."""

    bounty_id: Mapped[str] = mapped_column(primary_key=True)
    version: Mapped[int] = mapped_column(default=1)
    after: Mapped[str] = mapped_column(default="")
