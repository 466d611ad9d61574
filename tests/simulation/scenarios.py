"""Scenario files: the mix of the population, the pace, and the faults."""

import tomllib
from dataclasses import dataclass, fields
from pathlib import Path

from tests.simulation.loop import JUMP_SECONDS

FOLDER = Path(__file__).parent / "scenarios"


@dataclass(frozen=True, slots=True)
class Scenario:
    """A scenario. Seconds are of virtual time; a fault with 0 seconds never happens."""

    sellers: int = 6
    buyers: int = 8
    evaluators: int = 5
    clients: int = 1  # without an account, which buy with signed payments
    traders: int = 10  # each buys, sells and is away at times; one in three judges too
    returners: int = 0  # each sells, and returns almost every job
    disputes: float = 0.0  # the chance that a buyer disputes what it may, whatever else it may do
    withdraws: float = 1.0  # the share of their disputes that buyers may withdraw
    votes: float = 1.0  # the share of their seats on which evaluators vote
    cheats: float = 0.0  # the share of actions that are the cheats'; with any, all limits of the market are on
    wires: float = 0.1  # the share of calls that go over REST, MCP or A2A instead of the door
    doubled: float = 0.0  # the share of calls that write whose message arrives twice
    gap_seconds: float = 2.0  # between two actions, on average
    pause_seconds: float = 15.0  # between two rounds of the background loops
    quiet_seconds: float = 0.0  # without calls, after QUIET_EVERY operations (simulation.py), so that deadlines pass
    targeted_seconds: float = 0.0  # between two faults that are put just before rare moves, at least
    reorg_seconds: float = 0.0  # between two reorgs of the chain, on average
    deep_reorgs: float = 0.0  # the share of reorgs that replace confirmed blocks too
    fork_seconds: float = 0.0  # between two reorgs that nodes which are behind do not know, on average
    node_seconds: float = 0.0  # between two times in which the nodes of the chain have a fault, on average
    crash_seconds: float = 0.0  # between two crashes, on average
    commits_between_crashes: int = 0  # that hit just before or after a COMMIT, on average; 0: none do
    inserts_between_conflicts: int = 0  # with a row that another transaction inserts first, on average; 0: never
    database_seconds: float = 0.0  # between two faults of the database, on average
    facilitator: float = 0.0  # the chance of each kind of fault of the facilitator, per request
    webhook_seconds: float = 0.0  # between two times in which receivers of webhooks fail, on average
    peers: float = 0.0  # the chance of a fault of another market's catalogue, per request
    sanction_seconds: float = 0.0  # between two times in which a wallet is on a sanctions list, on average
    clock_seconds: float = 0.0  # between two jumps of a process's clock, on average
    message_seconds: float = 0.0  # between two times in which messages inside the market fail, on average
    lost_replies: float = 0.0  # the share of answers that do not reach their client
    processes: int = 1  # more only on PostgreSQL
    stop_seconds: float = 0.0  # between two stops of the last process, on average

    @property
    def clocks_differ(self) -> float:
        """Return by how many seconds two clocks of the market differ at most.

        A clock differs from itself as much when it is set.
        """
        return 2 * JUMP_SECONDS if self.clock_seconds else 0.0


def names() -> list[str]:
    return sorted(file.stem for file in FOLDER.glob("*.toml"))


def named(name: str) -> Scenario:
    """Read a scenario file. Raises ValueError for an unknown name or member."""
    path = FOLDER / f"{name}.toml"
    if not path.is_file():
        raise ValueError(f"unknown scenario {name}; known: {', '.join(names())}")
    given = tomllib.loads(path.read_text())
    unknown = given.keys() - {one.name for one in fields(Scenario)}
    if unknown:
        raise ValueError(f"{path.name}: unknown members {sorted(unknown)}")
    return Scenario(**given)
