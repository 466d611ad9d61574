"""Queries of stored answers, rate limit windows, used signatures, and marks of the installation."""

from sqlalchemy import bindparam, delete

from storage.query import Query, deleting
from storage.quotas import BODY_BYTES
from storage.tables import AnswerRow, BodyRow, HouseRow, SignatureUseRow, WindowRow

forget_answer = Query(
    delete(AnswerRow.__table__).where(
        AnswerRow.owner == bindparam("owner"),
        AnswerRow.env == bindparam("env"),
        AnswerRow.key_hash == bindparam("key_hash"),
    )
)
forget_mark = Query(delete(HouseRow.__table__).where(HouseRow.name == bindparam("name")))
forget_answers = deleting(AnswerRow, AnswerRow.created_at)
forget_bodies = deleting(BodyRow, BodyRow.used_at, BodyRow.owner, BodyRow.env, BODY_BYTES)
forget_windows = deleting(WindowRow, WindowRow.began_at)
forget_signatures = deleting(SignatureUseRow, SignatureUseRow.used_at)
