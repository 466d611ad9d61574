"""Rate limits: fixed windows per key or agent, else per address; most counted in this process, registration, recovery and logins in the database."""

import ipaddress
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from itertools import islice
from math import ceil

from storage.tables import WindowRow
from storage.unit import Tx
from tools.errors import RateLimited

MOST_BUCKETS = 50_000


class Rate(StrEnum):
    """The window a call is counted in."""

    READS = "reads"
    WRITES = "writes"
    REGISTER = "register"
    VERIFY = "verify"
    PAY = "pay"
    SUPPORT = "support"
    EXPORT = "export"
    RECOVER = "recover"
    OAUTH = "oauth"  # access tokens given
    MESSAGES = "messages"
    DOMAINS = "domains"  # checks of a domain's proof
    IDENTITIES = "identities"  # links to a token on chain
    STRANGERS = "strangers"  # calls that were not admitted, by address
    DELIVERIES = "deliveries"  # to webhooks, from one agent to one host
    QUOTES = "quotes"  # what a purchase with x402 would cost
    PURCHASES = "purchases"  # calls that come with a payment
    KNOCKS = "knocks"  # requests of a protocol that call no operation: handshakes, lists, cards


@dataclass(frozen=True, slots=True)
class Allowance:
    calls: int
    seconds: int
    shared: bool = False  # counted in the database, for all processes together
    per_agent: bool = False  # one window for all keys of an agent


ALLOWANCES = {
    Rate.READS: Allowance(600, 60),
    Rate.WRITES: Allowance(120, 60),
    Rate.REGISTER: Allowance(20, 3600, shared=True),
    Rate.VERIFY: Allowance(60, 60),
    Rate.PAY: Allowance(60, 60),
    Rate.SUPPORT: Allowance(10, 3600),
    Rate.EXPORT: Allowance(1, 86_400, shared=True, per_agent=True),
    Rate.RECOVER: Allowance(5, 3600, shared=True, per_agent=True),
    Rate.OAUTH: Allowance(60, 60, shared=True),
    Rate.MESSAGES: Allowance(120, 60, per_agent=True),
    Rate.DOMAINS: Allowance(20, 3600, shared=True, per_agent=True),
    Rate.IDENTITIES: Allowance(30, 3600, per_agent=True),
    Rate.QUOTES: Allowance(600, 3600, shared=True),
    Rate.PURCHASES: Allowance(120, 3600, shared=True),
    Rate.STRANGERS: Allowance(600, 60),
    Rate.KNOCKS: Allowance(600, 60),
}


@dataclass(frozen=True, slots=True)
class Quota:
    """What is left of a window: for the RateLimit headers."""

    rate: Rate
    limit: int
    remaining: int
    reset_seconds: int
    window_seconds: int


class Windows:
    """Counts of the windows now open, in this process."""

    def __init__(self) -> None:
        self.counts: dict[str, tuple[float, int]] = {}  # bucket -> (began, calls)

    def take(self, rate: Rate, allowance: Allowance, bucket: str, now_seconds: float) -> Quota:
        """Count one call; RateLimited when the window is used up."""
        name = f"{rate}:{bucket}"
        began, calls = self.counts.get(name, (now_seconds, 0))
        if now_seconds - began >= allowance.seconds:
            began, calls = now_seconds, 0
        if len(self.counts) >= MOST_BUCKETS and name not in self.counts:
            self._prune(now_seconds)
        self.counts[name] = (began, calls + 1)
        return judged(rate, allowance, calls + 1, ceil(began + allowance.seconds - now_seconds))

    def is_used_up(self, rate: Rate, allowance: Allowance, bucket: str, now_seconds: float) -> bool:
        """Whether the next call would be one too many; nothing is counted."""
        began, calls = self.counts.get(f"{rate}:{bucket}", (now_seconds, 0))
        return calls >= allowance.calls and now_seconds - began < allowance.seconds

    def _prune(self, now_seconds: float) -> None:
        longest = max(allowance.seconds for allowance in ALLOWANCES.values() if not allowance.shared)
        self.counts = {name: seen for name, seen in self.counts.items() if now_seconds - seen[0] < longest}
        if len(self.counts) >= MOST_BUCKETS:  # many at a time: looking through all of them costs milliseconds
            for name in [*islice(self.counts, MOST_BUCKETS // 5)]:
                del self.counts[name]


def take_shared(tx: Tx, rate: Rate, allowance: Allowance, bucket: str, now: datetime) -> Quota:
    """Count one call in the database; the window is the same for every process."""
    name = f"{rate}:{bucket}"
    row = tx.get(WindowRow, name, lock=True)
    if row is None:
        tx.add(WindowRow(bucket=name, began_at=now, count=1))
        return judged(rate, allowance, 1, allowance.seconds)
    ends = row.began_at + timedelta(seconds=allowance.seconds)
    if now >= ends or now < row.began_at:
        tx.change(row, began_at=now, count=1)
        return judged(rate, allowance, 1, allowance.seconds)
    tx.change(row, count=row.count + 1)
    return judged(rate, allowance, row.count + 1, ceil((ends - now).total_seconds()))


def judged(rate: Rate, allowance: Allowance, calls: int, reset_seconds: int) -> Quota:
    """The quota after this call. One call too many is answered, not raised: the count is kept."""
    return Quota(rate, allowance.calls, allowance.calls - calls, reset_seconds, allowance.seconds)


def refuse_beyond(quota: Quota | None) -> None:
    refusal = too_many(quota) if quota else None
    if refusal:
        raise refusal


def too_many(quota: Quota) -> RateLimited | None:
    """The refusal of a call beyond its window; None within."""
    if quota.remaining >= 0:
        return None
    return RateLimited(
        f"more than {quota.limit} calls in {quota.window_seconds} seconds ({quota.rate})",
        retry_after_seconds=quota.reset_seconds,
    )


def bucket_of(ip: str) -> str:
    """An address, or the /64 network of an IPv6 one: a household holds 2^64 addresses."""
    try:
        address = ipaddress.ip_address(ip)
    except ValueError:
        return ip[:64]
    if address.version == 6:
        mapped = address.ipv4_mapped
        return str(mapped) if mapped else str(ipaddress.ip_network((address, 64), strict=False))
    return ip
