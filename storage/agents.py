"""Queries of agents: their handles, keys, wallets, domains and identities, all they ever held, what relates them to others, and those that left."""

from functools import cache
from typing import Any, TypeVar

from sqlalchemy import ColumnElement, Select, bindparam, exists, func, literal, literal_column, or_, select, update

from storage.query import Query
from storage.rows import Row
from storage.statements import after_id, before_id, count, delete_where, first_rows, in_json_list, matching, rows_among
from storage.tables.agents import (
    AgentRow,
    DepartureRow,
    DomainRow,
    FormerKeyRow,
    HandleRow,
    HeldDomainRow,
    IdentityRow,
    KeyRow,
    WalletRow,
)
from storage.tables.disputes import HeldWalletRow
from storage.tables.payments import SettlementRow

R = TypeVar("R", bound=Row)
agent_by_handle = Query(select(AgentRow).where(*matching(AgentRow.handle)))
agent_by_public_key = Query(select(AgentRow).where(*matching(AgentRow.public_key)))
agents_among = rows_among(AgentRow, AgentRow.id)
handles_of: Query[Any] = Query(select(AgentRow.id, AgentRow.handle).where(in_json_list(AgentRow.id, "ids")))
handles_held = count(HandleRow, *matching(HandleRow.agent_id))
begin_live = Query(
    update(AgentRow.__table__)
    .where(*matching(AgentRow.id), AgentRow.live_since.is_(None))
    .values(live_since=bindparam("at"))
)


def _last_before(column: Any) -> ColumnElement[bool]:
    return or_(column.is_(None), column < bindparam("before"))


touch_agent = Query(
    update(AgentRow.__table__)
    .where(*matching(AgentRow.id), _last_before(AgentRow.last_seen_at))
    .values(last_seen_at=bindparam("at"))
)
touch_key = Query(
    update(KeyRow.__table__)
    .where(*matching(KeyRow.id), _last_before(KeyRow.last_used_at))
    .values(last_used_at=bindparam("at"))
)
last_seen_of: Query[Any] = Query(select(AgentRow.id, AgentRow.last_seen_at).where(in_json_list(AgentRow.id, "ids")))
last_used_of: Query[Any] = Query(select(KeyRow.id, KeyRow.last_used_at).where(in_json_list(KeyRow.id, "ids")))
SEEN_SINCE = "seen_since"


def was_seen(agent_id: Any) -> ColumnElement[bool]:
    """Return the condition that the agent made a call at or after the value bound as seen_since."""
    since = bindparam(SEEN_SINCE, type_=AgentRow.last_seen_at.type)
    return exists(select(AgentRow.id).where(AgentRow.id == agent_id, AgentRow.last_seen_at >= since))


# API keys: an agent's keys, those that are usable, and those that can be deleted.

_MINE = KeyRow.agent_id == bindparam("agent_id")
_ACTIVE = KeyRow.status == literal("active")
_PAGE = before_id(select(KeyRow).where(_MINE), KeyRow.id)
key_by_hash = Query(select(KeyRow).where(*matching(KeyRow.hash)))
keys_of: Query[KeyRow] = Query(_PAGE)
test_keys_of: Query[KeyRow] = Query(_PAGE.where(KeyRow.env == literal("test")))
usable_keys: Query[tuple[str, str]] = Query(
    select(KeyRow.id, KeyRow.env).where(
        _MINE, _ACTIVE, or_(KeyRow.expires_at.is_(None), KeyRow.expires_at > bindparam("now"))
    )
)
active_hashes: Query[str] = Query(select(KeyRow.hash).where(_MINE, _ACTIVE))
revoke_keys: Query[Any] = Query(
    update(KeyRow.__table__).where(_MINE, _ACTIVE).values(status="revoked", version=KeyRow.version + 1)
)
_key = KeyRow.__table__.alias()
_useless = (
    select(_key.c.id)
    .where(*matching(_key.c.agent_id, _key.c.env))
    .where(or_(_key.c.status == literal("revoked"), _key.c.expires_at <= bindparam("now")))
    .order_by(_key.c.id.desc())
    .limit(100)
    .offset(bindparam("kept"))
)
forget_useless = delete_where(KeyRow, KeyRow.id.in_(_useless))

# Everything an agent ever held, by name: handles, former public keys, wallets, domains.


def _held(row: Any, name: Any) -> Select[Any]:
    return select(name).where(*matching(row.agent_id)).order_by(name)


def _page(row: Any, name: Any) -> Query[Any]:
    """Build the query of whole rows after a name, at most `limit`."""
    return Query(after_id(select(row).where(*matching(row.agent_id)), name))


_OTHER = select(HeldWalletRow.address).where(HeldWalletRow.agent_id == bindparam("other_id"))
_WALLETS = _held(HeldWalletRow, HeldWalletRow.address)
_WALLET_OF_BOTH = _WALLETS.where(HeldWalletRow.address.in_(_OTHER)).limit(1)
wallets_both_held: Query[str] = Query(_WALLET_OF_BOTH)
_has_wallet = exists().where(*matching(WalletRow.agent_id, WalletRow.env))
# The facts about the buyer of an order. The row of an agent has forty columns, and the driver converts each.
_BUYER = select(AgentRow.id, AgentRow.handle, AgentRow.first_party).where(AgentRow.id == bindparam("agent_id"))
buyer_of_order: Query[Any] = Query(_BUYER)
locked_buyer_of_order: Query[Any] = Query(_BUYER.with_for_update())
# The facts about the seller `other_id` that an order of `agent_id` depends on. The last two columns are about the buyer:
# it has, or had, a wallet of the seller's; it has a wallet now.
seller_of_order: Query[Any] = Query(
    select(
        AgentRow.id, AgentRow.handle, AgentRow.status, AgentRow.first_party, _WALLET_OF_BOTH.exists(), _has_wallet
    ).where(AgentRow.id == bindparam("other_id"))
)
keys_ever_held: Query[str] = Query(_held(FormerKeyRow, FormerKeyRow.public_key))
wallets_ever_held: Query[str] = Query(_WALLETS)
handles_by_name: Query[HandleRow] = _page(HandleRow, HandleRow.handle)
keys_by_name: Query[FormerKeyRow] = _page(FormerKeyRow, FormerKeyRow.public_key)
domains_by_name: Query[HeldDomainRow] = _page(HeldDomainRow, HeldDomainRow.domain)
wallets_by_name: Query[HeldWalletRow] = _page(HeldWalletRow, HeldWalletRow.address)

# Proven domains and linked identities.

_VERIFIED = DomainRow.status == literal_column("'verified'")  # a constant, as in the partial index
_OF_AGENT = matching(DomainRow.agent_id)

domains_of = Query(select(DomainRow).where(*_OF_AGENT).order_by(DomainRow.domain))
domains_claimed = count(DomainRow, *_OF_AGENT)
proven_domains_of: Query[str] = Query(
    select(DomainRow.domain).where(*_OF_AGENT, _VERIFIED).order_by(DomainRow.verified_at, DomainRow.domain)
)
holder_of = Query(select(DomainRow).where(*matching(DomainRow.domain), _VERIFIED))
holder_to_change = Query(holder_of.statement.with_for_update())
forget_domain = delete_where(DomainRow, *matching(DomainRow.agent_id, DomainRow.domain))
forget_domains = delete_where(DomainRow, *_OF_AGENT)
identity_of_token = Query(select(IdentityRow).where(*matching(IdentityRow.env, IdentityRow.token)).with_for_update())
forget_identity = delete_where(IdentityRow, *matching(IdentityRow.agent_id))
due_domains, due_identities = (  # to be checked again
    first_rows(kind, kind.check_at <= bindparam("now"), by=[kind.check_at], locks=True)
    for kind in (DomainRow, IdentityRow)
)

# Agents that left, and their open rows, in batches.

due_departures: Query[str] = first_rows(
    DepartureRow.agent_id,
    DepartureRow.due_at <= bindparam("now"),
    by=(DepartureRow.due_at, DepartureRow.agent_id),
)
forget_departure = delete_where(DepartureRow, *matching(DepartureRow.agent_id))


@cache
def rows_at(kind: type[R], owner: str, env: str, status: str, locks: bool = True) -> Query[R]:
    """Build the query of an agent's rows in one environment and status, by id.

    `owner` is the column of the agent's id. With `locks` it locks the rows, and skips those that another unit of work
    has locked.
    """
    table = kind.__table__
    mine = table.c[owner] == bindparam("agent_id"), table.c.env == literal(env), table.c.status == literal(status)
    found = after_id(select(table).where(*mine), table.c.id)
    return Query(found.with_for_update(skip_locked=True) if locks else found)


# Relations between agents before a time: wallets, domains, payers; and referrals.


def _held_before(row: Any, name: Any) -> Query[Any]:
    before = row.held_at < bindparam("until", type_=row.held_at.type)
    return Query(select(row.agent_id, name).where(in_json_list(row.agent_id, "ids"), before))


referrals_of: Query[Any] = Query(
    select(AgentRow.id, AgentRow.referred_by, AgentRow.first_party).where(in_json_list(AgentRow.id, "ids"))
)
wallets_of_agents = _held_before(HeldWalletRow, HeldWalletRow.address)
domains_of_agents = _held_before(HeldDomainRow, HeldDomainRow.domain)
payers_of_agents: Query[Any] = Query(
    select(SettlementRow.payee_agent_id, SettlementRow.payer_address, func.sum(SettlementRow.amount))
    .where(
        in_json_list(SettlementRow.payee_agent_id, "ids"),
        SettlementRow.env == bindparam("env"),
        SettlementRow.kind == literal("payment"),
        SettlementRow.status == literal("settled"),
        SettlementRow.settled_at < bindparam("until", type_=SettlementRow.settled_at.type),
    )
    .group_by(SettlementRow.payee_agent_id, SettlementRow.payer_address)
)
operators_wallets: Query[str] = Query(
    select(HeldWalletRow.address)
    .join_from(HeldWalletRow.__table__, AgentRow.__table__, AgentRow.id == HeldWalletRow.agent_id)
    .where(*matching(AgentRow.first_party))
    .distinct()
)
