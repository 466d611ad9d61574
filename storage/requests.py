"""Queries of stored answers, rate limit windows, used signatures, and marks of the installation."""

from sqlalchemy import bindparam, delete

from storage.query import Query, deleting
from storage.quotas import BODY_BYTES
from storage.tables import RateWindowRow, ResponseBodyRow, SettingsRow, SignatureUseRow, StoredResponseRow

forget_answer = Query(
    delete(StoredResponseRow.__table__).where(
        StoredResponseRow.owner == bindparam("owner"),
        StoredResponseRow.env == bindparam("env"),
        StoredResponseRow.key_hash == bindparam("key_hash"),
    )
)
forget_mark = Query(delete(SettingsRow.__table__).where(SettingsRow.name == bindparam("name")))
forget_answers = deleting(StoredResponseRow, StoredResponseRow.created_at)
forget_bodies = deleting(
    ResponseBodyRow, ResponseBodyRow.used_at, ResponseBodyRow.owner, ResponseBodyRow.env, BODY_BYTES
)
forget_windows = deleting(RateWindowRow, RateWindowRow.began_at)
forget_signatures = deleting(SignatureUseRow, SignatureUseRow.used_at)
