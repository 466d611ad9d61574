"""The programs that tests kill: a buyer with one purchase, and a seller with one service."""

import itertools
import os
import signal
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import eth_account
import eth_account.messages  # noqa: F401

import emporion_client.home
import emporion_client.transport
from emporion_client import InProgress, Market
from emporion_client.journal import Journal

KEY = "the only one"


def run(program: str, crash: int, given: dict[str, Any]) -> None:
    """Run a program that is killed at its step number `crash`; 0: never."""
    steps = itertools.count(1)

    def step() -> None:
        if next(steps) == crash:
            os.kill(os.getpid(), signal.SIGKILL)

    for owner, name in (
        (emporion_client.transport, "ask"),
        (Journal, "write"),
        (emporion_client.home, "_write_private"),
    ):
        setattr(owner, name, _cut(getattr(owner, name), step))
    try:
        {"buyer": buyer, "seller": seller, "forking": forking}[program](**given)
    except Exception:
        traceback.print_exc()
        raise


def _cut(plain: Callable[..., Any], step: Callable[[], None]) -> Callable[..., Any]:
    def cut(*positional: Any, **named: Any) -> Any:
        step()
        answer = plain(*positional, **named)
        step()
        return answer

    return cut


def buyer(url: str, home: str, listing: str, gasless: bool, key: str | None = KEY, count: int = 1) -> None:
    """Buy a number of times."""
    market = Market(url, name="Unlucky buyer", home=Path(home), gasless=gasless)
    for number in range(count):
        bought = market.buy(listing, {"text": f"one two {number}"}, "0.01", key=key and f"{key} {number}")
        assert bought.output == {"words": 3}


def forking(url: str, home: str, listing: str, gasless: bool) -> None:
    """Buy in two processes of which one is a fork of the other."""
    market = Market(url, name="Forking buyer", home=Path(home), gasless=gasless)
    market.buy(listing, {"text": "one"}, "0.01")
    pid = os.fork()
    for number in range(3):
        try:
            market.buy(listing, {"text": f"one two {number}"}, "0.01", key=f"row {number}")
        except InProgress:
            continue
    if pid == 0:
        os._exit(0)
    assert os.waitpid(pid, 0)[1] == 0


def seller(url: str, home: str, title: str, log: str, attempts: int = 30) -> None:
    """Sell until the end; the text `poison` ends the process."""
    market = Market(url, name="Unlucky seller", home=Path(home))
    file = os.open(log, os.O_WRONLY | os.O_APPEND | os.O_CREAT)

    @market.sells(title=title, price="0.01", attempts=attempts, max_open_jobs=100)
    def upper(text: str) -> dict[str, str]:
        os.write(file, f"{text}\n".encode())
        if text == "poison":
            os._exit(1)
        return {"text": text.upper(), "run": f"{os.getpid()}"}  # another output at each run

    market.run(pause_when_stopped=False)
