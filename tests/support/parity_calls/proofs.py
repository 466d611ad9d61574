"""Domains claimed and proven, and a token of the registry linked."""

from dataclasses import replace

from tests.support.parity_calls import SELLER, Script
from tests.support.proofs import Registry, Zone

DOMAIN = "sela.example.com"


async def run(say: Script) -> None:
    market = say.market.market
    me = await say("get_me", say.seller)
    proof = [f"service={me['id']}".encode()]
    market.world = replace(market.world, dns=Zone({f"_service.{DOMAIN}": proof}))
    await say("add_domain", say.seller, domain=f"https://{DOMAIN}/")
    await say("add_domain", say.seller, domain="127.0.0.1")
    await say("verify_domain", say.seller, domain=DOMAIN)
    await say("verify_domain", say.buyer, domain=DOMAIN)
    await say("list_domains", say.seller)
    await say("list_domains")
    await say("get_domain_claim", domain=DOMAIN)
    await say("get_domain_claim", domain="nobody.example.com")
    await say("remove_domain", say.buyer, domain=DOMAIN)
    await say("remove_domain", say.seller, domain=DOMAIN)
    token = Registry(say.evm).register(SELLER, f"{market.config.base_url}/agents/{me['id']}/erc8004.json")
    await say("link_erc8004", say.buyer, agent_id=token)
    await say("link_erc8004", say.seller, agent_id=int(token))
    await say("unlink_erc8004", say.seller)
    await say("unlink_erc8004", say.seller, agent_id=token)
