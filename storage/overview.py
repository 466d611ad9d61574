"""Queries of the operator's overview: open problems, and counts of agents and jobs."""

from typing import Any

from sqlalchemy import bindparam, func, literal, select

from storage.query import Query
from storage.tables import AgentRow, DisputeRow, JobRow, OpenRefundRow, ReportRow, SettlementRow, WebhookRow

escalated: Query[DisputeRow] = Query(
    select(DisputeRow)
    .where(DisputeRow.status == literal("escalated"))
    .order_by(DisputeRow.id)
    .limit(bindparam("limit"))
)
refunds_open: Query[JobRow] = Query(
    select(JobRow)
    .select_from(OpenRefundRow.__table__.join(JobRow.__table__, JobRow.id == OpenRefundRow.job_id))
    .order_by(JobRow.id)
    .limit(bindparam("limit"))
)
orphans: Query[SettlementRow] = Query(  # only of jobs that still owe a refund: the others were sent back
    select(SettlementRow)
    .select_from(OpenRefundRow.__table__.join(SettlementRow.__table__, SettlementRow.job_id == OpenRefundRow.job_id))
    .where(SettlementRow.status == literal("orphaned"))
    .order_by(SettlementRow.id)
    .limit(bindparam("limit"))
)
failing_webhooks: Query[WebhookRow] = Query(
    select(WebhookRow)
    .where(WebhookRow.failures > literal(0))
    .order_by(WebhookRow.failures.desc(), WebhookRow.id)
    .limit(bindparam("limit"))
)
newest_reports: Query[ReportRow] = Query(select(ReportRow).order_by(ReportRow.id.desc()).limit(bindparam("limit")))
agents_by_status: Query[Any] = Query(select(AgentRow.status, func.count()).group_by(AgentRow.status))
jobs_by_status: Query[Any] = Query(
    select(JobRow.env, JobRow.status, func.count())
    .group_by(JobRow.env, JobRow.status)
    .order_by(JobRow.env, JobRow.status)
)
