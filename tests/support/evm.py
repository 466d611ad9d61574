"""A chain for tests: accounts, contracts, blocks, time and reorganisations, over JSON-RPC on a real port."""

from collections.abc import Callable
from types import TracebackType
from typing import Any, Self

from eth_abi.abi import decode, encode
from eth_abi.grammar import TupleType, parse
from eth_account import Account
from eth_account.signers.local import LocalAccount
from eth_utils.abi import function_signature_to_4byte_selector
from eth_utils.address import to_checksum_address

from server.sandbox import genesis
from tests.support.chain_nodes import ARTIFACTS, RpcFailed, backends, start_node

__all__ = ["ARTIFACTS", "Evm", "RpcFailed", "backends", "pack"]

_GAS = 600_000
_DEPLOY_GAS = 5_000_000
_MAX_FEE_IN_WEI = 10 * 10**9
_GIFT_IN_WEI = 10**18
_LARGEST_CROWD = 32
_GAS_PER_GIFT = 110_000


class Evm:
    """A running chain for use in a `with`, or with `close`.

    The default is the sandbox's chain with Base Sepolia's id.
    """

    def __init__(
        self, chain_id: int = 84532, backend: str = "devchain", *, now: Callable[[], int] | None = None
    ) -> None:
        self.chain_id = chain_id
        self.usdc: str = genesis.USDC[chain_id]
        self.token_name = "USD Coin" if chain_id == 8453 else "USDC"
        self.node = start_node(backend, chain_id, now)
        self.backend = backend
        self.url = self.node.url
        self._deployed: dict[str, str] = {}
        self._held = False
        self._waiting: dict[int, list[LocalAccount]] = {}  # with gas and this amount of USDC
        self._crowds: dict[int, int] = {}
        self.bank = self.person()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Stop the chain."""
        self.node.close()

    # -- reading ---------------------------------------------------------------------------------------------------

    def rpc(self, method: str, *params: object) -> Any:
        """Call a JSON-RPC method; return its result. Raises RpcFailed for an error."""
        return self.node.rpc(method, *params)

    def head(self) -> int:
        """Return the height of the last block."""
        return int(self.rpc("eth_blockNumber"), 16)

    def now(self) -> int:
        """Return the last block's time in Unix seconds."""
        return int(self.rpc("eth_getBlockByNumber", "latest", False)["timestamp"], 16)

    def receipt(self, transaction: str) -> Any:
        """Return the node's receipt, or None."""
        return self.rpc("eth_getTransactionReceipt", transaction)

    def balance(self, who: str | LocalAccount) -> int:
        """Return the USDC of an account in minor units."""
        return int(self.read(self.usdc, "balanceOf(address)", address_of(who), returns="uint256"))

    def read(self, to: str, signature: str, *arguments: object, returns: str) -> Any:
        """Call a view function; return its only value."""
        output = self.rpc("eth_call", {"to": to, "data": "0x" + pack(signature, *arguments).hex()}, "latest")
        return decode([returns], bytes.fromhex(output[2:]))[0]

    # -- people and contracts --------------------------------------------------------------------------------------

    def person(self, usdc_minor: int = 0, gas: bool = True) -> LocalAccount:
        """Create an account with this much USDC and, by default, gas."""
        if gas:
            return self._with_gas(usdc_minor)
        someone: LocalAccount = Account.create()
        if usdc_minor:
            self.fund(someone, usdc_minor)
        return someone

    def _with_gas(self, usdc_minor: int) -> LocalAccount:
        """Return a new account with gas and USDC.

        One transaction gives to many, twice as many each time, because a transaction takes 20 ms.
        """
        waiting = self._waiting.setdefault(usdc_minor, [])
        if not waiting:
            size = self._crowds.get(usdc_minor, 1)
            waiting += [Account.create() for _ in range(size)]
            self._crowds[usdc_minor] = min(2 * size, _LARGEST_CROWD)
            if size == 1 or self.backend != "devchain":
                for one in waiting:
                    self.node.give_gas(one.address)
                    if usdc_minor:
                        self.fund(one, usdc_minor)
            else:
                code = _gifts(self.usdc, [one.address for one in waiting], usdc_minor)
                self.send(_rich(), None, code, value=size * _GIFT_IN_WEI, gas=_GAS + size * _GAS_PER_GIFT)
        return waiting.pop()

    def fund(self, who: str | LocalAccount, usdc_minor: int) -> str:
        """Mint USDC to an account or a contract; return the hash of the transaction."""
        return self.send(self.bank, self.usdc, pack("mint(address,uint256)", address_of(who), usdc_minor))

    def deploy(self, name: str, *arguments: object) -> str:
        """Deploy a contract of artifacts.json; return its address."""
        artifact = ARTIFACTS[name]
        inputs = [one["inputs"] for one in artifact["abi"] if one["type"] == "constructor"]
        types = [field["type"] for field in inputs[0]] if inputs else []
        code = bytes.fromhex(artifact["bytecode"][2:]) + encode(types, arguments)
        transaction = self.send(self.bank, None, code, gas=_DEPLOY_GAS)
        receipt = self.receipt(transaction)
        assert receipt["status"] == "0x1", f"{name} was not deployed"
        return to_checksum_address(receipt["contractAddress"])

    def shared(self, name: str) -> str:
        """Return the address of a contract without constructor arguments; deploy it on first use."""
        known = self._deployed.get(name)
        if known is None or self.rpc("eth_getCode", known, "latest") == "0x":
            known = self._deployed[name] = self.deploy(name)
        return known

    # -- writing ---------------------------------------------------------------------------------------------------

    def transfer(self, sender: LocalAccount, to: str | LocalAccount, amount_minor: int) -> str:
        """Send a plain USDC transfer; return its hash in lower case.

        A refusal by the token is mined as a failed transaction.
        """
        return self.send(sender, self.usdc, pack("transfer(address,uint256)", address_of(to), amount_minor))

    def send(self, sender: LocalAccount, to: str | None, data: bytes = b"", *, value: int = 0, gas: int = _GAS) -> str:
        """Sign and send a transaction; return its hash. If `to` is None, it creates a contract."""
        transaction: dict[str, Any] = {
            "type": 2,
            "chainId": self.chain_id,
            "nonce": int(self.rpc("eth_getTransactionCount", sender.address, "pending"), 16),
            "gas": gas,
            "maxFeePerGas": _MAX_FEE_IN_WEI,
            "maxPriorityFeePerGas": 10**9,
            "value": value,
            "data": data,
        }
        if to is not None:
            transaction["to"] = to_checksum_address(to)
        signed = sender.sign_transaction(transaction)
        sent = str(self.rpc("eth_sendRawTransaction", "0x" + bytes(signed.raw_transaction).hex()))
        while not self._held and self.receipt(sent) is None:  # anvil answers before it has mined the block
            pass
        return sent

    # -- blocks and time -------------------------------------------------------------------------------------------

    def mine(self, blocks: int = 1) -> None:
        """Add empty blocks."""
        self.node.mine(blocks)

    def warp(self, seconds: int) -> None:
        """Move the chain's clock forward and mine a block at that time."""
        self.node.warp(seconds)

    def snapshot(self) -> str:
        """Save the state of the chain for `reorg`."""
        return self.node.snapshot()

    def reorg(self, snapshot: str, blocks: int = 1) -> None:
        """Drop all blocks since the snapshot, and add this many empty blocks with other hashes."""
        self.node.revert(snapshot)
        self._waiting.clear()  # they may have lost their gas
        if blocks:
            self.node.mine(blocks)

    def hold(self) -> None:
        """Stop mining, so that transactions wait."""
        self.node.hold()
        self._held = True

    def release(self) -> None:
        """Mine the waiting transactions in one block, and mine immediately from now on."""
        self.node.release()
        self._held = False


def _rich() -> LocalAccount:
    """Return the account from which the sandbox's chain pays."""
    made: LocalAccount = Account.from_key(genesis.bank().to_bytes())
    return made


def _gifts(token: str, addresses: list[str], usdc_minor: int) -> bytes:
    """Return the code of a contract whose creation sends gas and USDC to each address."""
    calls = []
    for one in addresses:
        calls.append(_call(one, _GIFT_IN_WEI))
        if usdc_minor:
            given = pack("mint(address,uint256)", one, usdc_minor)
            words = [given[at : at + 32].ljust(32, b"\0") for at in range(0, len(given), 32)]
            stored = [b"\x7f" + word + bytes([0x60, 32 * at, 0x52]) for at, word in enumerate(words)]
            calls += [*stored, _call(token, 0, len(given))]  # PUSH32 word, PUSH1 place, MSTORE
    return b"".join(calls)


def _call(to: str, value_in_wei: int, given_bytes: int = 0) -> bytes:
    """Return the code that calls an address with the first bytes of the memory."""
    answer, given = bytes.fromhex("5f5f"), bytes([0x60, given_bytes, 0x5F])  # PUSH0, PUSH0; PUSH1 length, PUSH0
    value = bytes([0x60 + 8 - 1]) + value_in_wei.to_bytes(8)  # PUSH8
    return answer + given + value + b"\x73" + bytes.fromhex(to[2:]) + bytes.fromhex("5af150")  # PUSH20, GAS, CALL, POP


def address_of(who: str | LocalAccount) -> str:
    """Return the address of an account, or the address itself."""
    return who if isinstance(who, str) else str(who.address)


def pack(signature: str, *arguments: object) -> bytes:
    """Encode call data, such as `pack("transfer(address,uint256)", to, 1)`."""
    selector, types = function_signature_to_4byte_selector(signature), signature[signature.index("(") :]
    if types == "()":
        return selector
    whole = parse(types)
    assert isinstance(whole, TupleType)
    return selector + encode([one.to_type_str() for one in whole.components], arguments)
