"""OpenTelemetry traces of requests: the request, the call of an operation, its transactions and its chain calls.

It is imported only if EMPORION_OTEL_ENDPOINT is set; the standard OTEL_* variables set the rest (sampler, headers,
names). The attributes of a span are names from our code: no argument, key, path or user's text, and no exception
message, because it might contain one. Work outside of requests (the workers' rounds) makes no span. Spans of other
libraries are not exported.
"""

import os
from collections.abc import Awaitable, Callable, Iterator, MutableMapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import partial
from typing import Any, TypeVar

from opentelemetry import trace
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import SERVICE_NAME, SERVICE_VERSION, Resource
from opentelemetry.sdk.trace import SpanProcessor, TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.trace import Span, SpanKind, Status, StatusCode
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from storage.vocabulary import Env
from tools.engine.caller import CallRequest
from tools.engine.config import MarketConfig
from tools.engine.idempotency import Response
from tools.engine.observers import Observer
from tools.engine.registry import Operation

T = TypeVar("T")
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Message, Receive, Send], Awaitable[None]]
SURFACES = ("mcp", "a2a", "v1")  # by the first part of the path; everything else is "page"
METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
CARRIER = (b"traceparent", b"tracestate")


class Tracing(Observer):
    """The tracer of one process, and the exporter of its spans."""

    def __init__(self, endpoint: str, config: MarketConfig) -> None:
        named = {} if "OTEL_SERVICE_NAME" in os.environ else {SERVICE_NAME: config.brand}
        resource = Resource.create({**named, SERVICE_VERSION: config.version})
        self.provider = TracerProvider(resource=resource, shutdown_on_exit=False)
        self.provider.add_span_processor(processor_to(endpoint))
        tracer = self.provider.get_tracer("emporion", config.version)
        # The message of an exception may contain a user's text.
        self.start = partial(tracer.start_as_current_span, record_exception=False, set_status_on_exception=False)
        self.reads = TraceContextTextMapPropagator()

    @contextmanager
    def span(self, name: str, **attributes: str | int) -> Iterator[Span]:
        """Trace a block as a part of the current span."""
        with self.start(name, attributes=attributes) as span:
            try:
                yield span
            except BaseException as error:
                span.set_attribute("error.type", type(error).__name__)
                span.set_status(Status(StatusCode.ERROR))
                raise

    @contextmanager
    def call(self, op: Operation, request: CallRequest) -> Iterator[Callable[[Response], None]]:
        named = {"emporion.operation": op.name, "emporion.surface": request.surface.value}
        with self.span(f"call {op.name}", **named) as span:
            yield partial(_note, span)

    def unit(self, name: str) -> AbstractContextManager[object]:
        """Trace a unit of work, inside a request."""
        return self.span(f"unit {name}", **{"emporion.unit": name}) if in_trace() else nullcontext()

    async def chain_call(self, env: Env, method: str, asked: Awaitable[T]) -> T:
        """Trace a call of a chain, inside a request."""
        if not in_trace():
            return await asked
        with self.span(f"chain {method}", **{"emporion.env": env.value}):
            return await asked

    async def trace_request(self, application: App, scope: Message, receive: Receive, send: Send) -> None:
        """Answer a request inside a span, which continues the sender's trace."""
        if scope["type"] != "http":
            await application(scope, receive, send)
            return
        sent = {name.decode(): value.decode("latin-1") for name, value in scope["headers"] if name in CARRIER}
        method = scope["method"] if scope["method"] in METHODS else "_OTHER"
        surface = surface_of(scope["path"])
        named = {"http.request.method": method, "emporion.surface": surface}
        with self.start(f"{method} {surface}", self.reads.extract(sent), SpanKind.SERVER, named) as span:
            await application(scope, receive, _noting(send, span))


def processor_to(endpoint: str) -> SpanProcessor:
    """Return a processor that exports spans in batches, by OTLP over HTTP, from a thread."""
    return BatchSpanProcessor(OTLPSpanExporter(endpoint=f"{endpoint}/v1/traces"))


def surface_of(path: str) -> str:
    """Return a word for a part of the service; the path itself may contain anything."""
    first = path.split("/", 2)[1] if path.startswith("/") else ""
    return first if first in SURFACES else "page"


def in_trace() -> bool:
    """Return True inside the span of a request."""
    return trace.get_current_span().get_span_context().is_valid


def _note(span: Span, response: Response) -> None:
    """Add the outcome of a call to its span."""
    span.set_attribute("emporion.status", response.status)
    if response.error is not None:
        span.set_attribute("emporion.code", response.error["code"])
    if response.status >= 500:
        span.set_status(Status(StatusCode.ERROR))


def _noting(send: Send, span: Span) -> Send:
    async def noted(message: Message) -> None:
        if message["type"] == "http.response.start":
            span.set_attribute("http.response.status_code", message["status"])
            if message["status"] >= 500:
                span.set_status(Status(StatusCode.ERROR))
        await send(message)

    return noted
