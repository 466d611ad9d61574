"""A chain in its own process, as `emporion serve --sandbox` starts it, with wallets that are the same in every run."""

from hashlib import sha256
from pathlib import Path
from typing import Any, Self

import httpx
from eth_account import Account
from eth_account.signers.local import LocalAccount

from server.sandbox.genesis import USDC
from server.sandbox.process import start_sandbox
from tests.support.evm import pack

CHAIN_ID = 84532


class OwnChain:
    """A running sandbox chain for use in a `with`, or with `close`. It is thread-safe."""

    def __init__(self, folder: Path) -> None:
        self.sandbox = start_sandbox(folder, 0, chain_id=CHAIN_ID)
        self.url = self.sandbox.url
        self.http = httpx.Client(trust_env=False, verify=False, timeout=60)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.http.close()
        self.sandbox.stop()

    def rpc(self, method: str, *params: object) -> Any:
        answer = self.http.post(self.url, json={"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).json()
        assert "error" not in answer, answer
        return answer["result"]

    def fund(self, wallet: LocalAccount, usdc_minor: int) -> None:
        """Give a wallet USDC and gas."""
        self.rpc("dev_gas", wallet.address)
        self.rpc("dev_faucet", wallet.address, usdc_minor)

    def transfer(self, sender: LocalAccount, to: str, amount_minor: int) -> str:
        """Send USDC; return the hash of the mined transaction.

        Each sender sends one at a time.
        """
        signed = sender.sign_transaction(
            {
                "type": 2,
                "chainId": CHAIN_ID,
                "nonce": int(self.rpc("eth_getTransactionCount", sender.address, "pending"), 16),
                "gas": 100_000,
                "maxFeePerGas": 10**10,
                "maxPriorityFeePerGas": 10**9,
                "value": 0,
                "to": USDC[CHAIN_ID],
                "data": pack("transfer(address,uint256)", to, amount_minor),
            }
        )
        return str(self.rpc("eth_sendRawTransaction", "0x" + bytes(signed.raw_transaction).hex()))

    def mined_at(self, transaction: str) -> int:
        """Return the Unix second of the block of a transaction."""
        block = self.rpc("eth_getTransactionReceipt", transaction)["blockNumber"]
        return int(self.rpc("eth_getBlockByNumber", block, False)["timestamp"], 16)


def wallet_of(name: str) -> LocalAccount:
    """Return the wallet of this name, the same in every run."""
    made: LocalAccount = Account.from_key(sha256(f"emporion test wallet {name}".encode()).digest())
    return made
