"""Market.call, the path of every call: authenticate, count, validate, replay or gather, run, respond, log."""

from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, TypeAlias

import orjson
import structlog

from storage.store import Store
from storage.transaction import StorageError, Tx
from storage.vocabulary import Env
from tools.engine.arguments import Arguments, parse_arguments
from tools.engine.authentication import authorise, holder_of_credential, identify, known_caller
from tools.engine.call_log import CallLog
from tools.engine.caller import Caller, CallRequest
from tools.engine.config import MarketConfig
from tools.engine.context import ReadContext
from tools.engine.documents import StaleInput
from tools.engine.dry_run import rolled_back, without_secrets
from tools.engine.errors import (
    AsksPayment,
    InternalError,
    InvalidRequest,
    TooBusy,
    Unauthenticated,
)
from tools.engine.idempotency import IdempotencyKey, Response, busy, keep, key_for, replay
from tools.engine.long_polling import wait
from tools.engine.observers import Observer
from tools.engine.ports import World
from tools.engine.preconditions import collect_failures
from tools.engine.rate_limits import ALLOWANCES, Rate, RateLimitStatus, exceeded_error, raise_if_exceeded
from tools.engine.registry import Operation, Run
from tools.engine.request_signatures import consume, consume_alone, record_use, reject_replayed
from tools.engine.services import HasServices, Services
from tools.engine.storage_quotas import refuse_on_low_disk, refuse_overfull
from tools.kernel.errors import Json, MarketError
from tools.kernel.records import Existing, Ready, encode

GATHERINGS = 3  # attempts, if gathered data changes before the unit of work uses it

RawArguments: TypeAlias = "dict[str, Json] | Callable[[], dict[str, Json] | Arguments]"

log = structlog.get_logger("emporion.door")


@dataclass(slots=True)
class Call:
    """A call that was admitted, with valid arguments. Nothing changes it."""

    op: Operation
    arguments: Arguments
    read_ctx: ReadContext

    @property
    def caller(self) -> Caller:
        return self.read_ctx.caller

    @property
    def dry_run(self) -> bool:
        return self.caller.request.dry_run and not self.op.safe

    @property
    def waits(self) -> bool:
        return self.op.is_ready is not None and self.arguments.longest_wait > 0


class Market(HasServices):
    """The market as its surfaces see it: one way to call the operations of the catalogue."""

    def __init__(
        self,
        store: Store,
        world: World,
        config: MarketConfig,
        observers: Sequence[Observer] = (),
    ) -> None:
        self.services, self.observers = Services(store, world, config), observers
        self.call_log = CallLog()

    async def call(
        self, op: Operation, raw_arguments: RawArguments, request: CallRequest, key: str | None = None
    ) -> Response:
        """Run an operation for a caller; return a record or an error, never raise.

        `raw_arguments` may be a callable, which may return valid ones; it is only invoked after authentication and rate
        limiting. `key` is the Idempotency-Key.
        """
        if not self.observers:
            return await self._call(op, raw_arguments, request, key)
        with ExitStack() as stack:
            ends = [stack.enter_context(observer.call(op, request)) for observer in self.observers]
            response = await self._call(op, raw_arguments, request, key)
            for end in ends:
                end(response)
            return response

    async def _call(
        self, op: Operation, raw_arguments: RawArguments, request: CallRequest, key: str | None
    ) -> Response:
        quota: RateLimitStatus | None = None
        caller: Caller | None = None
        began = self.world.clock.monotonic()
        try:
            caller, quota = await self._admit(op, request)
            raise_if_exceeded(quota)
            response = await self._perform(self._validated(op, raw_arguments, caller), key)
        except MarketError as error:
            response = self.refuse(error, request) if caller else self.refuse_anonymous(error, request)
            if caller is not None and not error.retryable:  # a retryable request may be sent again as it is
                with suppress(MarketError, StorageError):  # the call is already refused
                    await consume_alone(caller, self.services)
            if op.may_revoke_caller_key and key is not None and isinstance(response.refusal, Unauthenticated):
                response = await self._replay_for_revoked_key(op, raw_arguments, request, key, response)
        except StorageError as error:
            log.warning("storage", operation=op.name, error=type(error).__name__, request_id=request.request_id)
            response = self.refuse(busy(error), request)
        except Exception:
            log.exception("fault", operation=op.name, request_id=request.request_id)
            response = self.refuse(InternalError("something went wrong on our side"), request)
        self.call_log.write(op, request, caller, response, began, self.world.clock)
        response.caller_id = caller.agent_id if caller else None
        response.quota = quota or response.quota
        return response

    async def _admit(self, op: Operation, request: CallRequest) -> tuple[Caller, RateLimitStatus | None]:
        """Authenticate and authorise the caller, and count the call."""
        if op.auth == "signed":
            request = replace(request, credential=None, argument_key=None)
        services = self.services
        caller = known_caller(request, services) or await identify(request, services)
        authorise(op, caller, services.config)
        refuse_on_low_disk(op, request, services.health)
        if caller.proof is not None:
            await reject_replayed(caller, services)
        now = services.world.clock.now()
        if services.last_seen.note_call(caller, now):
            await services.last_seen.begin_live(services.store, caller, now)
        return caller, await self._count(op, caller) if services.config.limits.enforced else None

    async def _count(self, op: Operation, caller: Caller) -> RateLimitStatus:
        rate = op.rate if op.paid_rate is None or caller.request.payment is None else op.paid_rate
        allowance = ALLOWANCES[rate]
        if rate is Rate.REGISTER:
            allowance = replace(allowance, calls=self.config.limits.registrations_per_hour)
        return await self.services.rate_limits.of_caller(rate, allowance, caller)

    def _validated(self, op: Operation, raw_arguments: RawArguments, caller: Caller) -> Call:
        given = raw_arguments() if callable(raw_arguments) else raw_arguments
        arguments = given if isinstance(given, Arguments) else parse_arguments(op.input, given)
        env = arguments.chosen_env or caller.env or Env.LIVE
        return Call(op, arguments, ReadContext(self.services, caller, env, self.world.clock.now(), op.name))

    async def _perform(self, call: Call, key: str | None) -> Response:
        op = call.op
        if op.safe and call.caller.proof is not None:
            await consume_alone(call.caller, self.services)
        if op.outside_transaction:
            return self._respond(call, await op.run(call.read_ctx, call.arguments))
        if op.safe and call.waits:
            return await self._wait(call, op.run)
        try:
            response = await self._replay_or_run(call, key)
        except MarketError as error:
            if (checks := op.preconditions) is not None and isinstance(error, (InvalidRequest, *op.errors)):
                await collect_failures(self.store, lambda tx: checks(call.read_ctx.within(tx), call.arguments), error)
            raise
        if not call.waits or response.refused or response.dry_run:
            return response
        with suppress(MarketError, StorageError):  # the write is committed, even if the wait fails
            assert op.poll is not None
            later = await self._wait(call, partial(op.poll, answered=orjson.loads(response.body)))
            return replace(later, status=response.status, replayed=response.replayed)
        return response

    async def _replay_or_run(self, call: Call, key: str | None) -> Response:
        """Return the stored response to the same call; otherwise gather and run a unit of work."""
        op, read_ctx = call.op, call.read_ctx
        repeat = None if call.dry_run else key_for(op, call.arguments, call.caller, read_ctx.env, key)
        if repeat is not None:
            kept = await self.store.read(lambda tx: replay(tx, repeat, read_ctx.now))
            if kept is not None:
                await consume_alone(call.caller, self.services)
                return kept
        for _ in range(GATHERINGS):
            found = () if op.gather is None else (await op.gather(read_ctx, call.arguments),)
            unit = partial(self._run, call=call, found=found, repeat=repeat)
            try:
                if call.dry_run:
                    return await rolled_back(self.store, unit, op.name)
                if not op.safe:
                    return await self.store.write(unit, op.name)
                return await (read_ctx.lagging if op.may_lag else self.store).read(unit)
            except StaleInput:
                self.services.caches.terms.clear()
        raise TooBusy("what this call is about keeps changing", retry_after_seconds=1)

    def _run(self, tx: Tx, call: Call, found: tuple[Any, ...], repeat: IdempotencyKey | None) -> Response:
        """Run the operation in its unit of work, and store its response there."""
        now, ctx = call.read_ctx.now, call.read_ctx.within(tx)
        if call.caller.proof is not None and not call.op.safe:
            consume(tx, call.caller, now)
        kept = repeat and replay(tx, repeat, now)
        if kept:
            return kept
        if self.store.has_replica and call.caller.agent_id is not None and not call.op.safe:
            tx.note_writer(call.caller.agent_id)
        response = self._respond(call, call.op.run(ctx, call.arguments, *found))
        if repeat and response.error is None:
            keep(tx, repeat, response, now, self.world.dice)
        refuse_overfull(ctx)
        return response

    async def _wait(self, call: Call, run: Run) -> Response:
        """Return what `run` reads once there is something new, or when the time is up."""

        def look(read_ctx: ReadContext) -> Any:
            return self.store.read(lambda tx: run(read_ctx.within(tx), call.arguments))

        record = await wait(call.op, call.arguments, call.read_ctx, look)
        if call.op.before_answer is not None:
            await call.op.before_answer(call.read_ctx, record)
        return self._respond(call, record)

    def _respond(self, call: Call, record: Any) -> Response:
        """Return the response with a record; if it is an error, what was written is still committed."""
        if isinstance(record, MarketError):
            return self.refuse(record, call.caller.request)
        if isinstance(record, Ready):
            return Response(call.op.status, record.body, tag=record.tag)
        record, status = (record.record, 200) if isinstance(record, Existing) else (record, call.op.status)
        record = without_secrets(record) if call.dry_run else record
        if not isinstance(record, AsksPayment):
            return Response(status, encode(record))
        terms = record.asks(record.why)
        error = terms.record(call.caller.request.request_id, self.config.docs_url)
        return Response(terms.status, encode(record), error)

    async def stream(
        self, op: Operation, raw_arguments: RawArguments, request: CallRequest, *, head_only: bool = False
    ) -> AsyncGenerator[Any, None] | Response:
        """Open a streaming operation; return its records or a refusal (`head_only`: no document)."""
        opened = await self._stream(op, raw_arguments, request, head_only=head_only)
        for observer in self.observers:
            observer.stream(op, request, opened if isinstance(opened, Response) else None)
        return opened

    async def _stream(
        self, op: Operation, raw_arguments: RawArguments, request: CallRequest, *, head_only: bool
    ) -> AsyncGenerator[Any, None] | Response:
        caller: Caller | None = None
        try:
            caller, quota = await self._admit(op, request)
            raise_if_exceeded(quota)
            call = self._validated(op, raw_arguments, caller)
            if head_only and op.document is not None:
                return _nothing()
            records: AsyncGenerator[Any, None] = await op.run(call.read_ctx, call.arguments)
            return records
        except MarketError as error:
            return self.refuse(error, request) if caller else self.refuse_anonymous(error, request)
        except StorageError as error:
            return self.refuse(busy(error), request)

    def refuse(self, error: MarketError, request: CallRequest, quota: RateLimitStatus | None = None) -> Response:
        """Return an error as a response; surfaces also use it before they know the operation."""
        record = error.record(request.request_id, self.config.docs_url)
        return Response(error.status, encode({"error": record}), record, error, quota)

    def refuse_anonymous(self, error: MarketError, request: CallRequest) -> Response:
        """Refuse an unauthenticated call and count it by address; over the rate limit with 429."""
        if not self.config.limits.enforced:
            return self.refuse(error, request)
        quota = self.services.rate_limits.of_address(Rate.ANONYMOUS_FAILURES, request.ip)
        return self.refuse(exceeded_error(quota) or error, request, quota)

    def observed_refusal(self, request: CallRequest, refused: Response | None) -> Response | None:
        """Tell the observers of a refused request that calls no operation, if it was refused."""
        if refused is not None:
            for observer in self.observers:
                observer.refusal(request, refused)
        return refused

    async def _replay_for_revoked_key(
        self, op: Operation, raw_arguments: RawArguments, request: CallRequest, key: str, refused: Response
    ) -> Response:
        """Replay the stored response of a call that revoked its own key; otherwise return `refused`."""
        with suppress(MarketError, StorageError):
            caller = await holder_of_credential(request, self.services, former=True)
            if caller.agent_id is None:
                return refused
            call = self._validated(op, raw_arguments, caller)
            now = call.read_ctx.now
            repeat = key_for(op, call.arguments, caller, call.read_ctx.env, key)
            kept = None if repeat is None else await self.store.read(partial(replay, repeat=repeat, now=now))
            if kept is None:
                return refused
            if caller.proof is not None:
                await self.store.write(partial(record_use, caller=caller, now=now), "use a signature")
            return replace(kept, quota=refused.quota)
        return refused


async def _nothing() -> AsyncGenerator[Any, None]:
    return
    yield
