"""Follow purchases with one signed payment (x402): terms, one job for each payment, and failures that charge nothing."""

from base64 import b64decode
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any, NamedTuple

import orjson
import rfc8785

from tests.simulation.model.jobs import Jobs
from tests.simulation.model.lifecycle import kind
from tests.simulation.model.listings import GONE, Listings, Offer
from tests.simulation.model.observe import Observation, Rule, Sight, Span

TERMS = 402
NOT_DELIVERED, TIMEOUT, USED = "x402_not_delivered", "x402_timeout", "x402_authorization_used"
_ACCOUNT = {"agent_id", "claimed", "claim"}  # a payment is not a login, so there is no key
_BOUGHT = ("revealed", "completed")
_BUSY = ("rate_limited", "overloaded")
_GONE_SECONDS = 60  # after which an order whose client has gone may be cancelled
_UNUSABLE_SECONDS = 10  # before the authorization ends, when it is too late to send it


class Authorization(NamedTuple):
    """A signed payment: it moves this amount once, before a time."""

    payer: str
    payee: str
    amount: int
    valid_before: int  # Unix seconds
    nonce: str


@dataclass(slots=True)
class Purchase:
    """A payment, and what answers showed of its purchase."""

    given: Authorization
    listing_id: str
    orders: dict[bytes, Span] = field(default_factory=dict)  # sent with this payment
    job_id: str | None = None
    result: tuple[Any, ...] | None = None
    end: str | None = None  # the code of its failure
    transaction: str | None = None  # of the payment that was taken
    ended: Span | None = None  # the first answer with its result or its failure

    def is_over(self, span: Span) -> bool:
        """Say if an answer had shown the end before a call."""
        return self.ended is not None and self.ended.precedes(span)

    @property
    def is_charged(self) -> bool | None:
        """Say if an answer showed that the payment was taken; None if none showed the end."""
        return None if self.ended is None else self.transaction is not None

    @property
    def first(self) -> Span:
        return next(iter(self.orders.values()))


class Purchases:
    """All purchases by payer and nonce."""

    def __init__(self, jobs: Jobs, listings: Listings) -> None:
        self.jobs, self.listings = jobs, listings
        self.known: dict[tuple[str, str], Purchase] = {}
        self.of_job: dict[str, Purchase] = {}
        self.transactions: dict[str, Purchase] = {}

    def bought(self, sight: Sight) -> None:
        """Take in the answer of buy_with_x402."""
        seen = sight.seen
        listing_id = str(seen.arguments["listing_id"])
        payments = self.jobs.bought.setdefault(listing_id, set())
        given = authorization(seen.arguments.get("signed_payment"))
        if seen.status == TERMS:
            self._terms(sight)
        if seen.code in GONE:
            self.jobs.doubts.add(sight.span, lambda: self.listings.gone(sight))
        if given is None:
            sight.check(not seen.succeeded, Rule.PURCHASE, "something is bought without a payment")
            return
        name = given.payer, given.nonce
        payments.add(name)
        purchase = self.known.setdefault(name, Purchase(given, listing_id))
        order = _order(seen)
        purchase.orders.setdefault(order, sight.span)
        self._job(purchase, sight)
        if seen.succeeded:
            self._result(purchase, order, sight)
        elif seen.code in (NOT_DELIVERED, TIMEOUT):
            self._failed(purchase, sight)
        elif seen.code == USED:
            self.jobs.doubts.add(sight.span, lambda: self._used(purchase, order, sight))
        elif purchase.is_over(sight.span) and not seen.unknown:
            right = seen.code in _BUSY or len(purchase.orders) > 1 or _too_late(purchase, sight)
            sight.check(right, Rule.PURCHASE, f"a purchase that has ended is answered {seen.code}", purchase.job_id)

    # -- terms ---------------------------------------------------------------------------------------------------------

    def _terms(self, sight: Sight) -> None:
        """Check that terms are alike in both versions, and of a listing that one payment can buy."""
        listing_id, record = str(sight.seen.arguments["listing_id"]), sight.seen.body
        (terms,), (older,) = record["required"]["accepts"], record["accepts"]
        amount = int(terms["amount"])
        same = (amount, terms["payTo"], terms["asset"]) == (
            int(older["maxAmountRequired"]), older["payTo"], older["asset"],
        )  # fmt: skip
        sight.check(same, Rule.OFFERED, "version 1 and version 2 ask for different things", listing_id)
        place = terms["network"], terms["asset"], terms["scheme"]
        usdc = (*self.jobs.contract.usdc[sight.seen.env], "exact")
        sight.check(place == usdc, Rule.OFFERED, f"{place} is not {usdc}", listing_id)
        self.jobs.doubts.add(sight.span, lambda: self._offered(listing_id, amount, sight))

    def _offered(self, listing_id: str, amount: int, sight: Sight) -> None:
        listing = self.listings.known.get(listing_id)
        if listing is None or listing.uncertain or not listing.versions:
            return
        units, offers = sight.seen.arguments.get("units", 1), listing.offers(sight.span)
        sold = [one for one in offers if _sold_at_once(one)]
        sight.check(bool(sold), Rule.OFFERED, f"terms for a listing that no payment buys: {offers}", listing_id)
        prices = [(one.price or 0) * units for one in sold]
        sight.check(amount in prices, Rule.OFFERED, f"the terms ask for {amount}, not {prices}", listing_id)

    # -- a paid call ---------------------------------------------------------------------------------------------------

    def _job(self, purchase: Purchase, sight: Sight) -> None:
        """Check that a payment has one job, and a job one payment."""
        body = sight.seen.body if sight.seen.succeeded else sight.seen.error.get("details") or {}
        job_id = body.get("job_id")
        if job_id is None:
            return
        purchase.job_id = purchase.job_id or job_id
        sight.check(purchase.job_id == job_id, Rule.PURCHASE, f"one payment ordered {purchase.job_id} too", job_id)
        right = self.of_job.setdefault(job_id, purchase) is purchase
        sight.check(right, Rule.PURCHASE, "two payments ordered one job", job_id)

    def _result(self, purchase: Purchase, order: bytes, sight: Sight) -> None:
        body, given = sight.seen.body, purchase.given
        paid = body["paid"]
        sums = paid["amount"], paid["payer"].lower(), paid["pay_to"].lower()
        right = sums == (given.amount, given.payer, given.payee)
        sight.check(right, Rule.PURCHASE, f"{sums} is not what was signed: {given}", purchase.job_id)
        sight.check(set(body["account"]) == _ACCOUNT, Rule.PURCHASE, "the account shows more", purchase.job_id)
        owner = self.transactions.setdefault(paid["transaction"], purchase)
        sight.check(owner is purchase, Rule.TRANSFER, "one transaction paid two purchases", purchase.job_id)
        shown = order, paid["transaction"], rfc8785.dumps(body["output"])
        sight.check(purchase.end is None, Rule.UNCHARGED, f"bought after {purchase.end}", purchase.job_id)
        self._end(purchase, sight)
        purchase.result, purchase.transaction = purchase.result or shown, paid["transaction"]
        sight.check(purchase.result == shown, Rule.PURCHASE, "one payment bought two results", purchase.job_id)
        self.jobs.doubts.add(sight.span, lambda: self._bought(purchase, body, sight))

    def _bought(self, purchase: Purchase, body: Any, sight: Sight) -> None:
        """Check the job of a result: it is of this order, delivered and paid."""
        job = self.jobs.known.get(str(purchase.job_id))
        if job is None:
            return
        agreed = job.price, job.agreed["listing_id"]
        right = agreed == (purchase.given.amount, purchase.listing_id)
        sight.check(right, Rule.PURCHASE, f"another job is bought: {agreed}", job.id)
        kept = job.digests.get(0, {}).get("output_hash")
        made = sha256(rfc8785.dumps(body["output"])).hexdigest()
        sight.check(kept in (None, made), Rule.DIGEST, "another output than the delivered one is bought", job.id)
        states = job.possible(sight.span)
        sight.check(any(kind(one) in _BOUGHT for one in states), Rule.PURCHASE, f"bought in {sorted(states)}", job.id)

    def _failed(self, purchase: Purchase, sight: Sight) -> None:
        """Take in a failure; a payment that arrived too late is owed back."""
        code, details = sight.seen.code, sight.seen.error.get("details") or {}
        sight.check(purchase.result is None, Rule.PURCHASE, f"{code} after a result", purchase.job_id)
        same = purchase.end is None or (purchase.end, purchase.transaction) == (code, details.get("transaction"))
        sight.check(same, Rule.PURCHASE, f"{purchase.end} became {code}", purchase.job_id)
        purchase.end, purchase.transaction = code, details.get("transaction")
        self._end(purchase, sight)
        job = self.jobs.known.get(str(purchase.job_id))
        if job is not None and details.get("transaction"):
            job.paid_late = purchase.given.amount, sight.span

    def _end(self, purchase: Purchase, sight: Sight) -> None:
        if purchase.ended is None or sight.span.high < purchase.ended.high:
            purchase.ended = sight.span

    def _used(self, purchase: Purchase, order: bytes, sight: Sight) -> None:
        """Check that a payment which is refused as used was used, or can buy nothing any more."""
        other = any(one != order and span.may_precede(sight.span) for one, span in purchase.orders.items())
        left = (sight.span.ended - purchase.first.began).total_seconds() >= _GONE_SECONDS
        justified = other or left or _too_late(purchase, sight)
        sight.check(justified, Rule.REFUSAL, "the payment was not used before", purchase.job_id)
        same = purchase.result is not None and purchase.result[0] == order and purchase.is_over(sight.span)
        sight.check(not same, Rule.PURCHASE, "the order that it paid for is refused", purchase.job_id)


def authorization(header: str | None) -> Authorization | None:
    """Read the payment that a client sent; None if it sent none."""
    if header is None:
        return None
    found = orjson.loads(b64decode(header))["payload"]["authorization"]
    payer, payee = found["from"].lower(), found["to"].lower()
    return Authorization(payer, payee, int(found["value"]), int(found["validBefore"]), found["nonce"].lower())


def _sold_at_once(offer: Offer) -> bool:
    return offer.first_party and bool(offer.price) and offer.payment == "on_delivery" and offer.status == "active"


def _too_late(purchase: Purchase, sight: Sight) -> bool:
    return sight.span.ended.timestamp() >= purchase.given.valid_before - _UNUSABLE_SECONDS


def _order(seen: Observation) -> bytes:
    """Return what a call orders as one comparable value."""
    given = seen.arguments
    return orjson.dumps([given["listing_id"], given["input"], given.get("units") or 1], option=orjson.OPT_SORT_KEYS)
