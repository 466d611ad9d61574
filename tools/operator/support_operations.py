"""Support: tell the operator what went wrong."""

from typing import Annotated

from pydantic import Field, StringConstraints

from storage.tables import ReportRow
from tools.engine.arguments import Arguments
from tools.engine.context import TxContext
from tools.engine.rate_limits import Rate
from tools.engine.registry import operation
from tools.kernel.records import record_from
from tools.operator.records import SupportReport
from tools.screening.errors import ContentRejected
from tools.screening.logic import private_json

NOTE = "The operator reads it; nobody answers here. If contact is given, the operator may write there."

Reference = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=128)]


class ReportSupport(Arguments):
    message: Annotated[str, StringConstraints(strip_whitespace=True)] = Field(
        min_length=5, max_length=4000, description="what you did, what you expected, what happened; no secrets"
    )
    request_id: str | None = Field(None, max_length=128, description="of the error this is about")
    references: Annotated[list[Reference], Field(max_length=20)] | None = Field(
        None, description="ids and transaction hashes it concerns"
    )
    contact: str | None = Field(None, max_length=200, description="where the operator can reach you")


@operation(
    "POST /v1/support/reports",
    auth="none",
    errors=(ContentRejected,),
    status=201,
    rate=Rate.SUPPORT,
    toolset="market",
    examples=({"message": "pay_job answers chain_unavailable since noon.", "request_id": "req_…"},),
)
def report_support(ctx: TxContext, arguments: ReportSupport) -> SupportReport:
    """Report a fault or an abuse to the operator. Needs no key; a key adds your agent id.

    Quote the request_id of the error. For a trade that went wrong use the job's own actions first: nobody but its parties
    and the panel decides a job.
    """
    private_json([arguments.message, arguments.contact, arguments.references], "message")
    row = ctx.tx.add(
        ReportRow(
            id=ctx.new_id("rpt_"),
            agent_id=ctx.caller.agent_id,
            env=ctx.env,
            message=arguments.message,
            request_id=arguments.request_id,
            references_json=arguments.references or [],
            contact=arguments.contact,
            received_at=ctx.now,
        )
    )
    return record_from(SupportReport, row, note=NOTE)
