"""Questions to a node of the chain, over JSON-RPC. No answer is trusted: see paying.py for what a lie can cause."""

import os
from typing import Any

from emporion_client.account import Account
from emporion_client.answers import JsonObject, quantity, record_at, text
from emporion_client.errors import EmporionError, MarketError, NotFunded, UnexpectedAnswer
from emporion_client.home import safe_url
from emporion_client.money import shown
from emporion_client.transport import Call, Flow, Pause, attempts
from emporion_client.wallet import BALANCE_OF, CHAINS, LIVE_NODE, USDC, padded

METHOD_NOT_FOUND = -32601
PLAY_MONEY = 5_000_000
MAX_NONCE = 2**63 - 1  # the journal holds no higher number


class NodeError(EmporionError):
    """A node refused a call."""

    def __init__(self, method: str, error: Any) -> None:
        known = error if isinstance(error, dict) else {}
        self.code = known.get("code")
        super().__init__(f"{method}: {str(known.get('message') or error)[:300]}")


def node_url(account: Account) -> Flow[str]:
    """Return the address of a node: the user's, a constant on live, the market's hint on test."""
    if given := os.environ.get("EMPORION_RPC_URL"):
        return given
    if account.env == "live":
        return LIVE_NODE
    network = yield from account.payments()
    return safe_url(network.get("rpc_hint"), account.url, "node")


def rpc(account: Account, method: str, *params: Any) -> Flow[Any]:
    """Call a node."""
    url = yield from node_url(account)
    body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
    try:
        answer = yield from attempts(Call("POST", url, json=body))
    except MarketError as refused:  # some nodes answer an error with another status
        raise NodeError(method, refused.body.get("error") or f"HTTP {refused.status}") from None
    if answer.get("error") is not None:
        raise NodeError(method, answer["error"])
    return answer.get("result")


def balance(account: Account) -> Flow[int]:
    """Return the USDC of the wallet in minor units."""
    call = {"to": USDC[CHAINS[account.env]], "data": BALANCE_OF + padded(account.wallet.address)}
    return quantity((yield from rpc(account, "eth_call", call, "latest")))


def fund(account: Account, amount: int, *, gas: bool) -> Flow[None]:
    """Make sure that the wallet holds the amount; with env="test" ask for play money."""
    held = yield from balance(account)
    url = yield from node_url(account)
    if account.env == "test" and (held < amount or gas):
        if url.startswith("http://"):  # a sandbox; public nodes speak https
            yield from _sandbox_money(account, amount if held < amount else 0, gas=gas)
        elif held < amount:
            yield from _faucet_money(account, amount)
        held = yield from balance(account)
    if held < amount:
        raise NotFunded(f"{account.wallet.address} holds {shown(held)} and needs {shown(amount)} on {account.env}")


def _sandbox_money(account: Account, amount: int, *, gas: bool) -> Flow[None]:
    """Take money and gas from the sandbox's chain; an ordinary node does not have these methods."""
    address = account.wallet.address
    try:
        if amount:
            yield from rpc(account, "dev_faucet", address, max(amount, PLAY_MONEY))
        if gas and quantity((yield from rpc(account, "eth_getBalance", address, "latest"))) == 0:
            yield from rpc(account, "dev_gas", address)
    except NodeError as error:
        if error.code != METHOD_NOT_FOUND:
            raise


def _faucet_money(account: Account, amount: int) -> Flow[None]:
    """Claim the market's test money and wait until it is there."""
    try:
        yield from account.call("claim_test_funds")
    except MarketError:  # there is no faucet, or it gave today's money already
        return
    for _ in range(15):
        if (yield from balance(account)) >= amount:
            return
        yield Pause(2)


def account_nonce(account: Account) -> Flow[int]:
    """Return the number of the wallet's next transaction."""
    nonce = quantity((yield from rpc(account, "eth_getTransactionCount", account.wallet.address, "pending")))
    if nonce >= MAX_NONCE:
        raise UnexpectedAnswer("a node answered a number of transactions that no wallet has")
    return nonce


def base_fee(account: Account) -> Flow[int]:
    """Return the price of gas in the newest block, in wei."""
    block = yield from rpc(account, "eth_getBlockByNumber", "latest", False)
    if not isinstance(block, dict):
        raise UnexpectedAnswer("a node answered something that is no block")
    return quantity(block.get("baseFeePerGas", "0x0"))


def receipt(account: Account, transaction: str) -> Flow[JsonObject | None]:
    """Return the receipt of a mined transaction; None if it is not mined."""
    found = yield from rpc(account, "eth_getTransactionReceipt", transaction)
    if found is not None and text(found, "transactionHash").lower() != transaction:
        raise UnexpectedAnswer("a node answered with the receipt of another transaction")
    return None if found is None else record_at(found)


def broadcast(account: Account, raw: str) -> Flow[str]:
    """Send a signed transaction; return what the node says against it, or an empty text."""
    try:
        yield from rpc(account, "eth_sendRawTransaction", raw)
    except NodeError as refused:  # the node knows it already, or its receipt tells more
        return str(refused)
    return ""
