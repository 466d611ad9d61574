"""A run: one seed, a market on a database, its neighbours, and a population that makes a number of calls."""

import asyncio
from collections import Counter
from collections.abc import Callable, Coroutine
from contextlib import suppress
from dataclasses import replace
from hashlib import sha256
from random import Random
from typing import Any, TextIO, TypeVar

import orjson

from storage.transaction import Tx, Unavailable
from storage.vocabulary import Env
from tests.simulation.available import Actions
from tests.simulation.chain import SimulatedChain
from tests.simulation.cheats.base import Cheat
from tests.simulation.cheats.ledger import Ledger
from tests.simulation.cheats.roster import next_of, recruit
from tests.simulation.contracted import Contracted
from tests.simulation.coverage import Coverage
from tests.simulation.facilitator import NotedFacilitator
from tests.simulation.faults import KINDS, CommitCrashes
from tests.simulation.log import EventLog
from tests.simulation.loop import SimulatedLoop, VirtualClock
from tests.simulation.machine import Crashed, Machine, Neighbours, slow_down
from tests.simulation.neighbours import Receivers, Zone
from tests.simulation.nodes import Nodes
from tests.simulation.oracles import ORACLES, Oracle
from tests.simulation.populate import populate
from tests.simulation.population import Actor, Identity
from tests.simulation.records import Failed, Observation, Result, Violation
from tests.simulation.scenarios import Scenario
from tests.simulation.settle import settle
from tests.simulation.taint import Taint
from tests.simulation.targets import Targets
from tests.simulation.visits import Visits
from tests.simulation.wires import ADDRESS, UNSURE, WIRES, Answer, Call, address_of
from tests.support.market import SANDBOX, CountingDice, ListedAddresses, house
from tools.catalogue import CATALOGUE
from tools.engine.config import Limits

IN_FLIGHT = 8
TRIES = 40  # of a call that crashes and faults interrupt
REST_SECONDS = 5.0  # between two tries
LOOK_SECONDS = 300.0  # between two looks of the oracles
NETWORK = replace(SANDBOX, confirmations=3, facilitator_url="https://facilitator.example")
STORAGE = 16 * 2**20  # bytes per agent, so that a cheat can fill them
T = TypeVar("T")
Kind = TypeVar("Kind", bound=Oracle)


class Simulation:
    """One run. Everything in it is decided by the seed."""

    def __init__(
        self, seed: int, operations: int, scenario: Scenario, database_url: str, file: TextIO | None = None
    ) -> None:
        self.seed, self.operations, self.scenario = seed, operations, scenario
        self.random = Random(seed)
        self.loop = SimulatedLoop(self.new_random())
        self.clock = VirtualClock(self.loop)
        self.log = EventLog(self.clock.now, file)
        self.chain = SimulatedChain(NETWORK, self.clock, self.new_random())
        self.nodes = Nodes(self.chain, self.new_random(), asyncio.sleep)
        self.live = SimulatedChain(house().networks[Env.LIVE], self.clock, self.new_random())
        self.live_nodes = Nodes(self.live, self.new_random(), asyncio.sleep)
        self.facilitator = NotedFacilitator(self.chain, self.new_random(), asyncio.sleep)
        self.facilitator.begin(self.fault, scenario.facilitator)
        self.web, self.zone = Receivers(self.new_random(), self.fault), Zone()
        slow_down(scenario.pause_seconds)
        self.machine = Machine(
            self.loop, database_url, self._neighbours, CountingDice(str(self.random.getrandbits(64))),
            NETWORK, scenario.pause_seconds, CommitCrashes(self.new_random(), 0), self.fault,
        )  # fmt: skip
        if scenario.cheats:
            self.machine.config = replace(self.machine.config, limits=Limits(storage_bytes=STORAGE))
        self.made, self.ledger = 0, Ledger()
        self.by_operation, self.by_code, self.faults = Counter[str](), Counter[str](), Counter[str]()
        self.by_hour = Counter[int]()
        self.oracles: list[Oracle] = [kind(self) for kind in (*ORACLES, Actions, Taint, Visits, Contracted, Coverage)]
        self.targets = Targets(self)
        self.identities: dict[str, Identity] = {}
        self.later: list[asyncio.Task[None]] = []

    def new_random(self) -> Random:
        """Return a generator for one part of the run, which other parts' choices do not change."""
        return Random(self.random.getrandbits(64))

    def _neighbours(self, clock: VirtualClock) -> Neighbours:
        chains = {Env.TEST: self.nodes.reader(clock), Env.LIVE: self.live_nodes.reader(clock)}
        return Neighbours(chains, {Env.TEST: self.facilitator}, ListedAddresses(), self.web, self.zone)

    def run(self) -> Result:
        """Run to the end. Raises Failed at the first violation."""
        try:
            with asyncio.Runner(loop_factory=lambda: self.loop) as runner, self.oracle(Taint).searching_logs():
                runner.run(self._main())
        except Exception as error:
            raise Failed(self.made, error) from error
        figures = self.faults, self.by_operation, self.by_code, self.by_hour
        matrix = self.oracle(Coverage).matrix
        tried = self.oracle(Actions).tried
        return Result(self.seed, self.made, self.log.digest, self.loop.elapsed, *figures, matrix, self.ledger, tried)

    async def _main(self) -> None:
        self.machine.open()
        actors = await populate(self)
        self.machine.commit_crashes.every = self.scenario.commits_between_crashes
        async with asyncio.TaskGroup() as beside:
            loops = (
                self._crash(),
                self._restart(),
                self._disturb_database(),
                self._reorganise(),
                self._look(),
                self._silence(),
                self.targets.watch_deadlines(),
            )
            running = [beside.create_task(one) for one in loops]
            await self._act(actors, await recruit(self))
            for task in running:
                task.cancel()
        self.nodes.heal()
        await settle(self)
        for oracle in self.oracles:
            await oracle.at_end()
        await asyncio.gather(*self.later)
        self.machine.end()

    async def _act(self, actors: list[Actor], cheats: list[Cheat]) -> None:
        """Let random agents act, some at once, until enough calls were made."""
        busy: dict[asyncio.Task[None], Actor] = {}
        while self.made < self.operations:
            cheats_turn = self.random.random() < self.scenario.cheats
            actor = next_of(cheats, self.random) if cheats_turn else self.random.choice(actors)
            if actor not in busy.values():
                busy[asyncio.create_task(actor.act())] = actor
            await self._chance(self.scenario.gap_seconds)
            while len(busy) >= IN_FLIGHT:
                await asyncio.wait(busy, return_when=asyncio.FIRST_COMPLETED)
                self._collect(busy)
            self._collect(busy)
        if busy:
            await asyncio.wait(busy)
        await asyncio.gather(*self.later)
        self._collect(busy)

    def _collect(self, busy: dict[asyncio.Task[None], Actor]) -> None:
        for task in [task for task in busy if task.done()]:
            del busy[task]
            task.result()
        for check in [check for check in self.later if check.done()]:
            self.later.remove(check)
            check.result()

    async def _crash(self) -> None:
        """End the process at seeded moments, which may be between any two steps of its tasks."""
        while self.scenario.crash_seconds:
            await self._chance(self.scenario.crash_seconds)
            self.machine.end("crash")

    async def _restart(self) -> None:
        """Open the process again after each end."""
        while True:
            await self.machine.ended.wait()
            await self._chance(REST_SECONDS)
            self.machine.open()
            self.check_later(self._look_after_crash())  # beside this loop, because the process may crash meanwhile

    async def _look_after_crash(self) -> None:
        with suppress(Crashed):
            for oracle in self.oracles:
                await oracle.after_crash()

    async def _disturb_database(self) -> None:
        """Give the database one fault at a time, for a while."""
        while self.scenario.database_seconds:
            await self._chance(self.scenario.database_seconds)
            fault = self.random.choice(list(KINDS))
            if self.machine.store is not None:
                self.machine.store.database.fault = fault
            await self._chance(REST_SECONDS)
            if self.machine.store is not None:
                self.machine.store.database.fault = None

    async def _chance(self, seconds: float) -> None:
        """Wait for a random time, of this many seconds on average."""
        await asyncio.sleep(self.random.expovariate(1 / seconds))

    async def _reorganise(self) -> None:
        """Replace the newest blocks of the chain, fewer than the market waits for."""
        while self.scenario.reorg_seconds:
            await self._chance(self.scenario.reorg_seconds)
            depth = self.random.randint(1, NETWORK.confirmations - 1)
            self.fault("reorg", depth=depth, transactions=self.chain.reorg(depth))

    async def _silence(self) -> None:
        """Let no receiver of webhooks answer as it should, for a while."""
        while self.scenario.webhook_seconds:
            await self._chance(self.scenario.webhook_seconds)
            self.web.failing = True
            await self._chance(2 * REST_SECONDS)
            self.web.failing = False

    async def _look(self) -> None:
        while True:
            await asyncio.sleep(LOOK_SECONDS)
            for oracle in self.oracles:
                with suppress(Crashed):
                    await oracle.look()

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)

    def oracle(self, kind: type[Kind]) -> Kind:
        return next(one for one in self.oracles if isinstance(one, kind))

    def check_later(self, check: Coroutine[Any, Any, None]) -> None:
        self.later.append(asyncio.create_task(check))

    async def read(self, read: Callable[[Tx], T]) -> T:
        """Read the rows of the market, once a process runs and its database answers."""
        while True:
            with suppress(Unavailable):
                if self.machine.store is not None:
                    return await self.machine.store.read(read)
            await asyncio.sleep(REST_SECONDS)

    def fault(self, kind: str, **details: Any) -> None:
        self.faults[kind] += 1
        self.oracle(Coverage).struck(kind)
        self.log.write("fault", fault=kind, **details)

    async def call(self, agent: str | None, key: str | None, operation: str, /, **given: Any) -> Answer:
        """Make a call for an agent, and repeat it with its key while the process is down."""
        self.made += 1
        number, payment = self.made, given.pop("signed_payment", None)
        wire = "door" if self.random.random() >= self.scenario.wires else self.random.choice(WIRES[1:])
        if CATALOGUE[operation].auth == "admin" or operation == "buy_with_x402":  # the wires have no headers for these
            wire = "door"
        ip = ADDRESS if key else address_of(number)  # a call without a key counts against its address
        call = Call(number, operation, given, key, f"once-{number:024d}", wire, ip, payment=payment)
        began = self.clock.now()
        self.oracle(Contracted).begin(number)
        await self.targets.before_call(agent, operation, given)
        self.log.write("call", number=number, agent=agent, operation=operation, wire=wire, given=given)
        answer = await self._until_answered(call)
        self.by_operation[operation] += 1
        self.by_hour[int(self.loop.elapsed // 3600)] += 1
        self.by_code[answer.code or "ok"] += 1
        body = orjson.dumps(answer.body, option=orjson.OPT_SORT_KEYS)
        state = answer.body.get("status") if isinstance(answer.body, dict) else None
        about = {"status": answer.status, "code": answer.code, "state": state, "id": answer.body.get("id")}
        self.log.write("answer", number=number, sha256=sha256(body).hexdigest(), **about)
        seen = Observation(call, agent, answer, began, self.clock.now())
        for oracle in self.oracles:
            oracle.observe(seen)
        return answer

    async def ask(self, key: str, operation: str, /, *, dry_run: bool = False, **given: Any) -> Answer | None:
        """Make a call that is no operation of the run; None if a crash or a fault interrupted it."""
        call = Call(self.made, operation, given, key, ip="203.0.113.10", dry_run=dry_run)
        try:
            answer = await self.machine.call(call)
        except Crashed:
            return None
        return None if answer.status in UNSURE else answer

    async def _until_answered(self, call: Call) -> Answer:
        for tries in range(TRIES):
            answer = await self.repeat(call)
            if answer is not None and (not tries or answer.code != "rate_limited"):  # the limit comes before the replay
                return answer
            await self._chance(REST_SECONDS)
        raise Violation(f"no answer after {TRIES} tries: {call}")

    async def repeat(self, call: Call) -> Answer | None:
        """Make a call, which may be a repeat; return None if a crash or a fault interrupted it."""
        with suppress(Crashed):
            answer = await self.machine.call(call)
            if answer.status == 500:
                raise Violation(f"an internal error: {call}: {answer}")
            if answer.status not in UNSURE:
                return answer
        return None
