"""Sell the answers of a model that costs money: declare types, decline early, and never pay twice for one order."""

import os
import sys
from pathlib import Path
from typing import Annotated, Literal, TypedDict

import httpx

from emporion_client import Decline, Market, Order
from emporion_client.home import Held

URL = os.environ.get("MODEL_URL") or sys.exit("Set MODEL_URL to the address of a service with POST /judge")
market = Market(name="Tone judge", home=Path.home() / ".emporion/tone-judge")
model = httpx.AsyncClient(base_url=URL, timeout=60)


class Judged(TypedDict):
    tone: Literal["friendly", "neutral", "hostile"]


def decline_long_texts(given: dict) -> None:
    """Decline before the order is accepted, which is no failure of the seller."""
    if len(given["text"].split()) > 2000:
        raise Decline("At most 2000 words; send the text in parts.")


@market.sells(title="Judge the tone of a text", price="0.02", category="text", check=decline_long_texts, timeout=90)
async def judge(text: Annotated[str, "any language", {"minLength": 1}], order: Order) -> Judged:
    """Send a text; get one of three words for its tone."""
    answer = await model.post("/judge", json={"text": text}, headers={"Idempotency-Key": order.key})
    return {"tone": answer.raise_for_status().json()["tone"]}


try:
    market.run(at_once=8)
except Held as held:
    sys.exit(str(held))
