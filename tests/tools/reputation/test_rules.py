"""Reputation: each formula computed by hand, the sums against a naive count, and a job's effect on both parties."""

from dataclasses import replace
from datetime import UTC, datetime
from math import log10
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from storage.vocabulary import Actor, ClosedAs, JobStatus, Outcome
from tests.requirements import covers
from tools.agents.trust_tiers import earns_tier_one, trust_tier
from tools.jobs.contribution_rules import ContributionInputs, mark_of
from tools.jobs.facts import JobFacts
from tools.kernel.money import DUST_MINOR
from tools.reputation.counterparty import check
from tools.reputation.rules import (
    EMPTY,
    CounterpartyTotals,
    Figures,
    JobContribution,
    add,
    contribution,
    counterparty_figures,
    dealings_of,
    on_time_rate,
    rank_value,
    rating_avg,
    rating_weighted,
    score,
    subtract,
    unpaid_rating,
    weight_of,
)

NOW = datetime(2026, 11, 21, 4, tzinfo=UTC)
USDC = 1_000_000


def side(*jobs: tuple[str, JobContribution], role: Actor = Actor.SELLER, first_party: bool = False) -> Figures:
    """Return the figures of one side after these jobs, each with a different agent."""
    total, dealings = EMPTY, dict[str, CounterpartyTotals]()
    for other, mark in jobs:
        total = add(total, contribution(mark, role, first_party=first_party))
        key, change = dealings_of(mark, role, other, first_party=first_party)
        before = dealings.get(key, CounterpartyTotals())
        dealings[key] = add(before, change)
        total = add(total, subtract(counterparty_figures(dealings[key]), counterparty_figures(before)))
    return total


def sold(paid_minor: int, wallet: str | None = "0xa", rating: int | None = None, **more: Any) -> JobContribution:
    return JobContribution(
        completed=True, on_time=True, paid=paid_minor > 0, answered=True, paid_minor=paid_minor, payer=wallet,
        payee="0xs", seller_rating=rating, **more,
    )  # fmt: skip


def test_the_average_begins_as_five_votes_of_three_and_a_half() -> None:
    assert rating_avg(EMPTY) is None
    assert rating_avg(side(("b", sold(0, None, 5)))) == 3.75  # (5 + 17.5) / 6
    assert rating_avg(side(*(("b", sold(0, None, one)) for one in (5, 5, 1)))) == 3.56  # 28.5 / 8


def test_a_vote_weighs_by_the_logarithm_of_what_was_paid() -> None:
    assert [weight_of(paid) for paid in (0, 90_000, 990_000)] == [1, 2, 3]
    assert weight_of(10_000) == 1 + log10(2)
    figures = side(("b", sold(45_000, "0xa", 5)), ("b", sold(45_000, "0xa", 5)), ("c", sold(990_000, "0xc", 1)))
    assert rating_weighted(figures) == 3.05  # (5·2 + 1·3 + 17.5) / (2 + 3 + 5)
    assert rating_weighted(EMPTY) is None


def test_r1_one_cheap_regular_does_not_outvote_everybody() -> None:
    regular = [("cheap", sold(10_000, "0xcheap", 5)) for _ in range(100)]
    others = [(f"b{n}", sold(10 * USDC, f"0x{n}", 1)) for n in range(3)]
    figures = side(*regular, *others)
    cheap, dear = 1 + log10(101), 1 + log10(1001)
    assert rating_weighted(figures) == round((5 * cheap + 3 * dear + 17.5) / (cheap + 3 * dear + 5), 2) == 2.23
    assert rating_avg(figures) == 4.82, "by heads of reviews it would have"


def test_agents_that_share_a_wallet_are_one_counterparty() -> None:
    figures = side(("b1", sold(10_000, "0xa", 5)), ("b2", sold(10_000, "0xa", 5)))
    assert (figures.wallets, figures.rating_count, round(figures.weight_micro / 1e6, 5)) == (1, 2, 1.47712)


@covers("score.formula.rating", "score.formula.volume", "score.formula.done", "score.formula.on_time")
def test_the_score_by_hand() -> None:
    assert score(EMPTY, EMPTY) == 20  # 40 · 0.5
    free = side(("b", sold(0, None)))
    assert score(free, EMPTY) == 50  # 20 + 0 + 20 · 1/1 + 10
    nine = side(("b", sold(9 * USDC)))
    assert score(nine, EMPTY) == 55  # 20 + 30 · log10(10)/6 + 20 + 10
    rated = replace(nine, rating_count=1, rating_sum=5, weight_micro=5_000_000, vote_micro=25_000_000)
    assert rating_weighted(rated) == 4.25
    assert score(rated, EMPTY) == 68  # 40 · 3.25/4 = 32.5, and 35
    assert score(EMPTY, side(("s", sold(0, None)), role=Actor.BUYER)) == 50, "a buyer is on time once a job is done"
    huge = side(("b", sold(10_000_000 * USDC)))
    assert score(huge, EMPTY) == 80, "the volume's part ends at 30"


@pytest.mark.parametrize(
    ("bad", "seen"),
    [
        (replace(EMPTY, jobs_failed=1), True),
        (replace(EMPTY, jobs_failed=1, jobs_cancelled=1), True),  # one job, which the seller cancelled
        (replace(EMPTY, refunds_due=1), True),
        (replace(EMPTY, deliveries_unpaid=3, jobs_disputed=2, refunds_made=1), False),
    ],
)
@covers("score.formula.bad")
def test_what_counts_against_a_seller(bad: Figures, seen: bool) -> None:
    done = replace(EMPTY, jobs_completed=1, timed=1, on_time=1)
    assert score(add(done, bad), EMPTY) == (40 if seen else 50)  # 20 · 1/2 or 20 · 1/1


@pytest.mark.parametrize(
    ("bad", "seen"),
    [
        (replace(EMPTY, jobs_cancelled=1), True),
        (replace(EMPTY, jobs_unpaid=1), True),
        (replace(EMPTY, jobs_failed=1, jobs_disputed=1), False),
    ],
)
@covers("score.formula.bad")
def test_what_counts_against_a_buyer(bad: Figures, seen: bool) -> None:
    assert score(EMPTY, add(replace(EMPTY, jobs_completed=1), bad)) == (40 if seen else 50)


def facts(status: JobStatus, closed_as: ClosedAs | None = None, **more: Any) -> JobFacts:
    return JobFacts(status=status, closed_as=closed_as, **{"price_minor": 250_000} | more)


PAID = {"paid_minor": 250_000, "paid_at": NOW, "delivered": True}
DONE = facts(JobStatus.COMPLETED, ClosedAs.BUYER_ACCEPTED, **PAID)
ENDS: list[tuple[JobFacts, ContributionInputs, JobContribution]] = [
    (facts(JobStatus.OPEN), ContributionInputs(), JobContribution()),
    (
        facts(JobStatus.IN_PROGRESS, paid_minor=250_000, paid_at=NOW),
        ContributionInputs(answered=True, payer="0xa"),
        JobContribution(),
    ),
    (
        DONE,
        ContributionInputs(answered=True, payer="0xa", payee="0xs", seller_rating=4),
        JobContribution(
            completed=True,
            paid=True,
            answered=True,
            on_time=True,
            paid_minor=250_000,
            payer="0xa",
            payee="0xs",
            seller_rating=4,
        ),
    ),
    (
        replace(DONE, refunded_minor=250_000),
        ContributionInputs(payer="0xa"),
        JobContribution(completed=True, paid=True, on_time=True, refund_made=True, gross_minor=250_000, payer="0xa"),
    ),
    (facts(JobStatus.DISPUTED, **PAID), ContributionInputs(), JobContribution()),
    (
        facts(JobStatus.COMPLETED, ClosedAs.DISPUTE_WITHDRAWN, **PAID),
        ContributionInputs(),
        JobContribution(completed=True, paid=True, on_time=True, paid_minor=250_000),
    ),
    (
        facts(JobStatus.RESOLVED, ClosedAs.VERDICT, outcome=Outcome.BUYER, **PAID),
        ContributionInputs(),
        JobContribution(failed=True, disputed=True, paid=True, refund_due=True, on_time=True),
    ),
    (
        facts(JobStatus.RESOLVED, ClosedAs.VERDICT, outcome=Outcome.SPLIT, **PAID),
        ContributionInputs(),
        JobContribution(completed=True, disputed=True, paid=True, refund_due=True, on_time=True, paid_minor=250_000),
    ),
    (
        facts(JobStatus.RESOLVED, ClosedAs.VERDICT, outcome=Outcome.SELLER, **PAID),
        ContributionInputs(),
        JobContribution(completed=True, disputed=True, paid=True, on_time=True, paid_minor=250_000),
    ),
    (
        facts(JobStatus.CANCELLED, ClosedAs.SELLER_FAILED),
        ContributionInputs(answered=True),
        JobContribution(failed=True, seller_cancelled=True, answered=True, on_time=False),
    ),
    (
        facts(JobStatus.CANCELLED, ClosedAs.BUYER_LEFT_AFTER_DEADLINE),
        ContributionInputs(answered=True),
        JobContribution(failed=True, answered=True, on_time=False),
    ),
    (facts(JobStatus.CANCELLED, ClosedAs.BUYER_WITHDREW), ContributionInputs(), JobContribution(buyer_cancelled=True)),
    (
        facts(JobStatus.CANCELLED, ClosedAs.BUYER_WALKED_AWAY, delivered=True),
        ContributionInputs(answered=True),
        JobContribution(delivery_unpaid=True, answered=True),
    ),
    (
        facts(JobStatus.EXPIRED, ClosedAs.PAYMENT_TIMEOUT, delivered=True),
        ContributionInputs(answered=True),
        JobContribution(unpaid=True, delivery_unpaid=True, answered=True),
    ),
    (
        facts(JobStatus.EXPIRED, ClosedAs.PAYMENT_TIMEOUT),
        ContributionInputs(answered=True),
        JobContribution(unpaid=True, answered=True),
    ),
    (facts(JobStatus.EXPIRED, ClosedAs.ACCEPT_TIMEOUT), ContributionInputs(), JobContribution(ignored=True)),
    (
        facts(JobStatus.EXPIRED, ClosedAs.ACCEPT_TIMEOUT),
        ContributionInputs(quoted=True),
        JobContribution(answered=True),
    ),
    (facts(JobStatus.DECLINED, ClosedAs.SELLER_DECLINED), ContributionInputs(), JobContribution(answered=True)),
    (
        facts(JobStatus.IN_PROGRESS, orphaned_minor=10_000, **PAID),
        ContributionInputs(),
        JobContribution(refund_due=True),
    ),
    (facts(JobStatus.IN_PROGRESS, orphaned_minor=9_999, **PAID), ContributionInputs(), JobContribution()),
    (
        facts(JobStatus.EXPIRED, ClosedAs.ACCEPT_TIMEOUT, partial_minor=9_999),
        ContributionInputs(),
        JobContribution(ignored=True),
    ),
    (
        facts(JobStatus.EXPIRED, ClosedAs.ACCEPT_TIMEOUT, partial_minor=9_999, orphaned_minor=1),
        ContributionInputs(),
        JobContribution(ignored=True, refund_due=True),
    ),
    (
        facts(JobStatus.CANCELLED, ClosedAs.SELLER_FAILED, orphaned_minor=9, refunded_minor=250_000, **PAID),
        ContributionInputs(),
        JobContribution(failed=True, seller_cancelled=True, paid=True, refund_made=True, on_time=False),
    ),
    (
        facts(JobStatus.CANCELLED, ClosedAs.SELLER_FAILED, orphaned_minor=9, refunded_minor=249_999, **PAID),
        ContributionInputs(),
        JobContribution(failed=True, seller_cancelled=True, paid=True, refund_due=True, on_time=False),
    ),
]


@pytest.mark.parametrize(("seen", "beside", "mark"), ENDS)
def test_what_each_end_of_a_job_comes_to(seen: JobFacts, beside: ContributionInputs, mark: JobContribution) -> None:
    assert mark_of(seen, beside) == mark


def test_r5_an_abandoned_revision_is_late_and_so_is_one_that_came_late() -> None:
    abandoned = facts(JobStatus.CANCELLED, ClosedAs.BUYER_LEFT_AFTER_DEADLINE, revision_count=1, **PAID)
    assert mark_of(abandoned, ContributionInputs(late=False)).on_time is False, "whatever its first delivery was"
    assert mark_of(replace(DONE, revision_count=1), ContributionInputs(late=True)).on_time is False
    late, timely = sold(0, None), replace(sold(0, None), on_time=False)
    assert on_time_rate(side(("b", late), ("b", timely), ("b", timely))) == 0.3333


def test_r6_free_jobs_are_counted_by_agent_and_apart() -> None:
    figures = side(("b1", sold(0, None)), ("b1", sold(0, None)), ("b2", sold(0, None)), ("b3", sold(10_000)))
    assert (figures.wallets, figures.free_agents, figures.jobs_completed) == (1, 2, 4)


def test_m17_dust_and_what_was_sent_back_makes_no_counterparty() -> None:
    figures = side(("b", sold(9_999, "0xa")), ("c", sold(0, "0xc", refund_made=True)))
    assert (figures.wallets, figures.third_party_wallets, figures.free_agents) == (0, 0, 0)
    assert side(("b", sold(9_999, "0xa")), ("b", sold(1, "0xa"))).wallets == 1


def test_r2_jobs_of_the_operators_agents_are_nobodys_third_party_trade() -> None:
    figures = add(side(("b", sold(50 * USDC)), first_party=True), side(("c", sold(20_000, "0xc"))))
    assert (figures.volume_minor, figures.third_party_minor) == (50_020_000, 20_000)
    assert (figures.wallets, figures.first_party_wallets, figures.third_party_wallets) == (2, 1, 1)
    assert rank_value(figures) == 20_000


def test_a_rank_stays_a_number_every_json_reader_knows() -> None:
    assert rank_value(replace(EMPTY, third_party_minor=10**15, third_party_wallets=100)) == 2**53 - 1


def test_r4_the_two_checks_of_tier_one_are_of_two_things() -> None:
    assert earns_tier_one(10_000_000, 3)
    assert not earns_tier_one(9_999_999, 1_000)
    assert not earns_tier_one(10**12, 2)


@pytest.mark.parametrize(
    ("reached", "domain", "tier"), [(False, None, 0), (False, "a.example", 0), (True, None, 1), (True, "a.example", 2)]
)
def test_the_tier_follows_the_domain_and_three_is_never_granted(reached: bool, domain: str | None, tier: int) -> None:
    assert trust_tier(reached, domain) == tier


@pytest.mark.parametrize(
    ("seller", "buyer", "active", "verdict", "reasons"),
    [
        ({}, {}, True, "unknown", 1),
        ({"jobs_completed": 2, "refunds_due": 1}, {}, True, "unknown", 2),
        ({"jobs_completed": 2}, {"jobs_completed": 1, "jobs_paid": 1}, True, "ok", 0),
        ({"jobs_completed": 3, "refunds_due": 1}, {}, True, "caution", 1),
        ({"jobs_completed": 3}, {}, False, "caution", 1),
        ({}, {"jobs_completed": 4, "jobs_paid": 4, "jobs_unpaid": 1}, True, "ok", 0),
        ({}, {"jobs_completed": 3, "jobs_paid": 3, "jobs_unpaid": 1}, True, "caution", 1),
        ({"jobs_completed": 5, "jobs_disputed": 1}, {}, True, "ok", 0),
        ({"jobs_completed": 4, "jobs_disputed": 1}, {}, True, "caution", 1),
        ({"jobs_completed": 3, "orders_answered": 1, "orders_ignored": 1}, {}, True, "ok", 0),
        ({"jobs_completed": 3, "orders_answered": 1, "orders_ignored": 2}, {}, True, "caution", 1),
        ({"jobs_completed": 7, "jobs_failed": 3}, {}, True, "ok", 0),
        ({"jobs_completed": 2, "jobs_failed": 1}, {}, True, "caution", 1),
    ],
)
def test_a_counterparty_is_judged_by_what_is_known_of_it(
    seller: dict[str, int], buyer: dict[str, int], active: bool, verdict: str, reasons: int
) -> None:
    found = check(replace(EMPTY, **seller), replace(EMPTY, **buyer), active=active, live=False)
    assert (found.verdict, len(found.reasons)) == (verdict, reasons)


def test_what_is_known_of_a_counterparty_is_told_in_the_singular_where_it_is_one() -> None:
    one = {"jobs_failed": 1, "jobs_disputed": 1, "refunds_due": 1, "orders_ignored": 1}
    few = check(replace(EMPTY, **one), replace(EMPTY, jobs_unpaid=1), active=True, live=False).reasons
    assert few == (
        "2 jobs came to an end, too few to judge by", "it owes refunds for 1 job", "it never paid 1 job, and paid 0",
        "of its 2 jobs, 1 disputed up to a verdict", "it let 1 order expire unanswered", "of 1 job it sold, 1 failed",
    )  # fmt: skip
    assert check(replace(EMPTY, jobs_completed=1), EMPTY, active=True, live=False).reasons == (
        "1 job came to an end, too few to judge by",
    )


marks = st.builds(
    JobContribution,
    completed=st.booleans(), failed=st.booleans(), disputed=st.booleans(), seller_cancelled=st.booleans(),
    buyer_cancelled=st.booleans(), unpaid=st.booleans(), delivery_unpaid=st.booleans(), paid=st.booleans(),
    answered=st.booleans(), ignored=st.booleans(), refund_due=st.booleans(), refund_made=st.booleans(),
    on_time=st.sampled_from([None, True, False]), paid_minor=st.sampled_from([0, 1, 5_000, 9_999, 10_000, 250_000]),
    payer=st.sampled_from([None, "0xa", "0xb"]), payee=st.sampled_from([None, "0xs", "0xt"]),
    seller_rating=st.sampled_from([None, 1, 3, 5]), buyer_rating=st.sampled_from([None, 2, 4]),
)  # fmt: skip
counted = st.tuples(st.sampled_from(["agt_1", "agt_2", "agt_3"]), st.booleans(), marks)


@given(st.lists(counted, max_size=12), st.lists(counted, max_size=12), st.sampled_from([Actor.SELLER, Actor.BUYER]))
def test_r8_moved_by_one_job_at_a_time_the_sums_are_what_a_naive_count_comes_to(
    first: list[tuple[str, bool, JobContribution]], then: list[tuple[str, bool, JobContribution]], role: Actor
) -> None:
    """Each job is counted, then counted again with its new facts (nothing if not in `then`)."""
    total, dealings = EMPTY, dict[str, CounterpartyTotals]()
    for number, (other, first_party, old) in enumerate(first):
        new = then[number][2] if number < len(then) else JobContribution()
        for mark, sign in ((old, 1), (old, -1), (new, 1)):
            part = contribution(mark, role, first_party=first_party)
            total = add(total, part) if sign > 0 else subtract(total, part)
            key, change = dealings_of(mark, role, other, first_party=first_party)
            before = dealings.get(key, CounterpartyTotals())
            dealings[key] = add(before, change, sign)
            total = add(total, subtract(counterparty_figures(dealings[key]), counterparty_figures(before)))
    now = [(o, f, then[n][2] if n < len(then) else JobContribution()) for n, (o, f, _) in enumerate(first)]
    naive = naively(now, role)
    assert {name: getattr(total, name) for name in naive["sums"]} == naive["sums"]
    assert rating_weighted(total) == pytest.approx(naive["weighted"], abs=0.011)
    assert rating_avg(total) == naive["avg"]
    assert min(getattr(total, name) for name in Figures.__slots__) >= 0


def naively(jobs: list[tuple[str, bool, JobContribution]], role: Actor) -> dict[str, Any]:
    """Compute the same sums over all jobs at once, directly from the words of the contract."""
    selling = role is Actor.SELLER
    wallets, third, votes, free = dict[str, int](), dict[str, int](), dict[str, list[int]](), set[str]()
    for other, first_party, mark in jobs:
        wallet = mark.payer if selling else mark.payee
        rating = mark.seller_rating if selling else mark.buyer_rating
        if wallet:
            wallets[wallet] = wallets.get(wallet, 0) + mark.paid_minor
            third[wallet] = third.get(wallet, 0) + (0 if first_party else mark.paid_minor)
        else:
            wallets[other] = wallets.get(other, 0) + mark.paid_minor
            third[other] = third.get(other, 0) + (0 if first_party else mark.paid_minor)
            if mark.completed:
                free.add(other)
        if rating is not None:
            votes.setdefault(wallet or other, []).append(rating)
    ratings = [one for given in votes.values() for one in given]
    weights = {who: 1 + log10(1 + wallets[who] / 10_000) for who in votes}
    averages = {who: sum(given) / len(given) for who, given in votes.items()}
    heads = sum(averages[who] * weights[who] for who in votes)
    found = [mark for _, _, mark in jobs]
    sums = {
        "jobs_completed": sum(one.completed for one in found),
        "jobs_failed": sum(one.failed for one in found),
        "jobs_disputed": sum(one.disputed for one in found),
        "jobs_cancelled": sum(one.seller_cancelled if selling else one.buyer_cancelled for one in found),
        "jobs_unpaid": sum(one.unpaid for one in found) if not selling else 0,
        "deliveries_unpaid": sum(one.delivery_unpaid for one in found) if selling else 0,
        "refunds_due": sum(one.refund_due for one in found) if selling else 0,
        "refunds_made": sum(one.refund_made for one in found) if selling else 0,
        "volume_minor": sum(one.paid_minor for one in found),
        "third_party_minor": sum(third.values()),
        "wallets": sum(paid >= DUST_MINOR for paid in wallets.values()),
        "third_party_wallets": sum(paid >= DUST_MINOR for paid in third.values()),
        "first_party_wallets": sum(wallets[who] - third[who] >= DUST_MINOR for who in wallets),
        "free_agents": len(free),
    }
    return {
        "sums": sums,
        "avg": round((sum(ratings) + 17.5) / (len(ratings) + 5), 2) if ratings else None,
        "weighted": round((heads + 17.5) / (sum(weights.values()) + 5), 2) if ratings else None,
    }


LIVE = ContributionInputs(answered=True, payer="0xa", payee="0xs", seller_rating=5, buyer_rating=5, live=True)


@covers("second.nothing.completed", "second.nothing.reviews")
@pytest.mark.parametrize("outcome", [None, Outcome.SELLER, Outcome.SPLIT])
@pytest.mark.parametrize("paid", [0, 9_999])
def test_a_live_job_completed_for_nothing_adds_nothing_favourable(paid: int, outcome: Outcome | None) -> None:
    status = JobStatus.RESOLVED if outcome else JobStatus.COMPLETED
    done = replace(DONE, status=status, outcome=outcome, paid_minor=paid, price_minor=paid)
    mark = mark_of(done, LIVE)
    assert mark.for_nothing
    for role in Actor.SELLER, Actor.BUYER:
        part, (_, dealings) = (
            contribution(mark, role, first_party=False),
            dealings_of(mark, role, "agt_o", first_party=False),
        )
        disputed = int(outcome is not None)
        apart = Figures(
            jobs_disputed=disputed,
            unpaid_completed=1,
            unpaid_disputed=disputed,
            unpaid_reviews=1,
            unpaid_rating_sum=5,
        )
        assert part == replace(apart, refunds_due=part.refunds_due)
        assert counterparty_figures(dealings) == EMPTY
        assert score(part, EMPTY) == score(EMPTY, part) == 20, "as an agent that has done nothing"
    assert unpaid_rating(add(part, replace(part, unpaid_rating_sum=2))) == 3.5


@covers("second.nothing.against")
def test_a_live_job_for_nothing_counts_where_it_speaks_against_a_side() -> None:
    late = contribution(mark_of(replace(DONE, paid_minor=0), replace(LIVE, late=True)), Actor.SELLER, first_party=False)
    assert (late.timed, late.on_time, on_time_rate(late)) == (1, 0, 0.0)
    for failed in ENDS:
        if not failed[2].completed:
            assert mark_of(failed[0], replace(failed[1], live=True)) == failed[2], (
                "what is not completed counts as before"
            )


@pytest.mark.parametrize(
    ("rating", "gross", "net", "counts"),
    [(1, 10_000, 0, True), (3, 10_000, 9_999, True), (4, 10_000, 0, False), (1, 9_999, 0, False), (1, 9_999, 9_999, False)],
)  # fmt: skip
def test_no_refund_buys_back_a_rating_under_the_prior(rating: int, gross: int, net: int, counts: bool) -> None:
    done = replace(DONE, paid_minor=gross, price_minor=gross, refunded_minor=gross - net, voluntary_minor=gross - net)
    rated = replace(LIVE, seller_rating=rating, buyer_rating=rating)
    before, after = mark_of(replace(done, refunded_minor=0, voluntary_minor=0), rated), mark_of(done, rated)
    assert after.for_nothing
    for role in Actor.SELLER, Actor.BUYER:
        part, paid = contribution(after, role, first_party=False), contribution(before, role, first_party=False)
        kept = (paid.rating_sum, paid.rating_count, 0) if counts else (0, 0, 1)
        assert (part.rating_sum, part.rating_count, part.unpaid_reviews) == kept
        assert part.unpaid_rating_sum == (0 if counts else rating)
        assert (part.jobs_completed, part.volume_minor) == (0, 0)
        heads = [counterparty_figures(dealings_of(one, role, "agt_o", first_party=False)[1]) for one in (before, after)]
        assert heads[1].wallets == 0
        if counts:
            assert (heads[1].weight_micro, heads[1].vote_micro) == (heads[0].weight_micro, heads[0].vote_micro)
        else:
            assert (heads[1].weight_micro, heads[1].vote_micro) == (0, 0)


def test_a_refund_lowers_the_weight_of_a_good_rating_alone() -> None:
    done = replace(DONE, paid_minor=990_000, price_minor=990_000, refunded_minor=900_000, voluntary_minor=900_000)
    heads = {
        rating: counterparty_figures(dealings_of(mark_of(done, replace(LIVE, seller_rating=rating)), Actor.SELLER, "o", first_party=False)[1])
        for rating in (3, 4)
    }  # fmt: skip
    assert {rating: head.weight_micro for rating, head in heads.items()} == {3: 3_000_000, 4: 2_000_000}


def test_ten_thousand_on_live_and_anything_on_test_count() -> None:
    for beside, paid in ((LIVE, 10_000), (replace(LIVE, live=False), 9_999), (replace(LIVE, live=False), 0)):
        mark = mark_of(replace(DONE, paid_minor=paid), beside)
        part = contribution(mark, Actor.SELLER, first_party=False)
        assert (part.jobs_completed, part.rating_count, part.unpaid_reviews) == (1, 1, 0)
        assert (part.on_time, part.orders_answered, part.volume_minor) == (1, 1, paid)


@covers("second.nothing.check")
@pytest.mark.parametrize("role", [Actor.SELLER, Actor.BUYER])
def test_a_counterparty_that_no_wallet_has_paid_is_unknown_on_live(role: Actor) -> None:
    def judged(live: bool, **figures: int) -> str:
        tally = replace(EMPTY, **figures)
        sides = (tally, EMPTY) if role is Actor.SELLER else (EMPTY, tally)
        return check(*sides, active=True, live=live).verdict

    assert judged(True, jobs_completed=3) == "unknown"
    assert judged(False, jobs_completed=3) == judged(True, jobs_completed=3, wallets=1) == "ok"
    assert judged(True, jobs_completed=3, jobs_disputed=3) == "caution", "caution stays"
    assert judged(True, unpaid_completed=9) == "unknown"
    assert judged(True, unpaid_completed=9, unpaid_disputed=3, jobs_disputed=3) == "caution"
    disputed = replace(EMPTY, jobs_disputed=3, unpaid_disputed=3)
    assert check(disputed, EMPTY, active=True, live=True).dispute_rate == 1.0
