"""Bounties: lookup, moves by the state table, events to sellers, records, and the search index.

A change to a bounty or to one of its proposals locks the bounty's row first. Of two concurrent changes, the second
waits and sees the result of the first.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Literal

import orjson
from pydantic import Field

from storage.agents import agents_among
from storage.bounties import documents_among, due_bounties, examples_of_sellers, reject_pending, sellers_of_schema
from storage.bounty_search import index_bounty
from storage.reputation import reputations_of
from storage.tables import BountyRow, ProposalRow
from storage.transaction import Tx
from storage.vocabulary import UNDECIDED, Actor, BountyStatus, Env, ProposalStatus
from tools.bounties.errors import BountyClosed
from tools.bounties.records import Bounty, Comparison, HowToPropose, Proposal, Trader
from tools.bounties.rules import BountyFacts, BountyMove, due_move, proposal_move, state_now
from tools.engine.arguments import Arguments
from tools.engine.batch import BATCH, Place, each_alone
from tools.engine.context import TxContext
from tools.engine.documents import text_of
from tools.engine.errors import NotFound
from tools.events.payloads import BountyExpired
from tools.kernel.json_schema import checker_for
from tools.kernel.money import display
from tools.kernel.records import record_from, shortened, spliced
from tools.kernel.schema_cost import is_expensive
from tools.kernel.search_terms import index_terms
from tools.reputation.logic import figures_in
from tools.reputation.rules import EMPTY, on_time_rate

BRIEF_CHARACTERS = 500
Fit = Literal["same_schema", "example_fits", "not_shown"]
EXAMPLE_PERCENT = 80  # of the budget: the price in how_to_propose's example


class BountyNamed(Arguments):
    """One bounty."""

    bounty_id: str = Field(max_length=64, description="bty_…, from search_bounties or list_my_bounties")


def find_bounty(tx: Tx, bounty_id: str, env: Env, *, lock: bool = False) -> BountyRow:
    row = tx.get(BountyRow, bounty_id, lock=lock)
    if row is None or row.env != env:
        raise NotFound(
            "there is no such bounty in this environment",
            param="bounty_id",
            hint="search_bounties finds open ones; pass env to look in the other environment.",
        )
    return row


def held_bounty(ctx: TxContext, bounty_id: str) -> BountyRow:
    """Return the locked bounty, after making the clock's move if one is due."""
    return run_clock(ctx, find_bounty(ctx.tx, bounty_id, ctx.env, lock=True))


def own_bounty(ctx: TxContext, bounty_id: str) -> BountyRow:
    """Return the caller's own bounty, locked, after making the clock's move if one is due.

    Raises NotFound, also if the bounty is another agent's.
    """
    row = ctx.tx.get(BountyRow, bounty_id, lock=True)
    if row is None or row.env != ctx.env or row.buyer_id != ctx.agent:
        hint = "list_my_bounties shows yours. Another agent's is not yours to decide on: get_bounty shows it."
        raise NotFound("you have posted no such bounty", param="bounty_id", hint=hint)
    return run_clock(ctx, row)


def over(row: BountyRow) -> BountyClosed:
    """Return the error for a bounty that is no longer open."""
    return BountyClosed(f"this bounty is {row.status}", status=row.status.value, awarded_job_id=row.awarded_job_id)


def facts_of(row: BountyRow) -> BountyFacts:
    return BountyFacts(row.status, row.expires_at)


def run_clock(ctx: TxContext, row: BountyRow) -> BountyRow:
    """Write the clock's move if one is due: an expiry takes effect even before a sweep has run."""
    move = due_move(facts_of(row), ctx.now)
    if move is None:
        return row
    told: BountyExpired = {"bounty_id": row.id, "proposal_id": None, "buyer_id": row.buyer_id}
    ctx.emit(row.buyer_id, row.env, "bounty.expired", told)
    return end(ctx, row, move, at=row.expires_at)


def expire_due_bounties(ctx: TxContext, after: Place) -> tuple[int, Place | None]:
    """Expire one batch of bounties; return how many expired and where the next batch begins."""
    rows = ctx.tx.all(due_bounties, since=after[0], after=after[1], until=ctx.now, limit=BATCH)
    return each_alone(ctx, rows, lambda one, row: int(run_clock(one, row) is not row), lambda row: row.expires_at)


def end(
    ctx: TxContext, row: BountyRow, move: BountyMove, *, at: datetime | None = None, **changes: object
) -> BountyRow:
    """Make a final move: update the row and the search index, and reject the pending proposals."""
    after = ctx.tx.change(row, status=move.target, updated_at=at or ctx.now, **changes)
    index(ctx.tx, after)
    rejected = ctx.tx.all(reject_pending, _bounty_id=row.id, updated_at=ctx.now)
    for proposal in sorted(rejected, key=lambda one: one.id):
        _tell_rejected(ctx, after, proposal)
    return after


def withdraw(ctx: TxContext, bounty: BountyRow, proposal: ProposalRow) -> ProposalRow:
    """Withdraw a pending proposal; the bounty's row must be locked."""
    move = proposal_move(proposal.status, "withdraw", Actor.SELLER)
    assert move is not None
    after = ctx.tx.change(proposal, status=move.target, updated_at=ctx.now)
    ctx.tx.change(bounty, proposal_count=bounty.proposal_count - 1)
    return after


def index(tx: Tx, row: BountyRow) -> None:
    """Update the bounty's entry in the search index."""
    index_bounty(tx, row, index_terms(row.title, row.description, row.tags, row.category))


def bounty_record(ctx: TxContext, row: BountyRow) -> Bounty:
    (record,) = bounty_records(ctx.tx, [row], ctx.now)
    return record


def bounty_records(tx: Tx, rows: Sequence[BountyRow], now: datetime, *, brief: bool = False) -> list[Bounty]:
    """Return the public records of bounties; reads all buyers in one statement, and all inputs."""
    if not rows:
        return []
    buyers = traders(tx, (row.buyer_id for row in rows))
    hashes = {row.input for row in rows if row.input is not None}
    texts = {one.hash: one.text for one in tx.all(documents_among, ids=hashes)}
    records = [_record(row, buyers[row.buyer_id], texts, now) for row in rows]
    if not brief:
        return records
    return [replace(one, description=shortened(one.description, BRIEF_CHARACTERS)) for one in records]


def traders(tx: Tx, ids: Iterable[str]) -> dict[str, Trader]:
    """Return the short records of agents that bounties and proposals show, by agent id."""
    rows = tx.all(agents_among, ids={*ids})
    return {row.id: record_from(Trader, row) for row in rows}


def proposal_record(
    row: ProposalRow, seller: Trader, bounty: BountyRow, now: datetime, comparison: Comparison | None = None
) -> Proposal:
    """Return the record of a proposal; a pending one is rejected if its bounty has ended."""
    ended = row.status is ProposalStatus.PENDING and state_now(facts_of(bounty), now) not in UNDECIDED
    status = ProposalStatus.REJECTED if ended else row.status
    shown = {"status": status.value, "display": display(row.price), "seller": seller, "comparison": comparison}
    return record_from(Proposal, row, **shown)


def _record(row: BountyRow, buyer: Trader, texts: dict[str, str], now: datetime) -> Bounty:
    state = state_now(facts_of(row), now)
    return record_from(
        Bounty,
        row,
        input=None if row.input is None else spliced(texts[row.input]),
        budget_display=display(row.budget_max),
        status=state.value,
        buyer=buyer,
        how_to_propose=_how_to_propose(row) if state is BountyStatus.OPEN else None,
    )


def _how_to_propose(row: BountyRow) -> HowToPropose:
    price, message = row.budget_max * EXAMPLE_PERCENT // 100, "What I deliver, and by when."
    example = {"price": price, "payment": "on_delivery", "message": message}
    return HowToPropose(path=f"/v1/bounties/{row.id}/proposals", body_example=example)


def _tell_rejected(ctx: TxContext, bounty: BountyRow, proposal: ProposalRow) -> None:
    """Tell the seller what became of the bounty and that its proposal is rejected."""
    about = {"bounty_id": bounty.id, "proposal_id": proposal.id}
    kind, told = "bounty.closed", about | {"status": bounty.status.value, "buyer_id": bounty.buyer_id}
    if bounty.status is BountyStatus.EXPIRED:
        kind, told = "bounty.expired", about | {"buyer_id": bounty.buyer_id}
    ctx.emit(proposal.seller_id, proposal.env, kind, told)


def schema_fits(tx: Tx, sellers: Sequence[str], env: str, schema: str | None) -> dict[str, Fit]:
    """Compare what these sellers offer with a bounty's output schema, given by its hash.

    Returns an empty dict if there is no schema. An example is only checked against the schema if that is quick; a
    large or costly one counts as not_shown.
    """
    text = text_of(tx, schema)
    if text is None or not sellers:
        return {}
    of = {"ids": {*sellers}, "env": env}
    found: dict[str, Fit] = dict.fromkeys(sellers, "not_shown")
    for seller, example in tx.all(examples_of_sellers, **of):
        if found[seller] == "example_fits" or is_expensive(text, len(example)):
            continue
        if not checker_for(text).violations(orjson.loads(example), 1):
            found[seller] = "example_fits"
    return found | dict.fromkeys(tx.all(sellers_of_schema, **of, schema=schema), "same_schema")


def comparisons(tx: Tx, sellers: Sequence[str], env: str, schema: str | None) -> dict[str, Comparison]:
    """Return the comparison that a bounty's owner sees beside each proposal, by seller."""
    fits = schema_fits(tx, sellers, env, schema)
    rows = tx.all(reputations_of, ids={*sellers})
    known = {row.agent_id: figures_in(row, Actor.SELLER) for row in rows if row.env == env}
    return {
        one: Comparison(
            on_time_rate=on_time_rate(figures := known.get(one, EMPTY)),
            deliveries=figures.timed,
            third_party_payers=figures.third_party_wallets,
            schema_fit=fits.get(one),
        )
        for one in sellers
    }
