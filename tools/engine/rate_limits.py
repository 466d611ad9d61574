"""Rate limits: fixed windows per key, agent or address.

Most are counted in this process. Those marked `shared`, such as registration, recovery and logins, are counted in the
database.
"""

import ipaddress
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import StrEnum
from functools import cached_property
from itertools import islice
from math import ceil

from storage.store import Store
from storage.tables import RateWindowRow
from storage.transaction import Tx
from tools.engine.caller import Caller
from tools.engine.errors import RateLimited
from tools.engine.ports import Clock

MAX_BUCKETS = 50_000
CLOCKS_APART = timedelta(seconds=300)  # the clocks of two processes differ by less
KEYS_OF_AN_AGENT = 3  # all keys of an agent together may call this many times as often as one key


class Rate(StrEnum):
    """The rate limit a call counts against."""

    __hash__ = str.__hash__  # that of enumerations is a function in Python, which each lookup would call

    READS = "reads"
    WRITES = "writes"
    REGISTER = "register"
    CLAIMS = "claims"  # of accounts created by x402 purchases
    VERIFY = "verify"
    PAY = "pay"
    SUPPORT = "support"
    EXPORT = "export"
    FAUCET = "faucet"  # claims of test money from one address
    RECOVER = "recover"
    OAUTH = "oauth"  # access tokens issued
    MESSAGES = "messages"
    DOMAINS = "domains"  # checks of a domain's proof
    IDENTITIES = "identities"  # links to a token on chain
    ANONYMOUS_FAILURES = "anonymous_failures"  # unauthenticated calls, by address
    DELIVERIES = "deliveries"  # to webhooks, from one agent to one host
    QUOTES = "quotes"  # price quotes for x402 purchases
    BINDINGS = "bindings"  # wallet proofs, which may query the chain
    PURCHASES = "purchases"  # calls with a payment
    PROTOCOL_REQUESTS = "protocol_requests"  # those that call no operation: handshakes, lists, cards


@dataclass(frozen=True)
class RateLimit:
    calls: int
    seconds: int
    shared: bool = False  # counted in the database, for all processes together
    per_agent: bool = False  # one window for all keys of an agent
    agents_shared: bool = False  # the joint window of all keys of an agent is counted in the database
    per_address: bool = False  # counted against the address, even if the call has a key

    @cached_property
    def of_agent(self) -> "RateLimit":
        """The joint allowance of an agent's keys in one environment, beside that of each key."""
        return replace(self, calls=self.calls * KEYS_OF_AN_AGENT, shared=self.agents_shared)


ALLOWANCES = {
    Rate.READS: RateLimit(600, 60),
    Rate.WRITES: RateLimit(120, 60),
    Rate.REGISTER: RateLimit(20, 3600, shared=True),
    Rate.CLAIMS: RateLimit(20, 3600, shared=True, per_address=True),
    Rate.VERIFY: RateLimit(60, 60),
    Rate.PAY: RateLimit(60, 60, agents_shared=True),
    Rate.BINDINGS: RateLimit(60, 60, agents_shared=True),
    Rate.SUPPORT: RateLimit(10, 3600),
    Rate.FAUCET: RateLimit(3, 86_400, shared=True),
    Rate.EXPORT: RateLimit(1, 86_400, shared=True, per_agent=True),
    Rate.RECOVER: RateLimit(5, 3600, shared=True, per_agent=True),
    Rate.OAUTH: RateLimit(60, 60, shared=True),
    Rate.MESSAGES: RateLimit(120, 60, per_agent=True),
    Rate.DOMAINS: RateLimit(20, 3600, shared=True, per_agent=True),
    Rate.IDENTITIES: RateLimit(30, 3600, per_agent=True),
    Rate.QUOTES: RateLimit(600, 3600, shared=True),
    Rate.PURCHASES: RateLimit(120, 3600, shared=True),
    Rate.ANONYMOUS_FAILURES: RateLimit(600, 60),
    Rate.PROTOCOL_REQUESTS: RateLimit(600, 60),
}


@dataclass(slots=True)
class RateLimitStatus:
    """The state of a window, for the RateLimit headers."""

    rate: Rate
    limit: int
    remaining: int
    reset_seconds: int
    window_seconds: int


BY_ADDRESS = (Rate.ANONYMOUS_FAILURES, Rate.PROTOCOL_REQUESTS)


class FixedWindowCounter:
    """The open windows of this process and their counts."""

    def __init__(self) -> None:
        self.counts: dict[str, tuple[float, int]] = {}  # bucket -> (began, calls)

    def count(self, rate: Rate, allowance: RateLimit, bucket: str, now_seconds: float) -> RateLimitStatus:
        """Count one call and return the quota; `remaining` is negative over the limit."""
        name = f"{rate}:{bucket}"
        window = self.counts.get(name)
        if window is None or now_seconds - window[0] >= allowance.seconds:
            if window is None and len(self.counts) >= MAX_BUCKETS:
                self._prune(now_seconds)
            window = now_seconds, 0
        began, calls = window[0], window[1] + 1
        self.counts[name] = began, calls
        return judged(rate, allowance, calls, ceil(began + allowance.seconds - now_seconds))

    def is_used_up(self, rate: Rate, allowance: RateLimit, bucket: str, now_seconds: float) -> bool:
        """Check whether the next call would be over the limit; count nothing."""
        began, calls = self.counts.get(f"{rate}:{bucket}") or (now_seconds, 0)
        return calls >= allowance.calls and now_seconds - began < allowance.seconds

    def _prune(self, now_seconds: float) -> None:
        longest = max(allowance.seconds for allowance in ALLOWANCES.values() if not allowance.shared)
        self.counts = {name: seen for name, seen in self.counts.items() if now_seconds - seen[0] < longest}
        if len(self.counts) >= MAX_BUCKETS:  # many at once, because scanning all of them takes milliseconds
            for name in [*islice(self.counts, MAX_BUCKETS // 5)]:
                del self.counts[name]


class RateLimitCounter:
    """Counts calls by key, agent and address.

    It never refuses a call: a negative `remaining` says that the call is over the limit.
    """

    def __init__(self, store: Store, clock: Clock) -> None:
        self.store, self.clock, self.windows = store, clock, FixedWindowCounter()

    async def of_caller(self, rate: Rate, allowance: RateLimit, caller: Caller) -> RateLimitStatus:
        """Count a call by key and agent, or by address; return the quota with less remaining."""
        quota: RateLimitStatus | None = None
        seconds = self.clock.monotonic()
        for limit, bucket in _windows_of(allowance, caller):
            if limit.shared:
                status = await self._take(rate, limit, bucket)
            else:
                status = self.windows.count(rate, limit, bucket, seconds)
            if quota is None or status.remaining < quota.remaining:
                quota = status
            if quota.remaining < 0:
                break
        assert quota is not None
        return quota

    def of_address(self, rate: Rate, ip: str) -> RateLimitStatus:
        """Count a call of this address, in this process only."""
        return self.windows.count(rate, ALLOWANCES[rate], bucket_of(ip), self.clock.monotonic())

    def spent_by(self, ip: str) -> Rate | None:
        """Return a rate limit that this address has used up, or None; count nothing."""
        now, bucket = self.clock.monotonic(), bucket_of(ip)
        spent = (rate for rate in BY_ADDRESS if self.windows.is_used_up(rate, ALLOWANCES[rate], bucket, now))
        return next(spent, None)

    async def _take(self, rate: Rate, allowance: RateLimit, bucket: str) -> RateLimitStatus:
        now = self.clock.now()
        return await self.store.write(lambda tx: take_shared(tx, rate, allowance, bucket, now), "count")


def _windows_of(allowance: RateLimit, caller: Caller) -> list[tuple[RateLimit, str]]:
    """Return the windows that count a call.

    It is that of the address or of the agent, or that of the key and that of the agent.
    """
    if allowance.per_address or caller.agent_id is None:
        return [(allowance, bucket_of(caller.request.ip))]
    if allowance.per_agent:
        return [(allowance, caller.agent_id)]
    together = allowance.of_agent, f"{caller.agent_id} {caller.env}"
    return [(allowance, caller.key_id or caller.agent_id), together]


def take_shared(tx: Tx, rate: Rate, allowance: RateLimit, bucket: str, now: datetime) -> RateLimitStatus:
    """Count one call in the database, in a window that all processes share."""
    name = f"{rate}:{bucket}"
    row = tx.get(RateWindowRow, name, lock=True)
    if row is not None and _is_open(row, allowance, now):
        tx.change(row, count=row.count + 1)
        return judged(rate, allowance, row.count + 1, _seconds_left(row, allowance, now))
    if row is None:
        tx.add(RateWindowRow(bucket=name, began_at=now, count=1))
    else:
        tx.change(row, began_at=now, count=1)
    return judged(rate, allowance, 1, allowance.seconds)


def give_back_shared(tx: Tx, rate: Rate, bucket: str) -> None:
    """Undo the counting of one call in the database."""
    row = tx.get(RateWindowRow, f"{rate}:{bucket}", lock=True)
    if row is not None and row.count > 0:
        tx.change(row, count=row.count - 1)


@dataclass(frozen=True, slots=True)
class Share:
    """A number of calls to count in one shared window."""

    name: str
    allowance: RateLimit
    by: int = 1


def take_shares(tx: Tx, asked: Sequence[Share], now: datetime) -> int | None:
    """Count in all of these windows, or in none if one has no room.

    Returns the seconds to wait, or None if all were counted. An empty window accepts a share of any size.
    """
    rows = [(share, tx.get(RateWindowRow, share.name, lock=True)) for share in sorted(asked, key=lambda one: one.name)]
    found = [(share, row, _used(row, share, now)) for share, row in rows]
    waits = [
        _seconds_left(row, share.allowance, now)
        for share, row, used in found
        if row is not None and used and used + share.by > share.allowance.calls
    ]
    if waits:
        return max(waits)
    for share, row, used in found:
        if row is None:
            tx.add(RateWindowRow(bucket=share.name, began_at=now, count=share.by))
        else:
            tx.change(row, began_at=row.began_at if used else now, count=used + share.by)
    return None


def used_of(tx: Tx, share: Share, now: datetime) -> int:
    """Return the count of a window, 0 if it is not open; count nothing."""
    return _used(tx.get(RateWindowRow, share.name), share, now)


def _used(row: RateWindowRow | None, share: Share, now: datetime) -> int:
    return row.count if row is not None and _is_open(row, share.allowance, now) else 0


def _is_open(row: RateWindowRow, allowance: RateLimit, now: datetime) -> bool:
    """Check whether a window is still open.

    The process whose clock is ahead begins each window. If one that is behind began another, both would begin again at
    each call, and nothing would be refused.
    """
    window = timedelta(seconds=allowance.seconds)
    return -max(window, CLOCKS_APART) < now - row.began_at < window


def _seconds_left(row: RateWindowRow, allowance: RateLimit, now: datetime) -> int:
    left = ceil((row.began_at + timedelta(seconds=allowance.seconds) - now).total_seconds())
    return min(left, allowance.seconds)


def judged(rate: Rate, allowance: RateLimit, calls: int, reset_seconds: int) -> RateLimitStatus:
    """Return the quota after this call.

    Over the limit nothing is raised, so that the count is committed.
    """
    return RateLimitStatus(rate, allowance.calls, allowance.calls - calls, reset_seconds, allowance.seconds)


def raise_if_exceeded(quota: RateLimitStatus | None) -> None:
    refusal = exceeded_error(quota) if quota else None
    if refusal:
        raise refusal


def exceeded_error(quota: RateLimitStatus) -> RateLimited | None:
    """Return the error of a call over its limit; None within the limit."""
    if quota.remaining >= 0:
        return None
    return RateLimited(
        f"more than {quota.limit} calls in {quota.window_seconds} seconds ({quota.rate})",
        retry_after_seconds=quota.reset_seconds,
    )


def bare_address(text: str) -> str:
    """Strip port and brackets from an address as proxies forward it.

    Examples: `9.9.9.9:443`, `[2001:db8::1]:443`.
    """
    if text.startswith("["):
        return text[1:].partition("]")[0]
    head, colon, port = text.rpartition(":")
    return head if colon and ":" not in head and port.isdecimal() else text


def bucket_of(ip: str) -> str:
    """Return the bucket of an address; for IPv6 its /64 network.

    One household holds 2^64 IPv6 addresses.
    """
    ip = bare_address(ip)
    try:
        address = ipaddress.ip_address(ip)
    except ValueError:
        return ip[:64]
    if address.version == 6:
        mapped = address.ipv4_mapped
        return str(mapped) if mapped else str(ipaddress.ip_network((address, 64), strict=False))
    return ip
