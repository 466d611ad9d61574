"""A service of the desk: its listing and its work."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from math import ceil
from typing import Any

from emporion_client import Decline
from server.desk.model import Model, Question, Unusable
from server.desk.offers import JsonObject
from server.desk.reader import Reader
from tools.engine.ports import Checks, Clock, RandomSource
from tools.kernel.records import Json

BY = "desk"  # whom checks and look-ups are counted for
ATTEMPTS = 2  # of the model
MARK_BYTES = 12


@dataclass(frozen=True, slots=True)
class Order:
    """A buyer's order: the input, which satisfies the listing's schema, and the units."""

    input: Mapping[str, Any]
    units: int = 1


@dataclass(frozen=True, slots=True)
class Kit:
    """The tools of services. Without a model endpoint, services that need one are not sold."""

    reader: Reader
    checks: Checks
    clock: Clock
    dice: RandomSource
    model: Model | None = None


@dataclass(frozen=True, slots=True)
class Service:
    """One service. Its work returns the output, or raises Decline with the reason for the buyer."""

    name: str  # also the first tag of its listing
    offer: JsonObject  # as create_listing takes it
    work: Callable[[Kit, Order], Awaitable[Json]]
    needs_model: bool = False


def need_units(order: Order, characters: int, per: int) -> None:
    """Raise Decline, with the needed number, if the units do not fit the characters."""
    needed = max(1, ceil(characters / per))
    if order.units != needed:
        raise Decline(
            f"This order needs units: {needed}, one for each {per} characters begun of {characters}; it was ordered with "
            f"{order.units}. Order again with units: {needed}."
        )


async def ask_model(
    kit: Kit,
    task: str,
    wanted: JsonObject,
    about: str,
    schema: JsonObject,
    judged: Callable[[Any], Awaitable[JsonObject]],
    *,
    strict: bool = True,
) -> Json:
    """Ask the model; return the output that `judged` makes of its answer, and the model's name.

    Wishes that the buyer left open (None in `wanted`) are not sent. Raises Decline, with what was wrong with the last answer.
    """
    if kit.model is None:
        raise Decline("No language model is connected to this desk.")
    said = {name: value for name, value in wanted.items() if value is not None}
    asking = Question(task, said, about, schema, kit.dice.random_bytes(MARK_BYTES).hex(), strict)
    why = ""
    for _ in range(ATTEMPTS):
        try:
            output = await judged(await kit.model.ask(asking))
            return {**output, "model": kit.model.name}
        except Unusable as unusable:
            why = str(unusable)
    raise Decline(f"Nothing could be delivered: {why}. You are not charged.")
