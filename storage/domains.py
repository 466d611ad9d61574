"""Queries of proven domains and linked identities."""

from sqlalchemy import bindparam, delete, func, literal_column, select

from storage.query import Query
from storage.tables import DomainRow, IdentityRow

_HELD = DomainRow.status == literal_column("'verified'")  # a constant, as in the partial index

domains_of = Query(select(DomainRow).where(DomainRow.agent_id == bindparam("agent_id")).order_by(DomainRow.domain))
domains_claimed: Query[int] = Query(
    select(func.count()).select_from(DomainRow.__table__).where(DomainRow.agent_id == bindparam("agent_id"))
)
proven_domains_of: Query[str] = Query(
    select(DomainRow.domain)
    .where(DomainRow.agent_id == bindparam("agent_id"), _HELD)
    .order_by(DomainRow.verified_at, DomainRow.domain)
)
holder_of = Query(select(DomainRow).where(DomainRow.domain == bindparam("domain"), _HELD))
holder_to_change = Query(holder_of.statement.with_for_update())
forget_domain = Query(
    delete(DomainRow.__table__).where(
        DomainRow.agent_id == bindparam("agent_id"), DomainRow.domain == bindparam("domain")
    )
)
forget_domains = Query(delete(DomainRow.__table__).where(DomainRow.agent_id == bindparam("agent_id")))
due_domains = Query(
    select(DomainRow)
    .where(DomainRow.check_at <= bindparam("now"))
    .order_by(DomainRow.check_at)
    .limit(bindparam("limit"))
    .with_for_update(skip_locked=True)
)

identity_of_token = Query(
    select(IdentityRow)
    .where(IdentityRow.env == bindparam("env"), IdentityRow.token == bindparam("token"))
    .with_for_update()
)
forget_identity = Query(delete(IdentityRow.__table__).where(IdentityRow.agent_id == bindparam("agent_id")))
due_identities = Query(
    select(IdentityRow)
    .where(IdentityRow.check_at <= bindparam("now"))
    .order_by(IdentityRow.check_at)
    .limit(bindparam("limit"))
    .with_for_update(skip_locked=True)
)
