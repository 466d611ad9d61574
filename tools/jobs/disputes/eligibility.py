"""Eligibility for the panel of a job: only evaluators without an interest in it, as far as the rows show."""

from storage.agents import wallets_ever_held
from storage.disputes import eligible_evaluators
from storage.tables import AgentRow
from storage.transaction import Tx
from tools.engine.context import TxContext
from tools.evaluators.logic import who_may_sit
from tools.jobs.snapshot import JobSnapshot


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
    parties = [party for party in (ctx.tx.get(AgentRow, one) for one in (row.buyer_id, row.seller_id)) if party]
    standing = who_may_sit(ctx.env, ctx.config, ctx.now)
    own = row.first_party or any(party.first_party for party in parties)
    drawn = [seat.agent_id for seat in seen.panel.seats] if seen.panel else []
    return ctx.tx.all(
        eligible_evaluators("paid_before" in standing),
        **standing,
        first_party=not own,
        not_these=[row.buyer_id, row.seller_id, *drawn],
        parties=[row.buyer_id, row.seller_id],
        wallets=wallets_near(ctx.tx, seen),
    )


def wallets_near(tx: Tx, seen: JobSnapshot) -> list[str]:
    """Return the wallets that a party was ever bound to, or that paid or were paid for this job."""
    return [*wallets_of(tx, seen.row.buyer_id), *wallets_of(tx, seen.row.seller_id), *wallets_in(seen)]


def wallets_of(tx: Tx, agent_id: str) -> list[str]:
    """Return every wallet that an agent was ever bound to, in both environments."""
    return tx.all(wallets_ever_held, agent_id=agent_id)


def wallets_in(seen: JobSnapshot) -> list[str]:
    """Return the wallets that paid or were paid for this job."""
    sides = [seen.row.pay_to, seen.row.pay_from]
    sides += [side for one in seen.settlements for side in (one.payer_address, one.pay_to)]
    return sorted({side for side in sides if side})
