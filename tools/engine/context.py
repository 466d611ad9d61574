"""The contexts of operations: TxContext in a unit of work, ReadContext outside of one."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime

import orjson

from storage.store import Reads
from storage.transaction import Tx
from storage.vocabulary import Env
from tools.engine.caller import Caller
from tools.engine.config import Deadlines, MarketConfig, Network
from tools.engine.ports import World
from tools.engine.services import HasServices, Services
from tools.kernel.ids import new_id


@dataclass(slots=True)
class TxContext:
    """One unit of work with everything an operation needs to read, decide and write.

    It cannot await. Nothing changes it; like a CallRequest it is not frozen, because every call makes one.
    """

    tx: Tx
    world: World
    config: MarketConfig
    caller: Caller
    env: Env
    now: datetime
    operation: str = ""  # its name; empty outside of calls

    @property
    def agent(self) -> str:
        return self.caller.agent

    @property
    def network(self) -> Network:
        return self.config.networks[self.env]

    @property
    def windows(self) -> Deadlines:
        return self.config.windows[self.env]

    def new_id(self, prefix: str) -> str:
        """Make a new id; ids sort by creation time."""
        return new_id(prefix, self.now, self.world.dice.random_bytes(10))

    def emit(self, to: str, env: str, kind: str, data: Mapping[str, object]) -> None:
        """Notify an agent of an event in one environment."""
        self.tx.emit(to, env, kind, orjson.dumps(data).decode(), self.now)

    def emit_in_both(self, to: str, kind: str, data: Mapping[str, object]) -> None:
        """Notify an agent, in both environments, of an event that concerns both."""
        for env in Env:
            self.emit(to, env, kind, data)


@dataclass(slots=True)
class ReadContext(HasServices):
    """The services and the caller of a call, while no unit of work is open. Nothing changes it."""

    services: Services
    caller: Caller
    env: Env
    now: datetime
    operation: str = ""  # its name; empty outside of calls

    @property
    def network(self) -> Network:
        return self.config.networks[self.env]

    @property
    def lagging(self) -> Reads:
        """The reads of this call that a replica may answer."""
        return self.store.lagging(self.caller.agent_id)

    def within(self, tx: Tx) -> TxContext:
        """Return the context of the same call in a unit of work."""
        return TxContext(tx, self.world, self.config, self.caller, self.env, self.now, self.operation)

    def acting_for(self, tx: Tx, agent_id: str | None) -> TxContext:
        """Return a context that acts for another agent, or for none, at the present time."""
        caller = Caller(agent_id, None, self.env, ("*",), self.caller.request)
        return replace(self.within(tx), caller=caller, now=self.world.clock.now())
