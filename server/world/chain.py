"""Reads one EVM chain over raw JSON-RPC: five read-only methods, no key, and no trust in what the node answers."""

import asyncio
import itertools
import re
import time
from collections.abc import Callable

import aiohttp
import orjson

from tools.rules.transfers import MAX_BLOCK_NUMBER, ChainDown, Nonsense, quantity

MAX_ANSWER_BYTES = 2 * 1024 * 1024
MAX_BLOCK_BYTES = 16 * 1024 * 1024  # of a block with its transactions, on a chain that is busy
CALL_GAS = 1_000_000  # a passkey wallet's signature check takes about a third of it
# Nodes behind one address lag each other by seconds; one that answered a wild number must not be believed for ever.
HEAD_MEMORY_IN_SECONDS = 30.0

_BYTES = re.compile(r"0x(?:[0-9a-fA-F]{2})*")
_REVERT_CODE = 3
# How geth, reth, anvil and py-evm word a call that failed by the contract's own doing, without the spaces.
_CONTRACT_FAILED = ("revert", "outofgas", "opcode", "invalidjump", "stackunderflow", "insufficientstack")
_HEADERS = {"Content-Type": "application/json", "Accept": "application/json", "Accept-Encoding": "identity"}


class NodeError(ChainDown):
    """The node answered with a JSON-RPC error object."""

    def __init__(self, method: str, code: int, message: str) -> None:
        super().__init__(f"{method}: error {code} {message[:120]!r}")
        self.method, self.code, self.message = method, code, message


class JsonRpcChain:
    """The chain port over one node's HTTP URL. Use it in one event loop; `close` it at the end.

    Every read raises ChainDown when no usable answer came within `timeout_in_seconds`, the check of the chain's id
    included. That check is made before the first answer is given out, after every failure, and for every new
    connection, so a node that was replaced by another chain's is noticed.
    Messages name the method and the kind of failure, never the URL: it may hold an access key.
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
        self._session: aiohttp.ClientSession | None = None
        self._numbers = itertools.count(1)
        self._identified = False
        self._identifying = asyncio.Lock()
        self._highest: tuple[int, float] | None = None

    @property
    def last_head(self) -> tuple[int, float] | None:
        """The highest head known, and the monotonic second it was seen; None before the first `head`."""
        return self._highest

    async def receipt(self, transaction: str) -> object:
        """eth_getTransactionReceipt as the node answered it; None when it knows no mined transaction of that hash."""
        return await self._ask("eth_getTransactionReceipt", transaction)

    async def head(self) -> int:
        """The number of the newest block; not lower than any seen within HEAD_MEMORY_IN_SECONDS."""
        return self._remember(_number("eth_blockNumber", await self._ask("eth_blockNumber")))

    async def block(self, number: int) -> object:
        """eth_getBlockByNumber without its transactions, as the node answered it; None when it lacks that block."""
        return await self._ask("eth_getBlockByNumber", hex(number), False)

    async def whole_block(self, number: int) -> object:
        """eth_getBlockByNumber with its transactions, as the node answered it; None when it lacks that block."""
        return await self._ask("eth_getBlockByNumber", hex(number), True, most=MAX_BLOCK_BYTES)

    async def call(self, to: str, data: str) -> str | None:
        """eth_call of the contract `to` on the newest block with at most CALL_GAS; the returned bytes as 0x hex.

        None when the contract failed (reverted, ran out of gas): an answer, not an outage. "0x" where no contract is.
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
        if self._session is not None:
            await self._session.close()

    def _remember(self, number: int) -> int:
        now = self._monotonic()
        known = self._highest
        if known is None or number >= known[0] or now - known[1] > HEAD_MEMORY_IN_SECONDS:
            self._highest = known = (number, now)
        return known[0]

    async def _ask(self, method: str, *params: object, most: int = MAX_ANSWER_BYTES) -> object:
        try:
            async with asyncio.timeout(self._timeout_in_seconds):
                await self._identify()
                result = await self._request(method, params, most)
                await self._identify()  # when the answer came over a connection made for it
                return result
        except NodeError:
            raise
        except ChainDown:
            self._identified = False
            raise
        except (aiohttp.ClientError, OSError, ValueError) as error:
            self._identified = False
            # Not chained: aiohttp's texts show the URL.
            raise ChainDown(f"{method}: {type(error).__name__}") from None

    async def _identify(self) -> None:
        if not self._identified:
            async with self._identifying:
                await self._compare_id()

    async def _compare_id(self) -> None:
        if self._identified:
            return
        answer = await self._request("eth_chainId", ())
        if _number("eth_chainId", answer) != self.chain_id:
            raise ChainDown("eth_chainId: the node serves another chain")
        self._identified = True

    async def _request(self, method: str, params: tuple[object, ...], most: int = MAX_ANSWER_BYTES) -> object:
        number = next(self._numbers)
        body = orjson.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": params})
        try:
            raw = await self._send(method, body, most)
        except aiohttp.ClientConnectorError:
            raise
        except (aiohttp.ServerDisconnectedError, aiohttp.ClientOSError):
            # The node dropped an idle connection as it was picked up again. Every method is a read: ask once more.
            raw = await self._send(method, body, most)
        return _result(method, number, raw)

    async def _send(self, method: str, body: bytes, most: int) -> bytes:
        async with self._connections().post(self._url, data=body, headers=_HEADERS, allow_redirects=False) as response:
            if response.status != 200:
                raise ChainDown(f"{method}: HTTP {response.status}")
            raw = bytearray()
            async for piece in response.content.iter_any():
                raw += piece
                if len(raw) > most:
                    raise ChainDown(f"{method}: the answer is over {most} bytes")
            return bytes(raw)

    def _connections(self) -> aiohttp.ClientSession:
        if self._session is None:
            opening = aiohttp.TraceConfig()
            opening.on_connection_create_end.append(self._on_connection)
            self._session = aiohttp.ClientSession(
                timeout=aiohttp.ClientTimeout(total=None),  # _ask limits the whole of it
                cookie_jar=aiohttp.DummyCookieJar(),
                auto_decompress=False,
                trust_env=False,
                trace_configs=[opening],
            )
        return self._session

    async def _on_connection(self, *_: object) -> None:
        self._identified = False


def _result(method: str, number: int, raw: bytes) -> object:
    answer = orjson.loads(raw)
    if not isinstance(answer, dict) or answer.get("jsonrpc") != "2.0":
        raise ChainDown(f"{method}: not a JSON-RPC 2.0 answer")
    if type(answer.get("id")) is not int or answer["id"] != number:
        raise ChainDown(f"{method}: the answer to another question")
    error = answer.get("error")
    if error is not None:
        raise _node_error(method, error)
    if "result" not in answer:
        raise ChainDown(f"{method}: no result")
    return answer["result"]


def _number(method: str, answer: object) -> int:
    try:
        return quantity(answer, "the result", MAX_BLOCK_NUMBER)
    except Nonsense as error:
        raise ChainDown(f"{method}: {error}") from None


def _node_error(method: str, error: object) -> ChainDown:
    code, message = (error.get("code"), error.get("message")) if isinstance(error, dict) else (None, None)
    if type(code) is not int or not isinstance(message, str):
        return ChainDown(f"{method}: a malformed error")
    return NodeError(method, code, message)


def _contract_failed(error: NodeError) -> bool:
    if error.method != "eth_call":
        return False
    message = error.message.lower().replace(" ", "")
    return error.code == _REVERT_CODE or any(words in message for words in _CONTRACT_FAILED)
