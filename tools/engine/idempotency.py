"""Responses of operations, and their storage, so that a retry with the same Idempotency-Key gets the same one.

A stored answer is written in the same unit of work as its effect; there is no in-progress mark. If a concurrent retry
commits first, the insert raises Conflict, the unit of work runs again, finds the row and replays it.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta
from hashlib import sha256
from typing import Any

import orjson
from nacl.exceptions import CryptoError
from nacl.secret import SecretBox

from storage.requests import forget_answer
from storage.tables import ResponseBodyRow, StoredResponseRow
from storage.transaction import Conflict, StorageError, TooSlow, Tx
from storage.vocabulary import Env
from tools.engine.arguments import Arguments
from tools.engine.caller import Caller
from tools.engine.errors import IdempotencyKeyReused, InvalidIdempotencyKey, TooBusy
from tools.engine.ports import RandomSource
from tools.engine.rate_limits import RateLimitStatus
from tools.engine.registry import Operation
from tools.kernel.errors import MarketError

KEPT = timedelta(hours=24)
ANONYMOUS = "anonymous"
LARGE = 4_096  # bytes; a larger answer is stored once, however many rows refer to it
MAX_KEY_LENGTH = 255
MIN_ANONYMOUS_KEY_LENGTH = 22  # 22 base64 characters hold 128 bits, so keys cannot be guessed


@dataclass(slots=True)
class Response:
    """A record or an error, as JSON text.

    A record with an `error` asks for a payment: status 402 on REST. `tag` is the ETag, if the record came with one.
    """

    status: int
    body: bytes
    error: dict[str, Any] | None = None
    refusal: MarketError | None = None
    quota: RateLimitStatus | None = None
    replayed: bool = False
    dry_run: bool = False  # a dry run: nothing was written
    caller_id: str | None = None  # the agent that called
    tag: bytes | None = None

    @property
    def refused(self) -> bool:
        return self.refusal is not None


@dataclass(frozen=True, slots=True)
class IdempotencyKey:
    """An Idempotency-Key, bound to its owner and to the call."""

    owner: str
    env: Env
    key: str
    operation: str
    fingerprint: str
    seals: bool

    @property
    def key_hash(self) -> str:
        return sha256(b"emporion:answer-name:" + self.key.encode()).hexdigest()

    @property
    def box(self) -> SecretBox:
        """Return the encryption of answers with one-time secrets; only the Idempotency-Key opens it."""
        return SecretBox(sha256(b"emporion:answer-seal:" + self.key.encode()).digest())


def busy(error: StorageError) -> MarketError:
    """Return the error of a call that the database did not serve."""
    if isinstance(error, TooSlow):
        return TooBusy(
            "this read took too long", hint="Narrow it with more filters or fewer words.", retry_after_seconds=1
        )
    return TooBusy("the database is busy or does not answer", retry_after_seconds=2)


def key_for(op: Operation, arguments: Arguments, caller: Caller, env: Env, key: str | None) -> IdempotencyKey | None:
    """Return what identifies a retry of this call; None without a key or if nothing is written.

    Raises InvalidIdempotencyKey.
    """
    if key is None or op.safe:
        return None
    bare = key[1:-1] if len(key) > 1 and key[0] == key[-1] == '"' else key
    shortest = 1 if caller.agent_id else MIN_ANONYMOUS_KEY_LENGTH
    if not (shortest <= len(bare) <= MAX_KEY_LENGTH and bare.isascii() and bare.isprintable()):
        raise InvalidIdempotencyKey(
            f"an Idempotency-Key is {shortest}-{MAX_KEY_LENGTH} printable ASCII characters", param="Idempotency-Key"
        )
    named: dict[str, Any] = {"operation": op.name, "arguments": arguments.identity()}
    if op.shows_secrets:  # a key with fewer scopes must not replay a secret issued to a key with more
        named["scopes"] = sorted(caller.scopes)
        named["env"] = caller.env  # a test key must not replay a secret issued to a live key
    asked = orjson.dumps(named, option=orjson.OPT_SORT_KEYS)
    owner = caller.agent_id or ANONYMOUS
    return IdempotencyKey(owner, env, bare, op.name, sha256(asked).hexdigest(), op.shows_secrets)


def replay(tx: Tx, repeat: IdempotencyKey, now: datetime) -> Response | None:
    """Return the answer stored for this key, if any.

    Raises IdempotencyKeyReused if it was stored for another call.
    """
    row = tx.get(StoredResponseRow, repeat.owner, repeat.env, repeat.key_hash)
    if row is None or now - row.created_at > KEPT:
        return None
    if (row.operation, row.fingerprint) != (repeat.operation, repeat.fingerprint):
        raise IdempotencyKeyReused(f"this Idempotency-Key was used for another {row.operation} call")
    kept = None if row.body_hash is None else tx.get(ResponseBodyRow, row.body_hash)
    body = row.body if kept is None else kept.body
    try:
        body = repeat.box.decrypt(body) if row.sealed else body
    except CryptoError:
        raise IdempotencyKeyReused("this Idempotency-Key was used for another call") from None
    return Response(row.status, body, replayed=True)


def _keep_body(tx: Tx, repeat: IdempotencyKey, body: bytes, now: datetime) -> str:
    """Store a large body once, under its hash, and return the hash.

    It is kept as long as the last answer that refers to it. Its size counts against the agent it was first stored
    for. No answer is refused because of that, but the agent's next call may be.
    """
    name = sha256(body).hexdigest()
    row = tx.get(ResponseBodyRow, name)
    if row is None:
        owner = None if repeat.owner == ANONYMOUS else repeat.owner
        tx.add(ResponseBodyRow(hash=name, body=body, used_at=now, owner=owner, env=owner and repeat.env.value))
        if owner is not None:
            tx.count_bytes(owner, repeat.env, len(body))
    elif row.used_at < now:
        tx.change(row, used_at=now)
    return name


def keep(tx: Tx, repeat: IdempotencyKey, answer: Response, now: datetime, dice: RandomSource) -> None:
    """Store a successful answer for 24 hours, in the unit of work of its effect."""
    body = repeat.box.encrypt(answer.body, dice.random_bytes(SecretBox.NONCE_SIZE)) if repeat.seals else answer.body
    old = tx.get(StoredResponseRow, repeat.owner, repeat.env, repeat.key_hash)
    if old is not None and now - old.created_at <= KEPT:
        raise Conflict("a twin was faster: run again and replay its answer")
    if old is not None:
        tx.run(forget_answer, owner=repeat.owner, env=repeat.env, key_hash=repeat.key_hash)
    large = len(body) > LARGE
    tx.add(
        StoredResponseRow(
            owner=repeat.owner,
            env=repeat.env,
            key_hash=repeat.key_hash,
            operation=repeat.operation,
            fingerprint=repeat.fingerprint,
            status=answer.status,
            sealed=repeat.seals,
            body=b"" if large else bytes(body),
            body_hash=_keep_body(tx, repeat, body, now) if large else None,
            created_at=now,
        )
    )
