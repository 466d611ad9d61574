"""Parse JSON-RPC parameters: untrusted input becomes bytes, integers and filters, or a message about what is wrong."""

from collections.abc import Sequence
from dataclasses import dataclass
from string import hexdigits
from typing import Any, Final

from server.sandbox.evm import Call

_TAGS: Final = ("latest", "safe", "finalized", "pending", "earliest")
_MAX_UINT256: Final = 2**256 - 1
_MAX_BLOCK: Final = 2**63 - 1
_MAX_TOPICS: Final = 4
_FEES: Final = frozenset({"gasPrice", "maxFeePerGas", "maxPriorityFeePerGas"})
_CALL_FIELDS: Final = _FEES | {"from", "to", "gas", "value", "data", "input", "nonce", "chainId", "type", "accessList"}
_FILTER_FIELDS: Final = frozenset({"fromBlock", "toBlock", "address", "topics", "blockHash"})


class InvalidParams(ValueError):
    """A parameter is missing, unexpected or malformed."""


@dataclass(frozen=True, slots=True)
class LogFilter:
    """A filter for logs by blocks, addresses and topics.

    The blocks are a range or one block. `topics` holds the accepted topics at each position.
    """

    first: int | str
    last: int | str
    block_hash: bytes | None
    addresses: frozenset[str]
    topics: tuple[frozenset[str], ...]

    def matches(self, log: dict[str, Any]) -> bool:
        """Return True if a log in JSON-RPC form matches."""
        if self.addresses and log["address"].lower() not in self.addresses:
            return False
        if len(self.topics) > len(log["topics"]):
            return False
        return all(not wanted or found in wanted for wanted, found in zip(self.topics, log["topics"], strict=False))


def parameter(params: Sequence[Any], position: int) -> Any:
    """Return the parameter at a position; raises InvalidParams if it is missing."""
    if len(params) <= position:
        raise InvalidParams(f"parameter {position + 1} is missing")
    return params[position]


def flag(params: Sequence[Any], position: int) -> bool:
    """Return an optional boolean parameter, False if it is missing."""
    value = params[position] if len(params) > position else False
    if not isinstance(value, bool):
        raise InvalidParams(f"parameter {position + 1} must be true or false")
    return value


def raw_bytes(value: Any) -> bytes:
    """Parse 0x-hex of any length."""
    if not isinstance(value, str) or not value.startswith("0x") or len(value) % 2:
        raise InvalidParams("bytes are written as 0x and an even number of hex digits")
    return bytes.fromhex(_digits(value))


def address(value: Any) -> bytes:
    """Parse a 20-byte address; its checksum spelling is not required."""
    return _sized(value, 20, "an address is 0x and 40 hex digits")


def hash32(value: Any) -> bytes:
    """Parse a 32-byte hash."""
    return _sized(value, 32, "a hash is 0x and 64 hex digits")


def _sized(value: Any, size: int, rule: str) -> bytes:
    found = raw_bytes(value)
    if len(found) != size:
        raise InvalidParams(rule)
    return found


def amount(value: Any) -> int:
    """Parse a number from 0 to 2^256-1: a JSON integer, 0x-hex or decimal digits."""
    number = _number(value)
    if number is None or not 0 <= number <= _MAX_UINT256:
        raise InvalidParams("a number is 0x-hex, decimal digits or a JSON integer, from 0 to 2^256-1")
    return number


def _number(value: Any) -> int | None:
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    if not isinstance(value, str) or not value.isascii() or len(value) > 80:
        return None
    if value.startswith("0x") and len(value) > 2:
        return int(_digits(value), 16)
    return int(value) if value.isdigit() else None


def _digits(value: str) -> str:
    # int(…, 16) and bytes.fromhex accept signs, underscores and spaces, which no node accepts.
    if not set(value[2:]) <= set(hexdigits):
        raise InvalidParams("0x is followed by hex digits only")
    return value[2:]


def block_reference(value: Any) -> int | str:
    """Parse a block number, or one of the tags latest, safe, finalized, pending, earliest."""
    if isinstance(value, str) and value in _TAGS:
        return value
    number = _number(value)
    if number is None or not 0 <= number <= _MAX_BLOCK:
        raise InvalidParams(f"a block is named by its number or one of {', '.join(_TAGS)}")
    return number


def call_object(value: Any) -> Call:
    """Parse the message of eth_call and eth_estimateGas; ignore fees, nonce and access list."""
    fields = _object(value, _CALL_FIELDS)
    if "data" in fields and "input" in fields and fields["data"] != fields["input"]:
        raise InvalidParams("data and input differ")
    gas = amount(fields["gas"]) if "gas" in fields else None
    return Call(
        data=raw_bytes(fields.get("input", fields.get("data", "0x"))),
        to=address(fields["to"]) if "to" in fields else None,
        sender=address(fields.get("from", "0x" + "00" * 20)),
        value=amount(fields.get("value", 0)),
        gas=gas or None,
    )


def log_filter(value: Any) -> LogFilter:
    """Parse the filter of eth_getLogs."""
    fields = _object(value, _FILTER_FIELDS)
    if "blockHash" in fields and ("fromBlock" in fields or "toBlock" in fields):
        raise InvalidParams("blockHash stands instead of fromBlock and toBlock")
    topics = fields.get("topics", [])
    if not isinstance(topics, list) or len(topics) > _MAX_TOPICS:
        raise InvalidParams(f"topics is a list of at most {_MAX_TOPICS}")
    return LogFilter(
        first=block_reference(fields.get("fromBlock", "latest")),
        last=block_reference(fields.get("toBlock", "latest")),
        block_hash=hash32(fields["blockHash"]) if "blockHash" in fields else None,
        addresses=frozenset("0x" + address(one).hex() for one in _several(fields.get("address"))),
        topics=tuple(frozenset("0x" + hash32(one).hex() for one in _several(entry)) for entry in topics),
    )


def _several(value: Any) -> list[Any]:
    if value is None:
        return []
    return value if isinstance(value, list) else [value]


def _object(value: Any, known: frozenset[str]) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise InvalidParams("parameter 1 must be an object")
    unknown = sorted(set(value) - known)
    if unknown:
        raise InvalidParams(f"unknown field {unknown[0][:40]}")
    return {name: field for name, field in value.items() if field is not None}
