"""The sandbox's JSON-RPC over HTTP: wrong requests and their errors."""

from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from tests.support.evm import Evm

SOMEBODY = "0x" + "11" * 20


@pytest.fixture(scope="module")
def node() -> Iterator[Evm]:
    with Evm() as chain:
        yield chain


def post(node: Evm, body: Any) -> httpx.Response:
    content = {"content": body} if isinstance(body, bytes) else {"json": body}
    with httpx.Client(trust_env=False, verify=False) as client:
        return client.post(node.url, **content)


def call(method: Any, *params: Any, **changes: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": 7, "method": method, "params": list(params)} | changes


@pytest.mark.parametrize(
    "body, status, code",
    [
        (b"", 400, -32700),
        (b"{", 400, -32700),
        (b"\xff\xfe", 400, -32700),
        (b"[" * 5000, 400, -32700),
        (b"null", 200, -32600),
        (b"7", 200, -32600),
        (b'"eth_chainId"', 200, -32600),
        (b"[]", 200, -32600),
        (b"{}", 200, -32600),
        (call("eth_chainId", jsonrpc="1.0"), 200, -32600),
        (call("eth_chainId", id=[1]), 200, -32600),
        (call("eth_chainId", id=True), 200, -32600),
        (call(5), 200, -32600),
        (call("eth_chainId", params={"a": 1}), 200, -32602),
        (call("eth_chainId", 1), 200, -32602),
        (call("eth_sign"), 200, -32601),
        (call("eth_sendTransaction", {}), 200, -32601),
        (call("__class__"), 200, -32601),
        (call("eth_getBalance"), 200, -32602),
        (call("eth_getBalance", "0x12"), 200, -32602),
        (call("eth_getBalance", "0x" + "gg" * 20), 200, -32602),
        (call("eth_getBalance", SOMEBODY, "0x7fff"), 200, -32000),
        (call("eth_getTransactionReceipt", "0x" + "0" * 63), 200, -32602),
        (call("eth_getTransactionReceipt", "0X" + "0" * 64), 200, -32602),
        (call("eth_getBlockByNumber", "0x1", 1), 200, -32602),
        (call("eth_getLogs", {"fromBlock": "0x0", "toBlock": "0xffffff"}), 200, -32602),
        (call("dev_faucet", SOMEBODY), 200, -32602),
        (call("dev_faucet", SOMEBODY, -1), 200, -32602),
        (call("dev_faucet", SOMEBODY, 1.5), 200, -32602),
        (call("dev_faucet", SOMEBODY, True), 200, -32602),
        (call("dev_faucet", SOMEBODY, 2**256), 200, -32602),
        (call("dev_faucet", SOMEBODY, hex(2**256)), 200, -32602),
        (call("dev_faucet", SOMEBODY, 10**12 + 1), 200, 3),
        (call("evm_mine", 1001), 200, -32602),
        (call("evm_mine", 0), 200, -32602),
    ],
)
def test_a_wrong_call_gets_the_right_error_and_mines_nothing(node: Evm, body: Any, status: int, code: int) -> None:
    before = node.head()
    reply = post(node, body)
    assert (reply.status_code, reply.json()["error"]["code"]) == (status, code)
    assert reply.json()["error"]["message"]
    assert node.head() == before


def test_a_body_over_a_mebibyte_is_refused(node: Evm) -> None:
    reply = post(node, b'{"jsonrpc":"2.0","id":1,"method":"' + b"a" * 2**20 + b'"}')
    assert (reply.status_code, reply.json()["error"]["code"]) == (413, -32600)


def test_a_batch_is_answered_in_order_with_its_own_errors(node: Evm) -> None:
    replies = post(
        node, [call("eth_chainId", id="a"), 5, call("nothing", id=None), call("net_listening", id=2.5)]
    ).json()
    assert [reply["id"] for reply in replies] == ["a", None, None, 2.5]
    assert [reply.get("result") for reply in replies] == [hex(84532), None, None, True]
    assert [reply["error"]["code"] for reply in replies if "error" in reply] == [-32600, -32601]


def test_a_batch_of_more_than_a_hundred_is_refused(node: Evm) -> None:
    assert post(node, [call("eth_chainId")] * 101).json()["error"]["code"] == -32600
    assert len(post(node, [call("eth_chainId")] * 100).json()) == 100


def test_a_notification_runs_and_is_not_answered(node: Evm) -> None:
    before = node.head()
    mine = {"jsonrpc": "2.0", "method": "evm_mine"}
    alone, together = post(node, mine), post(node, [mine, mine])
    assert [(one.status_code, one.content) for one in (alone, together)] == [(204, b"")] * 2
    assert node.head() == before + 3


def test_faucet_and_gas_pay_out(node: Evm) -> None:
    someone = node.person(gas=False)
    for amount in (1_000_000, "0xf4240", "1000000"):
        node.rpc("dev_faucet", someone.address, amount)
    node.rpc("dev_gas", someone.address.lower())
    assert node.balance(someone) == 3_000_000
    assert node.rpc("eth_getBalance", someone.address, "latest") == hex(10**18)


def test_a_failure_of_ours_is_an_error_answer_and_not_a_broken_connection(
    node: Evm, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(_: object) -> None:
        raise OSError("no disk")

    monkeypatch.setattr(node.node.chain, "on_block", broken)  # type: ignore[attr-defined]
    before = node.head()
    reply = post(node, call("dev_gas", SOMEBODY)).json()
    assert reply["error"] == {"code": -32603, "message": "internal error; see the sandbox's log"}
    assert "no disk" in caplog.text
    assert node.head() == before


def test_the_front_page_says_what_this_is_and_browsers_may_read_it(node: Evm) -> None:
    with httpx.Client(trust_env=False, verify=False, headers={"Origin": "https://agent.example"}) as client:
        page = client.get(node.url)
        asked = client.options(node.url, headers={"Access-Control-Request-Method": "POST"})
    found = page.json()
    assert {key: found[key] for key in ("object", "chain_id", "network", "asset", "block_number")} == {
        "object": "sandbox_chain",
        "chain_id": 84532,
        "network": "eip155:84532",
        "asset": node.usdc,
        "block_number": node.head(),
    }
    assert found["genesis"] == node.rpc("eth_getBlockByNumber", "0x0", False)["hash"]
    assert {"dev_faucet", "dev_gas", "eth_sendRawTransaction"} < set(found["methods"])
    assert page.headers["access-control-allow-origin"] == "*"
    assert (asked.status_code, asked.headers["access-control-allow-origin"]) == (200, "*")
