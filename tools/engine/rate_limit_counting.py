"""Rate limit counting: which windows a call counts in, in this process and in the database."""

from storage.store import Store
from tools.engine.context import Caller
from tools.engine.ports import Clock
from tools.engine.rate_limits import (
    ALLOWANCES,
    FixedWindowCounter,
    Rate,
    RateLimit,
    RateLimitStatus,
    bucket_of,
    take_shared,
)

BY_ADDRESS = (Rate.ANONYMOUS_FAILURES, Rate.PROTOCOL_REQUESTS)


class RateLimitCounter:
    """Counts calls by key, agent and address.

    It never refuses a call: a negative `remaining` says that the call is over the limit.
    """

    def __init__(self, store: Store, clock: Clock) -> None:
        self.store, self.clock, self.windows = store, clock, FixedWindowCounter()

    async def of_caller(self, rate: Rate, allowance: RateLimit, caller: Caller) -> RateLimitStatus:
        """Count a call by key and agent, or by address; return the quota with less remaining."""
        if allowance.per_address or caller.agent_id is None:
            return await self._take(rate, allowance, bucket_of(caller.request.ip))
        if allowance.per_agent:
            return await self._take(rate, allowance, caller.agent_id)
        quota = await self._take(rate, allowance, caller.key_id or caller.agent_id)
        if quota.remaining < 0:
            return quota
        together = await self._take(rate, allowance.of_agent, f"{caller.agent_id} {caller.env}")
        return min(quota, together, key=lambda one: one.remaining)

    def of_address(self, rate: Rate, ip: str) -> RateLimitStatus:
        """Count a call of this address, in this process only."""
        return self.windows.count(rate, ALLOWANCES[rate], bucket_of(ip), self.clock.monotonic())

    def spent_by(self, ip: str) -> Rate | None:
        """Return a rate limit that this address has used up, or None; count nothing."""
        now, bucket = self.clock.monotonic(), bucket_of(ip)
        spent = (rate for rate in BY_ADDRESS if self.windows.is_used_up(rate, ALLOWANCES[rate], bucket, now))
        return next(spent, None)

    async def _take(self, rate: Rate, allowance: RateLimit, bucket: str) -> RateLimitStatus:
        if not allowance.shared:
            return self.windows.count(rate, allowance, bucket, self.clock.monotonic())
        now = self.clock.now()
        return await self.store.write(lambda tx: take_shared(tx, rate, allowance, bucket, now), "count")
