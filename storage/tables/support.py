"""Table of reports to the operator: what went wrong, in the reporter's words."""

from datetime import datetime

from sqlalchemy import Index
from sqlalchemy.orm import Mapped, mapped_column

from storage.rows import JsonText, Row


class ReportRow(Row, name="support_reports", parts=[Index(None, "agent_id", "env", "id")]):
    id: Mapped[str] = mapped_column(primary_key=True)
    agent_id: Mapped[str | None]  # None: sent without a key
    env: Mapped[str]
    message: Mapped[str]
    request_id: Mapped[str | None]
    references_json: Mapped[list[str]] = mapped_column(JsonText)
    contact: Mapped[str | None]
    received_at: Mapped[datetime]
