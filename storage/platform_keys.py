"""Queries of the platform's own keys."""

from sqlalchemy import bindparam, select, update

from storage.query import Query
from storage.tables import RetiredKeyRow, SettingsRow

retired_keys: Query[RetiredKeyRow] = Query(select(RetiredKeyRow).order_by(RetiredKeyRow.kid))
remember: Query[None] = Query(
    update(SettingsRow.__table__).where(SettingsRow.name == bindparam("mark")).values(value=bindparam("instead"))
)
