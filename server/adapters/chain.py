"""Read one EVM chain over JSON-RPC: five read-only methods, no key, and no trust in the node's answers."""

import asyncio
import itertools
import re
import time
from collections.abc import Awaitable, Callable, Mapping
from typing import Protocol, TypeVar

import httpx
import orjson

from server.adapters.http import JSON_HEADERS, http_client, read_bounded
from storage.vocabulary import Env
from tools.chain.node_answers import InvalidNodeAnswer, quantity
from tools.chain.transfer_verification import MAX_BLOCK_NUMBER, ChainDown, block_time_in
from tools.engine.ports import Chain

T = TypeVar("T")
MAX_ANSWER_BYTES = 2 * 1024 * 1024
MAX_BLOCK_BYTES = 16 * 1024 * 1024  # for a block with its transactions on a busy chain
CALL_GAS = 1_000_000  # a passkey wallet's signature check takes about a third of it
# Nodes behind one address lag each other by seconds. It is short, so that one wrong number does no lasting harm.
HEAD_MEMORY_IN_SECONDS = 30.0
ABSENT_SECONDS, MAX_ABSENT = 2.0, 4_096
KEEP_ALIVE_SECONDS = 15.0  # longer than the time between two reads of the head

_BYTES = re.compile(r"0x(?:[0-9a-fA-F]{2})*")
_REVERT_CODE = 3
# How geth, reth, anvil and py-evm word the failure of a call by the contract itself, without the spaces.
_CONTRACT_FAILED = ("revert", "outofgas", "opcode", "invalidjump", "stackunderflow", "insufficientstack")


class NodeError(ChainDown):
    """The node answered with a JSON-RPC error object."""

    def __init__(self, method: str, code: int, message: str) -> None:
        super().__init__(f"{method}: error {code} {message[:120]!r}")
        self.method, self.code, self.message = method, code, message


class JsonRpcChain:
    """The chain port over the HTTP URL of one node. Use it in one event loop and `close` it.

    Every read raises ChainDown if no usable answer came within `timeout_in_seconds`, including the check of the chain
    id. That check is made before the first answer is used, after every failure and for every new connection, so a node
    that was replaced by another chain's node is noticed. Error messages name the method and the kind of failure, never
    the URL, which may contain an access key.
    """

    def __init__(
        self,
        url: str,
        chain_id: int,
        *,
        timeout_in_seconds: float = 15.0,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self.chain_id = chain_id
        self._url = url
        self._timeout_in_seconds = timeout_in_seconds
        self._monotonic = monotonic
        self._http = http_client(limits=httpx.Limits(max_connections=100, keepalive_expiry=KEEP_ALIVE_SECONDS))
        self._numbers = itertools.count(1)
        self._identified = False
        self._identifying = asyncio.Lock()
        self.last_head: tuple[int, float] | None = None  # the highest known number, and the monotonic time it was seen
        self.last_block_time: tuple[int, float] | None = (
            None  # the newest block's timestamp, and when its number was seen
        )
        self._absent: dict[str, float] = {}  # hashes the node did not know, and until when to believe that

    async def receipt(self, transaction: str) -> object:
        """Return eth_getTransactionReceipt unchanged; None if no such transaction was mined.

        An unknown hash is remembered for ABSENT_SECONDS, so that agents who ask again at once cost the node nothing.
        """
        now = self._monotonic()
        if now < self._absent.get(transaction, now):
            return None
        found = await self._ask("eth_getTransactionReceipt", transaction)
        self._absent.pop(transaction, None)
        if found is None:
            if len(self._absent) >= MAX_ABSENT:
                del self._absent[next(iter(self._absent))]
            self._absent[transaction] = self._monotonic() + ABSENT_SECONDS
        return found

    async def head(self) -> int:
        """Return the newest block's number; never lower than one seen in HEAD_MEMORY_IN_SECONDS."""
        return self._remember(_number("eth_blockNumber", await self._ask("eth_blockNumber")))

    async def block(self, number: int) -> object:
        """Return eth_getBlockByNumber without transactions, unchanged; None for a missing block."""
        answer = await self._ask("eth_getBlockByNumber", hex(number), False)
        self._remember_time(number, answer)
        return answer

    async def whole_block(self, number: int) -> object:
        """Return eth_getBlockByNumber with transactions, unchanged; None for a missing block."""
        return await self._ask("eth_getBlockByNumber", hex(number), True, most=MAX_BLOCK_BYTES)

    async def call(self, to: str, data: str) -> str | None:
        """Return the result of eth_call on the newest block, as 0x hex, with at most CALL_GAS.

        None if the contract failed (reverted or out of gas), which is an answer and not an outage. "0x" if there is no
        contract at `to`.
        """
        try:
            answer = await self._ask("eth_call", {"to": to, "data": data, "gas": hex(CALL_GAS)}, "latest")
        except NodeError as error:
            if _contract_failed(error):
                return None
            raise
        if not isinstance(answer, str) or not _BYTES.fullmatch(answer):
            raise ChainDown("eth_call: the result is not bytes")
        return answer.lower()

    async def close(self) -> None:
        """Close the connections."""
        await self._http.aclose()

    def _remember(self, number: int) -> int:
        now = self._monotonic()
        known = self.last_head
        if known is None or number >= known[0] or now - known[1] > HEAD_MEMORY_IN_SECONDS:
            self.last_head = known = (number, now)
        return known[0]

    def _remember_time(self, number: int, answer: object) -> None:
        """Keep the time of the newest block, and when it was seen to be the newest.

        The moment of this answer does not count, because the answer may be slow.
        """
        found = block_time_in(answer)
        if found is not None and self.last_head is not None and number == self.last_head[0]:
            self.last_block_time = found, self.last_head[1]

    async def _ask(self, method: str, *params: object, most: int = MAX_ANSWER_BYTES) -> object:
        try:
            async with asyncio.timeout(self._timeout_in_seconds):
                await self._identify()
                result = await self._request(method, params, most)
                await self._identify()  # in case the answer came over a new connection
                return result
        except NodeError:
            raise
        except ChainDown:
            self._identified = False
            raise
        except (httpx.HTTPError, httpx.InvalidURL, OSError, ValueError) as error:
            self._identified = False
            # Not chained: a message of the client may contain the URL.
            raise ChainDown(f"{method}: {type(error).__name__}") from None

    async def _identify(self) -> None:
        if self._identified:
            return
        async with self._identifying:
            if not self._identified:
                answer = await self._request("eth_chainId", ())
                if _number("eth_chainId", answer) != self.chain_id:
                    raise ChainDown("eth_chainId: the node serves another chain")
                self._identified = True

    async def _request(self, method: str, params: tuple[object, ...], most: int = MAX_ANSWER_BYTES) -> object:
        number = next(self._numbers)
        body = orjson.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": params})
        try:
            raw = await self._send(method, body, most)
        except (httpx.ReadError, httpx.WriteError, httpx.RemoteProtocolError):
            # The node closed an idle connection just as it was reused. Retrying is safe: every method is a read.
            raw = await self._send(method, body, most)
        return _result(method, number, raw)

    async def _send(self, method: str, body: bytes, most: int) -> bytes:
        watched = {"trace": self._on_event}
        async with self._http.stream(
            "POST", self._url, content=body, headers=JSON_HEADERS, extensions=watched
        ) as response:
            if response.status_code != 200:
                raise ChainDown(f"{method}: HTTP {response.status_code}")
            raw = await read_bounded(response.aiter_raw(), most)
        if raw is None:
            raise ChainDown(f"{method}: the answer is over {most} bytes")
        return raw

    async def _on_event(self, event: str, _: object) -> None:
        if event == "connection.connect_tcp.complete":
            self._identified = False


class Watch(Protocol):
    async def __call__(self, env: Env, method: str, asked: Awaitable[T]) -> T:
        """Await the result and return it; `method` is the name of the port's method."""


class WatchedChain:
    """A chain port that passes each call of `inner` through `watch`."""

    def __init__(self, inner: Chain, env: Env, watch: Watch) -> None:
        self.inner, self.env, self.watch = inner, env, watch

    @property
    def chain_id(self) -> int:
        return self.inner.chain_id

    @property
    def last_head(self) -> tuple[int, float] | None:
        return self.inner.last_head

    @property
    def last_block_time(self) -> tuple[int, float] | None:
        return self.inner.last_block_time

    async def receipt(self, transaction: str) -> object:
        return await self.watch(self.env, "receipt", self.inner.receipt(transaction))

    async def head(self) -> int:
        return await self.watch(self.env, "head", self.inner.head())

    async def block(self, number: int) -> object:
        return await self.watch(self.env, "block", self.inner.block(number))

    async def whole_block(self, number: int) -> object:
        return await self.watch(self.env, "whole_block", self.inner.whole_block(number))

    async def call(self, to: str, data: str) -> str | None:
        return await self.watch(self.env, "call", self.inner.call(to, data))


def watched_chains(chains: Mapping[Env, Chain], watch: Watch) -> dict[Env, Chain]:
    return {env: WatchedChain(chain, env, watch) for env, chain in chains.items()}


def _result(method: str, number: int, raw: bytes) -> object:
    answer = orjson.loads(raw)
    if not isinstance(answer, dict) or answer.get("jsonrpc") != "2.0":
        raise ChainDown(f"{method}: not a JSON-RPC 2.0 answer")
    if type(answer.get("id")) is not int or answer["id"] != number:
        raise ChainDown(f"{method}: the answer to another question")
    error = answer.get("error")
    if error is not None:
        code, message = (error.get("code"), error.get("message")) if isinstance(error, dict) else (None, None)
        if type(code) is not int or not isinstance(message, str):
            raise ChainDown(f"{method}: a malformed error")
        raise NodeError(method, code, message)
    if "result" not in answer:
        raise ChainDown(f"{method}: no result")
    return answer["result"]


def _number(method: str, answer: object) -> int:
    try:
        return quantity(answer, "the result", MAX_BLOCK_NUMBER)
    except InvalidNodeAnswer as error:
        raise ChainDown(f"{method}: {error}") from None


def _contract_failed(error: NodeError) -> bool:
    if error.method != "eth_call":
        return False
    message = error.message.lower().replace(" ", "")
    return error.code == _REVERT_CODE or any(words in message for words in _CONTRACT_FAILED)
