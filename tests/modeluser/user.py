"""A stranger with a model behind it: it has a wallet, a task in its own words, and knows only what the market has told it.

Every argument it sends is one of these: a value of a result it has read, a word of the tool's schema or of the card, its own
words, or what its wallet made of a text it has read. Anything else is an AssertionError, so a test of it cannot help it along.
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
Send = Callable[[LocalAccount, str, int], str]  # of USDC, from, to, minor units; the hash of the mined transaction


def leaves(value: Any) -> Iterator[Any]:
    """The scalars of a document, and the names its objects use."""
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
    """What the model has at hand, over whatever wire. `words` is what it would write itself, by argument."""

    client: Any
    wallet: LocalAccount
    send: Send
    words: dict[str, Any]
    read: list[Any] = field(default_factory=list)  # every result, in order
    called: list[str] = field(default_factory=list)
    made: set[str] = field(default_factory=set)  # by the wallet
    key: str | None = None

    def next_step(self, record: Any, action: str) -> tuple[str, dict[str, Any]]:
        """The call that a record names for this action, with what only the model can know filled in."""
        steps = [one for one in record["next_steps"] if one["action"] == action]
        assert steps, f"{action} is none of {[one['action'] for one in record['next_steps']]}"
        return steps[0]["tool"], {name: self._filled(name, one) for name, one in steps[0]["arguments"].items()}

    def _filled(self, name: str, value: Any) -> Any:
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
        """Send what the last terms it has read ask for."""
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
        """Every scalar and name is one that was read, told, written by itself, or made by its wallet."""
        known = {*map(repr, leaves(self.read)), *map(repr, leaves([*told, self.words]))}
        known |= {*map(repr, self.made), repr(self.wallet.address)}
        strange = [one for one in leaves(given) if repr(one) not in known]
        assert not strange, f"{what}: where does it have {strange} from?"


@dataclass
class ModelUser(Stranger):
    """The model at an MCP connection: it knows tools/list."""

    tools: dict[str, Any] = field(default_factory=dict)

    async def look_around(self) -> None:
        """Read the tools: no call of one."""
        listed = await self.client.list_tools()
        self.tools = {tool.name: tool for tool in listed.tools}

    async def call(self, tool: str, given: Mapping[str, Any]) -> Any:
        """One tool call; its record."""
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
        """Do the next step of this action that a record names."""
        tool, given = self.next_step(record, action)
        if tool not in self.tools:  # as the description of call_tool tells
            tool, given = "call_tool", {"name": tool, "arguments": given}
        return await self.call(tool, given)
