"""Reputation sums: what one job and one counterparty add, and each term of the formulas alone."""

from dataclasses import asdict, replace
from datetime import UTC, datetime
from math import log10

import pytest

from storage.vocabulary import FINISHED, Actor, ClosedAs, JobStatus
from tools.jobs.contribution_rules import ContributionInputs, mark_of
from tools.jobs.facts import JobFacts
from tools.reputation.counterparty import ENOUGH_JOBS, MAX_DISPUTED, MAX_FAILED, MIN_ANSWERED, MIN_PAID, check
from tools.reputation.rules import (
    EMPTY,
    MAX_CATEGORIES,
    MICRO,
    MINOR_PER_USDC,
    CounterpartyTotals,
    Figures,
    JobContribution,
    add,
    contribution,
    counterparty_figures,
    dealings_of,
    rank_value,
    rating_avg,
    rating_weighted,
    score,
    share,
    subtract,
    weight_of,
)

SELLER, BUYER = Actor.SELLER, Actor.BUYER
NOON = datetime(2026, 11, 21, 12, tzinfo=UTC)
EVERYTHING = JobContribution(
    completed=True, failed=True, disputed=True, seller_cancelled=True, buyer_cancelled=True, unpaid=True,
    delivery_unpaid=True, paid=True, answered=True, ignored=True, refund_due=True, refund_made=True, on_time=True,
    paid_minor=30_000, payer="0xa", payee="0xs", seller_rating=5, buyer_rating=2,
)  # fmt: skip


def test_all_begins_at_nothing() -> None:
    assert set(asdict(EMPTY).values()) == {0}
    assert CounterpartyTotals() == CounterpartyTotals(0, 0, 0, 0, 0)
    assert JobContribution().paid_minor == 0
    assert {"completed", "resolved"} == FINISHED
    assert MAX_CATEGORIES == 10


def test_a_sellers_part_of_a_job_is_what_a_seller_answers_for() -> None:
    assert contribution(EVERYTHING, SELLER, first_party=False) == Figures(
        jobs_completed=1, jobs_failed=1, jobs_disputed=1, jobs_cancelled=1, deliveries_unpaid=1, refunds_due=1,
        refunds_made=1, orders_answered=1, orders_ignored=1, timed=1, on_time=1, volume_minor=30_000,
        third_party_minor=30_000, rating_sum=5, rating_count=1,
    )  # fmt: skip


def test_a_buyers_part_of_a_job_is_what_a_buyer_answers_for() -> None:
    assert contribution(EVERYTHING, BUYER, first_party=True) == Figures(
        jobs_completed=1, jobs_failed=1, jobs_disputed=1, jobs_cancelled=1, jobs_unpaid=1, jobs_paid=1,
        volume_minor=30_000, third_party_minor=0, rating_sum=2, rating_count=1,
    )  # fmt: skip


@pytest.mark.parametrize("role", [SELLER, BUYER])
def test_a_job_that_came_to_nothing_adds_nothing(role: Actor) -> None:
    assert contribution(JobContribution(), role, first_party=False) == EMPTY
    assert contribution(replace(EVERYTHING, on_time=False), SELLER, first_party=False).timed == 1
    assert contribution(replace(EVERYTHING, on_time=False), SELLER, first_party=False).on_time == 0


def test_a_counterparty_is_the_wallet_or_without_one_the_agent() -> None:
    assert dealings_of(EVERYTHING, SELLER, "agt_b", first_party=False) == (
        "0xa",
        CounterpartyTotals(30_000, 30_000, 0, 5, 1),
    )
    assert dealings_of(EVERYTHING, BUYER, "agt_s", first_party=True) == ("0xs", CounterpartyTotals(30_000, 0, 0, 2, 1))
    free = JobContribution(completed=True)
    assert dealings_of(free, SELLER, "agt_b", first_party=False) == ("agt_b", CounterpartyTotals(free_jobs=1))
    assert dealings_of(JobContribution(failed=True), SELLER, "agt_b", first_party=False) == (
        "agt_b",
        CounterpartyTotals(),
    )
    assert dealings_of(JobContribution(completed=True, payer="0xa"), SELLER, "b", first_party=False) == (
        "0xa",
        CounterpartyTotals(),
    )


def test_dealings_and_sums_are_added_and_taken_away() -> None:
    one, two = CounterpartyTotals(10, 8, 6, 4, 2), CounterpartyTotals(1, 2, 3, 4, 5)
    assert add(one, two) == CounterpartyTotals(11, 10, 9, 8, 7)
    assert add(one, two, -1) == CounterpartyTotals(9, 6, 3, 0, -3)
    assert add(Figures(jobs_failed=2, on_time=5), Figures(jobs_failed=1)) == Figures(jobs_failed=3, on_time=5)
    assert subtract(Figures(jobs_failed=2, on_time=5), Figures(jobs_failed=1)) == Figures(jobs_failed=1, on_time=5)


@pytest.mark.parametrize(
    ("dealings", "added"),
    [
        (CounterpartyTotals(), EMPTY),
        (CounterpartyTotals(9_999, 9_999), EMPTY),
        (CounterpartyTotals(10_000, 10_000), Figures(wallets=1, third_party_wallets=1)),
        (CounterpartyTotals(10_000, 0), Figures(wallets=1, first_party_wallets=1)),
        (CounterpartyTotals(20_000, 10_000), Figures(wallets=1, first_party_wallets=1, third_party_wallets=1)),
        (CounterpartyTotals(19_999, 10_000), Figures(wallets=1, third_party_wallets=1)),
        (CounterpartyTotals(free_jobs=1), Figures(free_agents=1)),
        (CounterpartyTotals(free_jobs=7), Figures(free_agents=1)),
        (CounterpartyTotals(90_000, 0, 0, 9, 2), Figures(wallets=1, first_party_wallets=1, weight_micro=2_000_000, vote_micro=9_000_000)),
        (CounterpartyTotals(0, 0, 0, 10, 3), Figures(weight_micro=1_000_000, vote_micro=3_333_333)),
        (CounterpartyTotals(10_000, 10_000, 0, 5, 1), Figures(wallets=1, third_party_wallets=1, weight_micro=1_301_030, vote_micro=6_505_150)),
    ],
)  # fmt: skip
def test_what_one_counterparty_adds(dealings: CounterpartyTotals, added: Figures) -> None:
    assert counterparty_figures(dealings) == added


def test_a_weight_begins_at_one_and_never_falls_below() -> None:
    assert [weight_of(paid) for paid in (-20_000, -1, 0, 90_000, 9_990_000)] == [1, 1, 1, 2, 4]


def test_an_average_stands_between_its_votes_and_three_and_a_half() -> None:
    assert rating_avg(replace(EMPTY, rating_sum=5, rating_count=1)) == 3.75
    assert rating_avg(replace(EMPTY, rating_sum=0, rating_count=0)) is None
    assert rating_weighted(replace(EMPTY, rating_count=1, weight_micro=3_000_000, vote_micro=6_000_000)) == 2.94
    assert rating_weighted(replace(EMPTY, weight_micro=3_000_000)) is None


@pytest.mark.parametrize(
    ("volume_minor", "points"),
    [(-50_000_000, 0), (0, 0), (999_000_000, 15), (99_000_000, 10), (10**12, 30), (10**13, 30)],
)
def test_volume_of_both_sides_gives_up_to_thirty_points(volume_minor: int, points: int) -> None:
    """The score without jobs and ratings is 20."""
    for sold, bought in ((volume_minor, 0), (0, volume_minor), (volume_minor // 2, volume_minor // 2)):
        assert score(Figures(volume_minor=sold), Figures(volume_minor=bought)) == 20 + points
    assert round(30 * min(1.0, log10(1000) / 6)) == 15


@pytest.mark.parametrize(
    ("seller", "buyer", "points"),
    [
        (Figures(jobs_completed=1, timed=1, on_time=0), EMPTY, 40),  # 20 + 20 for completed jobs, 0 for on time
        (Figures(jobs_completed=3, jobs_failed=1, timed=4, on_time=2), EMPTY, 40),  # 20 + 15 + 5
        (EMPTY, Figures(jobs_completed=1), 50),  # a buyer is on time once a job is done
        (EMPTY, Figures(jobs_unpaid=1), 20),
        (Figures(jobs_completed=1, refunds_due=1), EMPTY, 40),  # 20 + 10 + 10
        (Figures(jobs_completed=1), Figures(jobs_completed=1, jobs_cancelled=1, jobs_unpaid=1), 40),  # 20 + 10 + 10
        (Figures(timed=2, on_time=1, jobs_failed=1), EMPTY, 25),
        # A rating as seller takes precedence over one as buyer: 40 * 2.5/4 is 25.
        (Figures(rating_count=1, weight_micro=0, vote_micro=0), EMPTY, 25),
        (EMPTY, Figures(rating_count=1, weight_micro=5_000_000, vote_micro=25_000_000), 32),  # 40 * 3.25/4
        (Figures(rating_count=1), Figures(rating_count=1, weight_micro=5_000_000, vote_micro=25_000_000), 25),
    ],
)
def test_each_part_of_a_score(seller: Figures, buyer: Figures, points: int) -> None:
    assert score(seller, buyer) == points


def test_a_rank_is_money_times_wallets_and_never_below_nothing() -> None:
    assert rank_value(Figures(third_party_minor=7, third_party_wallets=3)) == 21
    assert rank_value(Figures(third_party_minor=0, third_party_wallets=3)) == 0
    assert rank_value(Figures(third_party_minor=-7, third_party_wallets=3)) == 0


def test_a_share_has_four_decimals() -> None:
    assert [share(0, 0), share(1, 3), share(2, 2), share(0, 5)] == [None, 0.3333, 1.0, 0.0]


@pytest.mark.parametrize(
    ("came", "net"),
    [
        ({}, 250_000),
        ({"refunded_minor": 50_000}, 200_000),
        ({"refunded_minor": 250_001}, 0),
        ({"orphaned_minor": 30_000, "refunded_minor": 30_000}, 250_000),  # orphaned payments are refunded first
        ({"partial_minor": 20_000, "orphaned_minor": 30_000, "refunded_minor": 60_000}, 240_000),
        ({"orphaned_minor": 30_000}, 250_000),
    ],
)
def test_what_was_paid_counts_net_of_what_was_sent_back(came: dict[str, int], net: int) -> None:
    done = JobFacts(
        status=JobStatus.COMPLETED, closed_as=ClosedAs.BUYER_ACCEPTED, price_minor=250_000, paid_minor=250_000, **came
    )
    assert mark_of(done, ContributionInputs()).paid_minor == net


def test_a_refund_of_a_single_unit_is_one_that_was_made() -> None:
    failed = JobFacts(status=JobStatus.CANCELLED, closed_as=ClosedAs.SELLER_FAILED, price_minor=1, paid_minor=1)
    assert mark_of(replace(failed, refunded_minor=1), ContributionInputs()).refund_made is True
    assert mark_of(replace(failed, paid_minor=0), ContributionInputs()).refund_made is False
    assert mark_of(replace(failed, refunded_minor=7, voluntary_minor=7), ContributionInputs()).refund_made is False
    assert mark_of(replace(failed, refunded_minor=8, voluntary_minor=7), ContributionInputs()).refund_made is True


def test_a_counterparty_is_told_by_the_figures_of_both_sides() -> None:
    selling = Figures(
        jobs_completed=6, jobs_failed=2, jobs_disputed=1, orders_answered=3, orders_ignored=1, wallets=4, refunds_due=2
    )
    buying = Figures(jobs_completed=1, jobs_failed=1, jobs_disputed=2, jobs_paid=9, jobs_unpaid=2, wallets=3)
    found = check(selling, buying, active=True, live=False)
    assert (found.jobs, found.distinct_wallets, found.refunds_open) == (12, 7, 2)
    assert (found.paid_rate, found.dispute_rate, found.response_rate) == (0.8182, 0.25, 0.75)
    assert (found.verdict, len(found.reasons)) == ("caution", 2)
    assert (ENOUGH_JOBS, MIN_PAID, MAX_DISPUTED, MIN_ANSWERED, MAX_FAILED) == (3, 0.8, 0.2, 0.5, 0.3)


def test_a_million_units_are_one_usdc() -> None:
    assert (MICRO, MINOR_PER_USDC) == (1_000_000, 1_000_000)


def test_of_a_job_done_for_nothing_only_what_speaks_against_a_side_counts() -> None:
    nothing = replace(EVERYTHING, for_nothing=True, on_time=False, paid_minor=0)
    assert contribution(nothing, SELLER, first_party=False) == Figures(
        jobs_disputed=1, refunds_due=1, refunds_made=1, timed=1, unpaid_completed=1, unpaid_disputed=1,
        unpaid_reviews=1, unpaid_rating_sum=5,
    )  # fmt: skip
    assert contribution(nothing, BUYER, first_party=False) == Figures(
        jobs_disputed=1, unpaid_completed=1, unpaid_disputed=1, unpaid_reviews=1, unpaid_rating_sum=2
    )
    quiet = JobContribution(completed=True, for_nothing=True, on_time=None)
    for role in (SELLER, BUYER):
        assert contribution(quiet, role, first_party=False) == Figures(unpaid_completed=1)
    assert contribution(replace(quiet, on_time=True), SELLER, first_party=False).timed == 0
    assert dealings_of(nothing, SELLER, "agt_b", first_party=False) == ("0xa", CounterpartyTotals())
    assert dealings_of(quiet, SELLER, "agt_b", first_party=False) == ("agt_b", CounterpartyTotals(free_jobs=1))


@pytest.mark.parametrize(
    ("live", "came", "for_nothing"),
    [
        (True, {"paid_minor": 9_999}, True),
        (True, {"paid_minor": 10_000}, False),
        (True, {"paid_minor": 20_000, "refunded_minor": 10_001}, True),
        (False, {"paid_minor": 0}, False),
    ],
)
def test_a_live_job_under_a_cent_was_done_for_nothing(live: bool, came: dict[str, int], for_nothing: bool) -> None:
    done = JobFacts(
        status=JobStatus.COMPLETED,
        closed_as=ClosedAs.BUYER_ACCEPTED,
        price_minor=1,
        paid_at=NOON,
        delivered=True,
        **came,
    )
    mark = mark_of(done, ContributionInputs(answered=True, live=live))
    assert (mark.for_nothing, mark.completed) == (for_nothing, True)
    assert (mark.paid, mark.answered) == (not for_nothing, not for_nothing)
    assert mark.on_time is (None if for_nothing else True)
    assert mark_of(done, ContributionInputs(late=True, live=live)).on_time is False, "what was late is late"
    assert mark_of(replace(done, status=JobStatus.CANCELLED), ContributionInputs(live=live)).for_nothing is False
