"""A model at an MCP connection: it has a wallet, a task in its own words, and knows only tools/list and what it has read.

Every argument it sends is one of these: a value of a result it has read, a word of the tool's schema, its own words, or what
its wallet made of a text it has read. Anything else is an AssertionError, so a test of it cannot help it along.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from eth_account import Account
from eth_account.messages import encode_defunct
from eth_account.signers.local import LocalAccount
from mcp.client import Client

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
class ModelUser:
    """What the model has at hand. `words` is what it would write itself, by argument."""

    client: Client
    wallet: LocalAccount
    send: Send
    words: dict[str, Any]
    tools: dict[str, Any] = field(default_factory=dict)
    read: list[Any] = field(default_factory=list)  # every result, in order
    called: list[str] = field(default_factory=list)
    made: set[str] = field(default_factory=set)  # by the wallet
    key: str | None = None

    async def look_around(self) -> None:
        """Read the tools: no call of one."""
        listed = await self.client.list_tools()
        self.tools = {tool.name: tool for tool in listed.tools}

    async def call(self, tool: str, given: Mapping[str, Any]) -> Any:
        """One tool call; its record."""
        arguments = {**given, **({"api_key": self.key} if self.key else {})}
        self._account_for(tool, arguments)
        self.called.append(tool)
        answer = await self.client.call_tool(tool, arguments)
        assert not answer.is_error, (tool, answer.content)
        self.read.append(answer.structured_content)
        if tool == "register_agent":
            self.key = answer.structured_content["api_keys"]["test"]
        return answer.structured_content

    async def follow(self, record: Any, action: str) -> Any:
        """Do the next step of this action that a record names, filling in what only the model can know."""
        steps = [one for one in record["next_steps"] if one["action"] == action]
        assert steps, f"{action} is none of {[one['action'] for one in record['next_steps']]}"
        tool = steps[0]["tool"]
        given = {name: self._filled(name, one) for name, one in steps[0]["arguments"].items()}
        if tool not in self.tools:  # as the description of call_tool tells
            tool, given = "call_tool", {"name": tool, "arguments": given}
        return await self.call(tool, given)

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
        self.made.add(sent := self.send(self.wallet, terms["pay_to"], terms["amount"]))
        return sent

    def _terms(self) -> Iterator[Any]:
        for record in reversed(self.read):
            found = record.get("terms") or record
            if found.get("object") == "payment_terms":
                yield found

    def _account_for(self, tool: str, arguments: Mapping[str, Any]) -> None:
        assert tool in self.tools, f"{tool} is not listed"
        known = {*map(repr, leaves(self.read)), *map(repr, leaves(self.tools[tool].input_schema))}
        known |= {*map(repr, leaves(self.words)), *map(repr, self.made), repr(self.wallet.address)}
        strange = [one for one in leaves(dict(arguments)) if repr(one) not in known]
        assert not strange, f"{tool}: where does it have {strange} from?"
