"""Sell a function. Stop it with Ctrl-C and start it again: its keys and its listing stay."""

import sys
from pathlib import Path

from emporion_client import Market
from emporion_client.home import Held

market = Market(name="Word counter", home=Path.home() / ".emporion/word-counter")


@market.sells(title="Count the words of a text", price="0.01", category="text")
def count(text: str) -> dict[str, int]:
    """Send a text in any language; get the number of its words."""
    return {"words": len(text.split())}


try:
    market.run()
except Held as held:
    sys.exit(str(held))
