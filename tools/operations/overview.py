"""The operator's overview: what is stuck and waits for somebody, and how much there is of everything."""

from collections import defaultdict
from collections.abc import Sequence

import orjson

from storage.jobs import settlements_of_jobs
from storage.overview import agents_by_status, escalated, failing_webhooks, jobs_by_status, orphans, refunds_open
from storage.tables import AgentStatus, JobRow, SettlementRow
from storage.unit import Tx
from tools.arguments import NoArguments
from tools.context import Outside
from tools.ports import Env
from tools.records.base import stamp
from tools.records.overview import EscalatedDispute, FailingWebhook, JobCount, Overview, RefundOwed
from tools.registry import operation
from tools.rules.jobfacts import refund_expected
from tools.rules.money import display
from tools.steps.jobs import SeenJob
from tools.steps.meta import sanctions_state
from tools.steps.settlements import settlement_record

SHOWN = 100


@operation("GET /v1/admin/overview", auth="admin", toolset="operator")
async def get_overview(outside: Outside, _: NoArguments) -> Overview:
    """See what waits: escalated disputes, refunds owed, transfers without a job, webhooks that fail; agents and jobs by status."""
    return await outside.store.scan(lambda tx: _overview(tx, outside))


def _overview(tx: Tx, outside: Outside) -> Overview:
    return Overview(
        disputes=[
            EscalatedDispute(
                id=row.id,
                job_id=row.job_id,
                env=Env(row.env),
                escalation_reason=row.escalation_reason,
                created_at=stamp(row.created_at),
            )
            for row in tx.all(escalated, limit=SHOWN)
        ],
        refunds_due=_refunds(tx, tx.all(refunds_open, limit=SHOWN)),
        orphaned_settlements=[
            settlement_record(row, outside.house.networks[Env(row.env)], None) for row in tx.all(orphans, limit=SHOWN)
        ],
        failing_webhooks=[
            FailingWebhook(
                id=row.id, agent_id=row.agent_id, env=Env(row.env), status=row.status.value, failures=row.failures
            )
            for row in tx.all(failing_webhooks, limit=SHOWN)
        ],
        agents={AgentStatus(status).value: count for status, count in tx.all(agents_by_status)},
        jobs=[JobCount(env=Env(env), status=status, count=count) for env, status, count in tx.all(jobs_by_status)],
        sanctions=sanctions_state(outside.world.sanctions),
        generated_at=stamp(outside.now),
    )


def _refunds(tx: Tx, rows: Sequence[JobRow]) -> list[RefundOwed]:
    settlements = defaultdict[str, list[SettlementRow]](list)
    for one in tx.all(settlements_of_jobs, job_ids=orjson.dumps([row.id for row in rows]).decode()) if rows else ():
        settlements[one.job_id].append(one)
    seen = [SeenJob(row, tuple(settlements[row.id]), frozenset()) for row in rows]
    return [
        RefundOwed(
            job_id=one.row.id,
            env=Env(one.row.env),
            seller_id=one.row.seller_id,
            buyer_id=one.row.buyer_id,
            amount=refund_expected(one.facts),
            display=display(refund_expected(one.facts)),
            updated_at=stamp(one.row.updated_at),
        )
        for one in seen
    ]
