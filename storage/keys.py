"""Queries of API keys: an agent's keys, those that are usable, and those that can be deleted."""

from typing import Any

from sqlalchemy import ColumnElement, bindparam, delete, literal, or_, select, update

from storage.query import Query
from storage.tables import KeyRow

_MINE = KeyRow.agent_id == bindparam("agent_id")
_ACTIVE = KeyRow.status == literal("active")
_USABLE: tuple[ColumnElement[bool], ...] = (
    _ACTIVE,
    or_(KeyRow.expires_at.is_(None), KeyRow.expires_at > bindparam("now")),
)

_PAGE = (
    select(KeyRow).where(_MINE, KeyRow.id < bindparam("before")).order_by(KeyRow.id.desc()).limit(bindparam("limit"))
)
keys_of = Query(_PAGE)
test_keys_of = Query(_PAGE.where(KeyRow.env == literal("test")))
usable_keys: Query[tuple[str, str]] = Query(select(KeyRow.id, KeyRow.env).where(_MINE, *_USABLE))
active_hashes: Query[str] = Query(select(KeyRow.hash).where(_MINE, _ACTIVE))
revoke_keys: Query[Any] = Query(
    update(KeyRow.__table__).where(_MINE, _ACTIVE).values(status="revoked", version=KeyRow.version + 1)
)
_key = KeyRow.__table__.alias()
_useless = (
    select(_key.c.id)
    .where(_key.c.agent_id == bindparam("agent_id"), _key.c.env == bindparam("env"))
    .where(or_(_key.c.status == literal("revoked"), _key.c.expires_at <= bindparam("now")))
    .order_by(_key.c.id.desc())
    .limit(100)
    .offset(bindparam("kept"))
)
forget_useless: Query[Any] = Query(delete(KeyRow.__table__).where(KeyRow.id.in_(_useless)))
