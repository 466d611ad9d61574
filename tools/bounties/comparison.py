"""Comparison of a bounty's proposals: the seller's figures, and whether its earlier work fits the output schema."""

from collections.abc import Sequence
from typing import Literal

import orjson

from storage.bounties import examples_of_sellers, sellers_of_schema
from storage.reputation import reputations_of
from storage.transaction import Tx
from storage.vocabulary import Actor
from tools.bounties.records import Comparison
from tools.engine.stored_documents import text_of
from tools.kernel.json_schema import checker_for, is_expensive
from tools.reputation.logic import figures_in
from tools.reputation.rules import EMPTY, Figures, on_time_rate

Fit = Literal["same_schema", "example_fits", "not_shown"]


def schema_fits(tx: Tx, sellers: Sequence[str], env: str, schema: str | None) -> dict[str, Fit]:
    """Compare what these sellers offer with a bounty's output schema, given by its hash.

    Returns an empty dict if there is no schema. An example is only checked against the schema if that is quick; a
    large or costly one counts as not_shown.
    """
    text = text_of(tx, schema)
    if text is None or not sellers:
        return {}
    ids = {*sellers}
    found: dict[str, Fit] = dict.fromkeys(sellers, "not_shown")
    for seller, example in tx.all(examples_of_sellers, ids=ids, env=env):
        if found[seller] == "not_shown" and _satisfies(text, example):
            found[seller] = "example_fits"
    return found | dict.fromkeys(tx.all(sellers_of_schema, ids=ids, env=env, schema=schema), "same_schema")


def comparisons(tx: Tx, sellers: Sequence[str], env: str, schema: str | None) -> dict[str, Comparison]:
    """Return the comparison that a bounty's owner sees beside each proposal, by seller."""
    fits = schema_fits(tx, sellers, env, schema)
    known = {
        row.agent_id: figures_in(row, Actor.SELLER) for row in tx.all(reputations_of, ids={*sellers}) if row.env == env
    }
    return {one: _comparison(known.get(one, EMPTY), fits.get(one)) for one in sellers}


def _comparison(tally: Figures, fit: Fit | None) -> Comparison:
    return Comparison(
        on_time_rate=on_time_rate(tally),
        deliveries=tally.timed,
        third_party_payers=tally.third_party_wallets,
        schema_fit=fit,
    )


def _satisfies(schema: str, example: str) -> bool:
    if is_expensive(schema, len(example)):
        return False
    return not checker_for(schema).violations(orjson.loads(example), 1)
