"""Answers: what the door hands to every surface, and how one is kept so that a repeated call gets it again.

A stored answer is a row of the effect's own unit of work; there is no in-progress mark. A twin that was faster makes the
insert a Conflict: the unit runs again, finds the row and replays it.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta
from hashlib import sha256
from typing import Any

import orjson
from nacl.exceptions import CryptoError
from nacl.secret import SecretBox

from storage.door import forget_answer
from storage.tables import AnswerRow, BodyRow
from storage.unit import Conflict, Tx
from tools.arguments import Arguments
from tools.context import Caller
from tools.errors import IdempotencyKeyReused, InvalidIdempotencyKey, MarketError
from tools.ports import Dice, Env
from tools.rates import Quota
from tools.registry import Operation

KEPT = timedelta(hours=24)
LARGE = 4_096  # bytes of an answer that is kept once, however often it was given
LONGEST_KEY = 255
SHORTEST_ANONYMOUS_KEY = 22  # 22 base64 characters hold 128 bits: nobody else's answer can be guessed


@dataclass(frozen=True, slots=True)
class Answer:
    """A record or an error, as JSON text. `error` beside a record means: terms of payment, 402 on REST."""

    status: int
    body: bytes
    error: dict[str, Any] | None = None
    refusal: MarketError | None = None
    quota: Quota | None = None
    replayed: bool = False
    rehearsed: bool = False  # of a dry run: nothing was done

    @property
    def refused(self) -> bool:
        return self.refusal is not None

    def with_quota(self, quota: Quota | None) -> "Answer":
        return Answer(self.status, self.body, self.error, self.refusal, quota, self.replayed, self.rehearsed)


@dataclass(frozen=True, slots=True)
class Repeat:
    """An Idempotency-Key, bound to who sent it and to what was asked."""

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
        """Encrypts answers that show secrets once, under a key only the caller can make again."""
        return SecretBox(sha256(b"emporion:answer-seal:" + self.key.encode()).digest())


def repeat_of(op: Operation, arguments: Arguments, caller: Caller, env: Env, key: str | None) -> Repeat | None:
    """The key this call may be repeated with; None where there is none or nothing is written."""
    if key is None or op.safe:
        return None
    bare = key[1:-1] if len(key) > 1 and key[0] == key[-1] == '"' else key
    shortest = 1 if caller.agent_id else SHORTEST_ANONYMOUS_KEY
    if not (shortest <= len(bare) <= LONGEST_KEY and bare.isascii() and bare.isprintable()):
        raise InvalidIdempotencyKey(
            f"an Idempotency-Key is {shortest}-{LONGEST_KEY} printable ASCII characters", param="Idempotency-Key"
        )
    named = {"operation": op.name, "arguments": arguments.identity()}
    if op.shows_secrets:  # a key that may less gets no secret of one that may more
        named["scopes"] = sorted(caller.scopes)
    asked = orjson.dumps(named, option=orjson.OPT_SORT_KEYS)
    owner = caller.agent_id or "anonymous"
    return Repeat(owner, env, bare, op.name, sha256(asked).hexdigest(), op.shows_secrets)


def recall(tx: Tx, repeat: Repeat, now: datetime) -> Answer | None:
    """The answer kept for this key, if any. IdempotencyKeyReused when it was for another call."""
    row = tx.get(AnswerRow, repeat.owner, repeat.env, repeat.key_hash)
    if row is None or now - row.created_at > KEPT:
        return None
    if (row.operation, row.fingerprint) != (repeat.operation, repeat.fingerprint):
        raise IdempotencyKeyReused(f"this Idempotency-Key was used for another {row.operation} call")
    kept = None if row.body_hash is None else tx.get(BodyRow, row.body_hash)
    body = row.body if kept is None else kept.body
    try:
        body = repeat.box.decrypt(body) if row.sealed else body
    except CryptoError:
        raise IdempotencyKeyReused("this Idempotency-Key was used for another call") from None
    return Answer(row.status, body, replayed=True)


def _keep_body(tx: Tx, body: bytes, now: datetime) -> str:
    """The hash a large body is kept under: once, as long as the last answer that was it."""
    name = sha256(body).hexdigest()
    row = tx.get(BodyRow, name)
    if row is None:
        tx.add(BodyRow(hash=name, body=body, used_at=now))
    elif row.used_at < now:
        tx.change(row, used_at=now)
    return name


def keep(tx: Tx, repeat: Repeat, answer: Answer, now: datetime, dice: Dice) -> None:
    """Keep a successful answer for 24 hours, in the unit of work it answers for."""
    body = repeat.box.encrypt(answer.body, dice.roll(SecretBox.NONCE_SIZE)) if repeat.seals else answer.body
    old = tx.get(AnswerRow, repeat.owner, repeat.env, repeat.key_hash)
    if old is not None and now - old.created_at <= KEPT:
        raise Conflict("a twin was faster: run again and replay its answer")
    if old is not None:
        tx.run(forget_answer, owner=repeat.owner, env=repeat.env, key_hash=repeat.key_hash)
    large = len(body) > LARGE
    tx.add(
        AnswerRow(
            owner=repeat.owner,
            env=repeat.env,
            key_hash=repeat.key_hash,
            operation=repeat.operation,
            fingerprint=repeat.fingerprint,
            status=answer.status,
            sealed=repeat.seals,
            body=b"" if large else bytes(body),
            body_hash=_keep_body(tx, body, now) if large else None,
            created_at=now,
        )
    )
