"""Arguments that name a URL or domain: the market connects to no internal address, and to none without need.

The list comes from the registry, so a new argument of this kind must be added to one of the sets here.
"""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from tests.support.market import Agent, TestMarket
from tools.agents.profiles import URL
from tools.catalogue import CATALOGUE

VECTORS = json.loads((Path(__file__).parents[2] / "vectors" / "ssrf.json").read_text(encoding="utf-8"))
ADDRESSES = [f"[{one}]" if ":" in one else one for one in VECTORS["blocked_addresses"]]
URLS = [*VECTORS["urls_that_must_never_connect"], *(f"https://{one}/" for one in ADDRESSES)]
PLACE = re.compile(r"url|uri|domain|endpoint|host|address")
CALLED = {"create_webhook.url", "update_webhook.url"}
PUBLISHED = {"register_agent.endpoints", "update_me.endpoints"}  # only their webhook_url is called
NAMED = {"add_domain.domain"}
LOOKED_UP = {"verify_domain.domain", "remove_domain.domain", "get_domain_claim.domain", "search_agents.domain"}  # here


def places() -> set[str]:
    """Return the arguments whose names suggest a URL, domain or address."""
    named = {f"{op.name}.{name}" for op in CATALOGUE.values() for name in op.input.model_fields if PLACE.search(name)}
    return named - {"set_wallet_address.address", "claim_x402_account.address", "get_me.address"}  # on a chain


def test_every_argument_that_names_a_place_is_known() -> None:
    assert places() == CALLED | PUBLISHED | NAMED | LOOKED_UP


async def refused(market: TestMarket, agent: Agent, operation: str, **given: Any) -> Any:
    answer = await market.answer(operation, given, key=agent.keys["live"])
    assert answer.error is not None, given
    return answer.error


@pytest.mark.parametrize("url", URLS)
async def test_a_url_that_leads_inside_is_registered_nowhere_it_would_be_called(market: TestMarket, url: str) -> None:
    ada = await market.register()
    hook = await market.call("create_webhook", by=ada, on="live", url="https://agent.example/hook")
    before = await market.call("get_me", by=ada, on="live")
    for error, param in (
        (await refused(market, ada, "create_webhook", url=url), "url"),
        (await refused(market, ada, "update_webhook", webhook_id=hook["id"], url=url), "url"),
        (await refused(market, ada, "update_me", endpoints={"webhook_url": url}), "endpoints"),
    ):
        assert (error["code"], error["param"].split(".")[0]) == ("invalid_request", param)
    refusal = await market.refusal("register_agent", name="Bo", endpoints={"webhook_url": url})
    assert refusal["code"] == "invalid_request"
    assert await market.call("get_me", by=ada, on="live") == before
    assert (await market.call("get_webhook", by=ada, on="live", webhook_id=hook["id"]))["url"] == hook["url"]


@pytest.mark.parametrize("url", [url for url in URLS if url.startswith(("http://", "https://")) and url.isprintable()])
async def test_what_others_are_to_call_is_published_and_never_called(market: TestMarket, url: str) -> None:
    """A test fails if the market calls any of these URLs."""
    named = {"a2a_card_url": url, "mcp_url": url, "api_url": url, "homepage": url}
    if URL.fullmatch(url):
        made = await market.call("register_agent", name="Ada", endpoints=named)
        assert made["agent"]["endpoints"] == named
    else:
        refused = await market.refusal("register_agent", name="Ada", endpoints=named)
        assert (refused["code"], refused["param"]) == ("invalid_request", "endpoints")
    await market.workers.run_due()


@pytest.mark.parametrize(
    "host", [*ADDRESSES, *VECTORS["blocked_addresses"], "localhost", "localhost.", "0x7f.1", "127.1", "2130706433"]
)
async def test_an_address_is_no_domain(market: TestMarket, host: str) -> None:
    ada = await market.register()
    for domain in (host, f"https://{host}/"):
        assert (await refused(market, ada, "add_domain", domain=domain))["param"] == "domain"
