"""Clauses of the contract about reputation: the record, listings, the attestation, the check before a trade."""

import json
from datetime import timedelta
from typing import Any

import base58
import pytest
import rfc8785
from joserfc.jwk import OKPKey
from nacl.exceptions import BadSignatureError
from nacl.signing import VerifyKey

from storage.tables import AgentRow, EvaluatorRow
from storage.vocabulary import SeatStatus
from tests.requirements import covers, named
from tests.requirements.probes import write_row
from tests.support.market import START, Agent, TestMarket
from tests.support.panels import Court, evaluator
from tests.support.reputation import drift
from tests.support.trade import PRICE, Trade
from tests.tools.evaluators.test_logic import sit
from tools.kernel.records import stamp
from tools.operator.recompute import recompute
from tools.reputation.records import EXPLAIN

NOBODY: dict[str, Any] = {
    "jobs_completed": 0, "jobs_failed": 0, "jobs_disputed": 0, "jobs_cancelled": 0, "jobs_returned": 0, "jobs_unpaid": 0,
    "deliveries_unpaid": 0, "refunds_due": 0, "refunds_made": 0, "distinct_counterparties": 0,
    "first_party_counterparties": 0, "third_party_counterparties": 0, "free_counterparties": 0, "volume_usdc": 0,
    "volume_usdc_display": "0.000000 USDC", "third_party_volume_usdc": 0, "third_party_volume_usdc_display": "0.000000 USDC",
    "rating_avg": None, "rating_weighted": None, "rating_count": 0, "on_time_rate": None,
    "jobs_completed_unpaid": 0, "unpaid_reviews": 0, "unpaid_rating_avg": None, "categories": [],
}  # fmt: skip
NO_PANELS = {
    "verdicts": 0, "missed": 0, "pending": None, "agreement_rate": None, "enabled": False, "categories": [],
}  # fmt: skip
NEW = {"score": 20, "as_seller": NOBODY, "as_buyer": NOBODY, "as_evaluator": NO_PANELS, "updated_at": None}


async def reputation(trade: Trade, agent: Agent) -> Any:
    return (await trade.market.call("get_reputation", agent_id=agent.id, env="test"))["test"]


@covers("open_record.reputation", "service.6.reputation", "route.agents.reputation", "reputation.name.score")
@covers("reputation.name.as_seller.categories")
async def test_a_job_that_was_paid_and_reviewed_stands_in_both_reputations(trade: Trade) -> None:
    seller, buyer = await trade.parties()
    job = await trade.job_at("completed", seller, buyer)
    at = stamp(trade.market.clock.now())
    await trade.market.call("review_job", by=buyer, job_id=job["id"], rating=5)
    whole = await trade.market.call("get_reputation", agent_id=seller.handle)
    side = NOBODY | {
        "jobs_completed": 1, "distinct_counterparties": 1, "third_party_counterparties": 1, "volume_usdc": PRICE,
        "volume_usdc_display": "0.250000 USDC", "third_party_volume_usdc": PRICE, "third_party_volume_usdc_display": "0.250000 USDC",
    }  # fmt: skip
    rated = {"rating_avg": 3.75, "rating_weighted": 3.99, "rating_count": 1}  # w = 1 + log10(26) = 2.415
    category = {
        "object": "category_figures",
        "category": "text",
        "jobs_completed": 1,
        "jobs_failed": 0,
        "volume_usdc": PRICE,
    } | {"volume_usdc_display": "0.250000 USDC"}
    unrated = {"rating_avg": None, "rating_weighted": None, "rating_count": 0, "on_time_rate": None}
    assert whole == {
        "object": "reputation",
        "agent_id": seller.id,
        "handle": seller.handle,
        "trust_tier": 0,
        "live": NEW,
        "test": {
            "score": 60,  # 40 · 2.99/4 + 30 · log10(1.25)/6 + 20 + 10
            "as_seller": side | rated | {"on_time_rate": 1.0, "categories": [category | rated | {"on_time_rate": 1.0}]},
            "as_buyer": NOBODY,
            "as_evaluator": NO_PANELS,
            "updated_at": at,
        },
        "explain": EXPLAIN,
    }
    bought = await reputation(trade, buyer)
    assert bought["as_buyer"] == side | {"categories": [category | unrated]}
    assert bought["as_seller"] == NOBODY
    assert bought["score"] == 50
    assert await drift(trade.market.store) == {}


@covers("reputation.name.rating_weighted")
async def test_a_counterparty_is_one_vote_however_often_it_reviews(trade: Trade) -> None:
    seller, regular = await trade.parties()
    other = await trade.agent("Other", 10_000_000)
    for buyer, rating in ((regular, 5), (regular, 5), (regular, 4), (other, 1)):
        job = await trade.job_at("completed", seller, buyer, price=30_000)
        await trade.market.call("review_job", by=buyer, job_id=job["id"], rating=rating)
    side = (await reputation(trade, seller))["as_seller"]
    # The regular paid 90000: its average 4.6667 weighs 1 + log10(10) = 2. The other paid 30000: 1 weighs 1 + log10(4) = 1.6021.
    assert (side["rating_avg"], side["rating_count"]) == (3.61, 4)  # (15 + 17.5) / 9
    assert side["rating_weighted"] == 3.31  # (2 * 4.6667 + 1.6021 * 1 + 17.5) / (3.6021 + 5)


@covers("reputation.name.third_party_counterparties")
async def test_the_operators_agents_are_no_third_party(trade: Trade) -> None:
    seller, buyer = await trade.parties()
    house = await trade.agent("MarketConfig", 10_000_000)
    await trade.market.as_operator("set_first_party", agent_id=house.id, first_party=True)
    for one in (buyer, house):
        await trade.job_at("completed", seller, one)
    side = (await reputation(trade, seller))["as_seller"]
    heads = ("distinct_counterparties", "first_party_counterparties", "third_party_counterparties")
    assert [side[name] for name in heads] == [2, 1, 1]
    assert (side["volume_usdc"], side["third_party_volume_usdc"]) == (500_000, 250_000)


async def test_one_environment_is_shown_where_one_is_asked_for(market: TestMarket) -> None:
    ada = await market.register("Ada")
    live = await market.call("get_reputation", agent_id=ada.id, env="live")
    assert (live["live"], live["test"]) == (NEW, None)
    with_key = await market.call("get_reputation", by=ada, on="test", agent_id="ada")
    own = NEW | {"as_evaluator": NO_PANELS | {"pending": 0}}
    assert (with_key["live"], with_key["test"]) == (own, own)


async def test_a_deleted_agent_has_no_reputation_to_read_and_a_suspended_one_has(market: TestMarket) -> None:
    gone, kept = await market.register("Gone"), await market.register("Kept")
    await market.call("delete_me", by=gone, confirm=gone.handle)
    await write_row(market, AgentRow, kept.id, status="suspended")
    for name in ("get_reputation", "get_attestation", "check_counterparty"):
        assert (await market.refusal(name, agent_id=gone.id))["code"] == "not_found"
        await market.call(name, agent_id=kept.id)
    assert (await market.call("check_counterparty", agent_id=kept.id))["reasons"][-1] == "the agent is suspended"


@covers("refund.reputation")
async def test_a_refund_that_is_owed_counts_against_the_seller_until_it_is_made(trade: Trade) -> None:
    seller, buyer = await trade.parties()
    await trade.job_at("completed", seller, buyer)
    before = (await reputation(trade, seller))["score"]
    job = await trade.failed(seller, buyer)
    owing = await reputation(trade, seller)
    marks = ("jobs_failed", "jobs_cancelled", "refunds_due", "refunds_made", "on_time_rate")
    assert [owing["as_seller"][name] for name in marks] == [1, 1, 1, 0, 0.5]
    assert (await trade.market.call("check_counterparty", agent_id=seller.id, env="test"))["refunds_open"] == 1
    await trade.give_back(seller, buyer, job)
    made = await reputation(trade, seller)
    assert [made["as_seller"][name] for name in marks] == [1, 1, 0, 1, 0.5]
    assert before > made["score"] > owing["score"]
    bought = (await reputation(trade, buyer))["as_buyer"]
    assert (bought["jobs_failed"], bought["jobs_cancelled"], bought["refunds_due"]) == (1, 0, 0)


@covers("reputation.name.jobs_unpaid", "state.job.sealed.pay_deadline.mark")
async def test_a_buyer_that_never_pays_is_marked_and_one_that_walks_away_is_not(trade: Trade) -> None:
    seller, buyer = await trade.parties()
    walker = await trade.agent("Wally", 1_000_000)
    await trade.job_at("delivered", seller, buyer)
    left = await trade.job_at("delivered", seller, walker)
    await trade.market.call("cancel_job", by=walker, job_id=left["id"])
    trade.market.pass_seconds(901)
    await trade.market.workers.sweep()
    assert (await reputation(trade, buyer))["as_buyer"] == NOBODY | {"jobs_unpaid": 1}
    assert (await reputation(trade, walker))["as_buyer"] == NOBODY
    assert (await reputation(trade, seller))["as_seller"] == NOBODY | {"deliveries_unpaid": 2}
    check = await trade.market.call("check_counterparty", agent_id=buyer.id, env="test")
    assert (check["paid_rate"], check["jobs"], check["verdict"]) == (0.0, 1, "unknown")


async def test_a_payment_that_revives_a_job_takes_the_mark_away(trade: Trade) -> None:
    seller, buyer = await trade.parties()
    job = await trade.job_at("delivered", seller, buyer)
    sent = await trade.send(buyer, job)
    trade.market.pass_seconds(901)
    await trade.market.workers.sweep()
    assert (await reputation(trade, buyer))["as_buyer"]["jobs_unpaid"] == 1
    await trade.market.call("pay_job", by=buyer, job_id=job["id"], transaction=sent)
    assert (await reputation(trade, buyer))["as_buyer"] == NOBODY
    assert await drift(trade.market.store) == {}


async def test_part_of_a_price_that_comes_for_an_expired_job_is_a_refund_due(trade: Trade) -> None:
    seller, buyer = await trade.parties()
    job = await trade.job_at("delivered", seller, buyer)
    sent = await trade.send(buyer, job, PRICE - 1)
    trade.market.pass_seconds(901)
    await trade.market.workers.sweep()
    await trade.market.refusal("pay_job", by=buyer, job_id=job["id"], transaction=sent)
    assert (await reputation(trade, seller))["as_seller"]["refunds_due"] == 1
    assert await drift(trade.market.store) == {}


async def test_r5_a_revision_that_misses_its_own_deadline_is_late(trade: Trade) -> None:
    seller, buyer = await trade.parties()
    jobs = [await trade.job_at("revealed", seller, buyer, turnaround_seconds=60) for _ in range(3)]
    for job in jobs:
        await trade.market.call("request_revision", by=buyer, job_id=job["id"], message="Once more, please.")
    for seconds, job, rate in ((59, jobs[0], 1.0), (2, jobs[1], 0.5)):
        trade.market.pass_seconds(seconds)
        await trade.deliver(seller, job, {"english": "Good day!"})
        await trade.market.call("accept_job", by=buyer, job_id=job["id"])
        assert (await reputation(trade, seller))["as_seller"]["on_time_rate"] == rate
    trade.market.pass_seconds(3600)
    await trade.market.call("cancel_job", by=buyer, job_id=jobs[2]["id"])
    found = (await reputation(trade, seller))["as_seller"]
    assert (found["on_time_rate"], found["jobs_failed"]) == (0.3333, 1), "abandoned: its first delivery is forgotten"
    assert await drift(trade.market.store) == {}


async def test_orders_a_seller_lets_expire_show_in_how_it_responds(trade: Trade) -> None:
    seller, buyer = await trade.parties()
    for _ in range(3):
        await trade.job_at("completed", seller, buyer)
    listing = await trade.listing(seller, accept_timeout_seconds=60)
    for _ in range(4):
        await trade.order(buyer, listing)
    declined = await trade.order(buyer, listing)
    await trade.market.call("decline_job", by=seller, job_id=declined["id"])
    fine = {
        "object": "counterparty_check", "agent_id": seller.id, "env": "test", "paid_rate": None, "dispute_rate": 0.0,
        "response_rate": 1.0, "refunds_open": 0, "distinct_wallets": 1, "jobs": 3, "verdict": "ok", "reasons": [],
    }  # fmt: skip
    assert await trade.market.call("check_counterparty", agent_id=seller.id, env="test") == fine
    trade.market.pass_seconds(61)
    await trade.market.workers.sweep()
    half = await trade.market.call("check_counterparty", agent_id=seller.handle, env="test")
    assert half == fine | {"response_rate": 0.5}
    await trade.order(buyer, listing)
    trade.market.pass_seconds(61)
    await trade.market.workers.sweep()
    ignoring = await trade.market.call("check_counterparty", agent_id=seller.id, env="test")
    assert (ignoring["verdict"], ignoring["reasons"]) == ("caution", ["it let 5 orders expire unanswered"])
    paid = await trade.market.call("check_counterparty", agent_id=buyer.id, env="test")
    assert (paid["paid_rate"], paid["verdict"], paid["reasons"]) == (1.0, "ok", [])


@covers("listing.seller.reputation.*", "listing.seller.reputation.in_category.*")
async def test_a_listing_shows_what_its_seller_has_done_from_the_first_job_on(trade: Trade) -> None:
    seller, buyer = await trade.parties()
    listing = await trade.listing(seller)
    other = await trade.listing(seller, category="code")

    async def cards() -> list[Any]:
        """Return the reputation shown by search, get_listing and the seller's own list."""
        found = (await trade.market.call("search_listings", env="test", category="text"))["data"]
        one = await trade.market.call("get_listing", listing_id=listing["id"], env="test")
        own = (await trade.market.call("list_my_listings", by=seller))["data"]
        mine = next(each for each in own if each["id"] == listing["id"])
        return [shown["seller"]["reputation"] for shown in (found[0], one, mine)]

    assert await cards() == [None] * 3
    job = await trade.market.call("accept_job", by=seller, job_id=(await trade.order(buyer, listing))["id"])
    await trade.pay(buyer, await trade.deliver(seller, job))
    assert await cards() == [None] * 3, "until it is finished"
    await trade.market.call("accept_job", by=buyer, job_id=job["id"])
    card = {
        "score": 50, "jobs_completed": 1, "rating": None, "distinct_counterparties": 1,
        "in_category": {"jobs_completed": 1, "jobs_failed": 0, "rating": None, "on_time_rate": 1.0},
    }  # fmt: skip
    assert await cards() == [card] * 3
    assert set(card) == named("listing.seller.reputation")
    assert set(card["in_category"]) == named("listing.seller.reputation.in_category")  # type: ignore[call-overload]
    elsewhere = await trade.market.call("get_listing", listing_id=other["id"], env="test")
    assert elsewhere["seller"]["reputation"] == card | {"in_category": None}
    await trade.market.call("review_job", by=buyer, job_id=job["id"], rating=5)
    assert [shown["rating"] for shown in await cards()] == [3.99] * 3
    await trade.failed(seller, buyer, category="code")
    assert [shown["score"] for shown in await cards()] == [await _score(trade, seller)] * 3
    elsewhere = await trade.market.call("get_listing", listing_id=other["id"], env="test")
    assert elsewhere["seller"]["reputation"]["in_category"]["jobs_failed"] == 1


async def _score(trade: Trade, agent: Agent) -> int:
    return int((await reputation(trade, agent))["score"])


@covers("route.disputes.reputations")
@pytest.mark.parametrize("outcome", ["buyer", "seller", "split"])
async def test_a_verdict_counts_in_both_reputations(trade: Trade, outcome: str) -> None:
    court = await Court.opened(trade, price=PRICE)
    assert await _done(trade, court.seller) == await _done(trade, court.buyer) == ([0] * 3, [0] * 3)
    await court.votes(outcome, outcome)
    failed = int(outcome == "buyer")
    marks = [1 - failed, failed, 1]
    assert await _done(trade, court.seller) == (marks, [0, 0, 0])
    assert await _done(trade, court.buyer) == ([0, 0, 0], marks)
    assert await drift(trade.market.store) == {}


async def _done(trade: Trade, agent: Agent) -> tuple[list[int], list[int]]:
    found = await reputation(trade, agent)
    names = ("jobs_completed", "jobs_failed", "jobs_disputed")
    seller, buyer = ([found[side][name] for name in names] for side in ("as_seller", "as_buyer"))
    return seller, buyer


@covers("reputation.name.as_evaluator.verdicts", "reputation.name.as_evaluator.missed")
@covers("reputation.name.as_evaluator.agreement_rate")
async def test_what_an_evaluator_did_stands_in_its_reputation(market: TestMarket) -> None:
    ada = await market.register("Ada")

    def judged(tx: Any) -> None:
        sit(tx, market.clock.at, ada.id)
        tx.add(EvaluatorRow(agent_id=ada.id, categories=["text"], updated_at=START))
        tx.change(tx.get(AgentRow, ada.id), evaluator=True)

    await market.store.write(judged)
    found = await market.call("get_reputation", agent_id=ada.id)
    assert found["test"]["as_evaluator"] == {
        "verdicts": 4, "missed": 1, "pending": None, "agreement_rate": None, "enabled": True, "categories": ["text"],
    }  # fmt: skip
    assert found["live"]["as_evaluator"] == NO_PANELS | {"enabled": True, "categories": ["text"]}
    itself = (await market.call("get_reputation", by=ada, agent_id=ada.id))["test"]["as_evaluator"]
    assert itself == found["test"]["as_evaluator"] | {"pending": 1}
    whole = {"verdicts": 5, "missed": 2, "pending": 1, "agreement_rate": 0.75}
    assert (await market.call("get_evaluator", by=ada))["record"]["test"] == whole


@pytest.mark.parametrize(("decided", "rate"), [(4, None), (5, 0.8)])
async def test_how_often_an_evaluator_agreed_is_told_of_five_votes_and_more(
    market: TestMarket, decided: int, rate: float | None
) -> None:
    ada = await market.register("Ada")
    votes = [(SeatStatus.VOTED, "seller" if not number else "buyer", "buyer", -60) for number in range(decided)]
    await market.store.write(lambda tx: sit(tx, market.clock.at, ada.id, votes))
    found = (await market.call("get_reputation", agent_id=ada.id))["test"]["as_evaluator"]
    assert (found["verdicts"], found["agreement_rate"]) == (decided, rate)


async def test_nobody_learns_from_reputations_who_judges_a_case_and_how(trade: Trade) -> None:
    seller, buyer = await trade.parties()
    offered = {one.id: one for one in [await evaluator(trade) for _ in range(6)]}

    async def shown() -> Any:
        """Return the reputations and attestations of all offered judges, as the seller sees them."""
        read = [await trade.market.call("get_reputation", by=seller, agent_id=one, env="test") for one in offered]
        signed = [await trade.market.call("get_attestation", by=seller, agent_id=one, env="test") for one in offered]
        return [one["test"] for one in read], [one["attestation"]["reputation"] for one in signed]

    before = await shown()
    court = await Court.of(trade, seller, buyer, offered)
    panel = await court.panel()
    own = await trade.market.call("get_reputation", by=panel[0], agent_id=panel[0].id, env="test")
    assert own["test"]["as_evaluator"]["pending"] == 1
    assert await shown() == before, "who sits"
    await court.vote(panel[0], "seller")
    await court.window_passes()
    assert len(await court.panel()) == 2, "the seats that were missed are drawn again"
    assert await shown() == before, "who voted, and who did not"
    await court.votes("buyer", "buyer")
    after = [one["as_evaluator"] for one in (await shown())[0]]
    assert sum(one["verdicts"] for one in after) == 3
    assert {one["agreement_rate"] for one in after} == {None}, "how each of them voted"


async def test_only_disputes_that_came_to_a_verdict_count_against_anybody(trade: Trade) -> None:
    """Withdrawn and undecided disputes do not count as jobs_disputed."""
    seller, buyer = await trade.parties()
    jobs = [await trade.job_at("revealed", seller, buyer) for _ in range(5)]
    for job in jobs[:4]:
        disputed = await trade.market.call("dispute_job", by=buyer, job_id=job["id"], reason="I did not like it.")
        if job is not jobs[3]:
            await trade.market.call("withdraw_dispute", by=buyer, dispute_id=disputed["dispute_id"])
    await trade.market.call("accept_job", by=buyer, job_id=jobs[4]["id"])
    for party, role in ((seller, "as_seller"), (buyer, "as_buyer")):
        found = (await reputation(trade, party))[role]
        assert (found["jobs_completed"], found["jobs_disputed"]) == (4, 0)
        check = await trade.market.call("check_counterparty", agent_id=party.id, env="test")
        assert (check["jobs"], check["dispute_rate"], check["verdict"]) == (4, 0.0, "ok")
    assert await drift(trade.market.store) == {}


async def test_parts_of_a_price_from_other_wallets_make_no_further_counterparties(trade: Trade) -> None:
    seller, buyer = await trade.parties(50_000_000)
    rich, listing = buyer.wallet, await trade.listing(seller, price=4_000_000, payment="upfront")
    for _ in range(3):
        await trade.rebind(buyer, rich)
        job = await trade.market.call("accept_job", by=seller, job_id=(await trade.order(buyer, listing))["id"])
        part = trade.evm.transfer(rich, seller.wallet, 3_999_999)
        await trade.market.refusal("pay_job", by=buyer, job_id=job["id"], transaction=part)
        await trade.rebind(buyer, trade.evm.person(1))
        rest = trade.evm.transfer(buyer.wallet, seller.wallet, 1)
        await trade.market.call("pay_job", by=buyer, job_id=job["id"], transaction=rest)
        await trade.deliver(seller, job)
        await trade.market.call("accept_job", by=buyer, job_id=job["id"])
        await trade.market.call("review_job", by=buyer, job_id=job["id"], rating=5)
    found = (await reputation(trade, seller))["as_seller"]
    assert (found["third_party_counterparties"], found["third_party_volume_usdc"]) == (1, 12_000_000)
    assert found["rating_weighted"] == 4.17  # one vote: (5 · 4.08 + 17.5) / (4.08 + 5)
    stats = (await trade.market.call("get_listing", listing_id=listing["id"], env="test"))["stats"]
    assert (stats["distinct_buyers"], stats["jobs_paid"]) == (1, 3)
    drifts = {one.aggregate.table: one.keys async for one in recompute(trade.market.store) if one.keys}
    assert drifts == {}


async def test_dust_that_strangers_send_marks_no_seller(trade: Trade) -> None:
    seller, buyer = await trade.parties()
    for _ in range(3):
        await trade.job_at("completed", seller, buyer)
    before = (await reputation(trade, seller))["score"]
    listing = await trade.listing(seller)
    stray = []
    for amount_minor in (1, 9_999):
        job = await trade.order(buyer, listing)
        await trade.market.call("cancel_job", by=buyer, job_id=job["id"])
        sent = trade.evm.transfer(buyer.wallet, seller.wallet, amount_minor)
        await trade.market.refusal("pay_job", by=buyer, job_id=job["id"], transaction=sent)
        stray.append(await trade.seen(seller, job))
    assert [(job["refund_due"], job["refund_expected"]) for job in stray] == [(True, 1), (True, 9_999)], "it is owed"
    found = await reputation(trade, seller)
    assert (found["as_seller"]["refunds_due"], found["score"]) == (0, before)
    check = await trade.market.call("check_counterparty", agent_id=seller.id, env="test")
    assert (check["refunds_open"], check["verdict"]) == (0, "ok")
    more = trade.evm.transfer(buyer.wallet, seller.wallet, 1)
    await trade.market.refusal("pay_job", by=buyer, job_id=stray[1]["id"], transaction=more)
    assert (await reputation(trade, seller))["as_seller"]["refunds_due"] == 1, "10000 in sum are no dust"
    assert await drift(trade.market.store) == {}


@covers("open_record.attestation", "route.agents.attestation", "limit.attestation", "service.6.attestations")
async def test_an_attestation_says_who_what_and_until_when(trade: Trade) -> None:
    seller, buyer = await trade.parties()
    job = await trade.job_at("completed", seller, buyer)
    await trade.market.call("review_job", by=buyer, job_id=job["id"], rating=5)
    signed = await trade.market.call("get_attestation", agent_id=seller.handle, env="test")
    assert signed["object"] == "signed_attestation"
    attested, now = signed["attestation"], trade.market.clock.now()
    shown = await trade.market.call("get_agent", agent_id=seller.id)
    told = ("id", "handle", "did", "public_key", "trust_tier", "first_party", "verified_domain", "status", "created_at")
    receipt = (await trade.market.call("get_receipt", by=seller, job_id=job["id"]))["receipt"]
    assert attested.pop("method")
    assert attested == {
        "object": "reputation_attestation",
        "version": 1,
        "platform": receipt["platform"],
        "env": "test",
        "issued_at": stamp(now),
        "expires_at": stamp(now + timedelta(days=7)),
        "agent": {name: shown[name] for name in told} | {"wallet_address": seller.wallet.address},
        "reputation": await reputation(trade, seller),
        "verify": receipt["verify"],
    }


async def test_an_attestation_verifies_offline_under_every_reading_of_its_canonical_form(trade: Trade) -> None:
    """It verifies by key set or did, with RFC 8785 or sorted keys: the bytes are the same."""
    seller, buyer = await trade.parties()
    job = await trade.job_at("completed", seller, buyer)
    await trade.market.call("review_job", by=buyer, job_id=job["id"], rating=4)
    signed = await trade.market.call("get_attestation", agent_id=seller.id, env="test")
    document, signature = signed["attestation"], signed["signature"]
    message = rfc8785.dumps(document)
    assert message == json.dumps(document, sort_keys=True, separators=(",", ":")).encode()
    assert isinstance(document["reputation"]["as_seller"]["rating_weighted"], float)
    assert b'"on_time_rate":1,' in message, "a whole number has no fraction"
    (jwk,) = (await trade.market.call("get_platform_keys"))["keys"]
    by_keys = VerifyKey(OKPKey.import_key(jwk).public_key.public_bytes_raw())
    by_did = VerifyKey(base58.b58decode(signature["did"].removeprefix("did:key:z"))[2:])
    for key in (by_keys, by_did):
        key.verify(message, bytes.fromhex(signature["sig"]))
        with pytest.raises(BadSignatureError):
            key.verify(message.replace(b'"jobs_completed":1', b'"jobs_completed":9'), bytes.fromhex(signature["sig"]))


async def test_an_attestation_is_verified_for_seven_days_whatever_it_is_sent_as(market: TestMarket) -> None:
    ada = await market.register("Ada")
    signed = await market.call("get_attestation", agent_id=ada.id)

    async def verified(name: str = "attestation", **changed: Any) -> tuple[bool, str | None]:
        given = {name: signed["attestation"] | changed, "signature": signed["signature"]}
        told = await market.call("verify_receipt", **given)
        return told["valid"], told["reason"]

    assert await verified() == (True, None)
    whole = await market.call("verify_receipt", **signed)
    assert whole["valid"] is True
    forged = await verified(expires_at="2999-01-01T00:00:00.000Z")
    assert forged == (False, "the signature does not match")
    market.pass_seconds(7 * 86_400 - 1)
    assert await verified() == (True, None)
    market.pass_seconds(1)
    ended = (False, f"the attestation expired at {signed['attestation']['expires_at']}; fetch a new one")
    assert await verified() == ended
    assert await verified("receipt") == ended
