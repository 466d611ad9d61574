"""A process that ends twice, soon after each other, leaves no task that never ends."""

import gc
from collections.abc import Mapping
from typing import Any

import pytest

from tests.simulation.machine import Machine
from tests.simulation.neighbours import Receivers
from tests.simulation.records import Result
from tests.simulation.run import Plan, run
from tests.simulation.scenarios import Scenario
from tests.simulation.small_market import judge_by

SMALL = Scenario(sellers=0, buyers=0, evaluators=0, clients=0, traders=3, quiet_seconds=2_000.0)


def test_a_post_of_an_ended_process_is_cancelled_with_the_run(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    machines, posts, post, opened = list[Machine](), list[str](), Receivers.post, Machine.open

    def open_it(machine: Machine) -> None:
        machines.append(machine)
        opened(machine)

    async def posted(web: Receivers, url: str, body: bytes, headers: Mapping[str, str], by: str) -> Any:
        posts.append(url)
        gc.collect()
        if len(posts) == 1:
            for seconds in (0.0, 1.0):
                machines[0].loop.call_later(seconds, machines[0].end)
        return await post(web, url, body, headers, by)

    monkeypatch.setattr("tests.simulation.simulation.QUIET_EVERY", 20)
    monkeypatch.setattr("tests.simulation.simulation.REST_SECONDS", 0.1)
    monkeypatch.setattr(Machine, "open", open_it)
    monkeypatch.setattr(Receivers, "post", posted)
    judge_by(monkeypatch, SMALL)
    found = run(Plan(4, 60))
    assert isinstance(found, Result)
    assert len(machines) == 3
    gc.collect()
    assert [one.message for one in caplog.records if one.name == "asyncio"] == []
