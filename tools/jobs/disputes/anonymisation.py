"""The names by which the parties of a case were known at the time of each text, so that they can be redacted.

A name that a party takes later is not redacted in earlier texts, because there it means something else.
"""

from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime

from storage.domains import domains_of
from storage.identifier_history import handles_by_name, keys_ever_held, wallets_ever_held
from storage.tables import AgentRow
from storage.transaction import Tx
from tools.agents.aliases import KnownAs
from tools.agents.former_names import all_names
from tools.jobs.snapshot import JobSnapshot
from tools.screening.identifier_spellings import marks_of_id, marks_of_key
from tools.screening.redaction import KnownNames, Redactor

MAX_HANDLES = 100  # an agent never gives up this many


@dataclass(frozen=True, slots=True)
class Party:
    """All identifiers of one party; handles, names and places with the time when it took them."""

    marks: tuple[str, ...]
    wallets: tuple[str, ...]
    handles: tuple[tuple[str, datetime], ...]
    called: tuple[KnownAs, ...]

    def known(self, at: datetime) -> KnownNames:
        """Return the names that a text written at that time may use for the party."""
        called = [one for one in self.called if one.since <= at]
        return KnownNames(
            marks=self.marks,
            wallets=self.wallets,
            places=tuple(sorted({place for one in called if one.place for place in _spellings(one.text)})),
            handles=tuple(sorted(handle for handle, since in self.handles if since <= at)),
            names=tuple(sorted({one.text for one in called if not one.place})),
        )


class Redactors:
    """Redactors for both parties, by the time of a text; cached for each set of names."""

    def __init__(self, buyer: Party, seller: Party) -> None:
        self._buyer, self._seller = buyer, seller
        self._made: dict[tuple[KnownNames, KnownNames], Redactor] = {}

    def at(self, moment: datetime) -> Redactor:
        known = self._buyer.known(moment), self._seller.known(moment)
        if known not in self._made:
            self._made[known] = Redactor(*known)
        return self._made[known]


def veils_of(tx: Tx, seen: JobSnapshot) -> Redactors:
    return Redactors(_party(tx, seen, seen.row.buyer_id), _party(tx, seen, seen.row.seller_id))


def of_delivery(seen: JobSnapshot) -> datetime:
    """Return the time by which everything that is judged was promised, ordered and delivered."""
    return seen.row.delivered_at or seen.row.created_at


def _party(tx: Tx, seen: JobSnapshot, agent_id: str) -> Party:
    agent = tx.need(AgentRow, agent_id)
    keys = {agent.public_key, *tx.all(keys_ever_held, agent_id=agent_id)}
    handles = tx.all(handles_by_name, agent_id=agent_id, after="", limit=MAX_HANDLES)
    return Party(
        marks=tuple(sorted(marks_of_id(agent_id).union(*map(marks_of_key, keys)))),
        wallets=tuple(sorted({*tx.all(wallets_ever_held, agent_id=agent_id), *_wallets_here(seen, agent_id)})),
        handles=tuple((row.handle, row.taken_at) for row in handles),
        called=tuple(all_names(agent, tx.all(domains_of, agent_id=agent_id))),
    )


def _wallets_here(seen: JobSnapshot, agent_id: str) -> set[str]:
    """Return the wallets that this agent's side of the job paid from or was paid to."""
    row = seen.row
    own = {row.pay_from if agent_id == row.buyer_id else row.pay_to}
    own |= {one.payer_address for one in seen.settlements if one.payer_agent_id == agent_id}
    own |= {one.pay_to for one in seen.settlements if one.payee_agent_id == agent_id}
    return {wallet for wallet in own if wallet}


def _spellings(place: str) -> set[str]:
    """Return a domain or an address, path included, in its ASCII and its Unicode spelling."""
    found = {place}
    with suppress(UnicodeError):  # not a domain name, or it has no other spelling
        found.add(place.encode("ascii").decode("idna") if place.isascii() else place.encode("idna").decode())
    return found
