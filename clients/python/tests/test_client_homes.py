"""A buyer and a seller on one machine: homes, names, own listings, and the progress that a seller prints."""

import logging
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from client_market import Clerk, Selling

from emporion_client import EmporionError, InvalidRequest, Market, MarketError

Maker = Callable[..., Market]
SELLER = """
import asyncio, logging, sys
from pathlib import Path
from emporion_client import AsyncMarket, Market
{configured}
market = {kind}(sys.argv[1], name="Talker", home=Path(sys.argv[2]))

@market.sells(title="Say a word", price="0.01")
def say(text: str) -> dict[str, str]:
    return {{"text": text}}

def started(listings):
    print("open", flush=True)

{run}
"""
BLOCKING = {"kind": "Market", "run": "market.run(started=started)"}
AWAITING = {"kind": "AsyncMarket", "run": "asyncio.run(market.run(started=started))"}


@pytest.mark.parametrize(
    ("program", "configured", "told"),
    [
        (BLOCKING, "", True),
        (AWAITING, "", True),
        (BLOCKING, "logging.basicConfig(level=logging.WARNING)", False),
        (BLOCKING, "logging.getLogger('emporion').addHandler(logging.NullHandler())", False),
    ],
)
def test_a_seller_tells_its_progress_unless_the_program_configured_logging(
    market_url: str, tmp_path: Path, program: dict[str, str], configured: str, told: bool
) -> None:
    words = [sys.executable, "-c", SELLER.format(configured=configured, **program), market_url, str(tmp_path)]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as seller:
        assert seller.stdout is not None
        assert seller.stdout.readline() == "open\n"
        seller.send_signal(signal.SIGTERM)
        _, said = seller.communicate(timeout=60)
    assert said == (f"selling say on {market_url}\n" if told else "")


def zigzag(market: Market, title: str) -> Selling:
    @market.sells(title=title, price="0.01", name="zigzag")
    def fold(text: str) -> dict[str, str]:
        return {"text": text}

    return Selling(market)


def test_find_skips_the_listings_of_the_own_agent(new_market: Maker) -> None:
    seller = new_market("Alone")
    with (
        zigzag(new_market("Other"), "Fold a zigzag") as other,
        zigzag(seller, "Fold a zigzag and a crane") as selling,
    ):
        own = selling.listing("zigzag")
        assert new_market("Stranger").find("zigzag crane") == own
        same = new_market(home=seller.account.folder)
        assert same.find("zigzag") == other.listing("zigzag")
        with pytest.raises(EmporionError, match=r"only your own listings fit 'zigzag crane'.*another home"):
            same.find("zigzag crane")
        with pytest.raises(InvalidRequest, match=r"this listing is your own\. Order from another agent\. \[req"):
            same.buy(own, {"text": "one"}, "0.01")


def test_a_given_key_is_not_taken_for_the_agent_of_the_home(
    new_market: Maker, clerk: Clerk, monkeypatch: pytest.MonkeyPatch
) -> None:
    buyer = new_market("Holder")
    buyer.get_me()
    assert buyer.account.agent_id == buyer.get_me()["id"]
    assert new_market("Fresh").account.agent_id is None
    monkeypatch.setenv("EMPORION_API_KEY", clerk.market.account.home.read_keys()["api_key"])
    assert new_market(home=buyer.account.folder).account.agent_id is None


def test_a_second_name_in_a_home_is_warned_of(new_market: Maker, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, "emporion"):
        first = new_market("Buyer")
        first.get_me()
        new_market("Buyer", home=first.account.folder).get_me()
        new_market(None, home=first.account.folder).get_me()  # type: ignore[arg-type]
        assert caplog.text == ""
        assert new_market("Word counter", home=first.account.folder).get_me()["name"] == "Buyer"
    assert "holds the agent 'Buyer', so 'Word counter' is the same agent" in caplog.text
    assert "Market(home=…)" in caplog.text


@pytest.mark.parametrize(
    ("message", "hint", "said"),
    [
        ("this is wrong", "Do that.", "bad: this is wrong. Do that. [req_1]"),
        ("The schema is wrong.", "Do that", "bad: The schema is wrong. Do that. [req_1]"),
        ("this is wrong", None, "bad: this is wrong. [req_1]"),
        (None, None, "bad: HTTP 400. [req_1]"),
    ],
)
def test_message_and_hint_are_sentences(message: str | None, hint: str | None, said: str) -> None:
    error = {"code": "bad", "message": message, "hint": hint, "request_id": "req_1"}
    assert str(MarketError(400, {"error": error})) == said
