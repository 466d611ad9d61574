"""The calls that test_parity makes over every protocol: sections by noun, run in this order on one market.

Each operation of a section succeeds and is refused at least once. A section stores values for later sections in
`Script`: keys and ids. Add a new module to SECTIONS.
"""

from dataclasses import dataclass, field
from importlib import import_module
from typing import Any

import orjson
from eth_account import Account

from tests.support.evm import Evm
from tests.support.market import TestMarket
from tests.support.protocols import Call

# `used`: idempotency answers count as stored bytes, and each protocol repeats other calls.
MASKED = frozenset({"request_id", "used"})
SECTIONS = (
    "agents", "listings", "trade", "moves", "bounties", "threads", "memory", "schedules", "webhooks", "proofs", "disputes", "profiles", "discovery", "faucet", "accounts", "limits",
)  # fmt: skip
SELLER = Account.from_key("0x" + "51" * 32)
BUYER = Account.from_key("0x" + "b0" * 32)


@dataclass
class Script:
    """One run. `await script(operation, key, **arguments)` calls, and records the answer."""

    market: TestMarket
    call: Call
    evm: Evm
    said: list[tuple[str, Any]] = field(default_factory=list)
    done: dict[str, Any] = field(default_factory=dict)  # the first success of each operation: arguments and answer
    seller: str = ""  # API keys
    buyer: str = ""
    listing: str = ""  # ids
    job: str = ""

    async def __call__(self, operation: str, key: str | None = None, /, **given: Any) -> Any:
        return await self.send(operation, given, key)

    async def send(self, operation: str, given: dict[str, Any], key: str | None = None) -> Any:
        self.market.dice.rolled = 1000 * len(self.said)  # a protocol may use random bytes for its own ids
        answer = await self.call(operation, given, key)
        self.said.append((operation, masked(answer)))
        if "error" not in answer and answer.get("object") != "payment_terms":
            self.done.setdefault(operation, {"arguments": given, "answer": answer})
        return answer

    async def run(self) -> None:
        for section in SECTIONS:
            await import_module(f"{__name__}.{section}").run(self)


def masked(value: Any) -> Any:
    """Mask the values that differ between connections."""
    if isinstance(value, dict):
        return {key: "*" if key in MASKED and part is not None else masked(part) for key, part in value.items()}
    return [masked(part) for part in value] if isinstance(value, list) else value


def shortened(answer: Any) -> Any:
    """Return the answer with at most two records in each list, and eight other values.

    Records with references of JSON Schema are left out, because linters follow them in examples.
    """
    if isinstance(answer, dict):
        return {name: shortened(part) for name, part in answer.items()}
    if not isinstance(answer, list):
        return answer
    kept = [part for part in answer if b'"$ref"' not in orjson.dumps(part)]
    return [shortened(part) for part in kept[: 2 if kept and isinstance(kept[0], dict) else 8]]
