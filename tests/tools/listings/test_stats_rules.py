"""The figures of a listing: what each job adds, how the sums change, and when a listing graduates."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from tools.listings.stats_rules import (
    ClosedJob,
    ListingTotals,
    Result,
    Transfer,
    apply_change,
    buyers_by,
    median_index,
    result_of,
    tallied,
    wallet_moves,
    wallet_of_most,
)

AT = datetime(2026, 11, 21, 12, tzinfo=UTC)
DONE = ClosedJob("completed", "buyer_accepted", None, AT, AT + timedelta(seconds=90, microseconds=999_999))


def paid(amount: int, wallet: str = "0xA", kind: str = "payment", status: str = "settled") -> Transfer:
    return Transfer(kind, status, amount, wallet)


def test_a_tally_and_a_result_begin_at_nothing() -> None:
    assert ListingTotals() == ListingTotals(0, 0, 0, 0, 0, 0, 0, 0)
    assert Result() == Result(False, False, 0, None, None, None)


@pytest.mark.parametrize(
    ("status", "closed_as", "outcome", "completed", "failed"),
    [
        ("completed", "buyer_accepted", None, True, False),
        ("completed", "review_timeout", None, True, False),
        ("completed", "dispute_withdrawn", None, True, False),
        ("resolved", "verdict", "seller", True, False),
        ("resolved", "verdict", "split", True, False),
        ("resolved", "verdict", "buyer", False, True),
        ("cancelled", "seller_failed", None, False, True),
        ("cancelled", "delivery_timeout", None, False, True),
        ("cancelled", "buyer_left_after_deadline", None, False, True),
        ("cancelled", "buyer_withdrew", None, False, False),
        ("cancelled", "buyer_walked_away", None, False, False),
        ("declined", "seller_declined", None, False, False),
        ("expired", "payment_timeout", None, False, False),
        ("delivered", None, None, False, False),
        ("disputed", None, None, False, False),
    ],
)
def test_what_counts_as_completed_and_as_failed(
    status: str, closed_as: str | None, outcome: str | None, completed: bool, failed: bool
) -> None:
    job = ClosedJob(status, closed_as, outcome, None, None)
    assert (job.completed, job.failed) == (completed, failed)
    found = result_of(job, [paid(20_000)])
    assert (found.completed, found.failed) == (completed, failed)
    assert (found.paid_minor, found.payer) == ((20_000, "0xa") if completed else (0, None)), "only completed jobs pay"


def test_the_turnaround_is_whole_seconds_from_acceptance_to_delivery_of_a_completed_job() -> None:
    assert result_of(DONE, []) == Result(True, False, 0, None, 90)
    assert result_of(replace(DONE, accepted_at=None), []).seconds is None
    assert result_of(replace(DONE, delivered_at=None), []).seconds is None
    assert result_of(replace(DONE, delivered_at=AT), []).seconds == 0
    assert result_of(replace(DONE, status="declined"), []).seconds is None


@pytest.mark.parametrize(
    ("transfers", "net", "payer"),
    [
        ([], 0, None),
        ([paid(250_000)], 250_000, "0xa"),
        ([paid(4_000), paid(5_000)], 9_000, "0xa"),
        ([paid(4_000), paid(5_000, "0xB")], 9_000, "0xb"),
        ([paid(250_000), paid(100_000, "0xS", "refund")], 150_000, "0xa"),
        ([paid(250_000), paid(250_001, "0xS", "refund")], 0, "0xa"),
        # Transfers that were no payment are refunded first.
        ([paid(250_000), paid(40, status="orphaned"), paid(40, "0xS", "refund")], 250_000, "0xa"),
        ([paid(250_000), paid(40, status="partial"), paid(41, "0xS", "refund")], 249_999, "0xa"),
        ([paid(250_000), paid(40, status="orphaned"), paid(30, "0xS", "refund")], 250_000, "0xa"),
        ([paid(250_000), paid(30, "0xS", "refund"), paid(50, "0xS", "refund")], 249_920, "0xa"),
        ([paid(40, status="orphaned")], 0, None),
        (
            [paid(40, status="orphaned"), paid(2, status="partial"), paid(250_000), paid(43, "0xS", "refund")],
            249_999,
            "0xa",
        ),
    ],
)
def test_a_job_counts_what_was_paid_and_not_sent_back(transfers: list[Transfer], net: int, payer: str | None) -> None:
    found = result_of(DONE, transfers)
    assert (found.paid_minor, found.payer) == (net, payer)


def test_the_wallet_that_moved_most_is_the_one_customer() -> None:
    assert wallet_of_most([]) is None
    assert wallet_of_most([("0xA", 3), ("0xb", 2), ("0xB", 2)]) == "0xb"
    assert wallet_of_most([("0xA", 3), ("0xB", 3)]) == "0xa", "of equals the earlier"


def test_a_job_is_paid_from_ten_thousand_on() -> None:
    assert [Result(paid_minor=amount).paid for amount in (0, 9_999, 10_000, 10_001)] == [False, False, True, True]


def test_a_wallet_begins_and_ceases_to_count_at_ten_thousand() -> None:
    assert buyers_by(0, 10_000) == buyers_by(9_999, 10_000) == 1
    assert buyers_by(10_000, 9_999) == buyers_by(10_000, 0) == -1
    assert buyers_by(10_000, 20_000) == buyers_by(0, 9_999) == buyers_by(9_999, 9_998) == 0


def test_the_sums_move_by_what_a_job_was_and_now_is() -> None:
    before = ListingTotals(
        completed=5, failed=3, paid=4, buyers=2, volume_minor=90_000, timed=4, ratings=2, rating_sum=7
    )
    good, bad = Result(True, False, 30_000, "0xa", 0), Result(False, True)
    assert apply_change(before, Result(), good, 1) == ListingTotals(6, 3, 5, 3, 120_000, 5, 2, 7)
    assert apply_change(before, good, bad, -1) == ListingTotals(4, 4, 3, 1, 60_000, 3, 2, 7)
    assert apply_change(before, bad, Result(), 0) == ListingTotals(5, 2, 4, 2, 90_000, 4, 2, 7)
    assert apply_change(before, good, replace(good, paid_minor=9_999), 0) == ListingTotals(5, 3, 3, 2, 69_999, 4, 2, 7)


def test_each_wallet_moves_by_what_it_paid_less_and_more() -> None:
    first, second = Result(True, False, 30, "0xa"), Result(True, False, 50, "0xb")
    assert wallet_moves(Result(), first) == [("0xa", 30)]
    assert wallet_moves(first, Result()) == [("0xa", -30)]
    assert wallet_moves(first, second) == [("0xa", -30), ("0xb", 50)]
    assert wallet_moves(first, replace(first, paid_minor=45)) == [("0xa", 15)]
    assert wallet_moves(first, first) == wallet_moves(Result(), Result()) == []


def test_a_rating_adds_itself_and_the_average_has_two_decimals() -> None:
    assert ListingTotals().rating is None
    two = tallied([Result(True, rating=4), Result(failed=True, rating=5)])
    assert two == ListingTotals(completed=1, failed=1, ratings=2, rating_sum=9)
    assert (two.rating, apply_change(two, Result(), Result(True, rating=1), 0).rating) == (4.5, 3.33)


def test_a_rating_of_a_job_that_came_to_nothing_stands_apart() -> None:
    paid, refunded = Result(True, paid_minor=10_000, payer="0xa", seconds=5, rating=5), Result(rating=5)
    assert tallied([refunded, Result()]) == ListingTotals(unpaid_reviews=1)
    assert apply_change(tallied([paid]), paid, refunded, -1) == ListingTotals(unpaid_reviews=1), (
        "a refund takes all back"
    )


@pytest.mark.parametrize("net", [0, 1, 9_999, 10_000])
@pytest.mark.parametrize("outcome", [None, "seller", "split"])
def test_a_live_job_for_less_than_ten_thousand_adds_nothing_favourable(net: int, outcome: str | None) -> None:
    job = replace(DONE, outcome=outcome, status="resolved" if outcome else "completed", rating=5)
    paid = [Transfer("payment", "settled", 20_000, "0xA"), Transfer("refund", "settled", 20_000 - net, "0xs")]
    assert result_of(job, paid) == Result(True, False, net, "0xa", 90, 5), "on test all counts"
    live = result_of(replace(job, live=True), paid)
    assert live == (result_of(job, paid) if net == 10_000 else Result(rating=5))


@pytest.mark.parametrize(
    ("rating", "gross", "counts"), [(3, 10_000, True), (4, 10_000, False), (1, 10_000, True), (1, 9_999, False)]
)
def test_no_refund_buys_back_a_rating_under_the_prior(rating: int, gross: int, counts: bool) -> None:
    job = replace(DONE, live=True, rating=rating)
    transfers = [Transfer("payment", "settled", gross, "0xA"), Transfer("refund", "settled", gross, "0xs")]
    assert result_of(job, transfers) == Result(rating=rating, against=counts)
    kept = ListingTotals(ratings=1, rating_sum=rating) if counts else ListingTotals(unpaid_reviews=1)
    assert tallied([result_of(job, transfers)]) == kept


def test_a_live_job_that_failed_counts_whatever_was_paid() -> None:
    lost = replace(DONE, status="resolved", outcome="buyer", live=True, rating=1)
    assert result_of(lost, []) == Result(failed=True, rating=1)
    assert tallied([result_of(lost, [])]) == ListingTotals(failed=1, ratings=1, rating_sum=1)
    assert result_of(replace(lost, status="cancelled", outcome=None), []).rating is None, "no review is of it"


@pytest.mark.parametrize(
    ("paid_jobs", "buyers", "ratings", "rating_sum", "graduated"),
    [
        (5, 3, 0, 0, True),
        (4, 3, 0, 0, False),
        (5, 2, 0, 0, False),
        (50, 30, 0, 0, True),
        (5, 3, 2, 7, True),
        (5, 3, 2, 6, False),
        (5, 3, 1, 3, False),
        (5, 3, 1, 4, True),
    ],
)
def test_a_listing_graduates_with_five_paid_jobs_of_three_buyers_and_three_and_a_half_stars(
    paid_jobs: int, buyers: int, ratings: int, rating_sum: int, graduated: bool
) -> None:
    tally = ListingTotals(completed=99, paid=paid_jobs, buyers=buyers, ratings=ratings, rating_sum=rating_sum)
    assert tally.graduated is graduated


def test_all_is_counted_from_nothing() -> None:
    jobs = [
        Result(True, False, 6_000, "0xa", 10),
        Result(True, False, 4_000, "0xa", None),
        Result(True, False, 9_999, "0xb", 5),
        Result(True, False, 10_000, "0xc", 0),
        Result(False, True),
    ]
    assert tallied(jobs) == ListingTotals(4, 1, 1, 2, 29_999, 3), "two parts of one wallet make a buyer"
    assert tallied([]) == ListingTotals()


def test_the_median_is_the_upper_middle() -> None:
    assert [median_index(number) for number in (1, 2, 3, 4, 5)] == [0, 1, 1, 2, 2]
