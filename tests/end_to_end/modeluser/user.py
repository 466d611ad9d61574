"""A scripted model without prior knowledge: it has a wallet, its own words, and the answers of the market.

Every argument it sends is one of these: a value of a result it has read, a word of the tool's schema or of the card,
its own words, or a signature or transaction hash of its wallet. Anything else raises AssertionError, so a test cannot
help it.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from eth_account import Account
from eth_account.messages import encode_defunct
from eth_account.signers.local import LocalAccount

SIGN = re.compile(r"<personal_sign by it of (.*)>")
HOLE = re.compile(r"<.*>", re.DOTALL)
Send = Callable[[LocalAccount, str, int], str]  # (sender, recipient, minor units of USDC) to transaction hash


def leaves(value: Any) -> Iterator[Any]:
    """Yield the scalars of a document and the keys of its objects."""
    if isinstance(value, Mapping):
        for name, item in value.items():
            yield name
            yield from leaves(item)
    elif isinstance(value, list):
        for item in value:
            yield from leaves(item)
    else:
        yield value


@dataclass
class Stranger:
    """The model's knowledge, for any protocol; `words` has its own texts by argument name."""

    client: Any
    wallet: LocalAccount
    send: Send
    words: dict[str, Any]
    read: list[Any] = field(default_factory=list)  # every result, in order
    called: list[str] = field(default_factory=list)
    made: set[str] = field(default_factory=set)  # signatures and transaction hashes of the wallet
    key: str | None = None

    def next_step(self, record: Any, action: str) -> tuple[str, dict[str, Any]]:
        """Return the tool and arguments of a record's next step, with placeholders filled in."""
        steps = [one for one in record["next_steps"] if one["action"] == action]
        assert steps, f"{action} is none of {[one['action'] for one in record['next_steps']]}"
        return steps[0]["tool"], self._filled("arguments", steps[0]["arguments"])

    def _filled(self, name: str, value: Any) -> Any:
        if isinstance(value, dict):
            return {inner: self._filled(inner, one) for inner, one in value.items()}
        if not (isinstance(value, str) and HOLE.fullmatch(value)):
            return value
        if name == "address":
            return self.wallet.address
        if found := SIGN.fullmatch(value):
            return self._signed(found[1].replace("<address in lower case>", self.wallet.address.lower()))
        if name == "transaction":
            return self._paid()
        return self.words[name]

    def _signed(self, text: str) -> str:
        signed = Account.sign_message(encode_defunct(text=text), self.wallet.key)
        self.made.add(made := "0x" + bytes(signed.signature).hex())
        return made

    def _paid(self) -> str:
        """Pay the amount of the last payment terms it has read; return the hash."""
        terms = next(one for one in self._terms() if one["pay_to"])
        return self._sent(terms["pay_to"], terms["amount"])

    def _sent(self, pay_to: str, amount_minor: int) -> str:
        self.made.add(sent := self.send(self.wallet, pay_to, amount_minor))
        return sent

    def _terms(self) -> Iterator[Any]:
        for record in reversed(self.read):
            found = record.get("terms") or record
            if found.get("object") == "payment_terms":
                yield found

    def _account_for(self, what: str, given: Any, *told: Any) -> None:
        """Check that every scalar and key was read, told, its own, or made by its wallet."""
        known = {*map(repr, leaves(self.read)), *map(repr, leaves([*told, self.words]))}
        known |= {*map(repr, self.made), repr(self.wallet.address)}
        strange = [one for one in leaves(given) if repr(one) not in known]
        assert not strange, f"{what}: where does it have {strange} from?"


@dataclass
class ModelUser(Stranger):
    """The model with an MCP connection; it knows tools/list."""

    tools: dict[str, Any] = field(default_factory=dict)

    async def look_around(self) -> None:
        """Read the list of tools without calling any."""
        listed = await self.client.list_tools()
        self.tools = {tool.name: tool for tool in listed.tools}

    async def call(self, tool: str, given: Mapping[str, Any]) -> Any:
        """Call a tool; return its record."""
        arguments = {**given, **({"api_key": self.key} if self.key else {})}
        assert tool in self.tools, f"{tool} is not listed"
        self._account_for(tool, arguments, self.tools[tool].input_schema)
        self.called.append(tool)
        answer = await self.client.call_tool(tool, arguments)
        assert not answer.is_error, (tool, answer.content)
        self.read.append(answer.structured_content)
        if tool == "register_agent":
            self.key = answer.structured_content["api_keys"]["test"]
        return answer.structured_content

    async def follow(self, record: Any, action: str) -> Any:
        """Make the call of this action in a record's next_steps."""
        return await self.call(*self.next_step(record, action))
