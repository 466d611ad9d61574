"""Queries of stored answers, rate limit windows, used signatures, marks of the installation, and its former keys."""

from sqlalchemy import bindparam, select, update

from storage.query import Query
from storage.quotas import BODY_BYTES
from storage.statements import delete_where, deleting, matching
from storage.tables.requests import (
    RateWindowRow,
    ResponseBodyRow,
    RetiredKeyRow,
    SettingsRow,
    SignatureUseRow,
    StoredResponseRow,
)

forget_answer = delete_where(
    StoredResponseRow, *matching(StoredResponseRow.owner, StoredResponseRow.env, StoredResponseRow.key_hash)
)
forget_answers = deleting(StoredResponseRow, StoredResponseRow.created_at)
forget_bodies = deleting(
    ResponseBodyRow, ResponseBodyRow.used_at, ResponseBodyRow.owner, ResponseBodyRow.env, BODY_BYTES
)
forget_windows = deleting(RateWindowRow, RateWindowRow.began_at)
forget_signatures = deleting(SignatureUseRow, SignatureUseRow.used_at)
forget_mark = delete_where(SettingsRow, *matching(SettingsRow.name))
remember: Query[None] = Query(
    update(SettingsRow.__table__).where(SettingsRow.name == bindparam("mark")).values(value=bindparam("instead"))
)
retired_keys: Query[RetiredKeyRow] = Query(select(RetiredKeyRow).order_by(RetiredKeyRow.kid))
