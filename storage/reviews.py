"""Queries of reviews."""

from functools import cache

from sqlalchemy import bindparam, select

from storage.query import Query
from storage.tables import ReviewRow


@cache
def reviews_about(by_role: bool) -> Query[ReviewRow]:
    """Build the query of a page of reviews about an agent, newest first.

    With `by_role`, only those by reviewers in one role.
    """
    conditions = [
        ReviewRow.subject_id == bindparam("subject_id"),
        ReviewRow.env == bindparam("env"),
        ReviewRow.id < bindparam("before"),
    ]
    if by_role:
        conditions.append(ReviewRow.role == bindparam("role"))
    return Query(select(ReviewRow).where(*conditions).order_by(ReviewRow.id.desc()).limit(bindparam("limit")))
