"""The oracle of signed webhooks: a receiver that checks all headers, as the contract describes them, accepts each post."""

from base64 import b64decode, b64encode
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from hmac import digest
from typing import TYPE_CHECKING

import orjson
from nacl.exceptions import BadSignatureError
from nacl.signing import SigningKey, VerifyKey

from tests.simulation.machine import SIGNING_SEED
from tests.simulation.oracles import Oracle
from tests.simulation.records import Observation, Violation

if TYPE_CHECKING:
    from tests.simulation.simulation import Simulation

FRESH = timedelta(seconds=5)  # between signing and the post
BOTH_SIGN = timedelta(days=1)  # after a change of the secret
CLAIMED = timedelta(minutes=10)  # for which a process that stops may use old secrets, by clocks that differ
UNANSWERED = timedelta(minutes=10)  # for which the answer with a secret may be on its way
MARKET_KEY: VerifyKey = SigningKey(SIGNING_SEED).verify_key
HEADERS = {
    "webhook-id", "webhook-timestamp", "webhook-signature", "X-Webhook-Id", "X-Webhook-Timestamp", "X-Event-Id",
    "X-Event-Type",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Post:
    """A webhook as its receiver gets it."""

    at: datetime
    body: bytes
    headers: Mapping[str, str]

    @property
    def webhook_id(self) -> str:
        return self.headers["X-Webhook-Id"]

    def __str__(self) -> str:
        return f"the post of {self.headers['webhook-id']} to {self.webhook_id} at {self.at}"


@dataclass(frozen=True, slots=True)
class Secret:
    """A secret, and the bounds of the time at which it became the newest."""

    text: str
    began: datetime
    ended: datetime


class Signed(Oracle):
    """Each post of a webhook is of now, names its receiver, and has all signatures."""

    def __init__(self, simulation: "Simulation") -> None:
        super().__init__(simulation)
        self.secrets: dict[str, list[Secret]] = {}  # by webhook, the newest last
        self.owners: dict[str, str | None] = {}
        self.doubtful: list[Post] = []  # perhaps signed with a secret whose answer is on its way
        self.faults: list[str] = []  # raised later, because the market might catch it at once
        simulation.web.check = self.posted

    def observe(self, seen: Observation) -> None:
        """Learn a secret from the answer of its call, or from a call that changes it."""
        operation, given, body = seen.call.operation, seen.call.arguments, seen.answer.body
        if seen.answer.refused or operation not in ("create_webhook", "update_webhook"):
            return
        secret = body.get("secret") or given.get("secret")
        known = self.secrets.setdefault(body["id"], [])
        self.owners[body["id"]] = seen.agent
        if secret and secret not in [one.text for one in known[-1:]]:
            known.append(Secret(secret, seen.began, seen.ended))

    def posted(self, body: bytes, headers: Mapping[str, str]) -> None:
        """Check a post, as far as its receiver can at this moment."""
        post = Post(self.simulation.clock.now(), body, headers)
        if missing := HEADERS - headers.keys():
            self.faults.append(f"a post lacks the headers {sorted(missing)}: {body!r}")
            return
        clocks = [machine.clock.now() for machine in self.simulation.machines]
        self.faults += [f"{post}: {fault}" for fault in (*_stale(post, clocks), *_forged(post))]
        if any(self._unproven(post)):
            self.doubtful.append(post)

    async def look(self) -> None:
        self._judge(self.simulation.clock.now() - UNANSWERED)

    async def at_end(self) -> None:
        self._judge(self.simulation.clock.now())

    def _judge(self, until: datetime) -> None:
        """Raise Violation for the first wrong post.

        An answer that is on its way may explain those after `until`.
        """
        old = [post for post in self.doubtful if post.at <= until]
        self.doubtful = [post for post in self.doubtful if post.at > until]
        for fault in (*self.faults, *(f"{post}: {fault}" for post in old for fault in self._unproven(post))):
            raise Violation(fault)

    def _unproven(self, post: Post) -> Iterator[str]:
        """Yield what is wrong with a post by the secrets that are known."""
        known, signatures = self.secrets.get(post.webhook_id), _signatures(post, "v1")
        if known is None:  # those of a profile or a task have no secret
            if signatures or "X-Webhook-Signature" in post.headers:
                yield "it is signed with a secret that no answer showed"
            return
        body = orjson.loads(post.body)
        if (body.get("agent_id"), body.get("webhook_id")) != (self.owners[post.webhook_id], post.webhook_id):
            yield "it does not name its agent and its webhook"
        needed, allowed = ({_v1(one.text, post) for one in some(known, post.at)} for some in (_must_sign, _may_sign))
        if not signatures or not needed <= {*signatures} <= allowed:
            yield "a signature v1 is wrong, missing or of an old secret"
        if post.headers.get("X-Webhook-Signature") not in [_plain(one.text, post) for one in _newest(known, post.at)]:
            yield "X-Webhook-Signature is wrong or of an old secret"


def _stale(post: Post, clocks: list[datetime]) -> Iterator[str]:
    """Yield an error if the timestamps are not of now by a clock of the market."""
    stamps = {post.headers["webhook-timestamp"], post.headers["X-Webhook-Timestamp"]}
    signed = [datetime.fromtimestamp(int(stamp), UTC) for stamp in stamps]
    if len(signed) > 1 or not any(timedelta(0) <= now - signed[0] <= FRESH for now in clocks):
        yield f"its timestamps are {signed}, and the clocks of the market show {clocks}"


def _forged(post: Post) -> Iterator[str]:
    """Yield what anyone can see: a wrong v1a of the market, and ids that the body does not have."""
    found = _signatures(post, "v1a")
    if len(found) != 1 or not _is_of_market(found[0], _content(post)):
        yield "the market's signature v1a is wrong or missing"
    names, body = post.headers, orjson.loads(post.body)
    if names["X-Event-Id"] != names["webhook-id"]:
        yield "its headers name two events"
    if "webhook_id" in body and (body["id"], body["type"]) != (names["webhook-id"], names["X-Event-Type"]):
        yield "its headers name another event than its body"


def _signatures(post: Post, version: str) -> list[str]:
    """Return the signatures of a version, in base64."""
    parts = (one.partition(",") for one in post.headers["webhook-signature"].split(" "))
    return [signature for name, _, signature in parts if name == version]


def _content(post: Post) -> bytes:
    """Return what Standard Webhooks signs: id, timestamp and body, with dots between them."""
    return b".".join((post.headers["webhook-id"].encode(), post.headers["webhook-timestamp"].encode(), post.body))


def _is_of_market(signature: str, content: bytes) -> bool:
    try:
        MARKET_KEY.verify(content, b64decode(signature, validate=True))
    except (BadSignatureError, ValueError):
        return False
    return True


def _v1(secret: str, post: Post) -> str:
    """Return the v1 of Standard Webhooks.

    Its key is the bytes that the secret after `whsec_` encodes in base64.
    """
    rest = secret.removeprefix("whsec_")
    try:
        key = b64decode(rest, validate=True)
    except ValueError:
        key = rest.encode()  # a secret that an agent chose need not be base64
    return b64encode(digest(key, _content(post), sha256)).decode()


def _plain(secret: str, post: Post) -> str:
    """Return X-Webhook-Signature, whose key is the whole secret."""
    content = b".".join((post.headers["X-Webhook-Timestamp"].encode(), post.body))
    return "v1=" + digest(secret.encode(), content, sha256).hex()


def _next(known: Sequence[Secret], place: int, later: int = 1) -> Secret | None:
    return known[place + later] if place + later < len(known) else None


def _must_sign(known: Sequence[Secret], at: datetime) -> Iterator[Secret]:
    """Yield the secrets that must sign at a time: the newest, and for a day the one before."""
    for place, one in enumerate(known):
        after, second = _next(known, place), _next(known, place, 2)
        is_known = place == 0 or one.ended + CLAIMED < at
        is_old = after is not None and after.began + BOTH_SIGN - CLAIMED <= at
        if is_known and not is_old and (second is None or at < second.began - CLAIMED):
            yield one


def _may_sign(known: Sequence[Secret], at: datetime) -> Iterator[Secret]:
    """Yield the secrets that may sign at a time."""
    for place, one in enumerate(known):
        after, second = _next(known, place), _next(known, place, 2)
        is_old = after is not None and after.ended + BOTH_SIGN + CLAIMED < at
        if one.began - CLAIMED <= at and not is_old and (second is None or at <= second.ended + CLAIMED):
            yield one


def _newest(known: Sequence[Secret], at: datetime) -> Iterator[Secret]:
    """Yield the secrets that may be the newest at a time."""
    for place, one in enumerate(known):
        after = _next(known, place)
        if one.began - CLAIMED <= at and (after is None or at <= after.ended + CLAIMED):
            yield one
