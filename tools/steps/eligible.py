"""Who may sit on the panel of a job: nobody who has a hand in it, derived from rows."""

import orjson

from storage.disputes import eligible_evaluators
from storage.held import wallets_ever_held
from storage.tables import AgentRow
from storage.unit import Tx
from tools.context import Context
from tools.steps.evaluators import LEAST_TIER
from tools.steps.jobs import SeenJob


def eligible_ids(ctx: Context, seen: SeenJob) -> list[str]:
    """Who may be drawn for this job now, sorted.

    Opted in and active, trusted enough for the environment; no party, referred by none, and never bound to a wallet that
    a party was ever bound to, in either environment, or that this job was paid with: the hands behind an agent are the
    same in both. None of the operator's where a party is, when the job was made or now. Nobody who was drawn already.
    """
    row = seen.row
    parties = [party for party in (ctx.tx.get(AgentRow, one) for one in (row.buyer_id, row.seller_id)) if party]
    own = row.first_party or any(party.first_party for party in parties)
    drawn = [seat.agent_id for seat in seen.panel.seats] if seen.panel else []
    return ctx.tx.all(
        eligible_evaluators,
        evaluator=True,
        least_tier=LEAST_TIER[ctx.env],
        first_party=not own,
        not_these=_list([row.buyer_id, row.seller_id, *drawn]),
        parties=_list([row.buyer_id, row.seller_id]),
        wallets=_list(wallets_near(ctx.tx, seen)),
    )


def wallets_near(tx: Tx, seen: SeenJob) -> list[str]:
    """Every wallet a party was ever bound to, and those this job's money went between."""
    return [*wallets_of(tx, seen.row.buyer_id), *wallets_of(tx, seen.row.seller_id), *wallets_in(seen)]


def wallets_of(tx: Tx, agent_id: str) -> list[str]:
    """Every wallet an agent was ever bound to, in both environments."""
    return tx.all(wallets_ever_held, agent_id=agent_id)


def wallets_in(seen: SeenJob) -> list[str]:
    """The wallets the job's own money went between."""
    sides = [seen.row.pay_to, seen.row.pay_from]
    sides += [side for one in seen.settlements for side in (one.payer_address, one.pay_to)]
    return sorted({side for side in sides if side})


def _list(values: list[str]) -> str:
    return orjson.dumps(values).decode()
