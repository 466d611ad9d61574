"""Queries of everything an agent ever held, by name: handles, former public keys, wallets, domains."""

from typing import Any

from sqlalchemy import Select, bindparam, select

from storage.query import Query
from storage.tables import FormerKeyRow, HandleRow, HeldDomainRow, HeldWalletRow


def _held(row: Any, name: Any, what: Any) -> Select[Any]:
    return select(what).where(row.agent_id == bindparam("agent_id")).order_by(name)


def _names(row: Any, name: Any) -> Query[str]:
    return Query(_held(row, name, name))


def _page(row: Any, name: Any) -> Query[Any]:
    """Build the query of whole rows after a name, at most `limit`."""
    return Query(_held(row, name, row).where(name > bindparam("after")).limit(bindparam("limit")))


_OTHER = select(HeldWalletRow.address).where(HeldWalletRow.agent_id == bindparam("other_id"))
wallets_both_held: Query[str] = Query(
    _held(HeldWalletRow, HeldWalletRow.address, HeldWalletRow.address).where(HeldWalletRow.address.in_(_OTHER)).limit(1)
)
keys_ever_held = _names(FormerKeyRow, FormerKeyRow.public_key)
wallets_ever_held = _names(HeldWalletRow, HeldWalletRow.address)
handles_by_name: Query[HandleRow] = _page(HandleRow, HandleRow.handle)
keys_by_name: Query[FormerKeyRow] = _page(FormerKeyRow, FormerKeyRow.public_key)
domains_by_name: Query[HeldDomainRow] = _page(HeldDomainRow, HeldDomainRow.domain)
wallets_by_name: Query[HeldWalletRow] = _page(HeldWalletRow, HeldWalletRow.address)
