"""Prometheus metrics of this process for GET /metrics: calls, refusals, durations, webhook deliveries, chain calls.

Labels are only names from our code (operations, surfaces, codes, environments), never an agent, a path or a job's
content.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterator, MutableMapping
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from typing import Any, TypeVar

from prometheus_client import CollectorRegistry, Counter, Histogram, ProcessCollector, disable_created_metrics
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.exposition import CONTENT_TYPE_LATEST, generate_latest
from prometheus_client.metrics_core import Metric

from protocol.http import RequestReader
from rest.headers import of_answer
from server.pages import Found
from storage.vocabulary import Env
from tools.chain.transfer_verification import ChainDown
from tools.engine.authentication import need_operator
from tools.engine.caller import CallRequest, Surface
from tools.engine.config import MarketConfig
from tools.engine.dispatch import Market
from tools.engine.errors import RateLimited
from tools.engine.idempotency import Response
from tools.engine.oauth import challenge
from tools.engine.observers import Observer
from tools.engine.ports import Clock
from tools.engine.registry import Operation
from tools.events.webhooks.rules import Attempted
from tools.kernel.errors import MarketError

T = TypeVar("T")
SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1.0, 2.5, 10.0, 60.0)
LAG_EVERY_SECONDS = 1.0
NAME = "emporion"


class Metrics(Observer):
    """The counters of one process, which observe its calls; without METRICS there are none."""

    def __init__(self, clock: Clock) -> None:
        disable_created_metrics()  # type: ignore[no-untyped-call]
        self.clock, self.registry = clock, CollectorRegistry()
        self.calls = self._counter("calls", "Calls the door answered.", "operation", "surface", "status")
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

    def call(self, op: Operation, request: CallRequest) -> AbstractContextManager[Callable[[Response], None]]:
        return nullcontext(partial(self._answered, op, request, self.clock.monotonic()))

    def stream(self, op: Operation, request: CallRequest, refused: Response | None) -> None:
        self.calls.labels(op.name, request.surface.value, str(refused.status if refused else op.status)).inc()
        if refused is not None:
            self.refusal(request, refused)

    def refusal(self, request: CallRequest, refused: Response) -> None:
        if refused.error is not None:
            self.refusals.labels(refused.error["code"], request.surface.value).inc()
        if isinstance(refused.refusal, RateLimited):
            self.limited.labels(request.surface.value).inc()

    async def chain_call(self, env: Env, method: str, asked: Awaitable[T]) -> T:
        """Count a call of a chain by its outcome."""
        outcome = "cancelled"
        try:
            answer = await asked
            outcome = "answered"
            return answer
        except ChainDown:
            outcome = "down"
            raise
        finally:
            self.chain.labels(env.value, method, outcome).inc()

    def attempted(self, attempt: Attempted | None) -> None:
        """Count an attempt to deliver a webhook; None means that it was not begun."""
        self.deliveries.labels(outcome_of(attempt)).inc()

    async def watch_loop(self) -> None:
        """Measure forever how late the event loop wakes this task."""
        while True:
            began = self.clock.monotonic()
            await asyncio.sleep(LAG_EVERY_SECONDS)
            self.lag.observe(max(0.0, self.clock.monotonic() - began - LAG_EVERY_SECONDS))

    def _answered(self, op: Operation, request: CallRequest, began: float, response: Response) -> None:
        """Count one call of an operation."""
        key = op.name, request.surface.value, response.status
        known = self.known.get(key)
        if known is None:
            known = self.calls.labels(op.name, key[1], str(response.status)), self.seconds.labels(op.name)
            self.known[key] = known
        known[0].inc()
        known[1].observe(self.clock.monotonic() - began)
        self.refusal(request, response)

    def _counter(self, name: str, what: str, *labels: str) -> Counter:
        return Counter(f"{NAME}_{name}", what, labels, registry=self.registry)


class Now:
    """Metrics that are read from the market's own state when they are collected."""

    def __init__(self, market: Market) -> None:
        self.market = market

    def collect(self) -> Iterator[Metric]:
        market, counters, pulse = self.market, self.market.store.counters, self.market.services.health
        now = market.world.clock.monotonic()
        yield _total("worker_rounds", "Rounds of the workers that ended.", pulse.rounds)
        if pulse.round_ended is not None:
            yield _gauge("worker_round_age_seconds", "Since the last round ended.", now - pulse.round_ended)
        yield _gauge("store_waiting", "Units of work and reads that wait for a thread.", market.store.waiting)
        yield _total("store_commits", "Transactions committed by the writers.", counters.commits)
        yield _total("store_units", "Units of work; with commits, how many share one.", counters.units)
        yield _total("store_reads", "Reads, quick and long.", counters.looks + counters.scans)
        yield _total("replica_reads", "Reads that the replica answered.", counters.replica_reads)
        yield _total("replica_misses", "Reads that the primary answered for the replica.", counters.replica_misses)
        yield _gauge("store_longest_unit_seconds", "The longest unit since the start.", counters.longest_unit_seconds)
        yield _gauge("open_streams", "Streams of events that are open.", sum(market.services.notifier.streams.values()))
        ages = GaugeMetricFamily(f"{NAME}_chain_head_age_seconds", "Since a chain's head was read.", labels=["env"])
        for env, chain in market.world.chains.items():
            if chain.last_head is not None:
                ages.add_metric([env.value], now - chain.last_head[1])
        yield ages


def _total(name: str, what: str, value: float) -> Metric:
    return CounterMetricFamily(f"{NAME}_{name}", what, value=value)


def _gauge(name: str, what: str, value: float) -> Metric:
    return GaugeMetricFamily(f"{NAME}_{name}", what, value=value)


def outcome_of(attempt: Attempted | None) -> str:
    """Return one of four words; the receiver's own words are never labels."""
    if attempt is None:
        return "not_begun"
    if attempt.status is None:
        return "unreached"
    return "delivered" if 200 <= attempt.status < 300 else "refused"


async def metrics_page(
    market: Market,
    metrics: Metrics,
    request_of: RequestReader,
    scope: MutableMapping[str, Any],
) -> Found:
    """Answer GET /metrics, which needs the operator's secret.

    A wrong secret counts against the client address, like any failed credential.
    """
    request = request_of(scope, Surface.REST)
    try:
        need_operator(request, market.config)
    except MarketError as error:
        refused = market.refuse_anonymous(error, request)
        headers = tuple(_said_of(refused, scope, market.config))
        return Found(refused.status, "application/json", refused.body, headers)
    return Found(200, CONTENT_TYPE_LATEST, generate_latest(metrics.registry))


def _said_of(refused: Response, scope: MutableMapping[str, Any], config: MarketConfig) -> Iterator[tuple[bytes, bytes]]:
    """Return the headers of a refusal as REST sends them, but not cache-control.

    Probes sets cache-control itself.
    """
    yield from (one for one in of_answer(refused) if one[0] != b"cache-control")
    if refused.status == 401:
        yield b"www-authenticate", challenge(config.urls, scope["headers"], "", tried=False)
