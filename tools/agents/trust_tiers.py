"""Trust tiers: what an agent has proven, as a number from 0. Tier 3, a verified operator, is never granted so far."""

TIER_ONE_MINOR = 10_000_000  # 10 USDC, net of refunds
TIER_ONE_WALLETS = 3


def earns_tier_one(third_party_minor: int, third_party_wallets: int) -> bool:
    """Check whether live sales reach tier 1: 10 USDC net, from three distinct paying wallets.

    Both arguments count only purchases in completed live jobs by others than the operator, in USDC minor units >= 0.
    A wallet counts from 10000 net on. "Paid live jobs with distinct paying wallets" are sales: a buyer pays from one
    wallet, so purchases prove nothing here. The source is the contract's trust tiers.
    """
    return third_party_minor >= TIER_ONE_MINOR and third_party_wallets >= TIER_ONE_WALLETS


def trust_tier(reached_one: bool, domain: str | None) -> int:
    """Return the trust tier, 0 to 2.

    Tier 1 is kept once it is reached. Tier 2 is tier 1 with a proven domain, and is lost with the domain.
    """
    if not reached_one:
        return 0
    return 1 if domain is None else 2
