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
from tools.engine.cpu_thread import Desk
from tools.engine.document_validation import StaleInput
from tools.engine.dry_run import DryRunRollback, run_then_roll_back, without_secrets
from tools.engine.errors import COMMON, InternalError, InvalidRequest, MalformedJson, TooBusy, Unauthenticated
from tools.engine.health import HealthSnapshot
from tools.engine.idempotency import Answer, IdempotencyKey, busy, keep, key_for, replay
from tools.engine.last_seen import LastSeenBuffer
from tools.engine.log_sampling import ReadLogSampler
from tools.engine.long_polling import wait
from tools.engine.notifier import Notifier
from tools.engine.ports import World
from tools.engine.preconditions import collect_failures
from tools.engine.rate_limit_counting import RateLimitCounter
from tools.engine.rate_limits import (
    ALLOWANCES,
    Rate,
    RateLimit,
    RateLimitStatus,
    Windows,
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

    def __init__(self, store: Store, world: World, house: MarketConfig, *, checks_errors: bool = False) -> None:
        self.store, self.world, self.house, self.checks_errors = store, world, house, checks_errors
        self.caches, self.pulse = Caches(store, world.clock), HealthSnapshot()
        self.counting = RateLimitCounter(store, world.clock)
        self.notifier, self.touches, self.notes = Notifier(store), LastSeenBuffer(), ReadLogSampler()
        self.shared_results, self.searches, self.desk = SharedResults(world.clock), SearchLog(), Desk()
        self.operations = frozenset(CATALOGUE)

    @property
    def windows(self) -> Windows:
        """The rate limit windows counted in this process."""
        return self.counting.windows

    async def call(self, op: Operation, given: Given, approach: CallRequest, key: str | None = None) -> Answer:
        """Run an operation for a caller; return a record or an error, never raise.

        `given` may be a callable; it is only invoked after authentication and rate limiting.
        """
        quota: RateLimitStatus | None = None
        caller: Caller | None = None
        began = self.world.clock.monotonic()
        try:
            caller, quota = await self._admit(op, approach)
            raise_if_exceeded(quota)
            answer = await self._perform(op, given, caller, key)
        except MarketError as error:
            answer = self._refused(op, error, approach) if caller else self.refuse_anonymous(error, approach)
            await self._consume_signature_after_refusal(caller, error)
            if op.may_revoke_caller_key and key is not None and isinstance(answer.refusal, Unauthenticated):
                answer = await self._replay_for_revoked_key(op, given, approach, key, answer)
        except StorageError as error:
            log.warning("storage", operation=op.name, error=type(error).__name__, request_id=approach.request_id)
            answer = self.refuse(busy(error), approach)
        except Exception:
            log.exception("fault", operation=op.name, request_id=approach.request_id)
            answer = self.refuse(InternalError("something went wrong on our side"), approach)
        self._log_call(op, answer, approach, caller, began)
        return answer.told_to(None if caller is None else caller.agent_id, quota)

    def refuse(self, error: MarketError, approach: CallRequest) -> Answer:
        """Return an error as an Answer; surfaces also use it before they know the operation."""
        record = error.record(approach.request_id, self.house.docs_url)
        return Answer(error.status, encode({"error": record}), record, error)

    async def stream(
        self, op: Operation, given: Given, approach: CallRequest, *, head_only: bool = False
    ) -> AsyncGenerator[Any, None] | Answer:
        """Open a streaming operation; return its records or a refusal (`headless`: no document)."""
        caller: Caller | None = None
        try:
            caller, quota = await self._admit(op, approach)
            raise_if_exceeded(quota)
            arguments = self._arguments(op, given)
            if head_only and op.document is not None:
                return _nothing()
            opened: AsyncGenerator[Any, None] = await op.run(self.outside(arguments, caller), arguments)
            return opened
        except MarketError as error:
            return self._refused(op, error, approach) if caller else self.refuse_anonymous(error, approach)
        except StorageError as error:
            return self.refuse(busy(error), approach)

    async def _admit(self, op: Operation, approach: CallRequest) -> tuple[Caller, RateLimitStatus | None]:
        approach = approach.without_keys() if op.auth == "signed" else approach
        caller = await identify(approach, self.store, self.caches, self.house, self.world.clock)
        authorise(op, caller, self.house)
        refuse_on_low_disk(op, approach, self.pulse)
        if caller.proof is not None:
            await reject_replayed(self.store, caller, self.world.clock.now())
        await self.touches.see(self.store, caller, self.world.clock.now())
        if not self.house.limits.enforced:
            return caller, None
        return caller, await self._count(op, caller)

    async def _count(self, op: Operation, caller: Caller) -> RateLimitStatus:
        rate = op.rate if op.paid_rate is None or caller.approach.payment is None else op.paid_rate
        return await self.counting.of_caller(rate, self._allowance(rate), caller)

    def _allowance(self, rate: Rate) -> RateLimit:
        if rate is Rate.REGISTER:
            return replace(ALLOWANCES[rate], calls=self.house.limits.registrations_per_hour)
        return ALLOWANCES[rate]

    def refuse_anonymous(self, error: MarketError, approach: CallRequest) -> Answer:
        """Refuse an unauthenticated call and count it by address; over the rate limit with 429."""
        if not self.house.limits.enforced:
            return self.refuse(error, approach)
        quota = self.counting.of_address(Rate.ANONYMOUS_FAILURES, approach.ip)
        return self.refuse(exceeded_error(quota) or error, approach).with_quota(quota)

    async def identify_viewer(self, approach: CallRequest) -> Caller:
        """Return the caller of a page that is no operation but is shown to some callers only."""
        caller = await identify(approach, self.store, self.caches, self.house, self.world.clock)
        await self._consume_signature(caller)
        return caller

    async def count_protocol_request(self, approach: CallRequest) -> Answer | None:
        """Count a request that calls no operation, such as tools/list; return a 429 Answer or None."""
        if not self.house.limits.enforced:
            return None
        caller = await self._known(approach)
        if caller is None:
            return self._beyond(self.counting.of_address(Rate.PROTOCOL_REQUESTS, approach.ip), approach)
        return self._beyond(
            await self.counting.of_caller(Rate.PROTOCOL_REQUESTS, ALLOWANCES[Rate.PROTOCOL_REQUESTS], caller), approach
        )

    def read_document(self, approach: CallRequest) -> Answer | None:
        """Count a request for a document against its address; return a 429 Answer or None."""
        if not self.house.limits.enforced:
            return None
        return self._beyond(self.counting.of_address(Rate.PROTOCOL_REQUESTS, approach.ip), approach)

    async def unread(self, approach: CallRequest, body_bytes: int) -> Answer | None:
        """Refuse a large body unread if the caller is unknown and its address over the rate limit."""
        if body_bytes <= READ_FOR_ALL or not self.house.limits.enforced:
            return None
        rate = self.counting.spent_by(approach.ip)
        if rate is None or await self._known(approach) is not None:
            return None
        return self._beyond(self.counting.of_address(rate, approach.ip), approach)

    def _beyond(self, quota: RateLimitStatus, approach: CallRequest) -> Answer | None:
        """Return the refusal of a request over its rate limit; None within the limit."""
        error = exceeded_error(quota)
        return None if error is None else self.refuse(error, approach).with_quota(quota)

    async def _known(self, approach: CallRequest) -> Caller | None:
        """Identify a caller by a valid credential; return None without one."""
        try:
            caller = await identify(approach, self.store, self.caches, self.house, self.world.clock)
        except (MarketError, StorageError):
            return None
        return None if caller.agent_id is None else caller

    async def require_credential(self, approach: CallRequest) -> Answer | None:
        """Return the refusal of an unauthenticated caller; None for an authenticated one."""
        try:
            caller = await identify(approach, self.store, self.caches, self.house, self.world.clock)
            await reject_replayed(self.store, caller, self.world.clock.now())
            if caller.agent_id is None:
                raise Unauthenticated(NO_KEY)
        except MarketError as error:
            return self.refuse_anonymous(error, approach)
        except StorageError as error:
            return self.refuse(busy(error), approach)
        return None

    async def _replay_for_revoked_key(
        self, op: Operation, given: Given, approach: CallRequest, key: str, refused: Answer
    ) -> Answer:
        """Replay the stored answer of a call that revoked its own key; otherwise return `refused`."""
        with suppress(MarketError, StorageError):
            caller = await former_caller(approach, self.store, self.caches, self.house, self.world.clock)
            if caller is None:
                return refused
            arguments = self._arguments(op, given)
            outside = self.outside(arguments, caller)
            repeat = key_for(op, arguments, caller, outside.env, key)
            kept = None if repeat is None else await self.store.look(partial(replay, repeat=repeat, now=outside.now))
            if kept is None:
                return refused
            if caller.proof is not None:
                await self.store.write(partial(record_use, caller=caller, now=outside.now), "use a signature")
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

    def _arguments(self, op: Operation, given: Given) -> Arguments:
        if callable(given):
            given = given()
        if not is_trivially_valid(given):
            try:
                validate_tree(given)
            except BadJson as bad:
                raise MalformedJson(str(bad), param=bad.path or None) from None
        return read_arguments(op.input, given)

    async def _perform(self, op: Operation, given: Given, caller: Caller, key: str | None) -> Answer:
        arguments = self._arguments(op, given)
        outside = self.outside(arguments, caller)
        if op.safe and caller.proof is not None:
            await self._consume_signature(caller)
        if op.outside:
            return self._answer(op, await op.run(outside, arguments), caller.approach)
        waits = op.ready is not None and arguments.__dict__["wait_seconds"] > 0
        if waits and op.safe:
            return await self._waited(op, arguments, outside, op.run)
        try:
            answer = await self._written(op, arguments, outside, key)
        except MarketError as error:
            if (hurdles := op.hurdles) is not None and isinstance(error, (InvalidRequest, *op.errors)):
                await collect_failures(self.store, lambda tx: hurdles(self._context(tx, outside), arguments), error)
            raise
        if not waits or answer.refused or answer.dry_run:
            return answer
        with suppress(MarketError, StorageError):  # the write is committed, even if the wait fails
            assert op.follow is not None
            later = partial(op.follow, answered=orjson.loads(answer.body))
            return replace(await self._waited(op, arguments, outside, later), replayed=answer.replayed)
        return answer

    async def _written(self, op: Operation, arguments: Arguments, outside: ReadContext, key: str | None) -> Answer:
        """Return the answer of one unit of work, or the stored answer of the same call."""
        caller = outside.caller
        rehearsing = caller.approach.dry_run and not op.safe
        repeat = None if rehearsing else key_for(op, arguments, caller, outside.env, key)
        if repeat is not None:
            kept = await self.store.look(lambda tx: replay(tx, repeat, outside.now))
            if kept is not None:
                await self._consume_signature(caller)
                return kept
        for _ in range(GATHERINGS):
            found = () if op.gather is None else (await op.gather(outside, arguments),)
            run = partial(self._unit, op=op, arguments=arguments, found=found, outside=outside, repeat=repeat)
            with suppress(StaleInput):
                if rehearsing:
                    return await self._rehearsed(run, op)
                return await (self.store.look(run) if op.safe else self.store.write(run, op.name))
        raise TooBusy("what this call is about keeps changing", retry_after_seconds=1)

    async def _rehearsed(self, run: Callable[[Tx], Answer], op: Operation) -> Answer:
        try:
            await self.store.write(partial(run_then_roll_back, unit=run), op.name)
        except DryRunRollback as done:
            return done.answer
        raise AssertionError("a dry run was committed")

    async def _waited(self, op: Operation, arguments: Arguments, outside: ReadContext, run: Run) -> Answer:
        """Return what `run` reads once there is something new, or when the time is up."""
        look = lambda now: self.store.look(lambda tx: run(self._context(tx, now), arguments))  # noqa: E731 - reads as what it is
        again = partial(self.outside, arguments, outside.caller)
        return self._answer(op, await wait(op, arguments, outside, look, again), outside.caller.approach)

    def _unit(
        self,
        tx: Tx,
        op: Operation,
        arguments: Arguments,
        found: tuple[Any, ...],
        outside: ReadContext,
        repeat: IdempotencyKey | None,
    ) -> Answer:
        if outside.caller.proof is not None and not op.safe:
            consume(tx, outside.caller, outside.now)
        kept = repeat and replay(tx, repeat, outside.now)
        if kept:
            return kept
        ctx = self._context(tx, outside)
        answer = self._answer(op, op.run(ctx, arguments, *found), outside.caller.approach)
        if repeat and answer.error is None:
            keep(tx, repeat, answer, outside.now, self.world.dice)
        refuse_overfull(ctx)
        return answer

    def _answer(self, op: Operation, record: Any, approach: CallRequest) -> Answer:
        """Return a record as an answer; if it is an error, what was written is still committed."""
        if isinstance(record, MarketError):
            return self._refused(op, record, approach)
        record = without_secrets(record) if approach.dry_run and not op.safe else record
        asks: type[MarketError] | None = getattr(record, "asks", None)
        if asks is None:
            return Answer(op.status, encode(record))
        terms = asks(record.why)
        return Answer(terms.status, encode(record), terms.record(approach.request_id, self.house.docs_url))

    def _refused(self, op: Operation, error: MarketError, approach: CallRequest) -> Answer:
        if self.checks_errors and not isinstance(error, (*op.errors, *COMMON)):
            raise AssertionError(f"{op.name} does not declare {type(error).__name__}") from error
        return self.refuse(error, approach)

    def outside(self, arguments: Arguments, caller: Caller) -> ReadContext:
        """Return what this caller's call may use while no unit of work is open."""
        env = arguments.__dict__.get("env") or caller.env or Env.LIVE
        now = self.world.clock.now()
        return ReadContext(
            store=self.store,
            caches=self.caches,
            pulse=self.pulse,
            notifier=self.notifier,
            shared_results=self.shared_results,
            desk=self.desk,
            searches=self.searches,
            world=self.world,
            house=self.house,
            caller=caller,
            env=env,
            now=now,
            operations=self.operations,
        )

    def _context(self, tx: Tx, outside: ReadContext) -> TxContext:
        return TxContext(tx, self.world, self.house, outside.caller, outside.env, outside.now, self.operations)

    def _log_call(
        self, op: Operation, answer: Answer, approach: CallRequest, caller: Caller | None, began: float
    ) -> None:
        if op.safe and not answer.refused and not self.notes.admit(self.world.clock.monotonic()):
            return
        log.info(
            "call",
            operation=op.name,
            surface=approach.surface,
            status=answer.status,
            ms=round((self.world.clock.monotonic() - began) * 1000),
            code=answer.error and answer.error["code"],
            request_id=approach.request_id,
            agent_id=caller and caller.agent_id,
            replayed=answer.replayed,
            unsaid=self.notes.dropped(),
        )


async def _nothing() -> AsyncGenerator[Any, None]:
    return
    yield
