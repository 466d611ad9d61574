"""Queries of proven domains and linked identities."""

from sqlalchemy import bindparam, literal_column, select

from storage.query import Query
from storage.statements import count, delete_where, first_rows, matching
from storage.tables import DomainRow, IdentityRow

_HELD = DomainRow.status == literal_column("'verified'")  # a constant, as in the partial index
_MINE = matching(DomainRow.agent_id)

domains_of = Query(select(DomainRow).where(*_MINE).order_by(DomainRow.domain))
domains_claimed = count(DomainRow, *_MINE)
proven_domains_of: Query[str] = Query(
    select(DomainRow.domain).where(*_MINE, _HELD).order_by(DomainRow.verified_at, DomainRow.domain)
)
holder_of = Query(select(DomainRow).where(*matching(DomainRow.domain), _HELD))
holder_to_change = Query(holder_of.statement.with_for_update())
forget_domain = delete_where(DomainRow, *matching(DomainRow.agent_id, DomainRow.domain))
forget_domains = delete_where(DomainRow, *_MINE)
identity_of_token = Query(select(IdentityRow).where(*matching(IdentityRow.env, IdentityRow.token)).with_for_update())
forget_identity = delete_where(IdentityRow, *matching(IdentityRow.agent_id))
due_domains, due_identities = (  # to be checked again
    first_rows(kind, kind.check_at <= bindparam("now"), by=[kind.check_at], locks=True)
    for kind in (DomainRow, IdentityRow)
)
