"""One process of the market: it opens the database, serves calls, and can lose everything it keeps in memory."""

import asyncio
from collections.abc import Callable, Coroutine, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any
from unittest.mock import patch

from jinja2 import Environment

import server.peers
import server.webhook_sender
import server.workers
from server.adapters.checker import faults
from server.adapters.clock import SeedSigner
from server.app import Served, assemble, make_market
from server.middleware import Edge, hosts_of
from server.peers import PeerCatalogs
from server.settings import Settings
from server.webhook_sender import Sender
from server.workers import DailyRechecks, Workers
from storage.vocabulary import Env
from tests.simulation.faults import CommitCrashes, Conflicts
from tests.simulation.loop import SimulatedLoop, VirtualClock
from tests.simulation.messages import Messages
from tests.simulation.peers import PeerServers
from tests.simulation.processes import Process
from tests.simulation.store import SimulatedStore, open_simulated
from tests.simulation.wires import OVER, Answer, Call, through_door
from tests.support.market import house
from tools.engine.config import Network
from tools.engine.ports import Chain, Dns, Facilitator, HttpClient, RandomSource, Sanctions, World
from tools.kernel.errors import Json
from tools.kernel.json_schema import Violation

PROXY = "192.0.2.1"  # a trusted proxy in front of the market
SIGNING_SEED = bytes(32)  # of the market's key


class Crashed(Exception):
    """The process ended before it answered."""


class TimedOut(Exception):
    """No answer came in time; the process may do what it was asked later."""


class Checks:
    """The checks of documents, made at once in this process."""

    async def violations(self, schema: str, value: Json, *, by: str) -> Sequence[Violation]:
        return [Violation(path, message) for path, message in faults("schema", schema, value)]

    async def unkept(self, rules: str, output: Json, *, by: str) -> Sequence[tuple[str, str]]:
        return faults("acceptance", rules, output)


@dataclass(frozen=True)
class Neighbours:
    """Everything outside the market, simulated."""

    chains: Mapping[Env, Chain]
    facilitators: Mapping[Env, Facilitator]
    sanctions: Sanctions
    web: HttpClient
    dns: Dns
    peers: PeerServers


class Machine:
    """A process of the market on a database.

    `pause` are the seconds between two rounds of its background loops, and `patience` those that a client waits for an
    answer.
    """

    patience: float | None = None
    on_purchase: Callable[[], None]

    def __init__(
        self,
        loop: SimulatedLoop,
        database_url: str,
        neighbours: Callable[[VirtualClock], Neighbours],
        dice: RandomSource,
        network: Network,
        pause: float,
        commit_crashes: CommitCrashes,
        conflicts: Conflicts,
        messages: Messages,
        note: Callable[[str], None],
    ) -> None:
        self.commit_crashes, self.conflicts, self.messages, self.note = commit_crashes, conflicts, messages, note
        self.loop, self.database_url, self.dice, self.pause = loop, database_url, dice, pause
        self.clock, self.process = VirtualClock(loop), Process(loop)
        self.neighbours = neighbours(self.clock)
        made = house()
        referrals = self.neighbours.peers.origins
        self.config = replace(made, networks=dict(made.networks) | {Env.TEST: network}, referrals=referrals)
        self.settings = Settings(_env_file=None, trusted_proxies=[PROXY])
        self.tasks: dict[int, asyncio.Task[Any]] = {}  # in the order of their creation
        self.posts: list[set[asyncio.Task[bool]]] = []  # of webhooks; crashes leave some, which the loop's end cancels
        self.started = 0
        self.ended = asyncio.Event()
        self.store: SimulatedStore | None = None
        self.served: Served | None = None

    @property
    def alive(self) -> bool:
        return self.served is not None

    def open(self) -> None:
        """Start the process on what is durable."""
        self.ended.clear()
        self.process.context.copy().run(self._open)

    def _open(self) -> None:
        self.store = store = open_simulated(self.database_url, self.note)
        store.messages = self.messages
        store.fault_hook, store.on_crash, store.on_purchase = self.commit_crashes, self.end, self.on_purchase
        store.database.conflicts = self.conflicts
        store.now_seconds = self.clock.monotonic
        near = self.neighbours
        world = World(
            self.clock, self.dice, near.chains, SeedSigner(SIGNING_SEED), near.sanctions, Checks(), near.web, near.dns,
            near.facilitators,
        )  # fmt: skip
        market = make_market(store, world, self.config)
        hosts = hosts_of(self.config.urls)
        self.served = assemble(market, self.settings, hosts)
        self.edge = Edge(self.served, hosts, self.config.docs_url, self.dice)
        workers, sender = Workers(market), Sender(market)
        self.posts.append(sender.in_flight)
        for step in workers.steps:
            step.every_seconds = max(step.every_seconds, self.pause * 4)
        self.is_ready = asyncio.Event()  # as a server accepts no request before its lifespan has begun
        self.start(self._sessions(self.served, self.is_ready))
        catalogs = PeerCatalogs(market, near.peers)
        for loop in (workers.run(), sender.run(), DailyRechecks(market).run(), catalogs.run()):
            self.start(loop)

    def disturb(self, fault: str | None) -> None:
        """Give the database a fault, or none, as far as this process sees it."""
        if self.store is not None:
            self.store.database.fault = fault

    async def call(self, call: Call) -> Answer:
        """Make a call.

        Raises Crashed if the process ends first, and TimedOut if the client does not wait longer.
        """
        if self.served is None:
            raise Crashed
        made = through_door(self.served.market, call) if call.wire == "door" else self._over_wire(call)
        task = self.start(made)
        await asyncio.wait([task], timeout=self.patience)
        if not task.done():
            raise TimedOut
        if task.cancelled():
            raise Crashed
        answer: Answer = task.result()
        return answer

    async def _over_wire(self, call: Call) -> Answer:
        await self.is_ready.wait()
        return await OVER[call.wire](self.edge, self.loop, call)

    def start(self, work: Coroutine[Any, Any, Any]) -> asyncio.Task[Any]:
        """Run a task that ends with the process."""
        self.started += 1
        number, task = self.started, self.loop.create_task(work, context=self.process.context.copy())
        self.tasks[number] = task
        task.add_done_callback(lambda _: self.tasks.pop(number, None))
        return task

    def end(self, cause: str | None = None) -> None:
        """End the process: what is not committed is lost, and no answer is sent any more.

        The `cause` is noted if it is a fault.
        """
        if self.store is None:
            return
        if cause is not None:
            self.note(cause)
        self.process.go_on()
        self.store.close()
        for task in [*self.tasks.values()]:
            task.cancel()
        self.served = self.store = None
        self.ended.set()

    @staticmethod
    async def _sessions(served: Served, is_ready: asyncio.Event) -> None:
        async with served.mcp.running():
            is_ready.set()
            await asyncio.Event().wait()


@contextmanager
def slowed_down(pause: float) -> Iterator[None]:
    """Let the background loops rest this long between two rounds, during one run."""
    between = timedelta(seconds=pause * 16)  # of the catalogues; otherwise few moves would meet their faults
    with (
        patch.object(server.webhook_sender, "LOOK_SECONDS", pause),
        patch.object(server.workers, "LOOK_SECONDS", pause * 8),
        patch.multiple(server.peers, EVERY=between, AGAIN=between),
    ):
        yield


@contextmanager
def templates_compiled_once() -> Iterator[None]:
    """Share the compiled templates of all processes, which would take a tenth of a run."""
    compiling = Environment.compile
    compiled: dict[tuple[Any, ...], Any] = {}

    def compile_once(environment: Environment, source: Any, *about: Any) -> Any:
        key = (source, *about)
        if key not in compiled:
            compiled[key] = compiling(environment, source, *about)
        return compiled[key]

    with patch.object(Environment, "compile", compile_once):
        yield
