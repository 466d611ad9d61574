"""Clauses of the contract about binding a wallet, and about sanctions lists."""

from dataclasses import replace
from pathlib import Path
from typing import Any

from eth_account import Account
from eth_account.messages import encode_defunct
from eth_account.signers.local import LocalAccount
from nacl.signing import SigningKey

from server.adapters.sanctions import SanctionsLists
from tests.requirements import covers
from tests.support.bounties import bounty, propose
from tests.support.market import START, Agent, TestMarket, bare
from tests.support.payment_flows import smart_wallet
from tests.support.trade import OFFER, PRICE, Trade
from tools.kernel.records import stamp

LISTED = "0x8589427373D6D84E98730D7795D8f6f8731FDA16"


def signed(wallet: LocalAccount, text: str) -> str:
    """Sign as EIP-191 personal_sign does."""
    return "0x" + bytes(Account.sign_message(encode_defunct(text=text), wallet.key).signature).hex()


async def bind(market: TestMarket, agent: Agent, wallet: LocalAccount, on: str = "test", **given: Any) -> Any:
    text = f"service:wallet:{agent.id}:{wallet.address.lower()}"
    return await market.call(
        "set_wallet_address", by=agent, on=on, address=wallet.address, signature=signed(wallet, text), **given
    )


async def test_a_wallet_its_seller_has_given_up_buys_nothing_from_it(trade: Trade) -> None:
    """For payments, an agent with the seller's former wallet counts as the seller."""
    seller, buyer = await trade.parties()
    listing, posted = await trade.listing(seller), await bounty(trade, buyer)
    proposal = await propose(trade, seller, posted)
    job = await trade.order(buyer, listing)
    former = seller.wallet
    trade.evm.fund(former, 10 * PRICE)
    await trade.rebind(seller, trade.evm.person())
    await trade.rebind(buyer, former)
    offered = await trade.listing(buyer)
    for name, by, given, param in (
        ("create_job", buyer, {"listing_id": listing["id"], "input": {"text": "x"}}, "listing_id"),
        ("create_job", seller, {"listing_id": offered["id"], "input": {"text": "x"}}, "listing_id"),
        ("award_bounty", buyer, {"bounty_id": posted["id"], "proposal_id": proposal["id"]}, "proposal_id"),
    ):
        refused = await trade.market.refusal(name, by=by, **given)
        assert (refused["code"], refused["param"]) == ("invalid_request", param)
    await trade.deliver(seller, await trade.market.call("accept_job", by=seller, job_id=job["id"]))
    sent = trade.evm.transfer(former, seller.wallet, PRICE)
    refused = await trade.market.refusal("pay_job", by=buyer, job_id=job["id"], transaction=sent)
    assert refused["details"] == {"reason": "self_payment"}, "nor does it pay for an earlier order"
    assert (await trade.seen(buyer, job))["output_sealed"]


@covers("second.wallet_binding.line", "second.wallet_binding.whole")
async def test_get_me_tells_the_line_that_a_wallet_signs(market: TestMarket) -> None:
    agent, wallet = await market.register(), Account.from_key("0x" + "77" * 32)
    line = (await market.call("get_me", by=agent))["wallet_binding"]
    assert line == f"service:wallet:{agent.id}:<address_lowercase>"
    for address in (wallet.address, wallet.address.lower()):
        me = await market.call("get_me", by=agent, address=address)
        assert me["wallet_binding"] == line.replace("<address_lowercase>", wallet.address.lower())
        assert me["wallet_address"] is None, "looking binds nothing"
    signature = signed(wallet, me["wallet_binding"])
    bound = await market.call("set_wallet_address", by=agent, address=wallet.address, signature=signature)
    assert (bound["wallet_address"], bound["wallet_binding"]) == (wallet.address, line)


async def test_get_me_refuses_what_is_no_address(market: TestMarket) -> None:
    agent = await market.register()
    for address in ("0x1", "ada", "0x" + "Ab" * 20, "0x" + "g" * 40):
        refused = await market.refusal("get_me", by=agent, address=address)
        assert (refused["code"], refused["param"]) == ("invalid_request", "address")


@covers("wallet.message", "wallet.eip191", "wallet.one_per_agent", "wallet.key_environment", "me.field.wallet_address")
@covers("route.agents.wallet")
async def test_a_wallet_is_bound_by_its_signature_over_the_exact_text_in_one_environment(market: TestMarket) -> None:
    ada, wallet, other = await market.register("Ada"), Account.create(), Account.create()
    bound = await bind(market, ada, wallet)
    assert (bound["wallet_address"], bound["env"]) == (wallet.address, "test")
    assert (await market.call("get_me", by=ada)) == bare(bound)
    assert (await market.call("get_me", by=ada, on="live"))["wallet_address"] is None
    await bind(market, ada, other, on="live")
    assert (await market.call("get_me", by=ada))["wallet_address"] == wallet.address
    assert (await market.call("get_me", by=ada, on="live"))["wallet_address"] == other.address


@covers("wallet.message", "route.agents.wallet.invalid", "error.code.wallet_signature_invalid")
async def test_m1_any_other_text_or_signer_is_refused_for_the_bound_address_too(market: TestMarket) -> None:
    ada, bo, wallet = await market.register("Ada"), await market.register("Bo"), Account.create()
    text = f"service:wallet:{ada.id}:{wallet.address.lower()}"
    forgeries = [
        signed(Account.create(), text),
        signed(wallet, f"service:wallet:{bo.id}:{wallet.address.lower()}"),
        signed(wallet, f"service:wallet:{ada.id}:{wallet.address}"),
        signed(wallet, text + " "),
    ]
    refusals = []
    for _ in range(2):
        refusals += [
            await market.refusal("set_wallet_address", by=ada, address=wallet.address, signature=one)
            for one in forgeries
        ]
        await bind(market, ada, wallet)
    assert {(one["code"], one["details"]["text"]) for one in refusals} == {("wallet_signature_invalid", text)}
    assert len(refusals) == 8


@covers("wallet.signature_form")
async def test_a_signature_that_is_not_130_hex_digits_is_refused(market: TestMarket) -> None:
    ada, wallet = await market.register("Ada"), Account.create()
    good = signed(wallet, f"service:wallet:{ada.id}:{wallet.address.lower()}")
    for bad in (good[2:], good + "00", good[:-2], "0x" + "zz" * 65):
        error = await market.refusal("set_wallet_address", by=ada, address=wallet.address, signature=bad)
        assert (error["code"], error["param"]) == ("invalid_request", "signature")
    assert (await bind(market, ada, wallet))["wallet_address"] == wallet.address


@covers("wallet.change_needs_proof", "route.agents.wallet.proof", "auth.5.leaked_key", "auth.6.root_identity")
@covers("wallet.one_per_agent")
async def test_a_bound_wallet_changes_only_with_the_agent_keys_proof(market: TestMarket) -> None:
    ada, old, new = await market.register("Ada"), Account.create(), Account.create()
    await bind(market, ada, old)
    text = f"service:wallet:{ada.id}:{new.address.lower()}"
    asked = {"address": new.address, "signature": signed(new, text)}
    strangers = SigningKey(bytes(32)).sign(text.encode()).signature.hex()
    for given in ({}, {"proof": strangers}):
        error = await market.refusal("set_wallet_address", by=ada, **asked, **given)
        assert (error["code"], error["param"]) == ("invalid_request", "proof")
    assert (await market.call("get_me", by=ada))["wallet_address"] == old.address
    proof = SigningKey(ada.seed).sign(text.encode()).signature.hex()
    changed = await market.call("set_wallet_address", by=ada, **asked, proof=proof)
    assert changed["wallet_address"] == new.address
    assert await market.call("get_me", by=ada) == bare(changed)


@covers("wallet.eip1271", "invariant.3.calls")
async def test_a_contract_wallet_vouches_for_its_owners_signature(trade: Trade) -> None:
    ada, contract = await trade.market.register("Ada"), smart_wallet(trade.evm)
    text = f"service:wallet:{ada.id}:{contract.address.lower()}"
    asked = {"address": contract.address, "signature": signed(trade.evm.person(), text)}
    assert (await trade.market.refusal("set_wallet_address", by=ada, **asked))["code"] == "wallet_signature_invalid"
    asked["signature"] = signed(contract.owner, text)
    bound = await trade.market.call("set_wallet_address", by=ada, **asked)
    assert bound["wallet_address"] == contract.address


@covers("invariant.7.at_binding", "route.agents.wallet.sanctioned", "error.code.address_sanctioned")
async def test_a_listed_wallet_is_not_bound_and_named(market: TestMarket) -> None:
    ada, wallet = await market.register("Ada"), Account.create()
    market.sanctions.listed.add(wallet.address.lower())
    text = f"service:wallet:{ada.id}:{wallet.address.lower()}"
    error = await market.refusal("set_wallet_address", by=ada, address=wallet.address, signature=signed(wallet, text))
    assert (error["code"], error["details"]) == ("address_sanctioned", {"address": wallet.address.lower()})
    assert (await market.call("get_me", by=ada))["wallet_address"] is None


@covers("invariant.7.fail_open", "invariant.7.in_health", "health.sanctions.screening", "health.sanctions.addresses")
@covers("health.sanctions.updated_at")
async def test_without_a_list_nobody_is_refused_and_health_says_so(market: TestMarket, tmp_path: Path) -> None:
    await market.workers.check_health()
    world = market.market.world
    market.market.services.world = replace(world, sanctions=SanctionsLists((), (), tmp_path))
    unscreened = await market.call("get_health")
    assert unscreened["sanctions"] == {"screening": False, "addresses": 0, "updated_at": None}
    ada = await market.register("Ada")
    assert (await bind(market, ada, Account.create()))["wallet_address"]
    listed = tmp_path / "list.txt"
    listed.write_text(LISTED)
    market.market.services.world = replace(world, sanctions=SanctionsLists((listed,), (), tmp_path))
    screened = (await market.call("get_health"))["sanctions"]
    assert (screened["screening"], screened["addresses"]) == (True, 1)
    assert screened["updated_at"].endswith("Z")
    assert market.market.world.sanctions.names(LISTED.lower())


@covers("wallet_required.create_listing", "error.code.wallet_address_required")
async def test_a_listing_free_ones_too_needs_a_bound_wallet(market: TestMarket) -> None:
    ada = await market.register("Ada")
    for price in (250_000, 0):
        error = await market.refusal("create_listing", by=ada, **OFFER | {"price": price})
        assert error["code"] == "wallet_address_required"
    await bind(market, ada, Account.create())
    assert (await market.call("create_listing", by=ada, **OFFER))["created_at"] == stamp(START)
