"""The JSON-RPC reader returns true answers, and raises ChainDown quickly for each other behaviour of a node."""

import asyncio
import gzip
import re
import traceback
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import orjson
import pytest
from eth_account.messages import _hash_eip191_message, encode_defunct

from server.adapters.chain import CALL_GAS, MAX_ANSWER_BYTES, JsonRpcChain, NodeError
from tests.requirements import REQUIREMENTS, covers
from tests.support import payment_flows
from tests.support.evm import Evm, pack
from tests.support.faulty_node import Fault, FaultyNode, Json, Reply, Silence, error, result
from tools.chain.transfer_verification import MAX_BLOCK_NUMBER, ChainDown

NOBODYS = "0x" + "11" * 32
A_BALANCE = "0x" + pack("balanceOf(address)", "0x" + "11" * 20).hex()
ONE = 1_000_000


@asynccontextmanager
async def reading(url: str, chain_id: int = 84532, timeout_in_seconds: float = 10.0) -> AsyncIterator[JsonRpcChain]:
    chain = JsonRpcChain(url, chain_id, timeout_in_seconds=timeout_in_seconds)
    try:
        yield chain
    finally:
        await chain.close()


@asynccontextmanager
async def raw_node(said: bytes, hold: bool = False) -> AsyncIterator[str]:
    """Run a server that answers with these bytes, then closes or, with `hold`, waits."""
    stopped = asyncio.Event()

    async def speak(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(said)
        if hold:
            await stopped.wait()
        writer.close()

    server = await asyncio.start_server(speak, "127.0.0.1", 0)
    yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/"
    stopped.set()
    server.close()
    await server.wait_closed()


@pytest.fixture
async def node(evm: Evm) -> AsyncIterator[FaultyNode]:
    async with FaultyNode(evm.url) as faulty:
        yield faulty


@pytest.fixture
async def chain(node: FaultyNode) -> AsyncIterator[JsonRpcChain]:
    async with reading(node.url) as reader:
        yield reader


async def test_each_read_gives_the_nodes_own_answer(evm: Evm, chain: JsonRpcChain) -> None:
    transaction = payment_flows.plain(evm, evm.person(ONE), evm.person(), ONE)
    number = evm.head()
    assert await chain.receipt(transaction) == evm.receipt(transaction)
    assert await chain.receipt(NOBODYS) is None
    assert await chain.head() == number
    assert await chain.block(number) == evm.rpc("eth_getBlockByNumber", hex(number), False)
    assert await chain.block(number + 1) is None


@covers("invariant.3.read_only")
async def test_only_five_methods_are_used_and_the_chain_is_identified_once(
    evm: Evm, node: FaultyNode, chain: JsonRpcChain
) -> None:
    for number in range(2):
        await chain.receipt(f"0x{number:064x}")  # an unknown hash is cached for seconds
        await chain.head()
        await chain.block(0)
        await chain.call(evm.usdc, A_BALANCE)
    assert node.counts == {
        "eth_chainId": 1,
        "eth_getTransactionReceipt": 2,
        "eth_blockNumber": 2,
        "eth_getBlockByNumber": 2,
        "eth_call": 2,
    }
    assert node.questions[-1]["params"][0]["gas"] == hex(CALL_GAS)
    assert len({question["id"] for question in node.questions}) == len(node.questions)


READS = ("eth_chainId", "eth_getTransactionReceipt", "eth_blockNumber", "eth_getBlockByNumber", "eth_call")


def test_the_five_reads_are_the_clause_and_the_documents_and_all_that_the_code_names() -> None:
    root = Path(__file__).parents[3]
    code = "".join(
        file.read_text()
        for part in ("server/adapters", "tools", "protocol", "rest", "storage")
        for file in (root / part).rglob("*.py")
    )
    assert {*re.findall(r'"(eth_[a-z]+[A-Z]\w+|eth_call)"', code)} == {*READS}
    (clause,) = (one.sentence for one in REQUIREMENTS if one.id == "invariant.3.read_only")
    for text in (clause, (root / "docs/hosting.md").read_text()):
        assert {*re.findall(r"\beth_\w+", text)} == {*READS}


async def test_many_first_reads_at_once_are_all_answered(evm: Evm, node: FaultyNode, chain: JsonRpcChain) -> None:
    number = evm.head()
    assert await asyncio.gather(*(chain.head() for _ in range(20))) == [number] * 20
    assert node.counts["eth_blockNumber"] == 20
    asked = node.counts["eth_chainId"]
    assert 1 <= asked <= 21
    await chain.head()
    assert node.counts["eth_chainId"] == asked


# -- eth_call ----------------------------------------------------------------------------------------------------------


@covers("invariant.3.calls")
async def test_a_wallet_contract_answers_for_its_owners_signature(
    evm: Evm, node: FaultyNode, chain: JsonRpcChain
) -> None:
    wallet = payment_flows.smart_wallet(evm)
    text = encode_defunct(text="whose wallet is this")
    digest = bytes(_hash_eip191_message(text))
    good, bad = (bytes(who.sign_message(text).signature) for who in (wallet.owner, evm.person(gas=False)))
    calls = ["0x" + pack("isValidSignature(bytes32,bytes)", digest, one).hex() for one in (good, bad)]
    assert await chain.call(wallet.address, calls[0]) == "0x1626ba7e" + "00" * 28
    assert await chain.call(wallet.address, calls[1]) == "0xffffffff" + "00" * 28
    assert await chain.call(evm.shared("Splitter"), calls[0]) is None
    assert await chain.call(wallet.owner.address, calls[0]) == "0x"
    node.fault("eth_call", result(lambda given: "0x" + given[2:].upper()))
    assert await chain.call(wallet.address, calls[1]) == "0xffffffff" + "00" * 28


# Runtime codes: INVALID; JUMPDEST PUSH1 0 JUMP (endless); POP on an empty stack; a jump without JUMPDEST.
@pytest.mark.parametrize("code", ["fe", "5b600056", "50", "600056"])
async def test_a_contract_that_fails_in_any_way_is_an_answer_and_not_an_outage(
    evm: Evm, chain: JsonRpcChain, code: str
) -> None:
    runtime = bytes.fromhex(code)
    creation = b"\x7f" + runtime.ljust(32, b"\0") + bytes.fromhex("600052") + b"\x60" + bytes([len(runtime)])
    contract = evm.receipt(evm.send(evm.bank, None, creation + bytes.fromhex("6000f3")))["contractAddress"]
    assert evm.rpc("eth_getCode", contract, "latest") == "0x" + code
    assert await chain.call(contract, "0x1626ba7e") is None


@pytest.mark.parametrize(
    "fault", [error(-32000, "execution aborted (timeout = 5s)"), error(-32005, "limit exceeded"), error(-32601, "no")]
)
async def test_a_call_the_node_could_not_run_is_chain_down(
    evm: Evm, node: FaultyNode, chain: JsonRpcChain, fault: Fault
) -> None:
    node.fault("eth_call", fault)
    with pytest.raises(NodeError):
        await chain.call(evm.usdc, A_BALANCE)


@pytest.mark.parametrize("answer", [None, "", "1626ba7e", "0x1", "0xzz", "0x00\n", 7, {}, []])
async def test_m6_a_call_whose_result_is_not_bytes_is_chain_down(
    evm: Evm, node: FaultyNode, chain: JsonRpcChain, answer: object
) -> None:
    node.fault("eth_call", result(lambda _: answer))
    with pytest.raises(ChainDown):
        await chain.call(evm.usdc, A_BALANCE)


async def test_only_a_failed_call_is_taken_for_a_contracts_answer(
    evm: Evm, node: FaultyNode, chain: JsonRpcChain
) -> None:
    node.fault("eth_chainId", error(3, "execution reverted"))
    with pytest.raises(ChainDown):
        await chain.call(evm.usdc, A_BALANCE)
    node.heal()
    node.fault("eth_blockNumber", error(3, "execution reverted"))
    with pytest.raises(ChainDown):
        await chain.head()


# -- the head ----------------------------------------------------------------------------------------------------------


async def test_the_head_does_not_go_backwards_when_a_lagging_node_answers(node: FaultyNode) -> None:
    seconds = [100.0]
    chain = JsonRpcChain(node.url, 84532, monotonic=lambda: seconds[0])
    told = []
    assert chain.last_head is None
    for number, second in [(50, 100.0), (48, 105.0), (51, 110.0), (51, 115.0), (7, 140.0), (7, 146.0), (6, 150.0)]:
        node.fault("eth_blockNumber", result(lambda _, number=number: hex(number)))
        seconds[0] = second
        told.append((await chain.head(), chain.last_head))
    await chain.close()
    assert told == [
        (50, (50, 100.0)),
        (50, (50, 100.0)),
        (51, (51, 110.0)),
        (51, (51, 115.0)),
        (51, (51, 115.0)),
        (7, (7, 146.0)),  # an unconfirmed head expires after half a minute, because a node may have lied once
        (7, (7, 146.0)),
    ]


@pytest.mark.parametrize(
    "answer",
    [None, 7, True, "7", "0x", "0x07", "-0x1", "0xg", "0x1\n", "latest", hex(MAX_BLOCK_NUMBER + 1), {}, ["0x1"]],
)
@pytest.mark.parametrize("method", ["eth_blockNumber", "eth_chainId"])
async def test_m6_what_is_no_hex_quantity_is_chain_down(
    node: FaultyNode, chain: JsonRpcChain, method: str, answer: object
) -> None:
    node.fault(method, result(lambda _: answer))
    with pytest.raises(ChainDown):
        await chain.head()
    assert chain.last_head is None


# -- which chain it is -------------------------------------------------------------------------------------------------


async def test_a_node_of_another_chain_is_chain_down_for_every_read(evm: Evm, node: FaultyNode) -> None:
    async with reading(node.url, chain_id=8453) as chain:
        for read in (chain.receipt(NOBODYS), chain.head(), chain.block(1), chain.call(evm.usdc, A_BALANCE)):
            with pytest.raises(ChainDown, match="another chain"):
                await read
    assert node.counts == {"eth_chainId": 4}


@pytest.mark.parametrize("outage", [Silence.DROP, Reply(503)])
async def test_a_node_that_comes_back_as_another_chain_is_noticed(
    node: FaultyNode, chain: JsonRpcChain, outage: Reply | Silence
) -> None:
    await chain.head()
    node.fault("*", lambda _: outage)
    with pytest.raises(ChainDown):
        await chain.head()
    node.heal()
    node.fault("eth_chainId", result(lambda _: hex(8453)))
    with pytest.raises(ChainDown, match="another chain"):
        await chain.head()


async def test_an_answer_over_a_new_connection_is_withheld_until_its_chain_is_known(node: FaultyNode) -> None:
    def last_word(answer: Json) -> Reply:
        return Reply(200, orjson.dumps(answer), {"Connection": "close"})

    async with reading(node.url) as chain:
        await chain.head()
        node.fault("eth_blockNumber", last_word, times=1)
        await chain.head()
        node.fault("eth_chainId", result(lambda _: hex(8453)))
        with pytest.raises(ChainDown, match="another chain"):
            await chain.head()


# -- networks ----------------------------------------------------------------------------------------------------------


async def test_a_node_that_is_not_there_is_chain_down() -> None:
    async with raw_node(b"") as url:
        pass
    async with reading(url) as chain:
        with pytest.raises(ChainDown):
            await chain.head()


async def test_a_proxy_of_the_environment_is_not_used(chain: JsonRpcChain, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "all_proxy", "no_proxy"):  # lower case has priority
        monkeypatch.setenv(name, "" if name == "no_proxy" else "http://127.0.0.1:1")
    assert await chain.receipt(NOBODYS) is None


async def test_a_connection_the_node_dropped_while_idle_costs_no_answer(node: FaultyNode, chain: JsonRpcChain) -> None:
    number = await chain.head()
    node.fault("eth_blockNumber", lambda _: Silence.DROP, times=1)
    assert await chain.head() == number
    node.fault("eth_blockNumber", lambda _: Silence.DROP)
    with pytest.raises(ChainDown):
        await chain.head()
    assert node.counts["eth_blockNumber"] == 1 + 2 + 2


@pytest.mark.parametrize("method", ["eth_chainId", "eth_blockNumber"])
async def test_silence_is_chain_down_in_time_and_the_node_is_identified_again(node: FaultyNode, method: str) -> None:
    async with reading(node.url, timeout_in_seconds=0.2) as chain:
        node.fault(method, lambda _: Silence.HOLD)
        started = asyncio.get_running_loop().time()
        reads = await asyncio.gather(*(chain.head() for _ in range(5)), return_exceptions=True)
        assert [type(one) for one in reads] == [ChainDown] * 5
        assert asyncio.get_running_loop().time() - started < 2
        node.heal()
        before = node.counts["eth_chainId"]
        await chain.head()
        assert node.counts["eth_chainId"] > before


@pytest.mark.parametrize("said", [b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{", b"HTTP/1.1 200 OK\r\n", b""])
async def test_half_an_answer_and_then_silence_is_chain_down_in_time(said: bytes) -> None:
    async with raw_node(said, hold=True) as url, reading(url, timeout_in_seconds=0.2) as chain:
        with pytest.raises(ChainDown, match="TimeoutError"):
            await chain.head()


@pytest.mark.parametrize(
    "said",
    [
        b"",
        b"\x00" * 100,
        b"SSH-2.0-OpenSSH_9.6\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nshort",
        b"HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n{}",
        b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\n{}",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
        b"HTTP/1.1 two hundred\r\n\r\n",
        b"HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nX: " + b"a" * 100_000 + b"\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nX: \xff\xfe\r\nContent-Length: 2\r\n\r\n{}",
        b"HTTP/1.1 200 OK\r\nSet-Cookie: \x00=\x00\r\nContent-Length: 2\r\n\r\n{}",
        b"HTTP/1.1 302 Found\r\nLocation: http://[::bad/\r\nContent-Length: 0\r\n\r\n",
    ],
)
async def test_m6_what_is_no_proper_http_is_chain_down(said: bytes) -> None:
    async with raw_node(said) as url, reading(url) as chain:
        with pytest.raises(ChainDown):
            await chain.head()


async def test_a_redirect_is_not_followed(evm: Evm, node: FaultyNode, chain: JsonRpcChain) -> None:
    node.fault("*", lambda _: Reply(307, b"", {"Location": evm.url}))
    with pytest.raises(ChainDown, match="HTTP 307"):
        await chain.head()


# -- answers -----------------------------------------------------------------------------------------------------------


def raw(body: bytes, status: int = 200, **headers: str) -> Fault:
    return lambda _: Reply(status, body, {"Content-Type": "application/json"} | headers)


def envelope(**changed: object) -> Fault:
    return lambda answer: answer | changed


def without(name: str) -> Fault:
    return lambda answer: {key: value for key, value in answer.items() if key != name}


BAD_ANSWERS: dict[str, Fault] = {
    "HTTP 500": raw(b"oops", 500),
    "HTTP 500 with a good body": lambda answer: Reply(500, orjson.dumps(answer)),
    "HTTP 429": raw(b"{}", 429),
    "HTML": raw(b"<!DOCTYPE html><html><body>502 Bad Gateway</body></html>", 200),
    "nothing": raw(b""),
    "half": lambda answer: Reply(200, orjson.dumps(answer)[:-3]),
    "NaN": raw(b'{"jsonrpc":"2.0","id":1,"result":NaN}'),
    "not UTF-8": raw(b'{"jsonrpc":"2.0","id":1,"result":"\xff"}'),
    "deep": raw(b"[" * 100_000 + b"]" * 100_000),
    "deep objects": raw(b'{"a":' * 100_000 + b"1" + b"}" * 100_000),
    "compressed": lambda answer: Reply(200, gzip.compress(orjson.dumps(answer)), {"Content-Encoding": "gzip"}),
    "a batch": lambda answer: Reply(200, orjson.dumps([answer])),
    "null": raw(b"null"),
    "another id": lambda answer: answer | {"id": answer["id"] + 1},
    "the id as a text": lambda answer: answer | {"id": str(answer["id"])},
    "the id as a float": lambda answer: answer | {"id": float(answer["id"])},
    "id true": envelope(id=True),
    "no id": without("id"),
    "JSON-RPC 1.0": envelope(jsonrpc="1.0"),
    "no result": without("result"),
    "an error": error(-32000, "header not found"),
    "an error and a result": envelope(error={"code": -32005, "message": "limit exceeded"}),
    "an error without a code": error(None, "boom"),
    "an error without a message": error(-32000, None),
    "an error that is a text": envelope(error="boom"),
    "an error that is a list": envelope(error=[]),
    "an error that is false": envelope(error=False),
}


@pytest.mark.parametrize("method", ["eth_chainId", "eth_getTransactionReceipt", "eth_call"])
@pytest.mark.parametrize("name", BAD_ANSWERS)
async def test_m6_a_bad_answer_is_chain_down_and_the_same_question_works_later(
    evm: Evm, node: FaultyNode, chain: JsonRpcChain, name: str, method: str
) -> None:
    node.fault(method, BAD_ANSWERS[name])
    with pytest.raises(ChainDown):
        await (chain.call(evm.usdc, A_BALANCE) if method == "eth_call" else chain.receipt(NOBODYS))
    node.heal()
    assert await chain.receipt(NOBODYS) is None


async def test_an_answer_of_more_than_two_mebibytes_is_cut_off(node: FaultyNode, chain: JsonRpcChain) -> None:
    def padded(size: int) -> Fault:
        return lambda answer: Reply(200, orjson.dumps(answer).ljust(size))

    node.fault("eth_getTransactionReceipt", padded(MAX_ANSWER_BYTES))
    assert await chain.receipt(NOBODYS) is None
    for size in (MAX_ANSWER_BYTES + 1, 8 * MAX_ANSWER_BYTES):
        node.fault("eth_getTransactionReceipt", padded(size))
        with pytest.raises(ChainDown, match="over 2097152 bytes"):
            await chain.receipt(f"0x{size:064x}")  # NOBODYS is cached as unknown


@pytest.mark.parametrize(
    "fault", [raw(b"", 500), raw(b"<html>"), lambda _: Silence.DROP, lambda _: Reply(302, b"", {"Location": "/"})]
)
async def test_the_access_key_in_the_url_is_in_no_error(node: FaultyNode, fault: Fault) -> None:
    node.fault("*", fault)
    for url in (node.url + "v2/access-key", "http://127.0.0.1:1/v2/access-key", "http://access-key:1x/", "access-key"):
        async with reading(url) as chain:
            with pytest.raises(ChainDown) as caught:
                await chain.head()
        assert "access-key" not in "".join(traceback.format_exception(caught.value))
