"""Prometheus metrics of this process for GET /metrics: calls, refusals, durations, webhook deliveries, chain calls.

Labels are only names from our code (operations, surfaces, codes, environments), never an agent, a path or a job's
content.
"""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator, Mapping, MutableMapping
from typing import Any, TypeVar

from prometheus_client import CollectorRegistry, Counter, Histogram, ProcessCollector, disable_created_metrics
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.exposition import CONTENT_TYPE_LATEST, generate_latest
from prometheus_client.metrics_core import Metric

from rest.headers import of_answer
from server.adapters.observed import WatchedChain
from server.pages import Found
from storage.store import Store
from storage.vocabulary import Env
from tools.chain.transfer_verification import ChainDown
from tools.engine.authentication import need_operator
from tools.engine.config import MarketConfig
from tools.engine.context import CallRequest, Surface
from tools.engine.dispatch import Given, Market
from tools.engine.errors import RateLimited
from tools.engine.idempotency import Response
from tools.engine.oauth import challenge
from tools.engine.ports import Chain, Clock, World
from tools.engine.registry import Operation
from tools.events.webhooks.rules import Attempted
from tools.kernel.errors import MarketError

T = TypeVar("T")
SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1.0, 2.5, 10.0, 60.0)
LAG_EVERY_SECONDS = 1.0
NAME = "emporion"


class Metrics:
    """The counters of one process."""

    def __init__(self, clock: Clock) -> None:
        disable_created_metrics()  # type: ignore[no-untyped-call]
        self.clock, self.registry = clock, CollectorRegistry()
        of_call = ("operation", "surface", "status")
        self.calls = self._counter("calls", "Calls the door answered.", *of_call)
        self.refusals = self._counter(
            "refusals", "Calls that were refused, by the code of the error.", "code", "surface"
        )
        self.limited = self._counter("rate_limited", "Calls and requests refused beyond a window.", "surface")
        self.deliveries = self._counter("webhook_deliveries", "Attempts to deliver a webhook.", "outcome")
        self.chain = self._counter("chain_calls", "Questions to a chain's node.", "env", "method", "outcome")
        self.seconds = Histogram(
            f"{NAME}_call_seconds", "How long the door took.", ("operation",), buckets=SECONDS, registry=self.registry
        )
        self.lag = Histogram(
            f"{NAME}_event_loop_lag_seconds", "How late the event loop is.", buckets=SECONDS, registry=self.registry
        )
        ProcessCollector(registry=self.registry)
        self.known: dict[
            tuple[str, str, int], tuple[Any, Any]
        ] = {}  # finding a label's counter costs more than counting

    def answered(self, op: Operation, surface: str, answer: Response, seconds: float) -> None:
        """Count one call of an operation."""
        known = self.known.get((op.name, surface, answer.status))
        if known is None:
            known = self.calls.labels(op.name, surface, str(answer.status)), self.seconds.labels(op.name)
            self.known[op.name, surface, answer.status] = known
        known[0].inc()
        known[1].observe(seconds)
        self.refused(surface, answer)

    def refused(self, surface: str, answer: Response | None) -> None:
        """Count a refusal; do nothing for None or a success."""
        if answer is None or answer.error is None:
            return
        self.refusals.labels(answer.error["code"], surface).inc()
        if isinstance(answer.refusal, RateLimited):
            self.limited.labels(surface).inc()

    def attempted(self, attempt: Attempted | None) -> None:
        """Count an attempt to deliver a webhook; None means that it was not begun."""
        self.deliveries.labels(outcome_of(attempt)).inc()

    async def watch_loop(self) -> None:
        """Measure forever how late the event loop wakes this task."""
        while True:
            began = self.clock.monotonic()
            await asyncio.sleep(LAG_EVERY_SECONDS)
            self.lag.observe(max(0.0, self.clock.monotonic() - began - LAG_EVERY_SECONDS))

    def _counter(self, name: str, what: str, *labels: str) -> Counter:
        return Counter(f"{NAME}_{name}", what, labels, registry=self.registry)


class MeasuredMarket(Market):
    """A market that counts its calls. Without METRICS the plain market is used, at no cost."""

    def __init__(self, store: Store, world: World, config: MarketConfig, metrics: Metrics) -> None:
        super().__init__(store, world, config)
        self.metrics = metrics
        metrics.registry.register(Now(self))

    async def call(
        self, op: Operation, raw_arguments: Given, approach: CallRequest, key: str | None = None
    ) -> Response:
        began = self.metrics.clock.monotonic()
        answer = await super().call(op, raw_arguments, approach, key)
        self.metrics.answered(op, approach.surface.value, answer, self.metrics.clock.monotonic() - began)
        return answer

    async def stream(
        self, op: Operation, raw_arguments: Given, approach: CallRequest, *, head_only: bool = False
    ) -> AsyncGenerator[Any, None] | Response:
        opened = await super().stream(op, raw_arguments, approach, head_only=head_only)
        surface = approach.surface.value
        refused = opened if isinstance(opened, Response) else None
        self.metrics.calls.labels(op.name, surface, str(refused.status if refused else op.status)).inc()
        self.metrics.refused(surface, refused)
        return opened

    async def count_protocol_request(self, approach: CallRequest) -> Response | None:
        return self._counted(approach, await super().count_protocol_request(approach))

    async def refuse_unread_body(self, approach: CallRequest, body_bytes: int) -> Response | None:
        return self._counted(approach, await super().refuse_unread_body(approach, body_bytes))

    async def require_credential(self, approach: CallRequest) -> Response | None:
        return self._counted(approach, await super().require_credential(approach))

    def _counted(self, approach: CallRequest, refused: Response | None) -> Response | None:
        self.metrics.refused(approach.surface.value, refused)
        return refused


class Counted:
    """An observer of one chain that counts the outcomes of calls."""

    def __init__(self, env: Env, metrics: Metrics) -> None:
        self.env, self.metrics = env, metrics

    async def __call__(self, method: str, asked: Awaitable[T]) -> T:
        outcome = "cancelled"
        try:
            answer = await asked
            outcome = "answered"
            return answer
        except ChainDown:
            outcome = "down"
            raise
        finally:
            self.metrics.chain.labels(self.env.value, method, outcome).inc()


def measured_chains(chains: Mapping[Env, Chain], metrics: Metrics) -> dict[Env, Chain]:
    return {env: WatchedChain(chain, Counted(env, metrics)) for env, chain in chains.items()}


class Now:
    """Metrics that are read from the market's own state when they are collected."""

    def __init__(self, market: Market) -> None:
        self.market = market

    def collect(self) -> Iterator[Metric]:
        market, counters, pulse = self.market, self.market.store.counters, self.market.health
        now = market.world.clock.monotonic()
        yield _total("worker_rounds", "Rounds of the workers that ended.", pulse.rounds)
        if pulse.round_ended is not None:
            yield _gauge("worker_round_age_seconds", "Since the last round ended.", now - pulse.round_ended)
        yield _gauge("store_waiting", "Units of work and reads that wait for a thread.", market.store.waiting)
        yield _total("store_commits", "Transactions committed by the writers.", counters.commits)
        yield _total("store_units", "Units of work; with commits, how many share one.", counters.units)
        yield _total("store_reads", "Reads, quick and long.", counters.looks + counters.scans)
        yield _gauge("store_longest_unit_seconds", "The longest unit since the start.", counters.longest_unit_seconds)
        yield _gauge("open_streams", "Streams of events that are open.", sum(market.notifier.streams.values()))
        yield _heads(market.world.chains, now)


def _total(name: str, what: str, value: float) -> Metric:
    return CounterMetricFamily(f"{NAME}_{name}", what, value=value)


def _gauge(name: str, what: str, value: float) -> Metric:
    return GaugeMetricFamily(f"{NAME}_{name}", what, value=value)


def _heads(chains: Mapping[Env, Chain], now: float) -> Metric:
    ages = GaugeMetricFamily(f"{NAME}_chain_head_age_seconds", "Since a chain's head was read.", labels=["env"])
    for env, chain in chains.items():
        if chain.last_head is not None:
            ages.add_metric([env.value], now - chain.last_head[1])
    return ages


def outcome_of(attempt: Attempted | None) -> str:
    """Return one of four words; the receiver's own words are never labels."""
    if attempt is None:
        return "not_begun"
    if attempt.status is None:
        return "unreached"
    return "delivered" if 200 <= attempt.status < 300 else "refused"


def metrics_page(
    market: Market, metrics: Metrics, approach_of: Callable[[MutableMapping[str, Any], Surface], CallRequest]
) -> Callable[[MutableMapping[str, Any]], Any]:
    """Return the handler of GET /metrics, which needs the operator's secret.

    A wrong secret counts against the client address, like any failed credential.
    """

    async def answer(scope: MutableMapping[str, Any]) -> Found:
        approach = approach_of(scope, Surface.REST)
        try:
            need_operator(approach, market.config)
        except MarketError as error:
            refused = market.refuse_anonymous(error, approach)
            return Found(
                refused.status, "application/json", refused.body, tuple(_said_of(refused, scope, market.config))
            )
        return Found(200, CONTENT_TYPE_LATEST, generate_latest(metrics.registry))

    return answer


def _said_of(refused: Response, scope: MutableMapping[str, Any], config: MarketConfig) -> Iterator[tuple[bytes, bytes]]:
    """Return the headers of a refusal as REST sends them, but not cache-control.

    Probes sets cache-control itself.
    """
    yield from (one for one in of_answer(refused) if one[0] != b"cache-control")
    if refused.status == 401:
        yield b"www-authenticate", challenge(config.urls, scope["headers"], "", tried=False)
