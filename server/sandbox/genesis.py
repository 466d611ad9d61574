"""The sandbox chain's block 0: token and identity registry at their real addresses, and two funded accounts."""

import hashlib
from functools import cache
from pathlib import Path
from typing import Final

import orjson
from eth_keys.datatypes import PrivateKey
from eth_utils.address import to_canonical_address, to_checksum_address
from eth_utils.crypto import keccak

GAS_LIMIT: Final = 30_000_000
USDC: Final = {
    84532: to_checksum_address("0x036CbD53842c5426634e7929541eC2318f3dCF7e"),
    8453: to_checksum_address("0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913"),
}
IDENTITIES: Final = {  # the ERC-8004 registry
    84532: to_checksum_address("0x8004A818BFB912233c491871b3d84c89A494BD9e"),
    8453: to_checksum_address("0x8004A169FB4a3325136EB29fA0ceB6D2e539a432"),
}
_STANDING: Final = {"DevUSDC": USDC, "MockIdentityRegistry": IDENTITIES}
_RICH_IN_WEI: Final = 10**30
_ARTIFACTS: Final = Path(__file__).parent / "contracts" / "artifacts.json"


@cache
def contracts() -> dict[str, bytes]:
    """Return the runtime code of the standing contracts by name."""
    found = orjson.loads(_ARTIFACTS.read_bytes())
    return {name: bytes.fromhex(found[name]["runtime"][2:]) for name in _STANDING}


def contracts_hash() -> str:
    """Return the SHA-256 of the code in block 0, as hex.

    The journal stores it, because other contracts mean another genesis block.
    """
    return hashlib.sha256(b"".join(contracts().values())).hexdigest()


def bank() -> PrivateKey:
    """Return the key of the account that pays for `dev_faucet` and `dev_gas`."""
    return _key("bank")


def facilitator_key() -> PrivateKey:
    """Return the key of the account from which the sandbox's facilitator pays gas."""
    return _key("facilitator")


def _key(role: str) -> PrivateKey:
    # Derived, not secret: the accounts hold play money on a private chain, and a replay needs the same keys.
    return PrivateKey(keccak(text=f"emporion sandbox {role}"))


def genesis_accounts(chain_id: int) -> dict[bytes, dict[str, object]]:
    """Return the state of block 0: address → balance, nonce, code, storage."""
    rich = {
        key.public_key.to_canonical_address(): _account(balance=_RICH_IN_WEI) for key in (bank(), facilitator_key())
    }
    standing = {
        to_canonical_address(places[chain_id]): _account(nonce=1, code=contracts()[name])
        for name, places in _STANDING.items()
    }
    return rich | standing


def _account(*, balance: int = 0, nonce: int = 0, code: bytes = b"") -> dict[str, object]:
    return {"balance": balance, "nonce": nonce, "code": code, "storage": {}}
