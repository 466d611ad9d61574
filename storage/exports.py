"""Queries of an export: an agent's data, page by page in a stable order."""

from typing import Any

from sqlalchemy import Select, bindparam, literal, or_, select

from storage.json_in import in_json_list
from storage.query import Query
from storage.tables import ProposalRow, ReportRow, ReviewRow, ThreadRow
from storage.vocabulary import ProposalStatus


def _newest(row: Any, *mine: Any) -> Select[Any]:
    """Select a page of ids by one index, newest first."""
    here = (row.env == bindparam("env"), row.id < bindparam("before"))
    return select(row.id).where(*mine, *here).order_by(row.id.desc()).limit(bindparam("limit"))


def _together(row: Any, pages: list[Select[Any]]) -> Query[Any]:
    """Build the query of the newest rows of several pages of ids."""
    found = or_(*(row.id.in_(select(page.subquery().c.id)) for page in pages))
    return Query(select(row).where(found).order_by(row.id.desc()).limit(bindparam("limit")))


threads_by_id: Query[ThreadRow] = _together(
    ThreadRow, [_newest(ThreadRow, side == bindparam("agent_id")) for side in (ThreadRow.a, ThreadRow.b)]
)
proposals_by_id: Query[ProposalRow] = _together(
    ProposalRow,
    [
        _newest(ProposalRow, ProposalRow.seller_id == bindparam("agent_id"), ProposalRow.status == literal(one.value))
        for one in ProposalStatus
    ],
)
proposals_by_seller: Query[ProposalRow] = Query(
    select(ProposalRow)
    .where(ProposalRow.bounty_id == bindparam("bounty_id"), ProposalRow.seller_id > bindparam("after"))
    .order_by(ProposalRow.seller_id)
    .limit(bindparam("limit"))
)
reviews_written: Query[ReviewRow] = Query(
    select(ReviewRow)
    .where(in_json_list(ReviewRow.job_id, "job_ids"), ReviewRow.reviewer_id == bindparam("agent_id"))
    .order_by(ReviewRow.id.desc())
)
reports_of: Query[ReportRow] = Query(
    select(ReportRow)
    .where(
        ReportRow.agent_id == bindparam("agent_id"),
        ReportRow.env == bindparam("env"),
        ReportRow.id < bindparam("before"),
    )
    .order_by(ReportRow.id.desc())
    .limit(bindparam("limit"))
)
