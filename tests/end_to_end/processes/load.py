"""Purchases that continue through database faults.

Each call goes to the next process and is repeated until it succeeds.
"""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import cycle
from typing import Any

import httpx

from tests.support.market import Agent
from tests.torture import Load

CLIENTS = 4


@dataclass
class Shared(Load):
    """Load on all processes, with a count of refusals.

    An undocumented refusal fails an assertion.
    """

    refusals: int = 0
    moved: asyncio.Event = field(default_factory=asyncio.Event)

    @classmethod
    def of(cls, chain: Any, https: list[httpx.AsyncClient]) -> "Shared":
        made = cls(chain, https[0])
        made.turns = cycle(https)
        return made

    async def send(self, operation: str, given: dict[str, Any], key: str, credential: str | None) -> httpx.Response:
        self.http = next(self.turns)
        answer = await super().send(operation, given, key, credential)
        if not answer.is_success:
            documented(answer)
            self.refusals += 1
        self.moved.set()
        return answer

    async def until(self, enough: Callable[[], bool]) -> None:
        while not enough():
            self.moved.clear()
            await self.moved.wait()

    async def more(self, acknowledged: int = 0, refused: int = 0) -> None:
        """Wait until this many more calls are acknowledged and this many more refused."""
        acknowledged += len(self.acknowledged)
        refused += self.refusals
        await self.until(lambda: len(self.acknowledged) >= acknowledged and self.refusals >= refused)

    def sold_by(self, name: str) -> str:
        """Return the listing of a client's seller."""
        found = next(one for one in self.acknowledged if one.key == f"{name}-listing")
        return str(found_id(found.body))

    def party(self, name: str) -> Agent:
        """Return a registered agent."""
        found = next(one for one in self.acknowledged if one.key == f"{name}-registers-itself-once")
        made = httpx.Response(200, content=found.body).json()
        return Agent(made["agent"]["id"], made["agent"]["handle"], made["api_keys"], b"")


def found_id(body: bytes) -> Any:
    return httpx.Response(200, content=body).json()["id"]


def documented(answer: httpx.Response) -> None:
    """Check a refusal against the contract: the error, the hint and the time for a retry."""
    assert answer.status_code == 503, answer.text
    refusal(answer.json()["error"])
    assert answer.headers["retry-after"] == str(answer.json()["error"]["details"]["retry_after_seconds"])


def refusal(error: dict[str, Any]) -> None:
    assert (error["type"], error["code"], error["retryable"]) == ("internal_error", "overloaded", True), error
    assert "Idempotency-Key" in error["hint"], error
    assert error["message"] == "the database is busy or does not answer", error
