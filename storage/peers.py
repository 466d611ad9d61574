"""Queries of the catalogues of other markets."""

from datetime import datetime
from typing import Any

from sqlalchemy import bindparam, select, update

from storage.query import Query
from storage.statements import delete_where, matching, rows_among
from storage.tables.peers import PeerCatalogRow as P

_table, _moment = P.__table__, P.check_at.type
peers_among = rows_among(P, P.origin, "origins")
checks: Query[tuple[str, datetime]] = Query(select(P.origin, P.check_at))
claim_peer: Query[str] = Query(
    update(_table)
    .where(*matching(P.origin), P.check_at <= bindparam("now", type_=_moment))
    .values(check_at=bindparam("until", type_=_moment))
    .returning(P.origin)
)
# Only by the process whose lease has not ended.
keep_catalog: Query[Any] = Query(
    update(_table)
    .where(*matching(P.origin), P.check_at == bindparam("until", type_=_moment))
    .values(documents=bindparam("documents", type_=P.documents.type), check_at=bindparam("next", type_=_moment))
)
forget_peer = delete_where(P, *matching(P.origin))
