"""A run: one seed, a market on a database, its neighbours, and a population that makes a number of calls."""

import asyncio
from collections import Counter
from collections.abc import Callable, Coroutine
from contextlib import suppress
from dataclasses import replace
from hashlib import sha256
from math import inf
from random import Random
from typing import Any, TextIO, TypeVar

import orjson

from storage.open import SQLITE
from storage.transaction import Tx, Unavailable
from storage.vocabulary import Env
from tests.simulation.arrived import Arrived
from tests.simulation.available import Actions
from tests.simulation.chain import SimulatedChain
from tests.simulation.cheats.base import CHEATING, Cheat
from tests.simulation.cheats.ledger import Ledger
from tests.simulation.cheats.roster import next_of, recruit
from tests.simulation.contracted import Contracted
from tests.simulation.coverage import Coverage
from tests.simulation.deadlines import Deadlines
from tests.simulation.disturbances import Disturbances
from tests.simulation.evidence import Evidence
from tests.simulation.facilitator import NotedFacilitator
from tests.simulation.faults import CommitCrashes, Conflicts
from tests.simulation.fired import Fired
from tests.simulation.job_events import JobEvents
from tests.simulation.kept import Kept
from tests.simulation.keys import RevokedKeys
from tests.simulation.leases import Leases
from tests.simulation.limits import Places, Unanswered
from tests.simulation.log import EventLog
from tests.simulation.logged import Logged
from tests.simulation.loop import SimulatedLoop, VirtualClock
from tests.simulation.machine import Crashed, Machine, Neighbours, TimedOut, slowed_down, templates_compiled_once
from tests.simulation.messages import NOTIFICATION, WAKE_UP, Messages
from tests.simulation.model import NO_ANSWER
from tests.simulation.neighbours import Receivers, Zone
from tests.simulation.nodes import Nodes
from tests.simulation.oracles import ORACLES, Oracle
from tests.simulation.outside import Elsewhere, Received, Sanctioned
from tests.simulation.panels import Panels
from tests.simulation.payments import Payments
from tests.simulation.peers import PeerServers
from tests.simulation.populate import populate
from tests.simulation.population import Actor, Identity
from tests.simulation.processes import StoppableLoop
from tests.simulation.records import Failed, Observation, Result, Violation
from tests.simulation.refused_deliveries import RefusedDeliveries
from tests.simulation.refused_payments import RefusedPayments
from tests.simulation.retries import Retries
from tests.simulation.scenarios import Scenario
from tests.simulation.settle import settle
from tests.simulation.signed import Signed
from tests.simulation.taint import Taint
from tests.simulation.targets import Targets
from tests.simulation.timed import Timed
from tests.simulation.visits import Visits
from tests.simulation.wakeups import Wakeups
from tests.simulation.wires import ADDRESS, UNSURE, WIRES, Answer, Call, address_of
from tests.support.market import SANDBOX, CountingDice, ListedAddresses, house
from tools.catalogue import CATALOGUE
from tools.engine.config import Limits

MORE: tuple[type[Oracle], ...] = (
    Actions, Taint, Visits, Timed, JobEvents, Deadlines, Leases, RevokedKeys, Wakeups, Panels, Logged, Received, Sanctioned, Elsewhere,
    Payments, RefusedPayments, RefusedDeliveries, Signed, Arrived, Fired, Kept, Retries, Evidence, Places, Unanswered,
)  # fmt: skip
IN_FLIGHT = 8
QUIET_EVERY = 1_000  # operations
TRIES = 40  # of a call that crashes and faults interrupt
REST_SECONDS = 5.0  # between two tries
LOOK_SECONDS = 300.0  # between two looks of the oracles
NETWORK = replace(SANDBOX, confirmations=3, facilitator_url="https://facilitator.example")
PATIENCE_SECONDS = 200.0  # of a client, if a process may stop; a purchase takes 160
STORAGE = 16 * 2**20  # bytes per agent, so that a cheat can fill them
T = TypeVar("T")
Kind = TypeVar("Kind", bound=Oracle)


class Simulation:
    """One run. Everything in it is decided by the seed."""

    def __init__(
        self, seed: int, operations: int, scenario: Scenario, database_url: str, file: TextIO | None = None
    ) -> None:
        if scenario.processes > 1 and database_url.startswith(SQLITE):
            raise ValueError(f"{scenario.processes} processes need PostgreSQL; SQLite serves one")
        self.seed, self.operations, self.scenario = seed, operations, scenario
        self.random = Random(seed)
        self.loop = (StoppableLoop if scenario.processes > 1 else SimulatedLoop)(self.new_random())
        self.clock = VirtualClock(self.loop)
        self.log = EventLog(self.clock.now, file)
        self.chain = SimulatedChain(NETWORK, self.clock, self.new_random())
        self.nodes = Nodes(self.chain, self.new_random(), asyncio.sleep)
        self.live = SimulatedChain(house().networks[Env.LIVE], self.clock, self.new_random())
        self.live_nodes = Nodes(self.live, self.new_random(), asyncio.sleep)
        self.facilitator = NotedFacilitator(self.chain, self.new_random(), asyncio.sleep)
        self.facilitator.begin(self.fault, scenario.facilitator)
        self.web, self.zone = Receivers(self.new_random(), self.fault), Zone()
        self.peers = PeerServers(self.new_random(), self.fault, scenario.peers)
        self.sanctions = ListedAddresses()
        self.listed: dict[str, int] = {}  # by listed address: the calls that had begun before
        self.messages = Messages(self.loop, self.new_random(), self.fault)
        dice, crashes = CountingDice(str(self.random.getrandbits(64))), CommitCrashes(self.new_random(), 0)
        self.conflicts = Conflicts(self.new_random(), 0)
        self.machines = [self._machine(database_url, dice, crashes) for _ in range(scenario.processes)]
        self.machine = self.machines[0]
        self.made, self.by_cheats, self.ledger = 0, 0, Ledger()
        self.busy: dict[asyncio.Task[None], Actor] = {}  # by the task of its act
        self.set_up = 0  # operations that were made before the agents act
        self.missed_at = -inf  # the second of the loop at which a wake-up failed last
        self.by_operation, self.by_code, self.faults = Counter[str](), Counter[str](), Counter[str]()
        self.by_hour, self.calls_of = Counter[int](), Counter[str | None]()
        self.oracles: list[Oracle] = [kind(self) for kind in (*ORACLES, *MORE, Contracted, Coverage)]
        self.targets = Targets(self)
        self.identities: dict[str, Identity] = {}
        self.beside: list[asyncio.Task[None]] = []  # what runs beside the calls of the agents
        self.looking = asyncio.Lock()  # an oracle looks once at a time
        self.disturbances = Disturbances(self)
        self.double_next = self.lose_next = False  # the next call that writes, the next answer

    def _machine(self, database_url: str, dice: CountingDice, crashes: CommitCrashes) -> Machine:
        made = Machine(
            self.loop, database_url, self._neighbours, dice, NETWORK, self.scenario.pause_seconds, crashes,
            self.conflicts, self.messages, self.fault,
        )  # fmt: skip
        made.on_purchase = self._look_at_purchases
        if self.scenario.cheats:
            made.config = replace(made.config, limits=Limits(storage_bytes=STORAGE))
        if self.scenario.stop_seconds:
            made.patience = PATIENCE_SECONDS
        return made

    def _look_at_purchases(self) -> None:
        """Look after each change, because a purchase leaves no trace of the statuses it passes."""
        self.start(self.oracle(Coverage).look_at_purchases())

    def new_random(self) -> Random:
        """Return a generator for one part of the run, which other parts' choices do not change."""
        return Random(self.random.getrandbits(64))

    def _neighbours(self, clock: VirtualClock) -> Neighbours:
        chains = {Env.TEST: self.nodes.reader(clock), Env.LIVE: self.live_nodes.reader(clock)}
        facilitators = {Env.TEST: self.facilitator}
        return Neighbours(chains, facilitators, self.sanctions, self.web, self.zone, self.peers)

    def run(self) -> Result:
        """Run to the end. Raises Failed at the first violation."""
        try:
            loop = asyncio.Runner(loop_factory=lambda: self.loop)
            with (
                slowed_down(self.scenario.pause_seconds),
                templates_compiled_once(),
                self.oracle(Logged).listening(),
                loop as runner,
                self.oracle(Taint).searching_logs(),
            ):
                try:
                    runner.run(self._main())
                finally:
                    self.disturbances.end_stops()  # a stopped process does not even end
                    for task in filter(asyncio.Task.done, (*self.beside, *self.busy)):  # the run reports one violation
                        task.cancelled() or task.exception()
        except Exception as error:
            raise Failed(self.made, error) from error
        figures = self.faults, self.by_operation, self.by_code, self.by_hour
        matrix = self.oracle(Coverage).matrix
        return Result(
            self.seed, self.made, self.log.digest, self.loop.elapsed, *figures, matrix, self.ledger, self.by_cheats,
            self.oracle(Actions).tried,
        )  # fmt: skip

    async def _main(self) -> None:
        for machine in self.machines:
            machine.open()
        actors = await populate(self)
        self.machine.commit_crashes.every = self.scenario.commits_between_crashes
        self.conflicts.every = self.scenario.inserts_between_conflicts
        async with asyncio.TaskGroup() as beside:
            loops = (
                *self.disturbances.loops(), *map(self._restart, self.machines), self._look(), self.targets.watch_deadlines(),
            )  # fmt: skip
            running = [beside.create_task(one) for one in loops]
            await self._act(actors, await recruit(self))
            for task in running:
                task.cancel()
        await settle(self)
        for oracle in self.oracles:
            await oracle.at_end()
        await asyncio.gather(*self.beside)
        for machine in self.machines:
            machine.end()

    async def _act(self, actors: list[Actor], cheats: list[Cheat]) -> None:
        """Let random agents act, some at once, until enough calls were made."""
        busy, quiet_at, self.set_up = self.busy, QUIET_EVERY, self.made
        while self.made < self.operations:
            if self.made >= quiet_at:
                quiet_at += QUIET_EVERY
                await self.sleep(self.scenario.quiet_seconds)
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
        self._collect(busy)
        while self.beside:  # a crash adds another look
            await asyncio.wait(self.beside)
            self._collect(busy)

    def _collect(self, busy: dict[asyncio.Task[None], Actor]) -> None:
        for task in [task for task in busy if task.done()]:
            del busy[task]
            task.result()
        for task in [task for task in self.beside if task.done()]:
            self.beside.remove(task)
            task.result()

    async def _restart(self, machine: Machine) -> None:
        """Open a process again after each end."""
        while True:
            await machine.ended.wait()
            await self._chance(REST_SECONDS)
            machine.open()
            self.start(self._look_after_crash())  # the process may end during a look

    async def _look_after_crash(self) -> None:
        async with self.looking:
            for oracle in self.oracles:
                with suppress(TimedOut):
                    await oracle.after_crash()

    async def _chance(self, seconds: float) -> None:
        """Wait for a random time, of this many seconds on average."""
        await asyncio.sleep(self.random.expovariate(1 / seconds))

    async def _look(self) -> None:
        while True:
            await asyncio.sleep(LOOK_SECONDS)
            async with self.looking:
                for oracle in self.oracles:
                    await oracle.look()

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)

    def oracle(self, kind: type[Kind]) -> Kind:
        return next(one for one in self.oracles if isinstance(one, kind))

    def start(self, coroutine: Coroutine[Any, Any, None]) -> None:
        """Run a coroutine beside the calls of the agents."""
        self.beside.append(asyncio.create_task(coroutine))

    async def read(self, read: Callable[[Tx], T]) -> T:
        """Read the rows of the market, once a process runs and its database answers."""
        while True:
            for store in [one.store for one in self.machines if one.store is not None]:
                with suppress(Unavailable):
                    return await store.read(read)
            await asyncio.sleep(REST_SECONDS)

    def fault(self, kind: str, **details: Any) -> None:
        self.faults[kind] += 1
        if kind in (NOTIFICATION, WAKE_UP):
            self.missed_at = self.loop.elapsed
        self.oracle(Coverage).struck(kind)
        self.log.write("fault", fault=kind, **details)

    def count(self) -> int:
        """Count an operation and return its number."""
        self.made += 1
        self.by_cheats += CHEATING.get()
        return self.made

    async def call(self, agent: str | None, key: str | None, operation: str, /, **given: Any) -> Answer:
        """Make a call for an agent. Its message may arrive twice; both answers then are observed."""
        number, payment, name = self.count(), given.pop("signed_payment", None), given.pop("idempotency_key", None)
        wire = "door" if self.random.random() >= self.scenario.wires else self.random.choice(WIRES[1:])
        if CATALOGUE[operation].auth == "admin" or operation == "buy_with_x402":  # the wires have no headers for these
            wire = "door"
        ip = ADDRESS if key else address_of(number)  # a call without a key counts against its address
        name = name or self._name(number, agent, key)
        call = Call(number, operation, given, key, name, wire, ip, payment=payment)
        await self.targets.before_call(agent, call)
        doubled = self.random.random() < self.scenario.doubled or self.double_next
        if call.op.safe or payment is not None or not doubled:
            return await self._observed(agent, call)
        self.double_next = False
        self.fault("doubled")
        twin = replace(call, number=self.count())
        answers = await asyncio.gather(self._observed(agent, call), self._observed(agent, twin))
        return next((one for one in answers if not one.refused), answers[0])

    async def _observed(self, agent: str | None, call: Call) -> Answer:
        """Make a call, again while the process is down, and show the answer to all oracles."""
        began = self.loop.elapsed
        self.oracle(Contracted).begin(call.number)
        about = {"operation": call.operation, "wire": call.wire, "given": call.arguments}
        self.log.write("call", number=call.number, agent=agent, **about)
        answer, tries = await self._until_answered(call, agent)
        self.counted(call.operation, answer.code or "ok")
        body = orjson.dumps(answer.body, option=orjson.OPT_SORT_KEYS)
        state = answer.body.get("status") if isinstance(answer.body, dict) else None
        about = {"status": answer.status, "code": answer.code, "state": state, "id": answer.body.get("id")}
        self.log.write("answer", number=call.number, sha256=sha256(body).hexdigest(), **about)
        seen = self._observation(call, agent, answer, began, tries)
        for oracle in self.oracles:
            oracle.observe(seen)
        return answer

    def counted(self, operation: str, code: str) -> None:
        """Count an answered call or raw request."""
        self.by_operation[operation] += 1
        self.by_hour[int(self.loop.elapsed // 3600)] += 1
        self.by_code[code] += 1

    def _observation(self, call: Call, agent: str | None, answer: Answer, began: float, tries: int = 1) -> Observation:
        """Return a call with the bounds of its time.

        The earliest is what a clock of the market showed during the call. The latest is what one ever showed, because a
        deadline that has acted stays so if the clock then goes back.
        """
        clocks = [one.clock for one in self.machines]
        bounds = min(one.earliest(began) for one in clocks), max(one.latest() for one in clocks)
        return Observation(call, agent, answer, *bounds, began, tries)

    def _name(self, number: int, agent: str | None, key: str | None) -> str:
        """Return the idempotency key of a call.

        Every tenth key of an agent is one that other agents use too.
        """
        self.calls_of[agent] += 1
        own = self.calls_of[agent]
        shared = own % 10 == 0 and key is not None and key.startswith("as_")
        return f"call-{own}" if shared else f"once-{number:024d}"

    async def ask(self, key: str, operation: str, /, *, dry_run: bool = False, **given: Any) -> Answer | None:
        """Make a call that is no operation of the run; None if a crash or a fault interrupted it."""
        call = Call(self.made, operation, given, key, ip="203.0.113.10", dry_run=dry_run)
        try:
            answer = await self.machine.call(call)
        except (Crashed, TimedOut):
            return None
        return None if answer.status in UNSURE else answer

    async def _until_answered(self, call: Call, agent: str | None) -> tuple[Answer, int]:
        """Make a call until it is answered; return the answer, and how often it was made."""
        for tries in range(TRIES):
            began = self.loop.elapsed
            try:
                answer = await self.repeat(call)
            except TimedOut:
                answer = None
                self.oracle(Contracted).lost(self._observation(call, agent, Answer(NO_ANSWER, {}), began))
            if answer is not None and (not tries or answer.code != "rate_limited"):  # the limit comes before the replay
                return answer, tries + 1
            await self._chance(REST_SECONDS)
        raise Violation(f"no answer after {TRIES} tries: {call}")

    async def repeat(self, call: Call) -> Answer | None:
        """Make a call, which may be a repeat; return None if a crash or a fault interrupted it.

        Raises TimedOut.
        """
        with suppress(Crashed):
            answer = await self.random.choice(self.machines).call(call)
            if answer.status == 500:
                raise Violation(f"an internal error: {call}: {answer}")
            if self.lose_next or (self.scenario.lost_replies and self.random.random() < self.scenario.lost_replies):
                self.lose_next = False
                self.fault("lost_reply", number=call.number)
                return None
            if answer.status not in UNSURE:
                return answer
        return None
