"""Wallets, and the documents that they sign. Each is built here, from terms that were checked."""

from pathlib import Path
from typing import Any, Protocol

from emporion_client.answers import JsonObject
from emporion_client.errors import HomeDamaged

TRANSFER = "0xa9059cbb"  # transfer(address,uint256)
BALANCE_OF = "0x70a08231"  # balanceOf(address)
CHAINS = {"live": 8453, "test": 84532}
USDC = {8453: "0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913", 84532: "0x036CbD53842c5426634e7929541eC2318f3dCF7e"}
TOKEN_NAMES = {8453: "USD Coin", 84532: "USDC"}  # of the EIP-712 domain
DOMAIN_VERSION = "2"
LIVE_NODE = "https://mainnet.base.org"  # on live the market's choice of a node is not trusted
TRANSFER_GAS = 100_000
TIP = 1_000_000  # wei
MAX_FEE = 20_000_000_000  # wei for each unit of gas


class Signer(Protocol):
    """The part of a wallet that is needed. A key service or a hardware wallet can have it."""

    @property
    def address(self) -> str:
        """The address with its checksum."""

    def sign_text(self, text: str) -> str:
        """Sign a text as personal_sign does (EIP-191); return 0x and 130 hex digits."""

    def sign_typed(self, typed_data: JsonObject) -> str:
        """Sign typed data (EIP-712); return 0x and 130 hex digits."""

    def sign_transaction(self, transaction: JsonObject) -> str:
        """Sign a transaction of type 2; return its bytes as 0x and hex digits."""


class LocalWallet:
    """A private key in this process; errors name the file if it was kept in one.

    eth_account is loaded at the first signature, because it loads slowly.
    """

    def __init__(self, key: str, address: str | None = None, file: Path | None = None) -> None:
        self._key, self._address, self._file = key, address, file

    def __repr__(self) -> str:
        return f"LocalWallet({self._address or 'not loaded'})"

    @classmethod
    def create(cls) -> "LocalWallet":
        """Make a new key."""
        from eth_account import Account

        made = Account.create()
        return cls(made.key.to_0x_hex(), made.address)

    @property
    def _account(self) -> Any:
        from eth_account import Account

        try:
            made = Account.from_key(self._key)
        except Exception:  # noqa: BLE001 - any cause would be shown together with the key
            wrong = "the wallet's key is not 0x and 64 hex digits"
            raise HomeDamaged(f"{self._file}: {wrong}") if self._file else ValueError(wrong) from None
        if self._address not in (None, made.address):
            raise HomeDamaged("the wallet's address does not belong to its key; nothing was signed")
        return made

    @property
    def address(self) -> str:
        """The address with its checksum."""
        if self._address is None:
            self._address = str(self._account.address)
        return self._address

    @property
    def key(self) -> str:
        """The private key."""
        return self._key

    def sign_text(self, text: str) -> str:
        """Sign a text as personal_sign does."""
        from eth_account.messages import encode_defunct

        return str(self._account.sign_message(encode_defunct(text=text)).signature.to_0x_hex())

    def sign_typed(self, typed_data: JsonObject) -> str:
        """Sign typed data (EIP-712)."""
        return str(self._account.sign_typed_data(full_message=typed_data).signature.to_0x_hex())

    def sign_transaction(self, transaction: JsonObject) -> str:
        """Sign a transaction."""
        return str(self._account.sign_transaction(transaction).raw_transaction.to_0x_hex())


def transaction_hash(raw: str) -> str:
    """Return the hash of a signed transaction."""
    from eth_utils.crypto import keccak

    return f"0x{keccak(bytes.fromhex(raw.removeprefix('0x'))).hex()}"


def padded(address: str) -> str:
    """Return an address as 64 hex digits, as contracts take it."""
    return address[2:].lower().rjust(64, "0")


def authorization(chain: int, payer: str, payee: str, amount: int, valid_before: int, nonce: str) -> JsonObject:
    """Return the typed data of a USDC transfer that another party may send once (EIP-3009)."""
    domain = [("name", "string"), ("version", "string"), ("chainId", "uint256"), ("verifyingContract", "address")]
    fields = [("from", "address"), ("to", "address"), ("value", "uint256")]
    fields += [("validAfter", "uint256"), ("validBefore", "uint256"), ("nonce", "bytes32")]
    message = {
        "from": payer,
        "to": payee,
        "value": amount,
        "validAfter": 0,
        "validBefore": valid_before,
        "nonce": nonce,
    }
    return {
        "types": {
            "EIP712Domain": [{"name": name, "type": kind} for name, kind in domain],
            "TransferWithAuthorization": [{"name": name, "type": kind} for name, kind in fields],
        },
        "primaryType": "TransferWithAuthorization",
        "domain": {
            "name": TOKEN_NAMES[chain],
            "version": DOMAIN_VERSION,
            "chainId": chain,
            "verifyingContract": USDC[chain],
        },
        "message": message,
    }


def settle_body(typed: JsonObject, signature: str, url: str) -> JsonObject:
    """Return the request to a facilitator that sends an authorization (x402, version 2)."""
    domain, message = typed["domain"], typed["message"]
    accepted = {
        "scheme": "exact",
        "network": f"eip155:{domain['chainId']}",
        "amount": str(message["value"]),
        "asset": domain["verifyingContract"],
        "payTo": message["to"],
        "maxTimeoutSeconds": 900,
        "extra": {"name": domain["name"], "version": domain["version"]},
    }
    payload = {"signature": signature, "authorization": {name: str(value) for name, value in message.items()}}
    resource = {"url": url, "description": "the work of a job", "mimeType": "application/json"}
    return {
        "x402Version": 2,
        "paymentPayload": {"x402Version": 2, "resource": resource, "accepted": accepted, "payload": payload},
        "paymentRequirements": accepted,
    }


def transfer(chain: int, payee: str, amount: int, nonce: int, base_fee: int) -> JsonObject:
    """Return an ordinary USDC transfer, which costs gas."""
    return {
        "type": 2,
        "chainId": chain,
        "nonce": nonce,
        "gas": TRANSFER_GAS,
        "maxPriorityFeePerGas": TIP,
        "maxFeePerGas": 2 * base_fee + TIP,
        "to": USDC[chain],
        "value": 0,
        "data": TRANSFER + padded(payee) + f"{amount:064x}",
    }
