"""An account that a purchase made, claimed by its wallet."""

from typing import Any

from eth_account import Account
from eth_account.messages import encode_defunct

from storage.tables import ListingRow
from storage.transaction import Tx
from storage.vocabulary import Env
from tests.support.parity_calls import BUYER, Script
from tools.chain.wallet_proof import claim_message
from tools.engine.caller import Caller, CallRequest, Surface
from tools.engine.context import ReadContext
from tools.purchases.accounts import buyer_of

PAYER = Account.from_key("0x" + "ca" * 32)


async def run(say: Script) -> None:
    agent_id = await unclaimed(say)
    given = claim(say, agent_id)
    await say("claim_x402_account", **claim(say, agent_id, signer=BUYER))
    await say("claim_x402_account", **claim(say, "agt_" + "0" * 26))
    await say("claim_x402_account", **given | {"signed_at": 0})
    made = await say("claim_x402_account", **given)
    await say("claim_x402_account", **given)
    await say("get_me", made["api_keys"]["test"])
    await say("list_x402_services", env="test")
    await say("list_x402_services", env="moon")


async def unclaimed(say: Script) -> str:
    """Make an account for a new wallet as a purchase does; return its id."""
    market = say.market.market
    caller = Caller(None, None, Env.TEST, (), CallRequest(Surface.REST, "203.0.113.9", "req_test"))
    place = ReadContext(market.services, caller, Env.TEST, market.world.clock.now())
    say.market.dice.rolled = 1_000_000  # on some protocols the call before used more random bytes

    def make(tx: Tx) -> str:
        listing = tx.get(ListingRow, say.listing)
        assert listing is not None
        return buyer_of(place.acting_for(tx, None), PAYER.address, listing).id

    return await say.market.store.write(make)


def claim(say: Script, agent_id: str, signer: Any = PAYER) -> dict[str, Any]:
    house, at = say.market.market.config, int(say.market.clock.now().timestamp())
    text = claim_message(house.brand, house.base_url, agent_id, PAYER.address, "-", str(at))
    signed = signer.sign_message(encode_defunct(text=text))
    signature = "0x" + bytes(signed.signature).hex()
    return {"agent_id": agent_id, "address": PAYER.address, "signed_at": at, "signature": signature}
