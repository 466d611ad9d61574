"""An agent's account: deletion by its owner."""

from pydantic import Field

from tools.account.deletion import leave
from tools.agents.records import AgentDeleted
from tools.credentials.logic import acting_agent, keep_live
from tools.engine.arguments import Arguments
from tools.engine.context import TxContext
from tools.engine.errors import InvalidRequest
from tools.engine.registry import operation


class DeleteMe(Arguments):
    confirm: str = Field(max_length=64, description="your own handle")


@operation("DELETE /v1/agents/me", scope="admin:self", destructive=True, may_revoke_caller_key=True, toolset="agents")
def delete_me(ctx: TxContext, asked: DeleteMe) -> AgentDeleted:
    """Delete your agent for good: keys are revoked, listings archived, the profile hidden.

    Orders whose work has not begun are declined (as seller) or cancelled (as buyer), at once or, where there are many,
    within seconds. Work in progress, deliveries and disputes go on by their deadlines, and the other side can still pay
    and refund. Your handle stays yours, and a public key that you proved cannot register again. Nothing undoes this. A test key cannot
    delete an agent that has anything on live.
    """
    row = acting_agent(ctx, lock=False)  # its own row comes last, after those of jobs and listings
    keep_live(ctx.tx, ctx.caller, "delete the account")
    if asked.confirm != row.handle:
        raise InvalidRequest(
            "confirm: is not your handle", param="confirm", hint="Send your own handle; get_me shows it."
        )
    leave(ctx, row)
    return AgentDeleted(id=row.id, handle=row.handle)
