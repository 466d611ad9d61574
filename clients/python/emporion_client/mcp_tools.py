"""A small MCP client: enough to list the tools of a server and to call them; here over streamable HTTP."""

import itertools
import re
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import httpx

from emporion_client import __version__
from emporion_client.answers import JsonObject, parsed, record_at, rows, text
from emporion_client.deadlines import deadline, with_deadlines
from emporion_client.errors import Decline, EmporionError
from emporion_client.transport import check_encoding

PROTOCOL = "2025-06-18"
INVALID_PARAMS = -32602
MAX_REASON = 500
MAX_PAGES = 100
SESSION = re.compile(r"[\x21-\x7e]{0,1000}")
MAX_ANSWER_BYTES = 16_000_000
HELLO: JsonObject = {
    "protocolVersion": PROTOCOL,
    "capabilities": {},
    "clientInfo": {"name": "emporion-client", "version": __version__},
}
INITIALIZED: JsonObject = {"jsonrpc": "2.0", "method": "notifications/initialized"}


class McpTools(ABC):
    """The tools of an MCP server, however it is reached."""

    @abstractmethod
    def _ask(self, method: str, params: JsonObject) -> JsonObject:
        """Send a request; return its result."""

    @abstractmethod
    def close(self) -> None:
        """Close the connection."""

    def tools(self) -> dict[str, JsonObject]:
        """Return the tools by their names."""
        found: dict[str, JsonObject] = {}
        cursor = None
        for _ in range(MAX_PAGES):
            page = self._ask("tools/list", {"cursor": cursor} if cursor else {})
            found |= {text(tool, "name"): tool for tool in rows(page, "tools")}
            cursor = page.get("nextCursor")
            if not cursor:
                return found
        raise EmporionError(f"the MCP server lists its tools on more than {MAX_PAGES} pages")

    def tool(self, name: str) -> Callable[..., Any]:
        """Return a function that calls a tool. An error that the tool reports declines the order."""

        def work(**given: Any) -> Any:
            answer = self._ask("tools/call", {"name": name, "arguments": given})
            content = rows(answer, "content") if answer.get("content") else []
            texts = [str(one.get("text")) for one in content if one.get("type") == "text"]
            if answer.get("isError"):
                raise Decline("\n".join(texts)[:MAX_REASON] or "The tool refused this input.")
            if answer.get("structuredContent") is not None:
                return answer["structuredContent"]
            return {"text": "\n".join(texts)} if len(texts) == len(content) and texts else {"content": content}

        return work

    @staticmethod
    def _result(method: str, told: JsonObject) -> JsonObject:
        error = told.get("error")
        if error is not None:
            if isinstance(error, dict) and error.get("code") == INVALID_PARAMS and method == "tools/call":
                raise Decline(str(error.get("message"))[:MAX_REASON])
            raise EmporionError(f"the MCP server refuses {method}: {str(error)[:MAX_REASON]}")
        result = told.get("result")
        if not isinstance(result, dict):
            raise EmporionError(f"the MCP server answers {method} without a result")
        return result


class McpServer(McpTools):
    """A connection to an MCP server over streamable HTTP."""

    def __init__(self, url: str, headers: Mapping[str, str] | None = None, timeout: float = 300) -> None:
        usual = {"accept": "application/json, text/event-stream", "content-type": "application/json"}
        self._url, self._numbers, self._session = url, itertools.count(1), ""
        usual["accept-encoding"] = "identity"
        self._timeout = timeout
        self._http = with_deadlines(httpx.Client(timeout=timeout, headers=usual | dict(headers or {})))
        self._turn = threading.Lock()
        self._start("")

    def close(self) -> None:
        """Close the connection."""
        self._http.close()

    def _start(self, ended: str) -> None:
        """Open a session, unless another thread has replaced the one that ended."""
        with self._turn:
            if self._session != ended:
                return
            self._session = ""
            self._post("initialize", HELLO)
            with self._sent("notifications/initialized", INITIALIZED):
                pass  # its answer has nothing to read

    def _ask(self, method: str, params: JsonObject) -> JsonObject:
        session = self._session
        try:
            return self._post(method, params)
        except SessionEnded:
            self._start(session)
            return self._post(method, params)

    def _post(self, method: str, params: JsonObject) -> JsonObject:
        number, end = next(self._numbers), time.monotonic() + self._timeout
        with self._sent(method, {"jsonrpc": "2.0", "id": number, "method": method, "params": params}) as answer:
            session = answer.headers.get("mcp-session-id", self._session)
            if not SESSION.fullmatch(session):
                raise EmporionError("the MCP server gave a session an id that the protocol does not allow")
            self._session = session
            return self._result(method, _answer(answer, number, end))

    @contextmanager
    def _sent(self, method: str, message: JsonObject) -> Iterator[httpx.Response]:
        """Send a message; give the response, whose body is not read yet."""
        try:
            with (
                deadline(self._timeout),
                self._http.stream("POST", self._url, json=message, headers=self._headers()) as answer,
            ):
                check_encoding(answer)
                if answer.status_code == 404 and self._session:
                    raise SessionEnded("the MCP server forgot the session")
                if answer.status_code >= 300:
                    raise EmporionError(f"the MCP server answered {method} with HTTP {answer.status_code}")
                yield answer
        except (httpx.HTTPError, httpx.InvalidURL, ValueError) as error:
            raise EmporionError(f"the MCP server does not answer {method} ({type(error).__name__})") from None

    def _headers(self) -> dict[str, str]:
        return {"mcp-session-id": self._session, "mcp-protocol-version": PROTOCOL} if self._session else {}


class SessionEnded(EmporionError):
    """The server does not know the session any more."""


def _answer(answer: httpx.Response, number: int, end: float) -> JsonObject:
    """Return the message that answers a request, from JSON or from a stream of events."""
    if "event-stream" not in answer.headers.get("content-type", ""):
        return record_at(parsed(b"".join(_parts(answer, end))))
    data: list[bytes] = []
    for line in _lines(_parts(answer, end)):
        if line.startswith(b"data:"):
            data.append(line[5:].removeprefix(b" "))
        elif not line and data:
            said = parsed(b"\n".join(data))
            data = []
            if isinstance(said, dict) and said.get("id") == number:
                return said
    raise EmporionError("the stream of the MCP server ended without an answer")


def _parts(answer: httpx.Response, end: float) -> Iterator[bytes]:
    """Yield the bytes of an answer; refuse one that is too long or, though it goes on, too late."""
    size = 0
    for part in answer.iter_raw():
        size += len(part)
        if size > MAX_ANSWER_BYTES:
            raise EmporionError(f"the answer of the MCP server is longer than {MAX_ANSWER_BYTES} bytes")
        if time.monotonic() > end:
            raise EmporionError("the answer of the MCP server does not end in time")
        yield part


def _lines(parts: Iterator[bytes]) -> Iterator[bytes]:
    rest = b""
    for part in parts:
        *lines, rest = (rest + part).split(b"\n")
        for line in lines:
            yield line.removesuffix(b"\r")


def listing_of(server: str, tool: JsonObject) -> JsonObject:
    """Return the arguments of sells() for a tool of a server, given by its address or command."""
    name = text(tool, "name")
    title = tool.get("title") or name.replace("_", " ").capitalize()
    schema = {key: value for key, value in record_at(tool, "inputSchema").items() if key != "$schema"}
    given = {"title": str(title)[:120], "name": f"mcp:{server}:{name}", "input_schema": {"type": "object"} | schema}
    given["description"] = str(tool.get("description") or title)
    if tool.get("outputSchema"):
        schema = record_at(tool, "outputSchema")
        given["output_schema"] = {key: value for key, value in schema.items() if key != "$schema"}
    return given | {"work_first": True}
