"""The loops that disturb a run: each begins its kind of fault at seeded moments, and ends it after a while."""

from collections.abc import AsyncIterator, Coroutine
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from tests.simulation.blocks import BLOCK_SECONDS
from tests.simulation.faults import KINDS
from tests.simulation.loop import JUMP_SECONDS
from tests.simulation.machine import Machine
from tests.simulation.nodes import Faults
from tests.simulation.processes import Process

if TYPE_CHECKING:
    from tests.simulation.simulation import Simulation

SHORT_SECONDS, LONG_SECONDS = 5.0, 30.0  # a fault lasts, on average
DEEPER = 3  # blocks beyond the confirmations that a deep reorg replaces at most
STOPPED_SECONDS = (60.0, 300.0)


class Disturbances:
    """All faults of a run that begin and end by themselves."""

    def __init__(self, simulation: "Simulation") -> None:
        self.simulation, self.scenario = simulation, simulation.scenario
        self.random = simulation.new_random()
        self.ended_at: datetime | None = None  # when all faults were ended for good
        confirmations = simulation.chain.network.confirmations
        self.node_faults = (
            Faults(nodes=3, down=0.5),
            Faults(nodes=3, slow=0.5),
            Faults(nodes=4, lag=confirmations),
            Faults(nodes=4, lag=confirmations, forked=True),
            Faults(nodes=3, lies=0.3),
            Faults(nodes=4, lag=confirmations, forked=True, down=0.1, slow=0.1, lies=0.1),
        )

    def loops(self) -> list[Coroutine[Any, Any, None]]:
        """Return the loops, which run until they are cancelled."""
        forks = [self._fork()] if self.scenario.fork_seconds else []
        return [
            self._crash(), self._stop(), self._disturb_database(), self._reorganise(), self._disturb_nodes(),
            self._silence(), self._sanction(), self._set_clocks(), self._lose_messages(), *forks,
        ]  # fmt: skip

    def end_stops(self) -> None:
        """Let every process go on."""
        for machine in self.simulation.machines:
            machine.process.go_on()

    def end(self) -> None:
        """End all faults, and let every process run."""
        simulation = self.simulation
        self.ended_at = simulation.clock.now()
        simulation.nodes.heal()
        simulation.facilitator.heal()
        simulation.web.failing = simulation.messages.failing = False
        simulation.peers.faults = 0.0
        simulation.sanctions.listed.clear()
        simulation.listed.clear()
        self.end_stops()
        for machine in simulation.machines:
            machine.commit_crashes.every = machine.conflicts.every = 0
            machine.clock.jump(timedelta(0))
            if not machine.alive:
                machine.open()
            machine.disturb(None)

    async def _moments(self, seconds: float) -> AsyncIterator[None]:
        """Yield at seeded moments, on average this many seconds apart; never if it is 0."""
        while seconds:
            await self._wait(seconds)
            yield

    async def _wait(self, seconds: float) -> None:
        """Wait for a random time, of this many seconds on average."""
        await self.simulation.sleep(self.random.expovariate(1 / seconds))

    def _machine(self) -> Machine:
        return self.random.choice(self.simulation.machines)

    async def _crash(self) -> None:
        """End a process, which may be between any two steps of its tasks."""
        async for _ in self._moments(self.scenario.crash_seconds):
            self._machine().end("crash")

    async def _stop(self) -> None:
        async for _ in self._moments(self.scenario.stop_seconds):
            self.stop_process()

    def stop_process(self) -> None:
        """Stop the last process, as an overloaded host does, and let it go on later."""
        process = self.simulation.machines[-1].process
        if not process.stopped:
            process.stop()
            self.simulation.fault("stopped")
            self.simulation.loop.call_later(self.random.uniform(*STOPPED_SECONDS), self._resume, process)

    def _resume(self, process: Process) -> None:
        if process.stopped:
            self.simulation.fault("stopped")
            process.go_on()

    async def _disturb_database(self) -> None:
        """Give the database of a process one fault."""
        async for _ in self._moments(self.scenario.database_seconds):
            machine, fault = self._machine(), self.random.choice(list(KINDS))
            machine.disturb(fault)
            await self._wait(SHORT_SECONDS)
            machine.disturb(None)

    async def _reorganise(self) -> None:
        """Replace the newest blocks of the chain, rarely also confirmed ones."""
        confirmations = self.simulation.chain.network.confirmations
        async for _ in self._moments(self.scenario.reorg_seconds):
            deep = self.random.random() < self.scenario.deep_reorgs
            depths = (confirmations, confirmations + DEEPER) if deep else (1, confirmations - 1)
            depth = self.random.randint(*depths)
            replaced = self.simulation.chain.reorg(depth)
            self.simulation.fault("deep_reorg" if deep else "reorg", depth=depth, transactions=replaced)

    async def _fork(self) -> None:
        """Replace blocks that are not confirmed, and let nodes that are behind show the old ones."""
        confirmations = self.simulation.chain.network.confirmations
        async for _ in self._moments(self.scenario.fork_seconds):
            replaced = self.simulation.chain.reorg(confirmations - 1)
            self.simulation.nodes.faults = Faults(nodes=3, lag=confirmations, forked=True, hides=0.2)
            self.simulation.fault("reorg", depth=confirmations - 1, transactions=replaced)
            await self.simulation.sleep(confirmations * BLOCK_SECONDS)
            self.simulation.nodes.heal()

    async def _disturb_nodes(self) -> None:
        """Let the nodes of the chain be down, slow or behind, be on a fork, or lie."""
        async for _ in self._moments(self.scenario.node_seconds):
            self.begin_node_faults()
            await self._wait(LONG_SECONDS)
            self.simulation.nodes.heal()

    def begin_node_faults(self) -> None:
        """Give the nodes of the chain one set of faults."""
        faults = self.random.choice(self.node_faults)
        self.simulation.nodes.faults = faults
        self.simulation.fault("nodes", faults=str(faults))

    async def _silence(self) -> None:
        """Let no receiver of webhooks answer as it should."""
        async for _ in self._moments(self.scenario.webhook_seconds):
            self.simulation.web.failing = True
            await self._wait(2 * SHORT_SECONDS)
            self.simulation.web.failing = False

    async def _sanction(self) -> None:
        """Put the wallet of an agent on a sanctions list."""
        async for _ in self._moments(self.scenario.sanction_seconds):
            address = self.begin_sanction()
            await self._wait(2 * LONG_SECONDS)
            self.end_sanction(address)

    def begin_sanction(self) -> str:
        """List the wallet of an agent; return its address."""
        agent = self.random.choice([*self.simulation.identities.values()])
        address = agent.wallet.address.lower()
        self.simulation.sanctions.listed.add(address)
        self.simulation.listed[address] = self.simulation.made
        self.simulation.fault("sanctions", agent=agent.id, address=address)
        return address

    def end_sanction(self, address: str) -> None:
        """Take an address from the list, unless it was taken already."""
        self.simulation.sanctions.listed.discard(address)
        self.simulation.listed.pop(address, None)

    async def _set_clocks(self) -> None:
        """Set the wall clock of a process forward or back, as a correction by NTP does."""
        async for _ in self._moments(self.scenario.clock_seconds):
            self.set_clock()

    def set_clock(self) -> None:
        """Set the clock of a process right, or to another time."""
        seconds = self.random.choice((0.0, self.random.uniform(-JUMP_SECONDS, JUMP_SECONDS)))
        self._machine().clock.jump(timedelta(seconds=seconds))
        self.simulation.fault("clock", seconds=seconds)

    async def _lose_messages(self) -> None:
        """Let messages inside the market be lost, doubled or late."""
        async for _ in self._moments(self.scenario.message_seconds):
            self.simulation.messages.failing = True
            await self._wait(2 * SHORT_SECONDS)
            self.simulation.messages.failing = False
