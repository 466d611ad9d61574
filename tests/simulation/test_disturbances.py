"""The faults of a run: each one happens, ends, and is noticed if the market does not withstand it."""

import asyncio
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

import pytest

from tests.simulation.loop import BEGIN, SimulatedLoop, VirtualClock
from tests.simulation.matrix import FAULTS
from tests.simulation.messages import NOTIFICATION, WAKE_UP, Messages
from tests.simulation.neighbours import Receivers
from tests.simulation.processes import Process, StoppableLoop
from tests.simulation.records import Result
from tests.simulation.run import Failure, Plan, run
from tests.simulation.scenarios import Scenario, named
from tests.simulation.targets import STRIKES
from tools.kernel.ssrf_guard import UrlUnreachable

SEED = 17
OFTEN: dict[str, float] = dict.fromkeys(
    ("node_seconds", "webhook_seconds", "sanction_seconds", "clock_seconds", "message_seconds"), 60.0
)
ALL = replace(named("default"), cheats=0.0, deep_reorgs=0.4, peers=0.9, lost_replies=0.02, **OFTEN)
PAIR = replace(named("two_processes"), cheats=0.0, stop_seconds=120.0, clock_seconds=60.0, message_seconds=30.0)


@pytest.fixture
def scenario(monkeypatch: pytest.MonkeyPatch) -> Callable[[Scenario], None]:
    """Return a function that sets the scenario of all runs."""
    return lambda given: monkeypatch.setattr("tests.simulation.run.named", lambda _: given)


def made(operations: int, database: str = "sqlite", log: Path | None = None) -> Result:
    found = run(Plan(SEED, operations, database=database, log=log))
    assert isinstance(found, Result), found.message
    return found


def failure(operations: int) -> str:
    found = run(Plan(SEED, operations))
    assert isinstance(found, Failure)
    return found.message


# -- runs --------------------------------------------------------------------------------------------------------------


@pytest.mark.repeated(1_500, 1_000)
def test_a_run_withstands_every_fault_of_one_process(scenario: Callable[[Scenario], None], repetitions: int) -> None:
    scenario(ALL)
    faults = made(repetitions).faults
    assert faults.keys() <= set(FAULTS)
    new = {"nodes", "reorg", "deep_reorg", "webhook_lost", "sanctions", "clock", "lost_reply", "peer", WAKE_UP}
    assert new <= faults.keys()


@pytest.mark.repeated(5_000, 3_500)
def test_rare_moves_alone_meet_every_class_of_faults_that_is_switched_on(
    scenario: Callable[[Scenario], None], repetitions: int
) -> None:
    on = {setting for setting, _ in STRIKES.values()}
    never = {name: 1e12 if name.endswith("_seconds") else 1e-12 for name in on}
    by_commit = dict.fromkeys(("commits_between_crashes", "inserts_between_conflicts"), 10**12)
    many = replace(ALL, sellers=0, buyers=2, evaluators=6, traders=14, targeted_seconds=5.0)
    scenario(replace(many, facilitator=0.0, peers=0.0, **never | by_commit))
    assert set(STRIKES) <= made(repetitions).faults.keys()


@pytest.mark.repeated(1_000, 400)
def test_two_processes_stop_crash_and_miss_notifications_and_one_seed_gives_one_log(
    scenario: Callable[[Scenario], None], repetitions: int, tmp_path: Path
) -> None:
    scenario(PAIR)
    first, second = (made(repetitions, "postgres", tmp_path / name) for name in ("first", "second"))
    assert (tmp_path / "first").read_bytes() == (tmp_path / "second").read_bytes()
    assert first.digest == second.digest
    assert {"stopped", NOTIFICATION, "clock"} <= first.faults.keys()


def test_sqlite_refuses_a_second_process() -> None:
    with pytest.raises(ValueError, match="2 processes need PostgreSQL"):
        run(Plan(SEED, 10, "two_processes"))


@pytest.mark.parametrize(
    ("traders", "name", "instead", "message"),
    [
        (0, "tools.jobs.payments.logic.refuse_sanctioned", lambda *_: None, "which is on a list"),
        (8, "tools.discovery.peer_catalogs.Reader._is_reachable", lambda *_: True, "forbidden entry"),
    ],
)
def test_a_rule_about_neighbours_that_is_not_kept_is_found(
    traders: int,
    name: str,
    instead: Any,
    message: str,
    scenario: Callable[[Scenario], None],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    scenario(Scenario(sellers=1, buyers=3, evaluators=0, clients=0, traders=traders, sanction_seconds=5.0))
    monkeypatch.setattr(name, instead)
    assert message in failure(4_000)


# -- processes ---------------------------------------------------------------------------------------------------------


async def steps(seen: list[str], name: str) -> None:
    for step in range(3):
        await asyncio.sleep(1)
        seen.append(f"{name}{step}")


def test_a_stopped_process_does_nothing_and_then_goes_on_with_what_it_remembers() -> None:
    loop, seen = StoppableLoop(Random(1)), list[str]()
    one, other = Process(loop), Process(loop)

    async def main() -> None:
        tasks = [
            loop.create_task(steps(seen, name), context=process.context.copy())
            for name, process in (("a", one), ("b", other))
        ]
        await asyncio.sleep(1.5)
        other.stop()
        await asyncio.sleep(10)
        assert seen == ["a0", "b0", "a1", "a2"]
        assert not other.ran_since(11.0)
        one.go_on()  # as at the end of a process, which was not stopped
        other.go_on()
        await asyncio.gather(*tasks)
        assert one.ran_since(0.0)
        assert not other.ran_since(11.0)
        assert other.ran_since(12.0)
        assert seen[4:] == ["b1", "b2"]
        assert loop.time() == pytest.approx(12.5)

    with asyncio.Runner(loop_factory=lambda: loop) as runner:
        runner.run(main())


def test_what_is_cancelled_while_its_process_is_stopped_does_not_run_later() -> None:
    loop, seen = StoppableLoop(Random(1)), list[str]()
    process = Process(loop)

    async def main() -> None:
        timer = process.context.run(loop.call_later, 1, seen.append, "late")
        process.stop()
        await asyncio.sleep(2)
        timer.cancel()
        process.go_on()
        await asyncio.sleep(1)

    with asyncio.Runner(loop_factory=lambda: loop) as runner:
        runner.run(main())
    assert seen == []


# -- clocks ------------------------------------------------------------------------------------------------------------


def test_a_clock_knows_the_earliest_and_the_latest_time_that_it_has_shown() -> None:
    loop = SimulatedLoop(Random(1))
    loop.close()
    clock = VirtualClock(loop)

    def at(seconds: float) -> Any:
        return BEGIN + timedelta(seconds=seconds)

    loop.elapsed = 100.0
    assert (clock.now(), clock.earliest(40.0), clock.latest()) == (at(100), at(40), at(100))
    clock.jump(timedelta(seconds=50))
    loop.elapsed = 110.0
    assert (clock.now(), clock.earliest(90.0), clock.earliest(105.0), clock.latest()) == (
        at(160),
        at(90),
        at(155),
        at(160),
    )
    clock.jump(timedelta(seconds=-60))
    loop.elapsed = 120.0
    assert (clock.now(), clock.earliest(105.0), clock.latest()) == (at(60), at(50), at(160))
    assert clock.monotonic() == 120.0


# -- messages ----------------------------------------------------------------------------------------------------------


def test_messages_are_lost_doubled_and_late_only_while_they_fail() -> None:
    loop, noted, received = SimulatedLoop(Random(1)), Counter[str](), Counter[int]()
    messages = Messages(loop, Random(2), lambda kind: noted.update([kind]))

    async def main() -> Counter[int]:
        for number in range(100):
            messages.deliver(WAKE_UP, partial(received.update, [number]))
        assert received == Counter(range(100))
        messages.failing = True
        for number in range(100, 200):
            messages.deliver(WAKE_UP, partial(received.update, [number]))
        at_once = Counter(received)
        messages.failing = False
        await asyncio.sleep(1_000)
        return at_once

    with asyncio.Runner(loop_factory=lambda: loop) as runner:
        at_once = runner.run(main())
    times = Counter(received[number] for number in range(100, 200))
    assert noted[WAKE_UP] > 50
    assert min(times[0], times[1], times[2]) > 10
    assert 10 < sum(received.values()) - sum(at_once.values()) < 50


async def test_an_answer_of_a_receiver_may_be_lost_after_it_took_the_body() -> None:
    noted = Counter[str]()
    web = Receivers(Random(3), lambda kind: noted.update([kind]))

    async def post(body: bytes) -> None:
        try:
            await web.post("https://a.example", body, {"webhook-id": "evt_1", "X-Webhook-Id": "whk_1"}, "agt_1")
        except UrlUnreachable:
            noted["unreachable"] += 1

    web.failing = True
    for _ in range(60):
        await post(b'{"webhook_id": "whk_1"}')
    assert web.repeated == noted["webhook_lost"] - 1 > 5
    assert noted["unreachable"] > noted["webhook_lost"]
    assert web.contradictions == []
    web.failing = False
    await post(b'{"webhook_id": "whk_2"}')
    assert web.contradictions == [("https://a.example", "evt_1 whk_1")]
