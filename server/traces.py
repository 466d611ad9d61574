"""Traces of requests, for OpenTelemetry: a request, the call at the door, its unit of work, what it asks a chain.

Loaded only where EMPORION_OTEL_ENDPOINT is set; the standard OTEL_* variables say the rest (sampler, headers, names). A span's
attributes are names of ours: no argument, key, path or text of anybody, and no exception, whose words might hold one. Work that no
request asked for (the workers' rounds) makes no span. Spans of other libraries in this process go nowhere.
"""

import os
from collections.abc import Awaitable, Callable, Iterator, MutableMapping
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, TypeVar, cast

from opentelemetry import trace
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import SERVICE_NAME, SERVICE_VERSION, Resource
from opentelemetry.sdk.trace import SpanProcessor, TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.trace import Span, SpanKind, Status, StatusCode
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from server.metrics import MeasuredMarket, Metrics
from server.world.watched import WatchedChain
from storage.store import Store
from storage.unit import Tx
from tools.answers import Answer
from tools.context import Approach
from tools.dispatch import Given, Market
from tools.house import House
from tools.ports import Env, World
from tools.registry import Operation

T = TypeVar("T")
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Message, Receive, Send], Awaitable[None]]
SURFACES = ("mcp", "a2a", "v1")  # by the first part of a path; all else is one
METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
CARRIER = (b"traceparent", b"tracestate")


class Tracing:
    """The tracer of one process, and what sends its spans away."""

    def __init__(self, endpoint: str, house: House) -> None:
        named = {} if "OTEL_SERVICE_NAME" in os.environ else {SERVICE_NAME: house.brand}
        resource = Resource.create({**named, SERVICE_VERSION: house.version})
        self.provider = TracerProvider(resource=resource, shutdown_on_exit=False)
        self.provider.add_span_processor(processor_to(endpoint))
        self.tracer = self.provider.get_tracer("emporion", house.version)
        self.reads = TraceContextTextMapPropagator()

    @contextmanager
    def span(self, name: str, **attributes: str | int) -> Iterator[Span]:
        """A part of what is being traced."""
        with self.tracer.start_as_current_span(
            name, attributes=attributes, record_exception=False, set_status_on_exception=False
        ) as span:
            try:
                yield span
            except BaseException as error:
                span.set_attribute("error.type", type(error).__name__)  # its words are nobody's business
                span.set_status(Status(StatusCode.ERROR))
                raise

    def market(self, store: Store, world: World, house: House, metrics: Metrics | None) -> Market:
        """The door that traces, over a store and chains that do."""
        store = cast(Store, TracedStore(store, self))
        world = replace(
            world, chains={env: WatchedChain(chain, TracedCalls(env, self)) for env, chain in world.chains.items()}
        )
        made: Traced = (
            TracedMarket(store, world, house) if metrics is None else TracedMeasuredMarket(store, world, house, metrics)
        )
        made.tracing = self
        return made

    def asked(self, application: App) -> App:
        """The application with a span around each request, of the trace its sender names."""

        async def traced(scope: Message, receive: Receive, send: Send) -> None:
            if scope["type"] != "http":
                await application(scope, receive, send)
                return
            sent = {name.decode(): value.decode("latin-1") for name, value in scope["headers"] if name in CARRIER}
            method = scope["method"] if scope["method"] in METHODS else "_OTHER"
            with self.tracer.start_as_current_span(
                f"{method} {surface_of(scope['path'])}",
                self.reads.extract(sent),
                SpanKind.SERVER,
                {"http.request.method": method, "emporion.surface": surface_of(scope["path"])},
                record_exception=False,
                set_status_on_exception=False,
            ) as span:
                await application(scope, receive, _noting(send, span))

        return traced


def processor_to(endpoint: str) -> SpanProcessor:
    """Sends spans to a collector by OTLP over HTTP, many at a time and in a thread of its own."""
    return BatchSpanProcessor(OTLPSpanExporter(endpoint=f"{endpoint}/v1/traces"))


def surface_of(path: str) -> str:
    """A word for the part of the service; the path itself may hold anything."""
    first = path.split("/", 2)[1] if path.startswith("/") else ""
    return first if first in SURFACES else "page"


class Traced(Market):
    """The same door, traced."""

    tracing: Tracing

    async def call(self, op: Operation, given: Given, approach: Approach, key: str | None = None) -> Answer:
        named = {"emporion.operation": op.name, "emporion.surface": approach.surface.value}
        with self.tracing.span(f"call {op.name}", **named) as span:
            answer = await super().call(op, given, approach, key)
            span.set_attribute("emporion.status", answer.status)
            if answer.error is not None:
                span.set_attribute("emporion.code", answer.error["code"])
            if answer.status >= 500:
                span.set_status(Status(StatusCode.ERROR))
            return answer


class TracedMarket(Traced, Market):
    """Traced and not counted."""


class TracedMeasuredMarket(Traced, MeasuredMarket):
    """Traced and counted."""


class TracedStore:
    """A store whose units of work are traced; all else is the store's own."""

    def __init__(self, store: Store, tracing: Tracing) -> None:
        self.inner, self.tracing = store, tracing

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inner, name)

    async def write(self, work: Callable[[Tx], T], name: str = "unit") -> T:
        if not in_trace():
            return await self.inner.write(work, name)
        with self.tracing.span(f"unit {name}", **{"emporion.unit": name}):
            return await self.inner.write(work, name)


class TracedCalls:
    """Traces what is asked of one chain."""

    def __init__(self, env: Env, tracing: Tracing) -> None:
        self.env, self.tracing = env, tracing

    async def __call__(self, method: str, asked: Awaitable[T]) -> T:
        if not in_trace():
            return await asked
        with self.tracing.span(f"chain {method}", **{"emporion.env": self.env.value}):
            return await asked


def in_trace() -> bool:
    """Whether somebody's request is being served."""
    return trace.get_current_span().get_span_context().is_valid


def _noting(send: Send, span: Span) -> Send:
    async def noted(message: Message) -> None:
        if message["type"] == "http.response.start":
            span.set_attribute("http.response.status_code", message["status"])
            if message["status"] >= 500:
                span.set_status(Status(StatusCode.ERROR))
        await send(message)

    return noted
