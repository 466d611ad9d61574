"""Alerts about new bounties that match an agent's capabilities, sent by a worker in batches of agents."""

from datetime import datetime

from storage.bounties import active_among_alerted, alerted_agents, bounties_before, matched, next_match
from storage.jobs import has_paid
from storage.tables import AgentRow, BountyAlertRow, BountyRow
from storage.vocabulary import BountyStatus
from tools.bounties.rules import MAX_TOLD_OF, matched_terms, may_be_told
from tools.engine.context import TxContext
from tools.events.payloads import BountyMatch
from tools.kernel.ids import Prefix, first_id
from tools.kernel.money import DUST_MINOR, display
from tools.kernel.records import stamp
from tools.kernel.search_terms import index_terms

BATCH = 100


def tell_of_bounties(ctx: TxContext) -> bool:
    """Send the alerts of the oldest waiting bounty to one batch of agents.

    Return False if none waits, apart from those that another process has locked. The progress is written in the same
    unit of work as the events, so no agent receives an alert twice.
    """
    waiting = ctx.tx.one(next_match)
    if waiting is None:
        return False
    bounty = ctx.tx.get(BountyRow, waiting.bounty_id)
    if bounty is None or not _stands(ctx, bounty):
        ctx.tx.run(matched, bounty_id=waiting.bounty_id)
        return True
    asked = {"env": bounty.env, "after": waiting.after}
    alerts = ctx.tx.all(alerted_agents, **asked, limit=BATCH)
    if alerts:
        agents = {one.id: one for one in ctx.tx.all(active_among_alerted, **asked, until=alerts[-1].agent_id)}
        words = frozenset(index_terms(bounty.title, bounty.description, bounty.tags, bounty.category))
        stranger = ctx.tx.one(has_paid, buyer_id=bounty.buyer_id, env=bounty.env, least=DUST_MINOR) is None
        for alert in alerts:
            if alert.agent_id in agents and alert.agent_id != bounty.buyer_id:
                _tell(ctx, bounty, alert, agents[alert.agent_id], words, stranger)
    if len(alerts) < BATCH:
        ctx.tx.run(matched, bounty_id=bounty.id)
    else:
        ctx.tx.change(waiting, after=alerts[-1].agent_id)
    return True


def _stands(ctx: TxContext, bounty: BountyRow) -> bool:
    """Check whether a bounty is open and its buyer is below the daily limit of alerts."""
    if bounty.status is not BountyStatus.OPEN or bounty.expires_at <= ctx.now:
        return False
    since = first_id(Prefix.BOUNTY, midnight(bounty.created_at))
    before = ctx.tx.one(bounties_before, buyer_id=bounty.buyer_id, env=bounty.env, since=since, before=bounty.id)
    return (before or 0) < MAX_TOLD_OF


def _tell(
    ctx: TxContext, bounty: BountyRow, alert: BountyAlertRow, agent: AgentRow, words: frozenset[str], stranger: bool
) -> None:
    today = ctx.now.date().isoformat()
    buyers, strangers = (alert.buyers, alert.strangers) if alert.day == today else ([], 0)
    terms = matched_terms([*agent.capabilities, *agent.tags], words)
    if not terms or not may_be_told(buyers, bounty.buyer_id, strangers, stranger=stranger):
        return
    ctx.tx.change(alert, day=today, buyers=[*buyers, bounty.buyer_id], strangers=strangers + stranger)
    told: BountyMatch = {
        "bounty_id": bounty.id,
        "title": bounty.title,
        "category": bounty.category,
        "budget_max": bounty.budget_max,
        "budget_display": display(bounty.budget_max),
        "matched_terms": terms,
        "buyer_id": bounty.buyer_id,
        "expires_at": stamp(bounty.expires_at),
    }
    ctx.emit(agent.id, bounty.env, "bounty.match", told)


def midnight(at: datetime) -> datetime:
    """Return the start of the UTC day."""
    return at.replace(hour=0, minute=0, second=0, microsecond=0)
