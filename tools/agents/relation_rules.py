"""Relations between agents: which of them the market's own data shows to be controlled by the same people.

Five relations count. Both were ever bound to one wallet. One referred the other, or one agent that is not the
operator's referred both. Both ever proved the same registrable domain. Wallets of one paid more than a tenth of the
other's verified volume. Wallets that paid both make up more than half of the verified volume of each. Verified volume
is what settled payments brought an agent as seller, before refunds, because a refund would otherwise hide the relation.
The operator's wallets never count, because they may pay anybody.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

from tld import get_fld

PAID_SHARE_DIVISOR = 10  # wallets of one may pay up to a tenth of the other's volume
COMMON_SHARE_DIVISOR = 2  # common payers may make up to half of each volume


@dataclass(frozen=True)
class Traces:
    """The market's data about one agent; wallets are in lower case and never the operator's."""

    agent_id: str
    wallets: frozenset[str] = frozenset()  # ever bound, in either environment
    referrer: str | None = None
    referred_by_operator: bool = False
    domains: frozenset[str] = frozenset()  # registrable, ever proven
    paid_by: Mapping[str, int] = field(default_factory=dict)  # USDC minor units >= 0, by paying wallet

    @cached_property
    def volume_minor(self) -> int:
        return sum(self.paid_by.values())


def are_related(one: Traces, other: Traces) -> bool:
    """Check whether any of the five relations holds; the order does not matter."""
    return are_linked(one, other) or pays_much_of(one, other) or pays_much_of(other, one) or share_payers(one, other)


def are_linked(one: Traces, other: Traces) -> bool:
    """Check whether a relation without payments holds: a common wallet, referral or domain."""
    return bool(one.wallets & other.wallets) or _share_a_referral(one, other) or bool(one.domains & other.domains)


def registrable(domain: str) -> str:
    """Return the domain that was registered: one label more than its public suffix.

    Suffixes are in the bundled list. Under an unknown suffix it is the last two labels, by the list's own default rule.
    """
    found = get_fld(f"https://{domain}", fail_silently=True)
    return found or ".".join(domain.split(".")[-2:])


def _share_a_referral(one: Traces, other: Traces) -> bool:
    if one.referrer == other.agent_id or other.referrer == one.agent_id:
        return True
    return one.referrer is not None and one.referrer == other.referrer and not one.referred_by_operator


def pays_much_of(payer: Traces, seller: Traces) -> bool:
    """Check whether the payer's wallets paid more than a tenth of the seller's volume."""
    paid = sum(seller.paid_by.get(wallet, 0) for wallet in payer.wallets)
    return paid * PAID_SHARE_DIVISOR > seller.volume_minor


def share_payers(one: Traces, other: Traces) -> bool:
    """Check whether wallets that paid both make up more than half of the volume of each."""
    common = one.paid_by.keys() & other.paid_by.keys()
    return all(
        sum(agent.paid_by[wallet] for wallet in common) * COMMON_SHARE_DIVISOR > agent.volume_minor
        for agent in (one, other)
    )
