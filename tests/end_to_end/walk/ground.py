"""The shared base of walks: one chain behind a faulty node, its accounts, and a count of successful operations."""

import asyncio
from collections import Counter
from collections.abc import Callable, Coroutine, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, NamedTuple, TypeVar

from eth_account.signers.local import LocalAccount

from tests.support.evm import Evm
from tests.support.faulty_node import FaultyNode, Reply, Silence, error, fields, result
from tests.support.market import TestClock
from tools.engine.ports import Fetched
from tools.engine.ports import Reply as Answered
from tools.kernel.ssrf_guard import UrlUnreachable

T = TypeVar("T")
RICH_MINOR = 10**12
NAMES = ("Sela", "Sol", "Bo", "Bea", "Eve")  # two sellers, two buyers, a stranger


class Sent(NamedTuple):
    """A transfer of the walk, with addresses in lower case."""

    payer: str
    payee: str
    amount_minor: int


@dataclass
class Receivers:
    """The receiver of all webhooks. It answers with `status` and keeps each request."""

    status: int = 200  # 0: the connection fails
    posted: list[tuple[str, bytes]] = field(default_factory=list)

    async def post(self, url: str, body: bytes, headers: Mapping[str, str], by: str) -> Answered:
        self.posted.append((url, body))
        if not self.status:
            raise UrlUnreachable("connection_failed")
        return Answered(self.status)

    async def get(self, url: str, by: str) -> Fetched:
        return Fetched(404, b"")


class Ground:
    """Made once. Walks run on it one after another, with increasing time."""

    def __init__(self, fresh: Callable[[], str]) -> None:
        self.fresh = fresh  # the URL of an empty migrated database
        self.runner = asyncio.Runner()
        self.clock = TestClock()
        self.evm = Evm(now=lambda: int(self.clock.now().timestamp()))
        self.people: list[LocalAccount] = [self.evm.person(RICH_MINOR) for _ in NAMES]
        self.spares: list[LocalAccount] = [self.evm.person(RICH_MINOR) for _ in NAMES]  # other wallets to bind
        self.node = FaultyNode(self.evm.url)
        self.run(self.node.__aenter__())
        self.walks = 0
        self.succeeded = Counter[str]()  # operations, over all walks

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        return self.runner.run(work)

    @property
    def everybody(self) -> list[LocalAccount]:
        return [*self.people, *self.spares]

    def begin(self, clock: TestClock) -> None:
        """Let the chain use the new walk's clock, which continues after the last walk."""
        clock.at = datetime.fromtimestamp(self.evm.now() + 1, UTC)
        self.clock = clock
        self.walks += 1

    def close(self) -> None:
        self.run(self.node.__aexit__())
        self.runner.close()
        self.evm.close()


class Troubles:
    """Faults of the chain and its node. They begin by name and end with `end`."""

    def __init__(self, ground: Ground) -> None:
        self.ground, self.evm, self.node = ground, ground.evm, ground.node
        self.any = self.held = False
        self.began_at = self.evm.head()

    def begin(self, name: str) -> None:
        self.any = True
        {"held": self._hold, "reorganised": self._reorganise}.get(name, lambda: self._break(name))()

    def end(self) -> None:
        self.node.heal()
        if self.held:
            self.evm.release()
        self.any = self.held = False

    def _hold(self) -> None:
        self.evm.hold()
        self.held = True

    def _break(self, name: str) -> None:
        method, fault, times = FAULTS[name]
        self.node.fault(method, self._slow if fault is None else fault, times)

    def _reorganise(self) -> None:
        """Replace the last blocks of this walk by a longer branch. The node reports it correctly."""
        self.end()
        dropped = min(3, self.evm.head() - self.began_at)
        if dropped:
            self.evm.reorg(str(self.evm.head() - dropped), dropped + 1)

    def _slow(self, answer: Any) -> Any:
        """Answer after the deadlines of a test job have passed."""
        self.ground.clock.pass_seconds(1_000)
        return answer


RECEIPT, BLOCK, HEAD = "eth_getTransactionReceipt", "eth_getBlockByNumber", "eth_blockNumber"
FOR_EVER = 10**9
FAULTS: dict[str, tuple[str, Any, int]] = {
    "down": ("*", lambda _: Silence.DROP, FOR_EVER),
    "failing": ("*", lambda _: Reply(500, b"oops"), FOR_EVER),
    "garbage": ("*", lambda _: Reply(200, b"<html>busy</html>"), FOR_EVER),
    "refusing": ("*", error(-32005, "limit exceeded"), FOR_EVER),
    "another chain": ("eth_chainId", result(lambda _: "0x1"), FOR_EVER),
    "lagging": (RECEIPT, result(lambda _: None), FOR_EVER),
    "without blocks": (BLOCK, result(lambda _: None), FOR_EVER),
    "at the first block": (HEAD, result(lambda _: "0x1"), FOR_EVER),
    "lying about success": (RECEIPT, result(lambda seen: seen and seen | {"status": "0x2"}), FOR_EVER),
    "lying about blocks": (BLOCK, fields(hash="0x" + "ab" * 32), FOR_EVER),
    "ancient": (BLOCK, fields(timestamp="0x1"), FOR_EVER),
    "slow": (RECEIPT, None, 1),
}
TROUBLES = ("held", "reorganised", *FAULTS)
