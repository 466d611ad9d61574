"""A scripted world on the embedded chain: thirty agents, two hundred jobs, and every possible end of a job."""

from collections import Counter
from collections.abc import AsyncIterator
from pathlib import Path
from random import Random  # noqa: TID251 - seeded: the same world every time

import pytest

from server.doctor import examine
from server.settings import read_settings
from tests.end_to_end.world import changes, checks, courts, script
from tests.end_to_end.world.cast import BUYERS, COUNTED, HOUSE, JUDGES, LEAVER, SELLERS, World
from tests.end_to_end.world.counted import EXPECTED, figures, trade_to_be_counted
from tests.end_to_end.world.deals import Ledger
from tests.support.databases import Opening, close
from tests.support.protocols import WIRES, served, wire
from tools.operator.aggregate_checks import AGGREGATES, PROOFS

DAY = 86_400
REPEATS, ON_LIVE, ON_HAND = 5, 2, 4
SECRETS = {"signing_seed": "11" * 32, "key_pepper": "22" * 32}


@pytest.fixture
async def world(database_url: str, opening: Opening) -> AsyncIterator[World]:
    async with World(opening(database_url)) as made:
        yield made


def ordinary(ledger: Ledger, dice: Random) -> list[tuple[float, script.Story]]:
    """Return jobs of every kind between any seller and any buyer on test.

    Some kinds are also on live, and some are sold by the operator.
    """
    told = list[tuple[float, script.Story]]()
    for number, tale in enumerate(list(script.JOBS.values()) * REPEATS):
        seller = HOUSE if number % 40 == 0 else dice.choice(SELLERS)
        deal = ledger.deal(tale.__name__, seller, dice.choice(BUYERS))
        told.append((dice.randrange(DAY), tale(deal)))
    for tale in script.LIVE * ON_LIVE:
        deal = ledger.deal(tale.__name__, dice.choice(SELLERS[:2]), dice.choice(BUYERS), "live")
        told.append((dice.randrange(DAY), tale(deal)))
    return told


def disputed(ledger: Ledger, dice: Random) -> list[tuple[float, script.Story]]:
    told = list[tuple[float, script.Story]]()
    for tale, seller, buyer in courts.CASES:
        deal = ledger.deal(tale.__name__, SELLERS[seller], BUYERS[buyer])
        told.append((dice.randrange(DAY), tale(deal)))
    live = ledger.deal("too_few_on_live", SELLERS[0], BUYERS[2], "live")
    return [*told, (DAY // 2, courts.too_few_on_live(live))]


def changing(ledger: Ledger, dice: Random) -> list[tuple[float, script.Story]]:
    world, of = ledger.world, ledger.world.cast
    sela, zoe, maria, taro, quill, otto, nadir = (of[name] for name in SELLERS)
    bo, beatriz, kofi, leila, ines, pavel, rook = (of[name] for name in BUYERS)
    stories = [
        changes.renamed(world, zoe, "zoe-translates", "Zoé of Ångström"),
        changes.renamed(world, bo, "bo-the-buyer", "Bo T. Tanaka"),
        changes.rotated(world, sela, b"\x51" * 32),
        changes.rotated(world, beatriz, b"\x52" * 32),
        changes.recovered(world, kofi),
        changes.recovered(world, quill),
        changes.another_api_key(world, leila),
        changes.another_api_key(world, maria),
        changes.another_wallet(world, otto, 51),
        changes.another_wallet(world, pavel, 52),
        changes.another_wallet(world, nadir, 53),
        changes.domains(world, sela, zoe, otto),
        changes.rotated(world, taro, b"\x53" * 32),
        changes.recovered(world, rook),
        changes.another_api_key(world, ines),
    ]
    told: list[tuple[float, script.Story]] = [(dice.randrange(DAY // 4), story) for story in stories]
    waiting, paid = (ledger.deal("leaves", LEAVER, BUYERS[6]) for _ in range(2))
    return [*told, (DAY // 3, changes.leaves(world, waiting, paid))]


async def live_through(ledger: Ledger) -> None:
    """Run three days or more: the stories at once, cases with few judges, and unfinished jobs."""
    world, dice = ledger.world, Random(4)
    await script.together(world, [*ordinary(ledger, dice), *disputed(ledger, dice), *changing(ledger, dice)])
    await world.watch.after_step()
    for tale, judges in ((courts.two_on_test, JUDGES[:2]), (courts.nobody_on_test, ())):
        await courts.offering(world, *judges)
        await script.together(world, [(0, tale(ledger.deal(tale.__name__, SELLERS[1], BUYERS[0])))])
    await trade_to_be_counted(ledger)
    for number in range(ON_HAND):
        await left_as_it_is(ledger, number)
    await world.work()


async def left_as_it_is(ledger: Ledger, number: int) -> None:
    """Leave jobs open: ordered, paid, delivered and sealed; and a transfer not reported."""
    names = [ledger.deal("on hand", SELLERS[number], BUYERS[number]) for _ in range(3)]
    await names[0].order()
    await names[0].ends("open")
    await names[1].order("upfront")
    await names[1].sells("accept_job")
    await names[1].pay()
    await names[1].ends("in_progress")
    await names[2].order()
    await names[2].sells("accept_job")
    await names[2].deliver()
    ledger.world.unshown.add(await names[2].send())
    await names[2].ends("delivered")


async def read_over_every_wire(ledger: Ledger) -> None:
    """Compare the answers of REST, MCP and A2A to the first seats of two cases."""
    world = ledger.world
    some = [deal for deal in ledger.deals if deal.case and deal.on == "test"][:2]
    async with served(world.market) as url:
        for name in WIRES:
            async with wire(name, url) as call:
                for deal in some:
                    (first, *_) = await courts.seats(deal)
                    judge = next(one for one in world.cast.values() if one.id == first.agent_id)
                    seen = await call("get_dispute", {"dispute_id": deal.case}, judge.keys["test"])
                    assert seen["case"], seen
                    assert seen == await world.call("get_dispute", judge, dispute_id=deal.case)


async def check(ledger: Ledger, world: World) -> None:
    await world.watch.at_the_end()
    assert await checks.settlements_are_the_chains_transfers(world) >= 150
    await checks.every_job_stands_where_its_script_says(ledger)
    await checks.nobody_near_a_party_was_seated(ledger)
    assert checks.hits(world) == []
    assert checks.files_were_full(world) > 200
    await checks.events_have_no_gaps(world)
    await world.market.workers.write_touches()
    await checks.stats_are_the_scripts_sums(ledger, {"test": 0, "live": 0})
    for name in COUNTED:
        assert (await figures(world, name)) == EXPECTED[name]


async def test_a_scripted_world_leaves_nothing_wrong_behind(
    world: World, database_url: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    ledger = Ledger(world)
    await world.populate()
    await live_through(ledger)
    kinds = Counter(ledger.kinds)
    assert len(world.cast) == 30
    assert len(ledger.deals) >= 200
    assert set(script.JOBS) | {tale.__name__ for tale, *_ in courts.CASES} <= set(kinds)
    await read_over_every_wire(ledger)
    await check(ledger, world)
    await close(world.store)
    settings = read_settings(_env_file=None, database_url=database_url, data_dir=tmp_path / "data", **SECRETS)
    capsys.readouterr()
    assert await examine(settings, recomputing=True) == 0
    lines = [line for line in capsys.readouterr().out.splitlines() if "recomputed: " in line]
    assert lines == [
        f"ok    recomputed: {one.table} ({', '.join(one.columns)}): 0 differ" for one in (*AGGREGATES, *PROOFS)
    ]
