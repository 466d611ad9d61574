"""By what the parties of a case could be known, as kept when it was opened and as it is now."""

from collections.abc import Iterable
from contextlib import suppress
from dataclasses import asdict

import orjson

from storage.held import handles_ever_held, keys_ever_held
from storage.proofs import domains_of
from storage.tables import AgentRow, DisputeRow
from storage.unit import Tx
from tools.rules.keys import did_of
from tools.rules.redaction import Known, Veil
from tools.steps.eligible import wallets_of
from tools.steps.jobs import SeenJob


def names_kept(tx: Tx, seen: SeenJob) -> str:
    """Both parties' names now, as JSON for the case: who changes its name or leaves is not known by the old one later."""
    return orjson.dumps({side: asdict(_known(tx, seen, agent)) for side, agent in _sides(seen)}).decode()


def veil_of(tx: Tx, seen: SeenJob, case: DisputeRow) -> Veil:
    """What hides the parties: what they are known by, and what they were known by when the case was opened."""
    kept = orjson.loads(case.names)
    buyer, seller = (_both(_known(tx, seen, agent), kept.get(side, {})) for side, agent in _sides(seen))
    return Veil(buyer, seller)


def _sides(seen: SeenJob) -> tuple[tuple[str, str], tuple[str, str]]:
    return ("buyer", seen.row.buyer_id), ("seller", seen.row.seller_id)


def _both(now: Known, before: dict[str, list[str]]) -> Known:
    return Known(**{part: tuple(sorted({*getattr(now, part), *before.get(part, [])})) for part in Known.__slots__})


def _known(tx: Tx, seen: SeenJob, agent_id: str) -> Known:
    agent = tx.get(AgentRow, agent_id)
    assert agent is not None
    keys = {agent.public_key, *tx.all(keys_ever_held, agent_id=agent_id)}
    dids = {did_of(bytes.fromhex(key)) for key in keys}
    wallets = {*wallets_of(tx, agent_id), *_wallets_here(seen, agent_id)}
    bare = {wallet[2:] for wallet in wallets}
    places = _places(agent, [row.domain for row in tx.all(domains_of, agent_id=agent_id)])
    return Known(
        marks=tuple(sorted({agent_id, *keys, *dids, *(did.rsplit(":", 1)[-1] for did in dids), *wallets, *bare})),
        words=tuple(sorted({agent.handle, *tx.all(handles_ever_held, agent_id=agent_id), *places})),
        names=(agent.name,),
    )


def _wallets_here(seen: SeenJob, agent_id: str) -> set[str]:
    """The wallets this agent's side of the job's money went from and to."""
    row = seen.row
    own = {row.pay_from if agent_id == row.buyer_id else row.pay_to}
    own |= {one.payer_address for one in seen.settlements if one.payer_agent_id == agent_id}
    own |= {one.pay_to for one in seen.settlements if one.payee_agent_id == agent_id}
    return {wallet for wallet in own if wallet}


def _places(agent: AgentRow, domains: Iterable[str]) -> set[str]:
    """The domains it claims or claimed, in both spellings of what is not ASCII, and its own addresses: of one with a path, the whole."""
    urls = {url.split("://", 1)[-1].rstrip("/") for url in orjson.loads(agent.endpoints).values()}
    found = {*urls, *domains, *([agent.verified_domain] if agent.verified_domain else [])}
    for place in tuple(found):
        with suppress(UnicodeError):  # no domain name, or one that has no other spelling
            found.add(place.encode("ascii").decode("idna") if place.isascii() else place.encode("idna").decode())
    return found
