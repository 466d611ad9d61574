"""Draws of dispute panels: made from the eligible evaluators, stored, and repeated from the same rows to check them."""

from datetime import timedelta
from itertools import combinations

import orjson

from storage.agents import wallets_ever_held
from storage.disputes import draws_of_dispute, eligible_evaluators
from storage.tables import AgentRow, DisputeRow, DrawRow, JobRow, SeatRow
from storage.transaction import Tx
from storage.vocabulary import Env
from tools.agents.relations import Relations, RelationsInCase
from tools.engine.context import TxContext
from tools.evaluators.logic import who_may_sit
from tools.jobs.disputes.draw_rules import (
    VERSION,
    Made,
    Pair,
    has_bought,
    hash_of,
    in_order,
    list_text,
    pairs_text,
    seat_unrelated,
    verify_draw,
)
from tools.jobs.panel_rules import Draw, Escalation, not_drawn
from tools.jobs.snapshot import JobSnapshot, panel_of

AHEAD = timedelta(hours=1)  # the clock of another process, which stamped what it has just written, may be ahead


def draw(ctx: TxContext, seen: JobSnapshot, step: Draw) -> tuple[list[str], Escalation | None]:
    """Draw the evaluators of a round and store the draw.

    They are unrelated to one another, to the parties and to members of earlier rounds. Nobody is drawn if one of those
    that the order seats was paid by a party: tools/jobs/disputes/draw_rules.py says why. Returns their ids, and the
    reason if the operator decides instead.
    """
    ids = eligible_ids(ctx, seen)
    order = in_order(seen.row.panel_seed, step.round, ids)
    before = [*seen.parties, *(seat.agent_id for seat in seen.needed_panel.seats)]
    relations = RelationsInCase(ctx.tx, seen.row, order, ctx.now + AHEAD)
    agents, pairs = seat_unrelated(order, step.seats, before, relations.related, relations.bought)
    why_not = not_drawn(
        step.seats, len(ids), len(agents), live=ctx.env is Env.LIVE, number=step.round, bought=has_bought(pairs)
    )
    agents = [] if why_not else agents
    text, related = list_text(ids), pairs_text(pairs)
    ctx.tx.add(
        DrawRow(
            dispute_id=seen.needed_panel.case.id,
            round=step.round,
            draw_version=VERSION,
            wanted=step.seats,
            seats=len(agents),
            eligible=text,
            eligible_hash=hash_of(text),
            related=related,
            related_hash=hash_of(related),
            drawn_at=ctx.now,
        )
    )
    return agents, why_not


def faults_of_draws(tx: Tx, dispute_id: str) -> list[tuple[DrawRow, list[str]]]:
    """Repeat the draws of one case and return each with the faults that were found in it."""
    case = tx.get(DisputeRow, dispute_id)
    job = None if case is None else tx.get(JobRow, case.job_id)
    if case is None or job is None:
        return []
    seats = panel_of(tx, case).seats
    return [(row, _faults(tx, case, job, seats, row)) for row in tx.all(draws_of_dispute, dispute_id=dispute_id)]


_REPEATED = ("round", "wanted", "seats", "eligible", "eligible_hash", "related", "related_hash")


def _faults(tx: Tx, case: DisputeRow, job: JobRow, seats: tuple[SeatRow, ...], row: DrawRow) -> list[str]:
    sitting = [seat.agent_id for seat in seats if seat.round == row.round]
    earlier = [seat.agent_id for seat in seats if seat.round < row.round]
    made = Made(
        version=row.draw_version,
        whole_or_none=case.env == Env.LIVE and row.round == 1,
        **{name: getattr(row, name) for name in _REPEATED},
    )
    wrong = verify_draw(job.panel_seed, made, sitting)
    twice = set(earlier) & set(orjson.loads(row.eligible))
    wrong += [f"{len(twice)} who had been drawn before were drawn from again"] if twice else []
    if row.draw_version > 1 and sitting:
        apart = (job.buyer_id, job.seller_id, *earlier)
        together = [*combinations(sitting, 2), *((one, other) for one in sitting for other in apart)]
        wrong += _related_members(tx, job, row, sitting, together)
    return wrong


def _related_members(tx: Tx, job: JobRow, row: DrawRow, sitting: list[str], together: list[Pair]) -> list[str]:
    """Say which of these pairs were related, and which members a party had paid.

    A draw of version 2 treats what a party has paid as any other relation.
    """
    if row.draw_version == 2:
        known, bought = Relations(tx, Env(job.env), [], row.drawn_at).related, list[str]()
    else:
        relations = RelationsInCase(tx, job, [], row.drawn_at)
        known, bought = relations.related, [one for one in sitting if relations.bought(one)]
    related = [pair for pair in together if known(*pair)]
    wrong = [f"related when it was drawn: {related}"] if related else []
    return wrong + ([f"paid by a party before the order: {bought}"] if bought else [])


def eligible_ids(ctx: TxContext, seen: JobSnapshot) -> list[str]:
    """Return the ids of the evaluators that may be drawn for this job now, sorted.

    They have opted in, are active and have the standing that the environment requires. Excluded are:
    - the parties, and agents that a party referred;
    - evaluators drawn before in this case;
    - agents ever bound, in either environment, to a wallet that a party was ever bound to or that paid or was paid
      for this job, because the owner of a wallet is the same in both environments;
    - the operator's agents if a party is the operator's, now or when the job was made.
    """
    row = seen.row
    parties = [party for party in (ctx.tx.get(AgentRow, one) for one in seen.parties) if party]
    standing = who_may_sit(ctx.env, ctx.config, ctx.now)
    own = row.first_party or any(party.first_party for party in parties)
    drawn = [seat.agent_id for seat in seen.panel.seats] if seen.panel else []
    return ctx.tx.all(
        eligible_evaluators("paid_before" in standing),
        **standing,
        first_party=not own,
        not_these=[*seen.parties, *drawn],
        parties=[*seen.parties],
        wallets=wallets_near(ctx.tx, seen),
    )


def wallets_near(tx: Tx, seen: JobSnapshot) -> list[str]:
    """Return the wallets that a party was ever bound to, or that paid or were paid for this job."""
    row = seen.row
    held = [wallet for party in seen.parties for wallet in tx.all(wallets_ever_held, agent_id=party)]
    used = {row.pay_to, row.pay_from, *(side for one in seen.settlements for side in (one.payer_address, one.pay_to))}
    return [*held, *sorted(side for side in used if side)]
