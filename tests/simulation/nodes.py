"""The nodes behind one name: they read the simulated chain for the market, and are slow, behind, down or lying.

The market reads them through its real adapter, of which only the HTTP request is replaced.
"""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from random import Random
from typing import Any, NamedTuple

from server.adapters.chain import MAX_ANSWER_BYTES, JsonRpcChain, NodeError
from tests.simulation.chain import SimulatedChain, View
from tools.chain.transfer_verification import ChainDown
from tools.engine.ports import Clock

PATIENCE_SECONDS = 15.0  # the time limit of the real adapter
RECEIPT, HEAD, BLOCK, CALL = "eth_getTransactionReceipt", "eth_blockNumber", "eth_getBlockByNumber", "eth_call"
HUGE = "0x" + "f" * 64
STALE = "stale_fork"

Sleep = Callable[[float], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class Faults:
    """Faults of the nodes: probabilities per question, from 0 to 1, and how bad each one is."""

    nodes: int = 1
    lag: int = 0  # blocks that a node is behind at most
    forked: bool = False  # nodes that are behind still show blocks that a reorg replaced
    hides: float = 0.0  # receipts, though a node shows their blocks
    down: float = 0.0
    slow: float = 0.0
    slow_seconds: float = 20.0  # at most; after PATIENCE_SECONDS the question fails
    lies: float = 0.0


class Lie(NamedTuple):
    """An answer that is not true."""

    seconds: float  # Unix time of the chain's clock
    method: str
    about: str  # the transaction, the block's number or the contract
    kind: str


Change = Callable[["Nodes", Any], Any]  # makes a lie from the true answer


def _other_receipt(nodes: "Nodes", true: Any) -> Any:
    known = nodes.chain.transfers()
    other = nodes.chain.receipt(nodes.chain.view(), nodes.dice.choice(known).hash) if known else None
    return true if other is None else other


def _changed(**members: Any) -> Change:
    return lambda _, true: true | members if isinstance(true, dict) else true


def _huge_amounts(_: "Nodes", true: Any) -> Any:
    return true and true | {"logs": [log | {"data": HUGE} for log in true["logs"]]}


def _always(*answers: Any) -> Change:
    return lambda nodes, _: nodes.dice.choice(answers)


_NONSENSE = _always([], {}, 7, "0x", "zz", {"number": "0x01", "blockNumber": 5, "blockHash": HUGE})
LIES: Mapping[str, Mapping[str, Change]] = {
    RECEIPT: {
        "another_hash": _other_receipt,
        "no_logs": _changed(logs=[]),
        "huge_amounts": _huge_amounts,
        "huge_number": _changed(blockNumber=HUGE),
        "malformed": _NONSENSE,
    },
    HEAD: {"huge_number": _always(HUGE), "malformed": _always(None, 7, "latest", "0x", "0x01")},
    BLOCK: {
        "another_number": _changed(number="0x1"),
        "huge_number": _changed(timestamp=HUGE),
        "malformed": _NONSENSE,
    },
    CALL: {"huge_number": _always(HUGE), "malformed": _always(None, 7, "0x0", "zz", [])},
}


class Nodes:
    """The nodes of one chain. `faults` may be replaced at any time; `heal` switches all off.

    `lies` has every untrue answer in order. An answer that a lie leaves as it is is not in it.
    """

    def __init__(self, chain: SimulatedChain, dice: Random, sleep: Sleep) -> None:
        self.chain, self.dice, self.sleep = chain, dice, sleep
        self.lies: list[Lie] = []
        self.heal()

    @property
    def faults(self) -> Faults:
        """Return the faults that are on."""
        return self._faults

    @faults.setter
    def faults(self, faults: Faults) -> None:
        self.changed_at = self.chain.clock.monotonic()
        self._faults = faults
        self._calm = faults == Faults()
        self._lags = [self.dice.randint(0, faults.lag) for _ in range(faults.nodes)]

    def heal(self) -> None:
        """Switch all faults off."""
        self.faults = Faults()

    def reader(self, clock: Clock) -> "ChainReader":
        """Return the chain port of one process of the market, which sees time by its own clock."""
        return ChainReader(self, clock)

    async def answer(self, method: str, params: tuple[Any, ...]) -> Any:
        """Answer a JSON-RPC question. Raises ChainDown, and NodeError for a call that reverts.

        A slow answer is as old as its question.
        """
        if self._calm:
            return self._true(method, params, self.chain.view())
        faults, dice = self._faults, self.dice
        if dice.random() < faults.down:
            raise ChainDown(f"{method}: the node is down")
        lag = dice.choice(self._lags)
        found = self._stale(method, params, lag) if faults.forked else self._true(method, params, self.chain.view(lag))
        if faults.hides and method == RECEIPT and dice.random() < faults.hides:
            found = None
        if dice.random() < faults.lies:
            found = self._lie(method, params, found)
        if dice.random() < faults.slow:
            seconds = dice.uniform(0, faults.slow_seconds)
            await self.sleep(min(seconds, PATIENCE_SECONDS))
            if seconds > PATIENCE_SECONDS:
                raise ChainDown(f"{method}: TimeoutError")
        return found

    def _true(self, method: str, params: tuple[Any, ...], view: View) -> Any:
        if method == RECEIPT:
            return self.chain.receipt(view, params[0])
        if method == HEAD:
            return hex(view.top)
        if method == BLOCK:
            return self.chain.block(view, int(params[0], 16), whole=params[1])
        assert method == CALL, method
        found = self.chain.call(params[0]["to"], params[0]["data"])
        if found is None:
            raise NodeError(method, 3, "execution reverted")
        return found

    def _stale(self, method: str, params: tuple[Any, ...], lag: int) -> Any:
        """Answer as a node that may be on a fork; note an answer that the chain has replaced."""
        view = self.chain.view(lag, forked=True)
        found = self._true(method, params, view)
        if view.fork is not None and found != self._true(method, params, View(view.top)):
            self._note(method, params, STALE)
        return found

    def _lie(self, method: str, params: tuple[Any, ...], true: Any) -> Any:
        kind = self.dice.choice(list(LIES[method]))
        lie = LIES[method][kind](self, true)
        if lie != true:
            self._note(method, params, kind)
        return lie

    def _note(self, method: str, params: tuple[Any, ...], kind: str) -> None:
        about = params[0] if params else ""
        subject = about["to"] if isinstance(about, dict) else about
        self.lies.append(Lie(self.chain.clock.now().timestamp(), method, subject, kind))


class ChainReader(JsonRpcChain):
    """The market's adapter of a chain, with the simulated nodes in place of HTTP."""

    def __init__(self, nodes: Nodes, clock: Clock) -> None:
        super().__init__("http://node.invalid", nodes.chain.network.chain_id, monotonic=clock.monotonic)
        self._nodes = nodes

    async def _ask(self, method: str, *params: object, most: int = MAX_ANSWER_BYTES) -> object:
        return await self._nodes.answer(method, params)
