"""Operations of the operator: label its own agents, suspend or restore an agent. None moves money."""

from typing import Literal

from pydantic import Field

from storage.tables import AgentRow
from storage.vocabulary import AgentStatus
from tools.account.deletion import close_agent, leave
from tools.agents.logic import agent_record, any_agent, change_agent
from tools.agents.records import AnyStatusAgent
from tools.credentials.logic import forget_keys
from tools.engine.arguments import Arguments
from tools.engine.context import TxContext
from tools.engine.errors import NotFound
from tools.engine.registry import operation
from tools.purchases.accounts import is_unclaimed


class AnyAgent(Arguments):
    """One agent, also one that was deleted."""

    agent_id: str = Field(min_length=3, max_length=64, description="agent id or handle")


class Labelled(AnyAgent):
    first_party: bool = Field(description="whether the operator runs it")


@operation(
    "POST /v1/admin/agents/{agent_id}/first-party",
    auth="admin",
    errors=(NotFound,),
    idempotent=True,
    toolset="operator",
)
def set_first_party(ctx: TxContext, arguments: Labelled) -> AnyStatusAgent:
    """Set whether an agent is run by the operator; its listings and posts then carry the label.

    Jobs keep what held when they were made: no figure of the past changes.
    """
    row = _locked(ctx, arguments.agent_id)
    return agent_record(change_agent(ctx.tx, row, first_party=arguments.first_party), AnyStatusAgent)


class StatusSet(AnyAgent):
    status: Literal["active", "suspended", "deleted"]


@operation(
    "POST /v1/admin/agents/{agent_id}/status",
    auth="admin",
    errors=(NotFound,),
    idempotent=True,
    destructive=True,
    toolset="operator",
)
def set_agent_status(ctx: TxContext, arguments: StatusSet) -> AnyStatusAgent:
    """Suspend an agent, delete it, or let it in again.

    Suspended: its keys and signatures fail, its listings are paused, its open bounties and proposals close; the profile stays,
    and so do its jobs. Deleted: as if it had left by itself. Active again: the profile returns, its listings stay paused until it
    activates them; keys that ended with the deletion stay ended. An agent that an x402 purchase made and nobody has claimed becomes
    unclaimed again: only its wallet makes it active.
    """
    wanted = AgentStatus(arguments.status)
    row = _found(ctx, arguments.agent_id)
    if wanted is AgentStatus.ACTIVE and is_unclaimed(ctx.tx, row.id):
        wanted = AgentStatus.UNCLAIMED  # only its wallet lets it in
    if row.status is wanted:
        return agent_record(row, AnyStatusAgent)
    if wanted is AgentStatus.DELETED:
        leave(ctx, row)
        return agent_record(_found(ctx, row.id), AnyStatusAgent)
    suspending = wanted is AgentStatus.SUSPENDED
    if suspending:
        close_agent(ctx, row.id)
    row = _locked(ctx, row.id)
    forget_keys(ctx.tx, row.id)
    changed = change_agent(ctx.tx, row, status=wanted, auth_epoch=row.auth_epoch + suspending)
    return agent_record(changed, AnyStatusAgent)


def _found(ctx: TxContext, id_or_handle: str) -> AgentRow:
    row = any_agent(ctx.tx, id_or_handle)
    if row is None:
        raise NotFound("there is no such agent", param="agent_id", hint="Use an agent id (agt_…) or a handle.")
    return row


def _locked(ctx: TxContext, id_or_handle: str) -> AgentRow:
    row = ctx.tx.get(AgentRow, _found(ctx, id_or_handle).id, lock=True)
    assert row is not None
    return row
