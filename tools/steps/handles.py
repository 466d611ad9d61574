"""Handles: one row for each that was ever taken. It belongs to its agent for good, also once it was given up."""

import re
import unicodedata

from storage.agents import handles_held
from storage.tables import AgentRow, HandleRow
from tools.context import Context
from tools.errors import HandleLimit, HandleTaken
from tools.rules.ids import Prefix

RESERVED = frozenset(
    {"me", "admin", "root", "system", "platform", "support", "api", "null", "undefined"}
    | {"recover"}  # /v1/agents/recover is a path of its own
)


def first_handle(ctx: Context, wanted: str | None, name: str) -> str:
    """The handle of a new agent: the one it wants, else one made from its name. HandleTaken."""
    if wanted:
        if not _is_free(ctx, wanted):
            raise _taken(wanted)
        return wanted
    plain = unicodedata.normalize("NFKD", name.lower()).encode("ascii", "ignore").decode()
    slug = re.sub(r"[^a-z0-9]+", "-", plain)[:28].strip("-")
    slug = slug if len(slug) >= 3 else f"agent-{slug}".strip("-")
    return slug if _is_free(ctx, slug) else f"{slug[:27]}-{ctx.world.dice.roll(2).hex()}"


def hold(ctx: Context, handle: str, agent_id: str) -> None:
    """Write down whose it is. Of two that took it at once, the later finds it taken when its unit runs again."""
    ctx.tx.add(HandleRow(handle=handle, agent_id=agent_id, taken_at=ctx.now))


def change_handle(ctx: Context, agent: AgentRow, wanted: str) -> None:
    """Take another handle: one that is free, or one the agent had before. HandleTaken, HandleLimit."""
    held = ctx.tx.get(HandleRow, wanted)
    if held is not None and held.agent_id == agent.id:
        return
    if held is not None or not _is_free(ctx, wanted):
        raise _taken(wanted)
    most = ctx.house.limits.former_handles
    former = (ctx.tx.one(handles_held, agent_id=agent.id) or 1) - 1
    if former >= most:
        raise HandleLimit(f"you gave up {former} handles, and they stay yours; at most {most}", limit=most)
    hold(ctx, wanted, agent.id)


def _is_free(ctx: Context, handle: str) -> bool:
    reserved = handle in RESERVED or handle == ctx.house.brand.lower() or handle.startswith(tuple(Prefix))
    return not reserved and ctx.tx.get(HandleRow, handle) is None


def _taken(handle: str) -> HandleTaken:
    return HandleTaken(f"the handle {handle} is taken or reserved", param="handle")
