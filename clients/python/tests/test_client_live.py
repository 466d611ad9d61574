"""Purchases with real money: a market with its live network on a second chain, which has the number of Base."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from client_market import Selling, served

from emporion_client import LimitReached, LocalWallet, Market
from emporion_client.chain import balance, rpc
from emporion_client.transport import drive
from emporion_client.wallet import CHAINS
from server.sandbox.process import start_sandbox

FUNDS = 1_000_000


class Live(NamedTuple):
    """A served market and the node of its live network."""

    url: str
    node: str


@pytest.fixture(scope="module")
def live(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Live]:
    folder = tmp_path_factory.mktemp("live")
    chain = start_sandbox(folder / "chain", 0, chain_id=CHAINS["live"])
    own = {"LIVE_RPC_URL": chain.url, "LIVE_FACILITATOR_URL": f"{chain.url}/facilitator", "LIVE_CONFIRMATIONS": 1}
    try:
        with served(folder / "market", **own) as url:
            yield Live(url, chain.url)
    finally:
        chain.stop()


@pytest.mark.parametrize("gasless", [True, False], ids=["gas-free", "transfer"])
def test_a_live_purchase_is_paid_once_and_kept_to_the_spending_limit(
    live: Live, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, gasless: bool
) -> None:
    monkeypatch.setenv("EMPORION_RPC_URL", live.node)
    seller = Market(live.url, env="live", name="Seller", home=tmp_path / "seller")
    buyer = Market(
        live.url, env="live", name="Buyer", home=tmp_path / "buyer", spend="0.025", gasless=gasless,
        wallet=(wallet := LocalWallet.create()),
    )  # fmt: skip
    for method, *given in (("dev_faucet", FUNDS), *([] if gasless else [("dev_gas",)])):
        drive(buyer.http, rpc(buyer.account, method, wallet.address, *given))

    @seller.sells(title="Count the words of a text", price="0.01")
    def count(text: str) -> dict[str, int]:
        return {"words": len(text.split())}

    with seller, buyer, Selling(seller) as selling:
        bought = [buyer.buy(selling.listing("count"), {"text": "one two"}, "0.01", key=f"row-{n}") for n in (1, 2, 2)]
        assert [one.output for one in bought] == [{"words": 2}] * 3
        with pytest.raises(LimitReached):
            buyer.buy(selling.listing("count"), {"text": "one"}, "0.01", key="row-3")
        assert drive(buyer.http, balance(buyer.account)) == FUNDS - 2 * 10_000
        job: Any = buyer.get_job(job_id=bought[0].id)
        assert (job["env"], job["payment"]["settlement"]["amount"]) == ("live", 10_000)
        assert len(buyer.list_jobs(role="buyer")["data"]) == 2
        assert buyer.account.home.read_keys()["api_key"].startswith("as_live_")
