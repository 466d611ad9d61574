"""Operations for tests of the surfaces, registered during a test.

They show cases that the market's operations lack.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field

from tools.agents.records import Agent
from tools.engine.arguments import Arguments, EnvChoice, NoArguments
from tools.engine.context import TxContext
from tools.engine.errors import AsksPayment, NotFound
from tools.engine.registry import CATALOGUE, operation
from tools.jobs.errors import PaymentRequired
from tools.kernel.errors import MarketError
from tools.kernel.records import Json


class Echo(Arguments):
    nulls = frozenset({"value"})

    value: Any = Field(None, description="any JSON")
    times: int | None = Field(None, ge=1, le=9, description="how often")
    env: EnvChoice = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Echoed:
    """What was said."""

    object: Literal["echo"] = "echo"
    value: Json
    caller: str | None
    number: Annotated[int, Field(description="counts up")]


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms(AsksPayment):
    """What is owed."""

    object: Literal["terms"] = "terms"
    amount: int
    asks: ClassVar[type[MarketError]] = PaymentRequired
    why: ClassVar[str] = "1 USDC is due"


class Nodes(Arguments):
    pass


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """A tree, which pydantic describes with a reference."""

    object: Literal["node"] = "node"
    inner: "Node | None"


SAID: list[Json] = []


def say_json(ctx: TxContext, given: Echo) -> Echoed:
    """Say a JSON value back.

    Use it to see what arrives.
    """
    SAID.append(given.value)
    return Echoed(value=given.value, caller=ctx.caller.agent_id, number=len(SAID))


def pay_echo(ctx: TxContext, given: Echo) -> Echoed | Terms:
    """Say what is owed, or the value where nothing is."""
    if given.value is None:
        return Terms(amount=1_000_000)
    return Echoed(value=given.value, caller=ctx.caller.agent_id, number=0)


def lose_echo(ctx: TxContext, _: NoArguments) -> Agent:
    """Find nothing."""
    raise NotFound("there is no echo\u2028here", param="value", next_steps=({"tool": "say_json"},))


def show_tree(ctx: TxContext, _: NoArguments) -> Node:
    """Show a tree."""
    return Node(inner=Node(inner=None))


@contextmanager
def echoing() -> Iterator[None]:
    """Add the operations above to the catalogue for the duration of the context."""
    before = dict(CATALOGUE)
    SAID.clear()
    try:
        operation("POST /v1/echoes", auth="optional")(say_json)
        operation("POST /v1/echoes/pay", errors=(PaymentRequired,), destructive=True, open_world=True)(pay_echo)
        operation("GET /v1/echoes/lost", auth="none", errors=(NotFound,))(lose_echo)
        operation("GET /v1/echoes/tree", auth="none")(show_tree)
        yield
    finally:
        CATALOGUE.clear()
        CATALOGUE.update(before)
