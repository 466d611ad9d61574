"""Market.call, which every call of every surface goes through.

authorise -> count -> validate -> replay a stored answer or gather -> ONE unit of work -> answer.
"""

from collections.abc import AsyncGenerator, Callable
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import Any, TypeAlias

import orjson
import structlog

from storage.store import Store
from storage.transaction import StorageError, Tx
from storage.vocabulary import Env
from tools.engine.arguments import Arguments, read_arguments
from tools.engine.authentication import NO_KEY, authorise, former_caller, identify
from tools.engine.caches import Caches
from tools.engine.config import MarketConfig
from tools.engine.context import Caller, CallRequest, ReadContext, TxContext
from tools.engine.cpu_thread import CpuThread
from tools.engine.document_validation import StaleInput
from tools.engine.dry_run import DryRunRollback, run_then_roll_back, without_secrets
from tools.engine.errors import COMMON, InternalError, InvalidRequest, MalformedJson, TooBusy, Unauthenticated
from tools.engine.health import HealthSnapshot
from tools.engine.idempotency import IdempotencyKey, Response, busy, keep, key_for, replay
from tools.engine.last_seen import LastSeenBuffer
from tools.engine.log_sampling import ReadLogSampler
from tools.engine.long_polling import wait
from tools.engine.notifier import Notifier
from tools.engine.ports import World
from tools.engine.preconditions import collect_failures
from tools.engine.rate_limit_counting import RateLimitCounter
from tools.engine.rate_limits import (
    ALLOWANCES,
    FixedWindowCounter,
    Rate,
    RateLimit,
    RateLimitStatus,
    exceeded_error,
    raise_if_exceeded,
)
from tools.engine.registry import CATALOGUE, Operation, Run
from tools.engine.request_signatures import consume, record_use, reject_replayed
from tools.engine.search_log import SearchLog
from tools.engine.shared_results import SharedResults
from tools.engine.storage_quotas import refuse_on_low_disk, refuse_overfull
from tools.kernel.errors import Json, MarketError
from tools.kernel.records import encode
from tools.kernel.strict_json import BadJson, is_trivially_valid, validate_tree

READ_FOR_ALL = 16_384  # bytes; smaller bodies are read before authentication, in about a millisecond
GATHERINGS = 3  # attempts, if gathered data changes before the unit of work uses it

Given: TypeAlias = "dict[str, Json] | Callable[[], dict[str, Json]]"

log = structlog.get_logger("emporion.door")


class Market:
    """The market as its surfaces see it: a catalogue of operations and one way to call them."""

    def __init__(self, store: Store, world: World, config: MarketConfig, *, checks_errors: bool = False) -> None:
        self.store, self.world, self.config, self.checks_errors = store, world, config, checks_errors
        self.caches, self.health = Caches(store, world.clock), HealthSnapshot()
        self.counting = RateLimitCounter(store, world.clock)
        self.notifier, self.touches, self.notes = Notifier(store), LastSeenBuffer(), ReadLogSampler()
        self.shared_results, self.searches, self.cpu_thread = SharedResults(world.clock), SearchLog(), CpuThread()
        self.operations = frozenset(CATALOGUE)

    @property
    def windows(self) -> FixedWindowCounter:
        """The rate limit windows counted in this process."""
        return self.counting.windows

    async def call(self, op: Operation, raw_arguments: Given, request: CallRequest, key: str | None = None) -> Response:
        """Run an operation for a caller; return a record or an error, never raise.

        `given` may be a callable; it is only invoked after authentication and rate limiting.
        """
        quota: RateLimitStatus | None = None
        caller: Caller | None = None
        began = self.world.clock.monotonic()
        try:
            caller, quota = await self._admit(op, request)
            raise_if_exceeded(quota)
            answer = await self._perform(op, raw_arguments, caller, key)
        except MarketError as error:
            answer = self._refused(op, error, request) if caller else self.refuse_anonymous(error, request)
            await self._consume_signature_after_refusal(caller, error)
            if op.may_revoke_caller_key and key is not None and isinstance(answer.refusal, Unauthenticated):
                answer = await self._replay_for_revoked_key(op, raw_arguments, request, key, answer)
        except StorageError as error:
            log.warning("storage", operation=op.name, error=type(error).__name__, request_id=request.request_id)
            answer = self.refuse(busy(error), request)
        except Exception:
            log.exception("fault", operation=op.name, request_id=request.request_id)
            answer = self.refuse(InternalError("something went wrong on our side"), request)
        self._log_call(op, answer, request, caller, began)
        return answer.told_to(None if caller is None else caller.agent_id, quota)

    def refuse(self, error: MarketError, request: CallRequest) -> Response:
        """Return an error as an Answer; surfaces also use it before they know the operation."""
        record = error.record(request.request_id, self.config.docs_url)
        return Response(error.status, encode({"error": record}), record, error)

    async def stream(
        self, op: Operation, raw_arguments: Given, request: CallRequest, *, head_only: bool = False
    ) -> AsyncGenerator[Any, None] | Response:
        """Open a streaming operation; return its records or a refusal (`headless`: no document)."""
        caller: Caller | None = None
        try:
            caller, quota = await self._admit(op, request)
            raise_if_exceeded(quota)
            arguments = self._arguments(op, raw_arguments)
            if head_only and op.document is not None:
                return _nothing()
            opened: AsyncGenerator[Any, None] = await op.run(self.read_ctx(arguments, caller), arguments)
            return opened
        except MarketError as error:
            return self._refused(op, error, request) if caller else self.refuse_anonymous(error, request)
        except StorageError as error:
            return self.refuse(busy(error), request)

    async def _admit(self, op: Operation, request: CallRequest) -> tuple[Caller, RateLimitStatus | None]:
        request = request.without_keys() if op.auth == "signed" else request
        caller = await identify(request, self.store, self.caches, self.config, self.world.clock)
        authorise(op, caller, self.config)
        refuse_on_low_disk(op, request, self.health)
        if caller.proof is not None:
            await reject_replayed(self.store, caller, self.world.clock.now())
        await self.touches.note_call(self.store, caller, self.world.clock.now())
        if not self.config.limits.enforced:
            return caller, None
        return caller, await self._count(op, caller)

    async def _count(self, op: Operation, caller: Caller) -> RateLimitStatus:
        rate = op.rate if op.paid_rate is None or caller.request.payment is None else op.paid_rate
        return await self.counting.of_caller(rate, self._allowance(rate), caller)

    def _allowance(self, rate: Rate) -> RateLimit:
        if rate is Rate.REGISTER:
            return replace(ALLOWANCES[rate], calls=self.config.limits.registrations_per_hour)
        return ALLOWANCES[rate]

    def refuse_anonymous(self, error: MarketError, request: CallRequest) -> Response:
        """Refuse an unauthenticated call and count it by address; over the rate limit with 429."""
        if not self.config.limits.enforced:
            return self.refuse(error, request)
        quota = self.counting.of_address(Rate.ANONYMOUS_FAILURES, request.ip)
        return self.refuse(exceeded_error(quota) or error, request).with_quota(quota)

    async def identify_viewer(self, request: CallRequest) -> Caller:
        """Return the caller of a page that is no operation but is shown to some callers only."""
        caller = await identify(request, self.store, self.caches, self.config, self.world.clock)
        await self._consume_signature(caller)
        return caller

    async def count_protocol_request(self, request: CallRequest) -> Response | None:
        """Count a request that calls no operation, such as tools/list; return a 429 Answer or None."""
        if not self.config.limits.enforced:
            return None
        caller = await self._known(request)
        if caller is None:
            return self._beyond(self.counting.of_address(Rate.PROTOCOL_REQUESTS, request.ip), request)
        return self._beyond(
            await self.counting.of_caller(Rate.PROTOCOL_REQUESTS, ALLOWANCES[Rate.PROTOCOL_REQUESTS], caller), request
        )

    def read_document(self, request: CallRequest) -> Response | None:
        """Count a request for a document against its address; return a 429 Answer or None."""
        if not self.config.limits.enforced:
            return None
        return self._beyond(self.counting.of_address(Rate.PROTOCOL_REQUESTS, request.ip), request)

    async def refuse_unread_body(self, request: CallRequest, body_bytes: int) -> Response | None:
        """Refuse a large body unread if the caller is unknown and its address over the rate limit."""
        if body_bytes <= READ_FOR_ALL or not self.config.limits.enforced:
            return None
        rate = self.counting.spent_by(request.ip)
        if rate is None or await self._known(request) is not None:
            return None
        return self._beyond(self.counting.of_address(rate, request.ip), request)

    def _beyond(self, quota: RateLimitStatus, request: CallRequest) -> Response | None:
        """Return the refusal of a request over its rate limit; None within the limit."""
        error = exceeded_error(quota)
        return None if error is None else self.refuse(error, request).with_quota(quota)

    async def _known(self, request: CallRequest) -> Caller | None:
        """Identify a caller by a valid credential; return None without one."""
        try:
            caller = await identify(request, self.store, self.caches, self.config, self.world.clock)
        except (MarketError, StorageError):
            return None
        return None if caller.agent_id is None else caller

    async def require_credential(self, request: CallRequest) -> Response | None:
        """Return the refusal of an unauthenticated caller; None for an authenticated one."""
        try:
            caller = await identify(request, self.store, self.caches, self.config, self.world.clock)
            await reject_replayed(self.store, caller, self.world.clock.now())
            if caller.agent_id is None:
                raise Unauthenticated(NO_KEY)
        except MarketError as error:
            return self.refuse_anonymous(error, request)
        except StorageError as error:
            return self.refuse(busy(error), request)
        return None

    async def _replay_for_revoked_key(
        self, op: Operation, raw_arguments: Given, request: CallRequest, key: str, refused: Response
    ) -> Response:
        """Replay the stored answer of a call that revoked its own key; otherwise return `refused`."""
        with suppress(MarketError, StorageError):
            caller = await former_caller(request, self.store, self.caches, self.config, self.world.clock)
            if caller is None:
                return refused
            arguments = self._arguments(op, raw_arguments)
            read_ctx = self.read_ctx(arguments, caller)
            repeat = key_for(op, arguments, caller, read_ctx.env, key)
            kept = None if repeat is None else await self.store.read(partial(replay, repeat=repeat, now=read_ctx.now))
            if kept is None:
                return refused
            if caller.proof is not None:
                await self.store.write(partial(record_use, caller=caller, now=read_ctx.now), "use a signature")
            return kept.with_quota(refused.quota)
        return refused

    async def _consume_signature(self, caller: Caller) -> None:
        """Record the signature of a call without a unit of work as used."""
        if caller.proof is not None and caller.proof.use is not None:
            await self.store.write(partial(consume, caller=caller, now=self.world.clock.now()), "use a signature")

    async def _consume_signature_after_refusal(self, caller: Caller | None, error: MarketError) -> None:
        """Record the signature of a refused call as used, unless the same request may be sent again."""
        if caller is not None and not error.retryable:
            with suppress(MarketError, StorageError):  # the call is already refused
                await self._consume_signature(caller)

    def _arguments(self, op: Operation, raw_arguments: Given) -> Arguments:
        if callable(raw_arguments):
            raw_arguments = raw_arguments()
        if not is_trivially_valid(raw_arguments):
            try:
                validate_tree(raw_arguments)
            except BadJson as bad:
                raise MalformedJson(str(bad), param=bad.path or None) from None
        return read_arguments(op.input, raw_arguments)

    async def _perform(self, op: Operation, raw_arguments: Given, caller: Caller, key: str | None) -> Response:
        arguments = self._arguments(op, raw_arguments)
        read_ctx = self.read_ctx(arguments, caller)
        if op.safe and caller.proof is not None:
            await self._consume_signature(caller)
        if op.outside_transaction:
            return self._answer(op, await op.run(read_ctx, arguments), caller.request)
        waits = op.is_ready is not None and arguments.__dict__["wait_seconds"] > 0
        if waits and op.safe:
            return await self._waited(op, arguments, read_ctx, op.run)
        try:
            answer = await self._written(op, arguments, read_ctx, key)
        except MarketError as error:
            if (hurdles := op.preconditions) is not None and isinstance(error, (InvalidRequest, *op.errors)):
                await collect_failures(self.store, lambda tx: hurdles(self._context(tx, read_ctx), arguments), error)
            raise
        if not waits or answer.refused or answer.dry_run:
            return answer
        with suppress(MarketError, StorageError):  # the write is committed, even if the wait fails
            assert op.poll is not None
            later = partial(op.poll, answered=orjson.loads(answer.body))
            return replace(await self._waited(op, arguments, read_ctx, later), replayed=answer.replayed)
        return answer

    async def _written(self, op: Operation, arguments: Arguments, read_ctx: ReadContext, key: str | None) -> Response:
        """Return the answer of one unit of work, or the stored answer of the same call."""
        caller = read_ctx.caller
        rehearsing = caller.request.dry_run and not op.safe
        repeat = None if rehearsing else key_for(op, arguments, caller, read_ctx.env, key)
        if repeat is not None:
            kept = await self.store.read(lambda tx: replay(tx, repeat, read_ctx.now))
            if kept is not None:
                await self._consume_signature(caller)
                return kept
        for _ in range(GATHERINGS):
            found = () if op.gather is None else (await op.gather(read_ctx, arguments),)
            run = partial(self._unit, op=op, arguments=arguments, found=found, read_ctx=read_ctx, repeat=repeat)
            with suppress(StaleInput):
                if rehearsing:
                    return await self._rehearsed(run, op)
                return await (self.store.read(run) if op.safe else self.store.write(run, op.name))
        raise TooBusy("what this call is about keeps changing", retry_after_seconds=1)

    async def _rehearsed(self, run: Callable[[Tx], Response], op: Operation) -> Response:
        try:
            await self.store.write(partial(run_then_roll_back, unit=run), op.name)
        except DryRunRollback as done:
            return done.answer
        raise AssertionError("a dry run was committed")

    async def _waited(self, op: Operation, arguments: Arguments, read_ctx: ReadContext, run: Run) -> Response:
        """Return what `run` reads once there is something new, or when the time is up."""
        look = lambda now: self.store.read(lambda tx: run(self._context(tx, now), arguments))  # noqa: E731 - reads as what it is
        again = partial(self.read_ctx, arguments, read_ctx.caller)
        return self._answer(op, await wait(op, arguments, read_ctx, look, again), read_ctx.caller.request)

    def _unit(
        self,
        tx: Tx,
        op: Operation,
        arguments: Arguments,
        found: tuple[Any, ...],
        read_ctx: ReadContext,
        repeat: IdempotencyKey | None,
    ) -> Response:
        if read_ctx.caller.proof is not None and not op.safe:
            consume(tx, read_ctx.caller, read_ctx.now)
        kept = repeat and replay(tx, repeat, read_ctx.now)
        if kept:
            return kept
        ctx = self._context(tx, read_ctx)
        answer = self._answer(op, op.run(ctx, arguments, *found), read_ctx.caller.request)
        if repeat and answer.error is None:
            keep(tx, repeat, answer, read_ctx.now, self.world.dice)
        refuse_overfull(ctx)
        return answer

    def _answer(self, op: Operation, record: Any, request: CallRequest) -> Response:
        """Return a record as an answer; if it is an error, what was written is still committed."""
        if isinstance(record, MarketError):
            return self._refused(op, record, request)
        record = without_secrets(record) if request.dry_run and not op.safe else record
        asks: type[MarketError] | None = getattr(record, "asks", None)
        if asks is None:
            return Response(op.status, encode(record))
        terms = asks(record.why)
        return Response(terms.status, encode(record), terms.record(request.request_id, self.config.docs_url))

    def _refused(self, op: Operation, error: MarketError, request: CallRequest) -> Response:
        if self.checks_errors and not isinstance(error, (*op.errors, *COMMON)):
            raise AssertionError(f"{op.name} does not declare {type(error).__name__}") from error
        return self.refuse(error, request)

    def read_ctx(self, arguments: Arguments, caller: Caller) -> ReadContext:
        """Return what this caller's call may use while no unit of work is open."""
        env = arguments.__dict__.get("env") or caller.env or Env.LIVE
        now = self.world.clock.now()
        return ReadContext(
            store=self.store,
            caches=self.caches,
            health=self.health,
            notifier=self.notifier,
            shared_results=self.shared_results,
            cpu_thread=self.cpu_thread,
            searches=self.searches,
            world=self.world,
            config=self.config,
            caller=caller,
            env=env,
            now=now,
            operations=self.operations,
        )

    def _context(self, tx: Tx, read_ctx: ReadContext) -> TxContext:
        return TxContext(tx, self.world, self.config, read_ctx.caller, read_ctx.env, read_ctx.now, self.operations)

    def _log_call(
        self, op: Operation, answer: Response, request: CallRequest, caller: Caller | None, began: float
    ) -> None:
        if op.safe and not answer.refused and not self.notes.allow(self.world.clock.monotonic()):
            return
        log.info(
            "call",
            operation=op.name,
            surface=request.surface,
            status=answer.status,
            ms=round((self.world.clock.monotonic() - began) * 1000),
            code=answer.error and answer.error["code"],
            request_id=request.request_id,
            agent_id=caller and caller.agent_id,
            replayed=answer.replayed,
            unsaid=self.notes.dropped(),
        )


async def _nothing() -> AsyncGenerator[Any, None]:
    return
    yield
