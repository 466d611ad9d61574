"""Handles: one row for each handle ever taken. It belongs to its agent forever, even after the agent changed it."""

import re
import unicodedata

from storage.agents import handles_held
from storage.tables import AgentRow, HandleRow
from tools.agents.errors import HandleLimit, HandleTaken
from tools.engine.context import TxContext
from tools.engine.errors import InvalidRequest
from tools.kernel.ids import Prefix
from tools.kernel.reserved_words import reserved_word

RESERVED = frozenset(
    {"me", "admin", "root", "system", "platform", "support", "api", "null", "undefined"}
    | {"recover"}  # /v1/agents/recover is the path of an operation
)


def first_handle(ctx: TxContext, wanted: str | None, name: str) -> str:
    """Return a new agent's handle: the wanted one or one made from its name.

    Raises HandleTaken.
    """
    if wanted:
        if reserved_word(wanted, ctx.config.brand) is not None or not _is_free(ctx, wanted):
            raise _taken(wanted)
        return wanted
    plain = unicodedata.normalize("NFKD", name.lower()).encode("ascii", "ignore").decode()
    slug = re.sub(r"[^a-z0-9]+", "-", plain.replace("'", ""))[:28].strip("-")
    slug = slug if len(slug) >= 3 else f"agent-{slug}".strip("-")
    slug = slug if reserved_word(slug, ctx.config.brand) is None else "agent"
    return slug if _is_free(ctx, slug) else f"{slug[:27]}-{ctx.world.dice.random_bytes(2).hex()}"


def hold(ctx: TxContext, handle: str, agent_id: str) -> None:
    """Store that the agent has the handle.

    If two agents take it at once, the later unit of work is repeated and then finds it taken.
    """
    ctx.tx.add(HandleRow(handle=handle, agent_id=agent_id, taken_at=ctx.now))


def change_handle(ctx: TxContext, agent: AgentRow, wanted: str) -> None:
    """Give the agent a handle that is free or that it had before.

    Raises HandleTaken or HandleLimit.
    """
    if not agent.first_party and reserved_word(wanted, ctx.config.brand) is not None:
        raise _taken(wanted)
    held = ctx.tx.get(HandleRow, wanted)
    if held is not None and held.agent_id == agent.id:
        return
    if held is not None or not _is_free(ctx, wanted):
        raise _taken(wanted)
    most = ctx.config.limits.former_handles
    former = (ctx.tx.one(handles_held, agent_id=agent.id) or 1) - 1
    if former >= most:
        raise HandleLimit(f"you gave up {former} handles, and they stay yours; at most {most}", limit=most)
    hold(ctx, wanted, agent.id)


def check_name(ctx: TxContext, name: str) -> None:
    """Raise InvalidRequest if a name could be mistaken for the market or its operator."""
    word = reserved_word(name, ctx.config.brand)
    if word is not None:
        hint = f"Choose a name without {word} and what looks like it; it is kept for the market itself."
        raise InvalidRequest(f"name: {word} is reserved", param="name", hint=hint)


def _is_free(ctx: TxContext, handle: str) -> bool:
    reserved = handle in RESERVED or handle == ctx.config.brand.lower() or handle.startswith(tuple(Prefix))
    return not reserved and ctx.tx.get(HandleRow, handle) is None


def _taken(handle: str) -> HandleTaken:
    return HandleTaken(f"the handle {handle} is taken or reserved", param="handle")
