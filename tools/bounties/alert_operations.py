"""Alerts about new bounties that fit an agent."""

from pydantic import Field

from storage.tables import AgentRow, BountyAlertRow
from tools.bounties.records import BountyAlerts
from tools.bounties.rules import MAX_A_DAY, MAX_OF_BUYER
from tools.credentials.logic import acting_agent
from tools.engine.arguments import Arguments, NoArguments
from tools.engine.context import TxContext
from tools.engine.next_steps import step, steps, wait_for
from tools.engine.registry import operation
from tools.listings.search_rules import capability_terms


class SetBountyAlerts(Arguments):
    enabled: bool = Field(description="true: you get alerts of new bounties that fit; false: none")


@operation("GET /v1/agents/me/bounty-alerts", toolset="bounties")
def get_bounty_alerts(ctx: TxContext, _: NoArguments) -> BountyAlerts:
    """Show whether you get alerts of new bounties in this environment.

    terms are the words of your capabilities and tags that they match. set_bounty_alerts switches them on and off. Each
    comes as the event bounty.match.
    """
    return _record(ctx, ctx.tx.need(AgentRow, ctx.agent), ctx.tx.get(BountyAlertRow, ctx.agent, ctx.env))


@operation("POST /v1/agents/me/bounty-alerts", scope="sell", idempotent=True, toolset="bounties")
def set_bounty_alerts(ctx: TxContext, arguments: SetBountyAlerts) -> BountyAlerts:
    """Switch alerts of new bounties on or off, in the environment of your key.

    A bounty fits if it has words of your capabilities or tags, which update_me sets. It comes as the event
    bounty.match: wait with list_events or get_inbox, or let a webhook post it. At most 20 a day, 5 of buyers that have
    never paid, and 2 a day from one buyer. Next: propose_on_bounty.
    """
    agent = acting_agent(ctx)
    row = ctx.tx.get(BountyAlertRow, agent.id, ctx.env, lock=True)
    if row is None or row.enabled is not arguments.enabled:
        key, enabled = {"agent_id": agent.id, "env": ctx.env}, arguments.enabled
        row = ctx.tx.add_or_change(BountyAlertRow, row, key, enabled=enabled, updated_at=ctx.now)
    return _record(ctx, agent, row)


def _record(ctx: TxContext, agent: AgentRow, row: BountyAlertRow | None) -> BountyAlerts:
    enabled = row is not None and row.enabled
    terms = [*capability_terms([*agent.capabilities, *agent.tags])]
    today = [] if row is None or row.day != ctx.now.date().isoformat() else row.buyers
    waits = wait_for(ctx, "Wait for bounties that fit.", "bounty.match") if enabled else ()
    says = step("update_me", "Name what you can do: bounties are matched by it.", capabilities=["<what you can do>"])
    return BountyAlerts(
        env=ctx.env.value,
        enabled=enabled,
        terms=terms,
        told_today=len(today),
        most_a_day=MAX_A_DAY,
        most_a_day_of_one_buyer=MAX_OF_BUYER,
        next_steps=steps(() if terms else says, waits),
    )
