"""The keys of the desk's agent and wallet, in one file that only its owner can read."""

import fcntl
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import orjson
from coincurve import PrivateKey
from eth_utils.address import to_checksum_address
from eth_utils.crypto import keccak

from server.atomic_files import write_file
from server.settings import BadSettings
from tools.chain.wallet_proof import eip191_hash
from tools.kernel.keys import binding_message

FILE, LOCK = "desk.json", "desk.lock"


@dataclass(frozen=True, slots=True)
class Keys:
    """The desk's agent with its API keys and its root key, and the wallet that it is paid to."""

    wallet_key: str
    agent_id: str | None = None
    api_keys: dict[str, str] | None = None
    root_key: str | None = None

    @property
    def address(self) -> str:
        raw = PrivateKey.from_hex(self.wallet_key).public_key.format(compressed=False)
        return str(to_checksum_address(keccak(raw[1:])[-20:]))

    def bound(self, brand: str, agent_id: str) -> dict[str, str]:
        """Return the proof that binds the wallet to the agent, for set_wallet_address."""
        digest = eip191_hash(binding_message(brand, agent_id, self.address))
        signed = PrivateKey.from_hex(self.wallet_key).sign_recoverable(digest, hasher=None)
        return {"address": self.address, "signature": f"0x{signed[:64].hex()}{signed[64] + 27:02x}"}


class KeyFile:
    """`desk.json` in the data folder."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.path = folder, folder / FILE

    @contextmanager
    def held(self) -> Iterator[None]:
        """Lock the keys for this process; raise BadSettings if another process has them."""
        self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        with (self.folder / LOCK).open("w") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                raise BadSettings(f"{self.path}: another desk works with these keys") from None
            yield

    def read(self) -> Keys:
        """Read the stored keys; make a new wallet if there are none."""
        if not self.path.exists():
            return self.write(Keys(PrivateKey().to_hex()))
        try:
            return Keys(**orjson.loads(self.path.read_bytes()))
        except (ValueError, TypeError):
            raise BadSettings(f"{self.path}: does not hold the keys of a desk; move it away to begin anew") from None

    def write(self, keys: Keys) -> Keys:
        """Keep the keys, on disk before this returns; the ones before stay until they are."""
        beside = self.path.with_suffix(".new")
        beside.unlink(missing_ok=True)
        write_file(beside, orjson.dumps(keys, option=orjson.OPT_INDENT_2))
        beside.replace(self.path)
        return keys
