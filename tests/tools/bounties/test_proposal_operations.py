"""Clauses of the contract about proposals and awards: the proposal, the owner's comparison, the resulting job."""

from typing import Any

import pytest

from server.workers import context_of
from storage.tables import AgentRow, JobRow
from storage.vocabulary import AgentStatus
from tests.requirements import covers
from tests.support.bounties import BUDGET, HELD, NEED, award, awarded, bounty, propose, told
from tests.support.market import Agent, bare
from tests.support.refusals import change_row, forget_wallet, limited, live_agent
from tests.support.trade import ENGLISH, PRICE, Trade
from tools.account.deletion import close_listings
from tools.kernel.money import display
from tools.kernel.records import stamp

WORK = {"english": "The sea, the sea."}


def public(agent: Agent) -> dict[str, Any]:
    return {"id": agent.id, "handle": agent.handle, "trust_tier": 0}


async def listed(trade: Trade, by: Agent, posted: Any, **asked: Any) -> Any:
    return (await trade.market.call("list_proposals", by=by, bounty_id=posted["id"], **asked))["data"]


@covers("proposal.request.*", "open_record.proposal", "route.bounties.propose", "service.3.propose")
@covers("event.kind.bounty.proposal_received")
async def test_a_proposal_shows_exactly_what_the_contract_names(trade: Trade) -> None:
    seller, buyer = await trade.parties()
    posted = await bounty(trade, buyer)
    made = await propose(trade, seller, posted, payment="upfront", message="I have written many.")
    shown = {
        "object": "proposal",
        "id": made["id"],
        "bounty_id": posted["id"],
        "status": "pending",
        "price": PRICE,
        "display": "0.250000 USDC",
        "payment": "upfront",
        "seller": public(seller),
        "comparison": None,
        "thread_id": made["thread_id"],
        "created_at": stamp(trade.market.clock.now()),
        "content_warnings": [],
        "message": "I have written many.",
    }
    assert made["id"].startswith("prp_")
    assert {**made, "next_steps": 0} == {**shown, "updated": False, "next_steps": 0}
    assert [one["tool"] for one in made["next_steps"]] == ["get_bounty", "withdraw_proposal"]
    nothing = {"on_time_rate": None, "deliveries": 0, "third_party_payers": 0, "schema_fit": None}
    for reader in (buyer, seller):
        (found,) = await listed(trade, reader, posted)
        assert found == shown | {"comparison": nothing}
        assert list(found)[-1] == "message", "the seller's words stand last"
    assert await told(trade, buyer, "bounty.proposal_received") == [
        {
            "bounty_id": posted["id"],
            "proposal_id": made["id"],
            "seller_id": seller.id,
            "seller_handle": seller.handle,
            "price": PRICE,
            "price_display": "0.250000 USDC",
            "payment": "upfront",
            "message": "I have written many.",
            "content_warnings": [],
            "updated": False,
        }
    ]


async def test_a_seller_makes_one_proposal_and_proposing_again_replaces_it(trade: Trade) -> None:
    seller, buyer = await trade.parties()
    posted = await bounty(trade, buyer)
    first = await propose(trade, seller, posted, message="At first.")
    again = await trade.market.answer(
        "propose_on_bounty", {"bounty_id": posted["id"], "price": 5}, key=seller.keys["test"]
    )
    assert again.status == 201
    (found,) = await listed(trade, buyer, posted)
    assert (found["id"], found["price"], found["message"], found["thread_id"]) == (
        first["id"], 5, None, first["thread_id"],
    )  # fmt: skip
    assert [one["updated"] for one in await told(trade, buyer, "bounty.proposal_received")] == [False, True]
    assert (await trade.market.call("get_bounty", by=buyer, bounty_id=posted["id"]))["proposal_count"] == 1


async def test_a_withdrawn_proposal_is_final_and_counts_no_more(trade: Trade) -> None:
    seller, buyer = await trade.parties()
    posted = await bounty(trade, buyer)
    made = await propose(trade, seller, posted)
    gone = await trade.market.call("withdraw_proposal", by=seller, bounty_id=posted["id"])
    assert gone["status"] == "withdrawn"
    assert await trade.market.call("withdraw_proposal", by=seller, bounty_id=posted["id"]) == gone
    assert (await trade.market.call("get_bounty", by=buyer, bounty_id=posted["id"]))["proposal_count"] == 0
    named = {"bounty_id": posted["id"], "proposal_id": made["id"]}
    assert (await trade.market.refusal("award_bounty", by=buyer, **named))["code"] == "proposal_not_pending"
    refused = await trade.market.refusal("propose_on_bounty", by=seller, bounty_id=posted["id"], price=1)
    assert refused["code"] == "proposal_final"


async def test_the_owner_sees_all_proposals_the_cheapest_first_and_a_seller_its_own(trade: Trade) -> None:
    buyer = await trade.agent("Bo", 10_000_000)
    sellers = [await trade.agent(name) for name in ("Cy", "Di", "Ed", "Fay")]
    posted = await bounty(trade, buyer)
    for seller, price in zip(sellers, (3, 1, 2, 1), strict=True):
        await propose(trade, seller, posted, price=price)
        trade.market.pass_seconds(1)
    cheapest_first = [sellers[1].id, sellers[3].id, sellers[2].id, sellers[0].id]
    assert [one["seller"]["id"] for one in await listed(trade, buyer, posted)] == cheapest_first
    seen, cursor = list[str](), None
    while True:
        named = {"bounty_id": posted["id"], "limit": 1} | ({"cursor": cursor} if cursor else {})
        page = await trade.market.call("list_proposals", by=buyer, **named)
        seen += [one["seller"]["id"] for one in page["data"]]
        if not page["has_more"]:
            break
        cursor = page["next_cursor"]
    assert seen == cheapest_first
    assert [one["seller"]["id"] for one in await listed(trade, sellers[0], posted, limit=1)] == [sellers[0].id]
    assert await listed(trade, await trade.market.register("Stu"), posted) == []


@covers("wallet_required.propose", "route.bounties.propose.wallet")
async def test_a_proposal_needs_a_wallet_and_a_bounty_none(trade: Trade) -> None:
    buyer, seller = await trade.market.register("Bo"), await trade.market.register("Sela")
    posted = await bounty(trade, buyer)
    refused = await trade.market.refusal("propose_on_bounty", by=seller, bounty_id=posted["id"], price=1)
    assert refused["code"] == "wallet_address_required"
    seller.wallet = trade.evm.person()
    await trade.bind(seller)
    await propose(trade, seller, posted)


async def test_what_nobody_can_propose_is_refused_with_the_field(trade: Trade) -> None:
    seller, buyer = await trade.parties()
    posted = await bounty(trade, buyer)
    refused = await trade.market.refusal("propose_on_bounty", by=seller, bounty_id=posted["id"], price=BUDGET + 1)
    assert (refused["code"], refused["param"]) == ("invalid_request", "price")
    assert refused["details"]["budget_max"] == BUDGET
    own = await trade.market.refusal("propose_on_bounty", by=buyer, bounty_id=posted["id"], price=1)
    assert (own["code"], own["param"]) == ("invalid_request", "bounty_id")
    twin = await trade.market.register("Twin")
    twin.wallet = buyer.wallet
    await trade.bind(twin)
    same = await trade.market.refusal("propose_on_bounty", by=twin, bounty_id=posted["id"], price=1)
    assert (same["code"], same["param"]) == ("invalid_request", "bounty_id")
    await propose(trade, seller, posted, price=BUDGET)


async def test_r3_a_job_is_first_party_where_its_buyer_is_when_the_bounty_is_awarded(trade: Trade) -> None:
    seller, buyer = await trade.parties()
    posted = await bounty(trade, buyer)
    proposal = await propose(trade, seller, posted)
    await trade.market.as_operator("set_first_party", agent_id=buyer.id, first_party=True)
    job = (await award(trade, buyer, posted, proposal))["job"]
    await trade.pay(buyer, await trade.deliver(seller, job))
    await trade.market.call("accept_job", by=buyer, job_id=job["id"])
    sold = (await trade.market.call("get_reputation", agent_id=seller.id))["test"]["as_seller"]
    assert (sold["volume_usdc"], sold["third_party_volume_usdc"], sold["third_party_counterparties"]) == (PRICE, 0, 0)
    assert sold["first_party_counterparties"] == 1


async def test_upfront_on_live_needs_trust_as_for_listings(trade: Trade) -> None:
    seller, buyer = await live_agent(trade, "Sela"), await trade.market.register("Bo")
    posted = await trade.market.call("create_bounty", by=buyer, on="live", **NEED)
    asked = {"bounty_id": posted["id"], "price": PRICE, "payment": "upfront"}
    refused = await trade.market.refusal("propose_on_bounty", by=seller, on="live", **asked)
    assert (refused["code"], refused["param"]) == ("upfront_requires_trust", "payment")
    await change_row(trade, AgentRow, (seller.id,), trust_tier=1)
    await trade.market.call("propose_on_bounty", by=seller, on="live", **asked)


@covers("open.award", "service.3.award", "event.kind.bounty.awarded", "error.more.proposal_not_pending")
async def test_an_award_begins_a_job_that_keeps_the_bounty_and_the_proposal(trade: Trade) -> None:
    seller, buyer = await trade.parties()
    other = await trade.agent("Cy")
    posted = await bounty(trade, buyer, input=HELD)
    lost = await propose(trade, other, posted, price=1)
    made = await propose(trade, seller, posted)
    taken = await award(trade, buyer, posted, made, turnaround_seconds=120)
    job = taken["job"]
    assert taken["object"] == "bounty.awarded"
    changed = {"status": "awarded", "proposal_count": 2, "awarded_job_id": job["id"], "how_to_propose": None}
    assert taken["bounty"] == bare(posted) | changed
    kept = {name: job[name] for name in (
        "status", "role", "listing_id", "bounty_id", "title", "input", "units", "price", "max_revisions", "acceptance",
        "accepted_at", "quoted_price",
    )}  # fmt: skip
    now = stamp(trade.market.clock.now())
    assert kept == {
        "status": "in_progress",
        "role": "buyer",
        "listing_id": None,
        "bounty_id": posted["id"],
        "title": NEED["title"],
        "input": HELD | {"bounty_description": NEED["description"]},
        "units": 1,
        "price": PRICE,
        "max_revisions": 2,
        "acceptance": HELD["acceptance"],
        "accepted_at": now,
        "quoted_price": None,
    }
    assert job["waiting_on"]["who"] == "seller"
    assert job["seller"] == {"id": seller.id, "handle": seller.handle}
    assert (await trade.seen(seller, job))["available_actions"] == ["deliver", "cancel", "message"]
    again = await award(trade, buyer, posted, made)
    assert again == taken, "an award that holds already is the answer"
    assert await told(trade, seller, "bounty.awarded") == [
        {
            "bounty_id": posted["id"],
            "proposal_id": made["id"],
            "job_id": job["id"],
            "price": PRICE,
            "price_display": "0.250000 USDC",
            "payment": "on_delivery",
            "buyer_id": buyer.id,
        }
    ]
    assert await told(trade, other, "bounty.closed") == [
        {"bounty_id": posted["id"], "proposal_id": lost["id"], "status": "awarded", "buyer_id": buyer.id}
    ]
    for party in (seller, buyer):
        (created,) = await told(trade, party, "job.created")
        assert (created["job_id"], created["from_bounty"]) == (job["id"], posted["id"])
    assert [one["status"] for one in await listed(trade, buyer, posted)] == ["rejected", "accepted"]
    second = {"bounty_id": posted["id"], "proposal_id": lost["id"]}
    refused = await trade.market.refusal("award_bounty", by=buyer, **second)
    assert (refused["code"], refused["details"]["awarded_job_id"]) == ("bounty_closed", job["id"])


async def test_a_job_of_a_bounty_goes_the_way_of_every_job_to_a_receipt_and_a_review(trade: Trade) -> None:
    seller, buyer = await trade.parties()
    job = await awarded(trade, seller, buyer, need={"input": HELD})
    await trade.market.call("deliver_job", by=seller, job_id=job["id"], output=WORK, preview={"line": "The sea"})
    sealed = await trade.seen(buyer, job)
    assert (sealed["status"], sealed["output_sealed"], sealed["output"]) == ("delivered", True, None)
    assert sealed["output_preview"] == {"line": "The sea"}
    assert sealed["checks"] == [{"name": "long enough", "kind": "min_length", "passed": True}]
    paid = await trade.pay(buyer, job)
    assert [step["why"] for step in paid["next_steps"] if step["tool"] == "accept_job"] == [
        "Take the delivery: the job is completed."
    ]
    await trade.market.call("accept_job", by=buyer, job_id=job["id"])
    await trade.market.call("review_job", by=buyer, job_id=job["id"], rating=5)
    receipt = await trade.market.call("get_receipt", by=seller, job_id=job["id"])
    assert receipt["receipt"]["job"]["bounty_id"] == job["bounty_id"]


async def test_an_award_of_upfront_work_is_paid_first(trade: Trade) -> None:
    seller, buyer = await trade.parties()
    job = await awarded(trade, seller, buyer, payment="upfront")
    assert (job["status"], job["payment"]["status"]) == ("awaiting_payment", "due")
    assert (job["payment"]["pay_to"], job["payment"]["pay_from"]) == (seller.wallet.address, buyer.wallet.address)
    (due,) = await told(trade, buyer, "job.payment_due")
    assert (due["job_id"], due["amount"]) == (job["id"], PRICE)
    paid = await trade.pay(buyer, job)
    assert paid["status"] == "in_progress"
    await trade.market.call("deliver_job", by=seller, job_id=job["id"], output="A poem.")


async def test_free_work_begins_at_once_and_is_never_sealed(trade: Trade) -> None:
    seller, buyer = await trade.parties()
    job = await awarded(trade, seller, buyer, need={"input": HELD}, price=0, payment="upfront")
    assert (job["status"], job["payment"]["status"]) == ("in_progress", "none")
    done = await trade.market.call("deliver_job", by=seller, job_id=job["id"], output=WORK)
    assert (done["status"], done["output_sealed"]) == ("delivered", False)


@pytest.mark.parametrize(
    ("work", "code", "param"),
    [
        ({"output": {"text": "x"}, "preview": {"line": "a"}}, "output_schema_mismatch", "output"),
        ({"output": {"english": "No"}, "preview": {"line": "a"}}, "acceptance_failed", "output"),
        ({"output": WORK, "preview": {"text": "a"}}, "output_schema_mismatch", "preview"),
        ({"output": WORK}, "output_schema_mismatch", "preview"),
    ],
)
async def test_a_delivery_is_held_against_what_the_bounty_asked_for(
    trade: Trade, work: dict[str, Any], code: str, param: str
) -> None:
    seller, buyer = await trade.parties()
    job = await awarded(trade, seller, buyer, need={"input": HELD})
    refused = await trade.market.refusal("deliver_job", by=seller, job_id=job["id"], **work)
    assert (refused["code"], refused["param"]) == (code, param)
    assert (await trade.seen(seller, job))["status"] == "in_progress"


async def test_work_that_was_paid_first_needs_no_preview(trade: Trade) -> None:
    seller, buyer = await trade.parties()
    job = await awarded(trade, seller, buyer, need={"input": HELD}, payment="upfront")
    await trade.pay(buyer, job)
    await trade.market.call("deliver_job", by=seller, job_id=job["id"], output=WORK)


async def test_a_buyer_with_its_places_full_awards_nothing_until_the_clock_frees_one(trade: Trade) -> None:
    seller, buyer = await limited(trade, unfinished_jobs=1).parties()
    posted = [await bounty(trade, buyer) for _ in range(2)]
    made = [await propose(trade, seller, one) for one in posted]
    await award(trade, buyer, posted[0], made[0])
    named = {"bounty_id": posted[1]["id"], "proposal_id": made[1]["id"]}
    assert (await trade.market.refusal("award_bounty", by=buyer, **named))["code"] == "job_limit"
    trade.market.pass_seconds(2 * 3600)  # an hour to deliver, and an hour of grace
    assert (await award(trade, buyer, posted[1], made[1]))["job"]["status"] == "in_progress"


async def test_buyer_and_seller_talk_in_a_thread_of_the_bounty_before_the_award(trade: Trade) -> None:
    seller, buyer = await trade.parties()
    posted = await bounty(trade, buyer)
    made = await propose(trade, seller, posted)
    await trade.market.call("post_message", by=buyer, thread_id=made["thread_id"], body="With rhymes?")
    (heard,) = await told(trade, seller, "message.received")
    assert (heard["kind"], heard["bounty_id"], heard["job_id"]) == ("bounty", posted["id"], None)
    (thread,) = (await trade.market.call("list_threads", by=seller, kind="bounty"))["data"]
    assert (thread["id"], thread["bounty_id"]) == (made["thread_id"], posted["id"])
    job = (await award(trade, buyer, posted, made))["job"]
    assert job["thread_id"] != made["thread_id"]


async def test_proposals_stand_in_the_inbox_until_the_owner_decides(trade: Trade) -> None:
    seller, buyer = await trade.parties()
    posted = await bounty(trade, buyer, expires_in_seconds=300)
    made = await propose(trade, seller, posted)
    seen = await trade.market.call("get_inbox", by=buyer)
    assert seen["proposals_awaiting_my_decision"] == [
        {
            "id": made["id"],
            "bounty_id": posted["id"],
            "title": NEED["title"],
            "seller": {"id": seller.id, "handle": seller.handle},
            "price": PRICE,
            "display": "0.250000 USDC",
            "payment": "on_delivery",
            "deadline_at": posted["expires_at"],
            "created_at": made["created_at"],
        }
    ]
    assert posted["id"] in seen["hint"]
    step = seen["next_steps"][0]
    assert (step["tool"], step["arguments"], step["deadline"]) == (
        "list_proposals", {"bounty_id": posted["id"]}, posted["expires_at"],
    )  # fmt: skip
    trade.market.pass_seconds(300)
    assert (await trade.market.call("get_inbox", by=buyer))["proposals_awaiting_my_decision"] == []
    assert (await trade.market.call("get_inbox", by=seller))["proposals_awaiting_my_decision"] == []


async def test_an_owner_is_told_how_to_award_while_it_can_and_nobody_else_is(trade: Trade) -> None:
    seller, buyer = await trade.parties()
    posted = await bounty(trade, buyer)

    async def shown(to: Any) -> Any:
        found = await trade.market.call("list_proposals", by=to, bounty_id=posted["id"])
        return [(one["tool"], one["arguments"]) for one in found["next_steps"]]

    close = ("close_bounty", {"bounty_id": posted["id"]})
    assert await shown(buyer) == [close]
    made = await propose(trade, seller, posted)
    named = {"bounty_id": posted["id"], "proposal_id": made["id"], "price": PRICE, "payment": "on_delivery"}
    assert (await shown(buyer), await shown(seller)) == ([("award_bounty", named), close], [])
    await propose(trade, await trade.agent("Cy"), posted, price=1)
    (award_one, given), _ = await shown(buyer)
    assert (award_one, given["proposal_id"]) == ("award_bounty", "<prp_…, from list_proposals>")
    assert given["price"] == "<the price of that proposal>"
    one = await trade.market.call("list_proposals", by=buyer, bounty_id=posted["id"], limit=1)
    steps = [(step["tool"], step["arguments"].get("proposal_id")) for step in one["next_steps"]]
    assert steps == [("award_bounty", "<prp_…, from list_proposals>"), ("close_bounty", None)], "the page is not all"
    await award(trade, buyer, posted, made)
    assert await shown(buyer) == []


@covers("second.price.award", "second.price.next_steps", "error.more.proposal_changed")
@pytest.mark.parametrize("change", [{"price": PRICE + 1}, {"payment": "upfront"}])
async def test_a_proposal_that_changed_after_it_was_read_is_not_awarded(trade: Trade, change: dict[str, Any]) -> None:
    seller, buyer = await trade.parties()
    posted = await bounty(trade, buyer)
    await propose(trade, seller, posted)
    read = (await trade.market.call("list_proposals", by=buyer, bounty_id=posted["id"]))["next_steps"][0]
    await propose(trade, seller, posted, **change)
    refused = await trade.market.refusal("award_bounty", by=buyer, **read["arguments"])
    present = {"price": PRICE, "payment": "on_delivery"} | change
    assert refused["code"] == "proposal_changed"
    assert refused["details"] == present | {"price_display": display(present["price"])}
    assert refused["next_steps"][0]["tool"] == "list_proposals"
    assert (await trade.market.call("list_jobs", by=buyer))["data"] == []
    taken = await trade.market.call("award_bounty", by=buyer, **read["arguments"] | present)
    assert taken["job"]["price"] == present["price"]
    again = await trade.market.refusal("award_bounty", by=buyer, **read["arguments"])
    assert again["code"] == "proposal_changed", "a repeat agrees to no other price either"


async def test_an_owner_compares_what_the_market_knows_of_each_seller_not_what_it_says(trade: Trade) -> None:
    proven, late, new = [await trade.agent(name) for name in ("Pia", "Lea", "Nia")]
    for _ in range(2):
        await trade.job_at("completed", proven, await trade.agent("Bo", 10_000_000))
    house = await trade.agent("MarketConfig", 10_000_000)
    await change_row(trade, AgentRow, (house.id,), first_party=True)
    await trade.job_at("completed", proven, house)
    slow = await trade.job_at("in_progress", late, house, price=0)
    await change_row(trade, JobRow, (slow["id"],), deliver_by=trade.market.clock.now())
    trade.market.pass_seconds(1)
    await trade.deliver(late, slow)
    await trade.market.call("accept_job", by=house, job_id=slow["id"])
    buyer = await trade.agent("Cy")
    await trade.listing(late, output_schema={**ENGLISH, "title": "E"})
    posted = await bounty(trade, buyer, input={"deliverable_schema": ENGLISH})
    for seller in (proven, late, new):
        await propose(trade, seller, posted)
    found = {one["seller"]["id"]: one["comparison"] for one in await listed(trade, buyer, posted)}
    assert found == {
        proven.id: {"on_time_rate": 1.0, "deliveries": 3, "third_party_payers": 2, "schema_fit": "same_schema"},
        late.id: {"on_time_rate": 0.0, "deliveries": 1, "third_party_payers": 0, "schema_fit": "same_schema"},
        new.id: {"on_time_rate": None, "deliveries": 0, "third_party_payers": 0, "schema_fit": "not_shown"},
    }


@pytest.mark.parametrize(
    ("offer", "fit"),
    [
        ({"output_schema": ENGLISH}, "same_schema"),
        ({"output_schema": None, "example_output": {"english": "good"}}, "example_fits"),
        ({"output_schema": None, "example_output": {"german": "gut"}}, "not_shown"),
        ({"output_schema": None, "example_output": {"english": "g" * 9_000}}, "not_shown"),
        ({"output_schema": None, "example_output": None}, "not_shown"),
    ],
)
async def test_a_sellers_listings_show_whether_its_work_has_the_shape_asked_for(
    trade: Trade, offer: dict[str, Any], fit: str
) -> None:
    seller, buyer = await trade.parties()
    listing = await trade.listing(seller, **offer)
    posted = await bounty(trade, buyer, input={"deliverable_schema": ENGLISH})
    await propose(trade, seller, posted)
    (found,) = await listed(trade, buyer, posted)
    assert found["comparison"]["schema_fit"] == fit
    await trade.market.call("archive_listing", by=seller, listing_id=listing["id"])
    (found,) = await listed(trade, buyer, posted)
    assert found["comparison"]["schema_fit"] == "not_shown", "only what is on sale counts"


async def test_dust_and_what_was_sent_back_make_nobody_a_payer(trade: Trade) -> None:
    seller, buyer = await trade.parties()
    job = await trade.failed(seller, buyer)
    cheap = await trade.agent("Di", 10_000_000)
    await trade.job_at("completed", seller, cheap, price=9_999)
    posted = await bounty(trade, await trade.agent("Cy"))
    await propose(trade, seller, posted, price=0)
    (found,) = await listed(trade, seller, posted)
    assert found["comparison"]["third_party_payers"] == 0, "work that was given up makes nobody a payer"
    await trade.give_back(seller, buyer, job)
    (after,) = await listed(trade, seller, posted)
    assert after == found
    assert (found["comparison"]["deliveries"], found["comparison"]["on_time_rate"]) == (2, 0.5)


async def test_who_leaves_the_market_closes_its_bounties_and_withdraws_its_proposals(trade: Trade) -> None:
    seller, buyer = await trade.parties()
    theirs, others = await bounty(trade, buyer), await bounty(trade, seller)
    made = await propose(trade, seller, theirs)
    mine = await propose(trade, buyer, others)
    await trade.market.call("delete_me", by=buyer, confirm=buyer.handle)
    await trade.market.workers.close_deleted_accounts()
    assert (await trade.market.call("get_bounty", by=seller, bounty_id=theirs["id"]))["status"] == "closed"
    assert [one["proposal_id"] for one in await told(trade, seller, "bounty.closed")] == [made["id"]]
    (shown,) = await listed(trade, seller, others)
    assert (shown["id"], shown["status"]) == (mine["id"], "withdrawn")
    assert (await trade.market.call("get_bounty", by=seller, bounty_id=others["id"]))["proposal_count"] == 0


@covers("error.more.seller_unavailable")
async def test_who_is_suspended_can_neither_be_chosen_nor_choose(trade: Trade) -> None:
    seller, buyer = await trade.parties()
    theirs, others = await bounty(trade, buyer), await bounty(trade, seller)
    await propose(trade, seller, theirs)
    mine = await propose(trade, buyer, others)
    job = (await trade.order(buyer, await trade.listing(seller)))["id"]
    await change_row(trade, AgentRow, (buyer.id,), status=AgentStatus.SUSPENDED)
    named = {"bounty_id": others["id"], "proposal_id": mine["id"]}
    assert (await trade.market.refusal("award_bounty", by=seller, **named))["code"] == "seller_unavailable"
    refused = await trade.market.refusal("propose_on_bounty", by=seller, bounty_id=theirs["id"], price=1)
    assert refused["code"] == "bounty_closed"
    await trade.market.store.write(lambda tx: close_listings(context_of(trade.market.market, tx), buyer.id))
    await trade.market.workers.close_deleted_accounts()
    assert (await trade.market.call("get_bounty", by=seller, bounty_id=theirs["id"]))["status"] == "closed"
    assert [one["status"] for one in await listed(trade, seller, others)] == ["withdrawn"]
    assert (await trade.market.call("get_job", by=seller, job_id=job))["status"] == "open", "jobs go on by the clock"


async def test_a_seller_without_a_wallet_by_now_is_not_awarded(trade: Trade) -> None:
    seller, buyer = await trade.parties()
    posted = await bounty(trade, buyer)
    made = await propose(trade, seller, posted)
    await forget_wallet(trade, seller)
    named = {"bounty_id": posted["id"], "proposal_id": made["id"]}
    assert (await trade.market.refusal("award_bounty", by=buyer, **named))["code"] == "seller_has_no_wallet_address"
    await trade.bind(seller)
    await award(trade, buyer, posted, made)


async def test_a_strangers_bounty_is_nobody_elses_to_close_or_award(trade: Trade) -> None:
    seller, buyer = await trade.parties()
    posted = await bounty(trade, buyer)
    made = await propose(trade, seller, posted)
    for operation, given in (("close_bounty", {}), ("award_bounty", {"proposal_id": made["id"]})):
        refused = await trade.market.refusal(operation, by=seller, bounty_id=posted["id"], **given)
        assert (refused["code"], "get_bounty" in refused["hint"]) == ("not_found", True)
    elsewhere = await propose(trade, seller, await bounty(trade, buyer))
    refused = await trade.market.refusal("award_bounty", by=buyer, bounty_id=posted["id"], proposal_id=elsewhere["id"])
    assert (refused["code"], refused["param"]) == ("not_found", "proposal_id")


async def test_all_that_is_wrong_with_a_delivery_is_named_at_once(trade: Trade) -> None:
    seller, buyer = await trade.parties()
    rules = {"acceptance": [{"name": "long enough", "kind": "min_length", "path": "/english", "value": 30}]}
    job = await awarded(trade, seller, buyer, need={"input": HELD | rules})
    for output, given, params in (
        ({"english": "x"}, {}, ["preview", "output/english"]),
        ({"english": 1}, {"preview": {"line": 1}}, ["output/english", "preview/line", "output/english"]),
    ):
        refused = await trade.market.refusal("deliver_job", by=seller, job_id=job["id"], output=output, **given)
        assert refused["code"] == refused["details"]["code"] == "output_schema_mismatch"
        assert [one["param"] for one in refused["details"]["violations"]] == params
        assert refused["param"] == params[0].split("/")[0]
    alone = await trade.market.refusal(
        "deliver_job", by=seller, job_id=job["id"], output={"english": "x"}, preview={"line": "x"}
    )
    assert alone["code"] == "acceptance_failed"
