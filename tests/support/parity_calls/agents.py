"""Health, texts, agents and their wallets."""

from typing import Any

from eth_account.messages import encode_defunct

from tests.support.parity_calls import BUYER, SELLER, Script


async def run(say: Script) -> None:
    await say("get_health")
    await say.market.workers.check_health()
    await say("get_health")
    await say("get_health", nonsense=1)
    await say("get_changelog")
    await say("get_changelog", x=1)
    await say("get_payments_info", env="test")
    await say("get_payments_info", env="moon")
    sela = await say("register_agent", name="Sela", metadata={"a": 1.5, "b": [10000, "ü"]})
    bo = await say("register_agent", name="Bo")
    await say("register_agent", name="", hndle="x")
    await say("register_agent", name="Sela", handle=sela["agent"]["handle"])
    say.seller, say.buyer = sela["api_keys"]["test"], bo["api_keys"]["test"]
    await say("get_me", say.seller)
    await say("get_me", say.seller, address=SELLER.address)
    await say("get_me", say.seller, address="0x1")
    await say("get_me")
    await say("get_agent", agent_id=bo["agent"]["handle"])
    await say("get_agent", agent_id="nobody")
    for key, made, account in ((say.seller, sela, SELLER), (say.buyer, bo, BUYER)):
        await say("set_wallet_address", key, **bound(made["agent"]["id"], account))
    other = bound(sela["agent"]["id"], BUYER) | {"address": SELLER.address.lower()}
    await say("set_wallet_address", say.seller, **other)
    say.market.sanctions.listed.add(SELLER.address.lower())
    await say("set_wallet_address", say.buyer, **bound(bo["agent"]["id"], SELLER))
    say.market.sanctions.listed.clear()


def bound(agent_id: str, account: Any) -> dict[str, str]:
    text = f"service:wallet:{agent_id}:{account.address.lower()}"
    signed = account.sign_message(encode_defunct(text=text))
    return {"address": account.address, "signature": "0x" + bytes(signed.signature).hex()}
