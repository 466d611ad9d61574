"""From a question to an output: a model's answer is judged, asked for once more where it is no good, and then given up."""

from collections.abc import Awaitable, Callable
from typing import Any

from server.desk.model import Question, Unusable
from server.desk.offers import JsonObject
from server.desk.service import Failed, Kit
from tools.kernel.records import Json

ATTEMPTS = 2
MARK_BYTES = 12


async def answered(
    kit: Kit,
    task: str,
    wanted: JsonObject,
    about: str,
    schema: JsonObject,
    judged: Callable[[Any], Awaitable[Json]],
    *,
    strict: bool = True,
) -> Json:
    """Ask the model and return the output that `judged` makes of a usable answer.

    What the buyer left open (None in `wanted`) is not said. Raises Failed, with what was wrong with the last answer.
    """
    if kit.model is None:
        raise Failed("No language model is connected to this desk.")
    said = {name: value for name, value in wanted.items() if value is not None}
    asking = Question(task, said, about, schema, kit.dice.random_bytes(MARK_BYTES).hex(), strict)
    why = ""
    for _ in range(ATTEMPTS):
        try:
            return await judged(await kit.model.ask(asking))
        except Unusable as unusable:
            why = str(unusable)
    raise Failed(f"Nothing could be delivered: {why}. You are not charged.")
