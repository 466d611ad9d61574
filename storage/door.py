"""Queries of the door: kept answers and counted windows."""

from sqlalchemy import bindparam, delete

from storage.query import Query
from storage.tables import AnswerRow, WindowRow

forget_answer = Query(
    delete(AnswerRow.__table__).where(
        AnswerRow.owner == bindparam("owner"),
        AnswerRow.env == bindparam("env"),
        AnswerRow.key_hash == bindparam("key_hash"),
    )
)
forget_answers = Query(delete(AnswerRow.__table__).where(AnswerRow.created_at < bindparam("before")))
forget_windows = Query(delete(WindowRow.__table__).where(WindowRow.began_at < bindparam("before")))
