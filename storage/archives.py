"""Queries of archives: jobs that ended long ago, the rows of jobs that move, and the marks that stay."""

from typing import Any

from sqlalchemy import bindparam, exists, select

from storage.query import Query
from storage.statements import after_id, delete_where, in_json_list, is_one_of, matching, rows_among
from storage.tables.archives import ArchivedJobRow, ArchiveRow
from storage.tables.jobs import JobEventRow, JobRow, OpenRefundRow
from storage.tables.messages import MessageRow
from storage.tables.quotas import JobTextRow
from storage.vocabulary import FINAL

# Of jobs that ended before a time, in the order of their ids.
ended_jobs: Query[JobRow] = Query(
    after_id(
        select(JobRow).where(
            is_one_of(JobRow.status, sorted(FINAL)),
            JobRow.updated_at < bindparam("ended_before"),
            JobRow.forget_at.is_(None),
            ~exists().where(OpenRefundRow.job_id == JobRow.id),
            ~exists().where(ArchivedJobRow.job_id == JobRow.id),
        ),
        JobRow.id,
    )
)
texts_to_move = rows_among(JobTextRow, JobTextRow.job_id)
history_to_move = rows_among(JobEventRow, JobEventRow.job_id)
messages_to_move = rows_among(MessageRow, MessageRow.thread_id)
drop_texts = delete_where(JobTextRow, in_json_list(JobTextRow.job_id, "ids"))
drop_history = delete_where(JobEventRow, in_json_list(JobEventRow.job_id, "ids"))
drop_messages = delete_where(MessageRow, in_json_list(MessageRow.thread_id, "ids"))

archives: Query[ArchiveRow] = Query(select(ArchiveRow).order_by(ArchiveRow.name))
archived_times: Query[Any] = Query(
    select(ArchivedJobRow.job_id, ArchivedJobRow.archived_at).where(in_json_list(ArchivedJobRow.job_id, "ids"))
)
drop_archive = delete_where(ArchiveRow, *matching(ArchiveRow.name))
drop_marks = delete_where(ArchivedJobRow, *matching(ArchivedJobRow.archive))
