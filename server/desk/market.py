"""The market as any client sees it: its REST interface, one key, and what may go wrong on the way."""

from collections.abc import AsyncIterator
from typing import Any, Self

import httpx

ANSWER_SECONDS = 70.0  # longer than the market lets a call wait
JsonObject = dict[str, Any]


class Away(Exception):
    """The market does not answer, or says to come again: nothing is wrong with what was asked."""


class Refused(Exception):
    """The market refuses a call; asking again would change nothing."""

    def __init__(self, status: int, code: str, message: str) -> None:
        super().__init__(f"{code}: {message}")
        self.status, self.code, self.message = status, code, message


class Market:
    """Calls with one agent's key, once it has one."""

    def __init__(self, url: str, key: str | None = None) -> None:
        self.key = key
        self.http = httpx.AsyncClient(base_url=url, timeout=ANSWER_SECONDS, trust_env=False)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.http.aclose()

    async def get(self, path: str, **query: Any) -> JsonObject:
        return await self._call("GET", path, params=query)

    async def post(
        self, path: str, body: JsonObject | None = None, admin: str | None = None, repeat: str | None = None
    ) -> JsonObject:
        """Send a call; `repeat` is its idempotency key, so a repeat gets the same answer."""
        sent = {"x-admin-token": admin, "idempotency-key": repeat}
        return await self._call("POST", path, json=body or {}, headers={name: one for name, one in sent.items() if one})

    async def patch(self, path: str, body: JsonObject) -> JsonObject:
        return await self._call("PATCH", path, json=body)

    async def pages(self, path: str, **query: Any) -> AsyncIterator[JsonObject]:
        """Yield every record of a list."""
        more = True
        while more:
            page = await self.get(path, **query)
            for record in page["data"]:
                yield record
            more, query["cursor"] = page["has_more"], page["next_cursor"]

    async def _call(self, method: str, path: str, **sent: Any) -> JsonObject:
        headers = {**sent.pop("headers", {}), **({"x-api-key": self.key} if self.key else {})}
        try:
            answer = await self.http.request(method, path, headers=headers, **sent)
            said: JsonObject = answer.json()
        except (httpx.HTTPError, ValueError) as gone:
            raise Away(f"{method} {path}: {type(gone).__name__}") from None
        if answer.status_code == 429 or answer.status_code >= 500:
            raise Away(f"{method} {path}: HTTP {answer.status_code}")
        if answer.status_code >= 400:
            error = said.get("error") or {}
            raise Refused(answer.status_code, str(error.get("code")), str(error.get("message")))
        return said
