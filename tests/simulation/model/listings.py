"""Follow listings and the orders from them: price, windows, places, references."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from hashlib import sha256
from typing import Any

import orjson

from tests.simulation.model.history import Visit
from tests.simulation.model.job import Job
from tests.simulation.model.jobs import Jobs
from tests.simulation.model.lifecycle import PLACE, kind, reviewable
from tests.simulation.model.observe import Observation, Rule, Sight, Span, at, later


@dataclass(frozen=True, slots=True)
class Offer:
    """One version of a listing, as far as orders depend on it."""

    changed_at: datetime
    status: str
    paused_by: str | None
    model: str
    price: int | None
    payment: str
    accept_seconds: int
    turnaround_seconds: int
    places: int
    first_party: bool

    @staticmethod
    def of(record: Any) -> "Offer":
        pricing = record["pricing"]
        return Offer(
            at(record["updated_at"]), record["status"], record["paused_by"], pricing["model"], pricing["price"],
            record["payment"], record["accept_timeout_seconds"], record["turnaround_seconds"],
            record["max_open_jobs"], record["first_party"],
        )  # fmt: skip


@dataclass(slots=True)
class Listing:
    """All versions of a listing that answers showed."""

    seller: str
    env: str
    clock_seconds: float  # by which the times of two changes may be wrong
    versions: dict[Offer, Span] = field(default_factory=dict)
    unanswered: set[int] = field(default_factory=set)  # calls that may have changed it and showed nothing

    @property
    def uncertain(self) -> bool:
        return bool(self.unanswered)

    def offers(self, span: Span) -> list[Offer]:
        """Return the versions that an order may have met."""
        before = [offer.changed_at for offer, first in self.versions.items() if first.precedes(span)]
        least = later(max(before, default=_LONG_AGO), -self.clock_seconds)
        return [one for one, first in self.versions.items() if first.low < span.high and one.changed_at >= least]

    def was_shown(self, span: Span) -> bool:
        """Say if an answer had shown the listing before a call."""
        return any(first.precedes(span) for first in self.versions.values())


class Listings:
    """All listings, and the rules of an order from one."""

    def __init__(self, jobs: Jobs) -> None:
        self.jobs = jobs
        self.known: dict[str, Listing] = {}
        self.references: dict[tuple[str, str, str], tuple[bytes, str, Span]] = {}

    def show(self, record: Any, sight: Sight) -> None:
        """Take in a listing record."""
        listing = self.known.setdefault(
            record["id"], Listing(record["seller"]["id"], record["env"], self.jobs.contract.clock_seconds)
        )
        offer = Offer.of(record)
        written = sight.seen.operation in ("create_listing", "update_listing", "archive_listing")
        first = sight.span if written else Span(-1, sight.span.high, sight.span.began, sight.span.ended)
        known = listing.versions.get(offer)
        if known is None or first.high < known.high:
            listing.versions[offer] = first
        if sight.seen.operation == "get_listing":
            self.jobs.doubts.add(sight.span, lambda: self._counts(record, sight))

    def _counts(self, record: Any, sight: Sight) -> None:
        """Check that a listing counts no more completed jobs than can have been completed."""
        jobs = self.jobs.of_listing.get(record["id"], [])
        most = sum(any(map(reviewable, one.possible(sight.span))) for one in jobs) + self.jobs.completed[record["id"]]
        found = record["stats"]["jobs_completed"]
        known = record["id"] in self.jobs.bought
        sight.check(known or found <= most, Rule.COUNT, f"{found} jobs completed, at most {most} can be", record["id"])

    # -- an order ----------------------------------------------------------------------------------------------------

    def ordered(self, sight: Sight) -> None:
        """Take in the answer of create_job or hire."""
        seen = sight.seen
        if seen.succeeded:
            record = seen.body if seen.body["object"] == "job" else seen.body["job"]
            self._new(record, sight)
        elif seen.unknown:
            order = (seen.env, str(seen.agent), str(seen.arguments.get("listing_id")), sight.lost)
            self.jobs.lost_orders.append(order)
        elif seen.code in ("seller_busy", "job_limit", "price_above_max", "reference_reused"):
            self.jobs.doubts.add(sight.span, lambda: self._refused(sight))
        elif seen.code in GONE:
            self.jobs.doubts.add(sight.span, lambda: self.gone(sight))

    def _new(self, record: Any, sight: Sight) -> None:
        seen, given = sight.seen, sight.seen.arguments
        job, view = self.jobs.show(record, sight)
        view.check(record["listing_id"] == given["listing_id"], Rule.RESULT, "another listing is ordered")
        view.check(job.buyer == seen.agent, Rule.PARTY, "the order is another buyer's")
        view.check(record["input"] == given["input"], Rule.RESULT, "another input is ordered")
        view.check(
            record["max_revisions"] == given.get("max_revisions", 2), Rule.RESULT, "another max_revisions is kept"
        )
        most = given.get("max_price")
        cheap = most is None or record["price"] is None or record["price"] <= most
        view.check(cheap, Rule.PRICE, f"{record['price']} is above max_price {most}")
        self._reference(job, record, sight)
        if job.origin is None:
            job.origin = sight.span
            self.jobs.doubts.add(sight.span, lambda: self._fits(job, record, sight))
            self.jobs.doubts.add(sight.span, lambda: self._has_place(job, sight))

    def _reference(self, job: Job, record: Any, sight: Sight) -> None:
        seen, name = sight.seen, sight.seen.arguments.get("reference")
        sight.check(
            record["reference"] == name, Rule.REFERENCE, f"the job keeps {record['reference']}, not {name}", job.id
        )
        if name is None:
            return
        kept = self.references.setdefault((seen.env, str(seen.agent), name), (_order(seen), job.id, sight.span))
        sight.check(kept[:2] == (_order(seen), job.id), Rule.REFERENCE, f"{name} names {kept[1]} already", job.id)

    def _fits(self, job: Job, record: Any, sight: Sight) -> None:
        """Check price and windows against the versions of the listing that the order may have met."""
        listing = self.known.get(record["listing_id"])
        if listing is None or listing.uncertain or not listing.versions:
            return
        offers = listing.offers(sight.span)
        # The market puts a listing that it paused on sale again when its seller calls.
        on_sale = [one for one in offers if one.status == "active" or one.paused_by == "market"]
        sight.check(bool(on_sale), Rule.RESULT, f"an order of a listing that is not on sale: {offers}", job.id)
        fitting = [one for one in on_sale if _priced(one, record)]
        sight.check(bool(fitting), Rule.PRICE, f"{record['price']} for {record['units']} fits none of {offers}", job.id)
        fitting = [one for one in fitting if _timed(one, record)]
        sight.check(bool(fitting), Rule.DEADLINE, f"accept_by fits none of {offers}", job.id)
        job.offered = tuple(one.turnaround_seconds for one in fitting)

    # -- places ------------------------------------------------------------------------------------------------------

    def _others(self, jobs: Iterable[Job], job: Job | None, span: Span, surely: bool) -> Iterator[Job]:
        """Yield the jobs that fill a place during a call: surely, or possibly."""
        judge = all if surely else any
        for one in jobs:
            made = one.origin
            there = made is None or (made.precedes(span) if surely else made.may_precede(span))
            if one is not job and there and not (surely and made is None):
                states = one.possible(span)
                if states and judge(kind(state) in PLACE for state in states):
                    yield one

    def _has_place(self, job: Job, sight: Sight) -> None:
        listing_id = job.agreed["listing_id"]
        listing, jobs = self.known.get(listing_id), self.jobs.living(self.jobs.of_listing, listing_id, sight.span)
        mine = self._others(
            self.jobs.living(self.jobs.of_buyer, (job.env, job.buyer), sight.span), job, sight.span, surely=True
        )
        filled = sum(1 for _ in mine)
        most = self.jobs.contract.unfinished_jobs
        sight.check(filled < most, Rule.PLACES, f"the buyer has {filled} other unfinished jobs of {most}", job.id)
        if listing is None or listing.uncertain or not listing.versions:
            return
        places = max(one.places for one in listing.offers(sight.span))
        others = list(self._others(jobs, job, sight.span, surely=True))
        sight.check(len(others) < places, Rule.PLACES, f"{len(others)} others fill {places} places", job.id)
        share = sum(one.buyer == job.buyer for one in others)
        sight.check(share < (places + 1) // 2, Rule.PLACES, f"the buyer fills {share} of {places} places", job.id)
        priced = all(one.price != 0 for one in listing.offers(sight.span))
        if priced and self._never_paid(job.env, job.buyer, sight.span):
            sight.check(not share, Rule.PLACES, "a buyer that never paid fills two places", job.id)

    def _payments(self, env: str, buyer: str, span: Span) -> list[str]:
        """Return the sellers that the buyer may have paid enough before a call."""
        counted = self.jobs.contract.counted_minor
        paid = self.jobs.money.paid_by.get((env, buyer), ())
        return [one.payee for one in paid if one.amount >= counted and one.maybe(span)]

    def _never_paid(self, env: str, buyer: str, span: Span) -> bool:
        hidden = any(
            self.jobs.money.hidden(env, one.id, "pay_job", span) for one in self.jobs.of_buyer.get((env, buyer), ())
        )
        return not hidden and not self._payments(env, buyer, span)

    # -- refusals ----------------------------------------------------------------------------------------------------

    def _refused(self, sight: Sight) -> None:
        judge = {
            "seller_busy": self._full,
            "job_limit": self._limited,
            "price_above_max": self._dear,
            "reference_reused": self._reused,
        }
        given = sight.seen.arguments
        justified = judge[str(sight.seen.code)](sight)
        if not justified:
            about = self._orders(sight) if sight.seen.code == "seller_busy" else ""
            sight.fail(Rule.REFUSAL, f"{sight.seen.code} without cause{about}", given.get("listing_id"))

    def _orders(self, sight: Sight) -> str:
        """Name the places of a listing and its newest orders that hold or held one."""
        listing_id = str(sight.seen.arguments["listing_id"])
        places = min(one.places for one in self.known[listing_id].offers(sight.span))
        told = f": {places} places, of which a buyer may fill {(places + 1) // 2}, as may all new buyers together"
        held = [one for one in self.jobs.of_listing.get(listing_id, ()) if any(map(_fills, one.history.visits))]
        held.sort(key=lambda one: _fills(one.history.last))
        for job in held[-_NAMED:]:
            states = (f"{one.state} until {one.due}" if one.due else one.state for one in job.history.visits)
            told += f"; {job.id} of {job.buyer} was {', then '.join(states)}"
        return told

    def _full(self, sight: Sight) -> bool:
        seen, listing_id = sight.seen, str(sight.seen.arguments["listing_id"])
        listing = self.known.get(listing_id)
        unseen = sum(one[0] == seen.env and one[2] == listing_id for one in self.jobs.lost_orders)
        if listing is None or listing.uncertain or listing_id in self.jobs.bought or not listing.versions:
            return True
        offers = listing.offers(sight.span)
        places = min(one.places for one in offers)
        others = list(
            self._others(self.jobs.living(self.jobs.of_listing, listing_id, sight.span), None, sight.span, surely=False)
        )
        mine = sum(one.buyer == seen.agent for one in others) + unseen
        if len(others) + unseen >= places or mine >= (places + 1) // 2:
            return True
        newcomer = any(one.price != 0 for one in offers) and self._may_be_new(
            seen.env, str(seen.agent), listing.seller, sight.span
        )
        fresh = sum(self._may_be_new(seen.env, one.buyer, listing.seller, sight.span) for one in others) + unseen
        return newcomer and (mine > 0 or fresh >= (places + 1) // 2)

    def _may_be_new(self, env: str, buyer: str, seller: str, span: Span) -> bool:
        """Say if the market may count a buyer as one that has not paid.

        The contract asks for one payment in the environment. A payment to this seller settles it in every reading.
        """
        counted = self.jobs.contract.counted_minor
        paid = self.jobs.money.paid_by.get((env, buyer), ())
        paid = [one for one in paid if one.status == "settled"]
        net = [
            one.payee
            for one in paid
            if one.amount >= counted and one.surely(span) and not self.jobs.money.returned(one)
        ]
        return seller not in net and len(set(net)) < _OTHER_SELLERS

    def _limited(self, sight: Sight) -> bool:
        seen = sight.seen
        jobs = self.jobs.living(self.jobs.of_buyer, (seen.env, str(seen.agent)), sight.span)
        unseen = sum(one[:2] == (seen.env, seen.agent) for one in self.jobs.lost_orders)
        running = sum(any(not one.history.graph.final(s) for s in one.possible(sight.span)) for one in jobs)
        return running + unseen >= self.jobs.contract.unfinished_jobs

    def _dear(self, sight: Sight) -> bool:
        given = sight.seen.arguments
        listing = self.known.get(str(given["listing_id"]))
        if listing is None or listing.uncertain or not listing.versions:
            return True
        units, most = given.get("units", 1), given.get("max_price")
        return most is not None and any((one.price or 0) * units > most for one in listing.offers(sight.span))

    def _reused(self, sight: Sight) -> bool:
        seen = sight.seen
        kept = self.references.get((seen.env, str(seen.agent), str(seen.arguments.get("reference"))))
        lost = any(one[:2] == (seen.env, seen.agent) for one in self.jobs.lost_orders)
        return lost or (kept is not None and kept[0] != _order(seen) and kept[2].may_precede(sight.span))

    def gone(self, sight: Sight) -> None:
        """Check that a listing which an order or a purchase did not get may be gone."""
        listing_id, code = str(sight.seen.arguments["listing_id"]), sight.seen.code
        listing = self.known.get(listing_id)
        if listing is None or listing.uncertain or listing.seller in self.jobs.left:
            return
        justified = self._hidden(listing, sight) if code == "not_found" else self._off_sale(listing_id, listing, sight)
        message = f"{code}, and the listing is known as {listing.offers(sight.span)}"
        sight.check(justified, Rule.REFUSAL, message, listing_id)

    def _hidden(self, listing: Listing, sight: Sight) -> bool:
        """Say if a listing may be hidden from an order.

        It is of the other environment, or no answer had shown it before. A purchase that names no environment finds a
        listing of each.
        """
        seen = sight.seen
        env = seen.arguments.get("env") if seen.operation == "buy_with_x402" else seen.env
        other = env not in (None, listing.env) or seen.error.get("param") not in (None, "listing_id")
        return other or not listing.was_shown(sight.span)

    def _off_sale(self, listing_id: str, listing: Listing, sight: Sight) -> bool:
        """Say if a listing may have been off sale: its seller withdrew it, or the market paused it."""
        withdrawn = any(one.status != "active" for one in listing.offers(sight.span))
        return withdrawn or self._deserted(listing_id, sight)

    def _deserted(self, listing_id: str, sight: Sight) -> bool:
        """Say if orders of as many buyers as pause a listing may have expired.

        The market also asks that these orders were the last ones, and that the seller made no call for a day. Neither
        is checked, because a process that crashes forgets when it saw a seller.
        """
        jobs = self.jobs.living(self.jobs.of_listing, listing_id, sight.span)
        buyers = {one.buyer for one in jobs if any(kind(state) == "expired" for state in one.possible(sight.span))}
        buyers |= self.jobs.expired.get(listing_id, set())
        buyers |= {buyer for _, buyer, listing, _ in self.jobs.lost_orders if listing == listing_id}
        buyers |= {payer for payer, _ in self.jobs.bought.get(listing_id, ())}
        return len(buyers) >= _IGNORED


GONE = ("listing_unavailable", "not_found")
_NAMED = 6  # orders in a message
_IGNORED = 3  # orders in a row, of different buyers, that pause the listing of an absent seller
_LONG_AGO = datetime(2000, 1, 1, tzinfo=UTC)
_OTHER_SELLERS = 3  # as many paid sellers count like a payment to this one


def _fills(visit: Visit) -> bool:
    return kind(visit.state) in PLACE


def _initial(record: Any) -> bool:
    return record["status"] in ("open", "quote_requested")


def _priced(offer: Offer, record: Any) -> bool:
    """Say if an order has the price and the payment of an offer; a quote comes later."""
    if offer.model == "quote":
        right = record["price"] is None or not _initial(record)
    else:
        right = record["price"] == (offer.price or 0) * record["units"]
    return bool(right and record["payment"]["timing"] == offer.payment)


def _timed(offer: Offer, record: Any) -> bool:
    """Say if an order has the accept window of an offer; a quote restarts it."""
    window = (at(record["deadlines"]["accept_by"]) - at(record["created_at"])).total_seconds()
    return bool(window == offer.accept_seconds or (offer.model == "quote" and not _initial(record)))


def _order(seen: Observation) -> bytes:
    """Return what an order asks for, over either operation, as one comparable value."""
    given = {key: value for key, value in seen.arguments.items() if key != "wait_seconds" and value is not None}
    return sha256(orjson.dumps(given, option=orjson.OPT_SORT_KEYS)).digest()
