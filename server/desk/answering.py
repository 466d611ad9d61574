"""From a question to an output: a model's answer is judged, asked for once more where it is no good, and then given up."""

from collections.abc import Awaitable, Callable
from typing import Any

from server.desk.model import Question, Unusable
from server.desk.service import Failed, JsonObject, Kit
from tools.kernel.records import Json

ATTEMPTS = 2
MARK_BYTES = 12


def question(
    kit: Kit, task: str, wanted: JsonObject, about: str, schema: JsonObject, *, strict: bool = True
) -> Question:
    """A question with a mark of its own around the text; what the buyer left open is not said."""
    said = {name: value for name, value in wanted.items() if value is not None}
    return Question(task, said, about, schema, kit.dice.random_bytes(MARK_BYTES).hex(), strict)


async def answered(kit: Kit, asking: Question, judged: Callable[[Any], Awaitable[Json]]) -> Json:
    """The output a usable answer comes to; Failed, with why the last one was none."""
    if kit.model is None:
        raise Failed("No language model is connected to this desk.")
    why = ""
    for _ in range(ATTEMPTS):
        try:
            return await judged(await kit.model.ask(asking))
        except Unusable as unusable:
            why = str(unusable)
    raise Failed(f"Nothing could be delivered: {why}. You are not charged.")
