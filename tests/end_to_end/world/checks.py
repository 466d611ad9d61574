"""Invariants of the world at the end of its script, compared with the script's counts and the chains."""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import orjson
from eth_utils.crypto import keccak
from sqlalchemy import select

from storage.disputes import draws_of_dispute
from storage.query import Query
from storage.tables import DisputeRow, EventRow, JobRow, SettlementRow
from tests.end_to_end.walk.ground import Sent
from tests.end_to_end.world.cast import BUYERS, CHAINS, MIRROR, PROTEGE, SELLERS, Known, World
from tests.end_to_end.world.courts import draws, seats
from tests.end_to_end.world.deals import Ledger
from tools.kernel.money import display

TRANSFER = "0x" + keccak(text="Transfer(address,address,uint256)").hex()
every_settlement = Query(select(SettlementRow))
every_job = Query(select(JobRow))
every_event = Query(select(EventRow).order_by(EventRow.id))
every_case = Query(select(DisputeRow))
UNFINISHED = {"open", "quote_requested", "quoted", "awaiting_payment", "in_progress", "delivered"}


# -- money -------------------------------------------------------------------------------------------------------------


def transfers_on(world: World, on: str) -> dict[str, Sent]:
    """Return every Transfer log of the token by transaction hash, without mints."""
    evm = world.evms[on]
    asked = {"fromBlock": "0x0", "toBlock": "latest", "address": evm.usdc, "topics": [TRANSFER]}
    found = dict[str, Sent]()
    for log in evm.rpc("eth_getLogs", asked):
        payer, payee = ("0x" + topic[-40:] for topic in log["topics"][1:])
        if int(payer, 16):
            found[log["transactionHash"]] = Sent(payer, payee, int(log["data"], 16))
    return found


async def settlements_are_the_chains_transfers(world: World) -> int:
    """Compare the settlements with the logs, by payer and payee; return their number.

    Transfers that the script never reported are left out.
    """
    rows = await world.store.read(lambda tx: tx.all(every_settlement))
    for on in CHAINS:
        logs = transfers_on(world, on)
        kept = [row for row in rows if row.env == on]
        booked, moved = Counter[tuple[str, str]](), Counter[tuple[str, str]]()
        for row in kept:
            booked[row.payer_address.lower(), row.pay_to.lower()] += row.amount
        for transaction, sent in logs.items():
            if transaction not in world.unshown:
                moved[sent.payer, sent.payee] += sent.amount_minor
        assert booked == moved
        assert {row.tx_hash for row in kept} == set(logs) - world.unshown
        assert sum(booked.values()) > 0, on
    owners = defaultdict[str, set[str]](set)
    for known in world.known.values():
        for wallet in known.wallets:
            owners[wallet.lower()].add(known.id)
    for row in rows:
        assert row.payer_agent_id in owners[row.payer_address.lower()], row
        assert row.payee_agent_id in owners[row.pay_to.lower()], row
    return len(rows)


# -- jobs, events, figures ---------------------------------------------------------------------------------------------


async def every_job_stands_where_its_script_says(ledger: Ledger) -> None:
    rows = {row.id: row for row in await ledger.world.store.read(lambda tx: tx.all(every_job))}
    assert {deal.job["id"]: deal.status for deal in ledger.deals} == {one.id: one.status for one in rows.values()}


async def events_have_no_gaps(world: World) -> None:
    """Check that each agent reads exactly its events, page by page, in the order of ids."""
    rows = await world.store.read(lambda tx: tx.all(every_event))
    assert [row.id for row in rows] == sorted({row.id for row in rows})
    said = defaultdict[tuple[str, str], list[str]](list)
    for row in rows:
        said[row.agent_id, row.env].append(row.kind)
    for name, agent in world.cast.items():
        if name == "Lena Gone":
            continue
        for on in CHAINS:
            read, since = list[Any](), None
            while page := (
                await world.call("list_events", agent, on, limit=100, **({"since": since} if since else {}))
            ):
                read += page["data"]
                since = page["next_since"]
                if not page["has_more"]:
                    break
            assert [one["type"] for one in read] == said[agent.id, on], name
            assert [one["id"] for one in read] == sorted({one["id"] for one in read})


async def stats_are_the_scripts_sums(ledger: Ledger, bounties_open: dict[str, int]) -> None:
    world = ledger.world
    now = world.market.clock.now()
    for on in CHAINS:
        deals = [deal for deal in ledger.deals if deal.on == on]
        own = [deal for deal in deals if deal.first_party]
        gone = sum(listing_on == on and name == "Lena Gone" for name, listing_on, _ in world.listings)
        listed = sum(listing_on == on for _, listing_on, _ in world.listings) - gone
        house = sum(listing_on == on and name == "House Press" for name, listing_on, _ in world.listings)
        seen = {agent for agent, at in world.seen.items() if (now - at).days < 7}
        told = await world.call("get_stats", None, env=on)
        shown = {name: value for name, value in told.items() if name not in ("object", "generated_at")}
        expected = {
            "env": on,
            "agents": 29,
            "agents_active_7d": len(seen - {world.cast["Lena Gone"].id}),
            "listings_active": listed,
            "jobs_completed": sum(deal.done for deal in deals),
            "jobs_open": sum(deal.status in UNFINISHED for deal in deals),
            "bounties_open": bounties_open[on],
            **_volume(deals),
            "settlements": sum(deal.payments for deal in deals),
            "first_party": {
                "agents": 1,
                "listings_active": house,
                "jobs_completed": sum(deal.done for deal in own),
                **_volume(own),
            },
        }
        assert shown == expected


def _volume(deals: Iterable[Any]) -> dict[str, Any]:
    minor = sum(deal.volume_minor for deal in deals)
    return {"volume_usdc_completed": minor, "volume_usdc_completed_display": display(minor)}


# -- disputes ----------------------------------------------------------------------------------------------------------


async def nobody_near_a_party_was_seated(ledger: Ledger) -> None:
    """Check that evaluators related to a party are drawn only for other parties' cases.

    One shares a wallet with a party, and one was referred by a party.
    """
    world = ledger.world
    near = {world.cast[MIRROR].id: world.cast[BUYERS[0]].id, world.cast[PROTEGE].id: world.cast[SELLERS[1]].id}
    times = Counter[tuple[str, bool]]()
    for deal in ledger.deals:
        if deal.case is None or deal.on == "live":
            continue
        drawn_from = {one for draw in await draws(deal) for one in orjson.loads(draw.eligible)}
        seated = {seat.agent_id for seat in await seats(deal)}
        parties = {deal.seller.id, deal.buyer.id}
        assert not parties & seated
        for judge, party in near.items():
            times[judge, party in parties] += 1
            assert judge not in drawn_from | seated if party in parties else judge in drawn_from, (judge, deal.case)
    assert min(times.values()) >= 3, "each had cases near it and cases far from it"
    cases = await world.store.read(lambda tx: tx.all(every_case))
    assert {deal.case for deal in ledger.deals if deal.case} == {case.id for case in cases}
    assert await world.store.read(lambda tx: all(tx.all(draws_of_dispute, dispute_id=case.id) for case in cases))


class Hit(NamedTuple):
    """A text that revealed the identity of a party to an evaluator."""

    way: str
    mark: str
    text: str


def tells(known: Known) -> re.Pattern[str]:
    """Return a pattern of all identifiers of an agent.

    Handles, names and domains match as whole words, the others anywhere.
    """
    anywhere = [known.id, *known.keys, *(key.rsplit(":", 1)[-1] for key in known.keys)]
    anywhere += [wallet[2:] for wallet in known.wallets]
    words = [*known.handles, *known.domains, *known.names]
    spaced = [re.escape(one.casefold()) for one in words if one.isascii() or " " in one]
    unspaced = [re.escape(one.casefold()) for one in words if not (one.isascii() or " " in one)]
    edges = "|".join(f"(?<![\\w.-]){one}(?![\\w-])" for one in spaced)
    return re.compile("|".join([*(re.escape(one.casefold()) for one in anywhere), edges, *unspaced]))


def strings(value: Any) -> Iterator[str]:
    """Yield every string in a JSON value, including names of members."""
    if isinstance(value, str):
        yield value
    for inner in [*value, *value.values()] if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from strings(inner)


def hits(world: World) -> list[Hit]:
    """Return each text that revealed a party of any case to an evaluator."""
    parties = {agent_id for read in world.reads for agent_id in read.parties}
    patterns = [tells(world.known[one]) for one in sorted(parties)]
    shown = {(read.way, text) for read in world.reads for text in strings(orjson.loads(read.body))}
    return [
        Hit(way, found.group(), text[:300])
        for way, text in sorted(shown)
        for pattern in patterns
        if (found := pattern.search(text.casefold()))
    ]


def files_were_full(world: World) -> int:
    """Check that every part of every case file had something to redact; return the number read."""
    files = [orjson.loads(read.body) for read in world.reads if read.way == "get_dispute"]
    for file in files:
        assert min(file["case"]["redactions"].values()) > 0, file["case"]["redactions"]
    return len(files)
