"""The closing of an agent's open listings, jobs, bounties and proposals after it is deleted or suspended.

The unit of work that deletes an agent revokes its keys, removes it from search and closes a first batch. A worker
closes the rest. It goes through all PARTS twice, the second time a minute later, when no unit of work that began
before the deletion can still be running. Jobs on which the seller has begun to work continue.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from datetime import timedelta
from functools import partial
from itertools import product
from typing import Any

import structlog

from storage.agents import domains_of, forget_departure, forget_domains, forget_identity, rows_at
from storage.events import end_webhooks
from storage.query import Query
from storage.tables import AgentRow, BountyRow, DepartureRow, JobRow, ListingRow, ProposalRow
from storage.vocabulary import UNDECIDED, Actor, AgentStatus, Env, JobStatus, ListingStatus
from tools.agents.former_names import kept_domains
from tools.agents.logic import change_agent, set_tier
from tools.bounties.logic import end, facts_of, withdraw
from tools.bounties.logic import run_clock as run_bounty_clock
from tools.bounties.rules import bounty_move, proposal_move
from tools.credentials.logic import revoke_all
from tools.engine.context import TxContext
from tools.jobs.lifecycle import FILLS_CAPACITY, LISTING_MOVES, allowed
from tools.jobs.logic import apply_move, run_clock
from tools.jobs.snapshot import load
from tools.listings.logic import index

BATCH = 25  # rows that one unit of work changes
WATCHED = timedelta(seconds=60)
BEFORE_WORK = tuple(sorted(FILLS_CAPACITY - {JobStatus.IN_PROGRESS}))

log = structlog.get_logger("emporion.departures")


Part = Callable[[TxContext, str, str, int], Sequence[str]]
"""Closes one kind of row of an agent: given the agent's id, the id to begin after, and the most rows; returns their ids."""

Place = tuple[int, str]
"""The progress of the closing: the index of a part, and the id after which it continues."""

START: Place = (0, "")


def leave(ctx: TxContext, agent: AgentRow) -> None:
    """Delete an agent: revoke its keys, hide its profile and close a first batch of its rows."""
    _close_from(ctx, agent.id, START, PARTS)
    ended: dict[str, object] = {"status": AgentStatus.DELETED, "auth_epoch": agent.auth_epoch + 1}
    ended |= kept_domains(agent, ctx.tx.all(domains_of, agent_id=agent.id))
    released = {"verified_domain": None, "erc8004": None, "evaluator": False}
    set_tier(ctx.tx, change_agent(ctx.tx, agent, **ended, **released))  # its row is locked from here on
    for forget in (forget_domains, forget_identity):
        ctx.tx.run(forget, agent_id=agent.id)
    revoke_all(ctx.tx, agent.id)
    ctx.tx.run(end_webhooks, agent_id=agent.id)
    close_listings(ctx, agent.id)


def close_agent(ctx: TxContext, agent_id: str) -> None:
    """Close a suspended agent's offers and bounties: a first batch now, the rest by the workers."""
    _close_from(ctx, agent_id, START, SUSPENDED)
    close_listings(ctx, agent_id)


def close_listings(ctx: TxContext, agent_id: str) -> None:
    """Queue an agent that was just deleted or suspended; the workers close its open rows."""
    known = ctx.tx.get(DepartureRow, agent_id)
    ctx.tx.add_or_change(DepartureRow, known, {"agent_id": agent_id}, left_at=ctx.now, due_at=ctx.now)


def close_batch(ctx: TxContext, agent_id: str, place: Place) -> Place | None:
    """Close one batch of an agent's open rows; return where the next begins, None at the end."""
    agent = ctx.tx.get(AgentRow, agent_id)
    parts = {AgentStatus.DELETED: PARTS, AgentStatus.SUSPENDED: SUSPENDED}.get(agent.status, ()) if agent else ()
    return _close_from(ctx, agent_id, place, parts)  # no parts if the agent was reinstated


def look_again(ctx: TxContext, agent_id: str) -> None:
    """Schedule a second pass over all parts; after that one, delete the row that requested it.

    The second pass runs when no unit of work from before the departure can still be running.
    """
    row = ctx.tx.get(DepartureRow, agent_id, lock=True)
    if row is None:
        return
    settled = row.left_at + WATCHED
    if row.due_at >= settled:
        ctx.tx.run(forget_departure, agent_id=agent_id)
    else:
        ctx.tx.change(row, due_at=settled)


def _close_from(ctx: TxContext, agent_id: str, place: Place, parts: tuple[Part, ...]) -> Place | None:
    (number, after), room = place, BATCH
    while number < len(parts):
        if not room:
            return number, after
        closed = parts[number](ctx, agent_id, after, room)
        number, after = (number, closed[-1]) if len(closed) == room else (number + 1, "")
        room -= len(closed)
    return None


def _part(env: Env, query: Query[Any], close: Callable[[TxContext, Any], object]) -> Part:
    """Make the part that closes an agent's rows of a query in one environment."""

    def close_rows(ctx: TxContext, agent_id: str, after: str, limit: int) -> Sequence[str]:
        rows = ctx.tx.all(query, agent_id=agent_id, after=after, limit=limit)
        for row in rows:
            close(replace(ctx, env=env), row)
        return [row.id for row in rows]

    return close_rows


def _close_job(ctx: TxContext, row: JobRow, role: Actor) -> None:
    """Make the clock's due move, then have the seller decline or the buyer cancel."""
    with ctx.tx.alone() as kept:
        seen = run_clock(ctx, load(ctx.tx, row))
        move = allowed(seen.facts, "decline" if role is Actor.SELLER else "cancel", role, ctx.now)
        if move is not None:
            agent_id = row.seller_id if role is Actor.SELLER else row.buyer_id
            why = f"the {role} has left the market"
            apply_move(ctx, seen, move, agent_id, data={"by": role.value, "reason": why}, cancel_reason=why)
    if kept.error is not None:
        log.error("a job of an agent that left could not be closed", job_id=row.id, error=repr(kept.error))


def _close_listing(ctx: TxContext, row: ListingRow, target: ListingStatus) -> None:
    index(ctx.tx, ctx.tx.change(row, status=target, updated_at=ctx.now))


def _close_bounty(ctx: TxContext, row: BountyRow) -> None:
    current = run_bounty_clock(ctx, row)
    move = bounty_move(facts_of(current), "close", ctx.now)
    if move is not None:
        end(ctx, current, move)


def _withdraw_proposal(ctx: TxContext, row: ProposalRow) -> None:
    bounty = ctx.tx.need(BountyRow, row.bounty_id, lock=True)  # always locked before the proposal
    held = ctx.tx.need(ProposalRow, row.id, lock=True)
    if proposal_move(held.status, "withdraw", Actor.SELLER) is not None:
        withdraw(ctx, bounty, held)


def _job_parts() -> Iterator[Part]:
    for env, role, status in product(Env, (Actor.SELLER, Actor.BUYER), BEFORE_WORK):
        yield _part(env, rows_at(JobRow, f"{role}_id", env.value, status.value), partial(_close_job, role=role))


def _listing_parts(action: str) -> Iterator[Part]:
    for env, move in product(Env, LISTING_MOVES):
        if move.action == action and move.actor is Actor.SELLER and move.source is not None:
            query = rows_at(ListingRow, "seller_id", env.value, move.source.value)
            yield _part(env, query, partial(_close_listing, target=ListingStatus(move.target)))


MARKET: tuple[Part, ...] = (
    *(
        _part(env, rows_at(BountyRow, "buyer_id", env.value, status.value), _close_bounty)
        for env, status in product(Env, UNDECIDED)
    ),
    # Proposals are not locked, because their bounties are, one by one.
    *(
        _part(env, rows_at(ProposalRow, "seller_id", env.value, "pending", locks=False), _withdraw_proposal)
        for env in Env
    ),
)
"""Closed for deleted and for suspended agents, because the agent could not answer there."""

SUSPENDED: tuple[Part, ...] = (*_listing_parts("pause"), *MARKET)
"""Closed for a suspended agent; after it is reinstated it activates its listings itself."""

PARTS: tuple[Part, ...] = (*_job_parts(), *_listing_parts("archive"), *MARKET)
"""Closed for a deleted agent. A new kind of row that agents keep open needs a part here."""
