"""Valid and unusual requests to /mcp in every version of the protocol. The fast path and the SDK must answer alike."""

import json
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from tests.support.fixed_market import HOST
from tests.support.mcp_client import MODERN, NAMED, TASK_METHODS, request

LOCAL = "127.0.0.1:8000"
FRONTED = ("2025-06-18", "2025-11-25", MODERN)
VERSIONS = (*FRONTED, "2025-03-26", "2030-01-01", "")
WRONG = "as_test_" + "0" * 40
PREFIX = "io.modelcontextprotocol/"
TAKES_TASKS = {"elicitation": {}, "extensions": {f"{PREFIX}tasks": {}}}
LISTS = ("tools/list", "prompts/list", "resources/list", "resources/templates/list", "server/discover")
Headers = tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Posted:
    """A POST.

    If `good`, the fast path must answer it without the SDK, at the latest the second time.
    """

    name: str
    version: str
    body: bytes
    headers: Headers
    path: str = "/mcp"
    query: str = ""
    good: bool = False

    def instead(self, name: str, **headers: str | None) -> "Posted":
        """Return the request with changed headers, no longer good; None removes a header."""
        named = {header.replace("_", "-"): value for header, value in headers.items()}
        kept = [(header, value) for header, value in self.headers if header not in named]
        more = [(header, value) for header, value in named.items() if value is not None]
        return replace(self, name=name, headers=(*kept, *more), good=False)

    def beside(self, name: str, *more: tuple[str, str], good: bool = False) -> "Posted":
        """Return the request with more headers, possibly a second one of the same name."""
        return replace(self, name=name, headers=(*self.headers, *more), good=good)


def posted(version: str, method: str, params: Any, name: str = "", **more: Any) -> Posted:
    """Return a request as a client of that version sends it.

    `params` that are no object are sent unchanged.
    """
    era = MODERN if version > "2026" else version  # an unknown version is requested in the newest form
    body = request(era, method, params) if isinstance(params, dict) else request(era, method, {}) | {"params": params}
    headers = [
        ("host", HOST),
        ("content-type", "application/json"),
        ("accept", "application/json, text/event-stream"),
        *([("mcp-protocol-version", version)] if version else []),
    ]
    if era == MODERN:
        headers.append(("mcp-method", method))
        named = params.get(NAMED.get(method)) if isinstance(params, dict) else None
        headers += [("mcp-name", named)] if isinstance(named, str) else []
    good = more.pop("good", False) and version in FRONTED
    headers += more.pop("headers", ())
    return Posted(name or method, version, json.dumps(body).encode(), tuple(headers), good=good, **more)


def call(version: str, tool: Any, arguments: Any = None, /, **more: Any) -> Posted:
    """Return a tool call that the fast path answers.

    `name` identifies it in a failure. `params` gives more params.
    """
    params = {"name": tool, "arguments": {} if arguments is None else arguments, **more.pop("params", {})}
    return posted(version, "tools/call", params, **{"name": f"{tool} {arguments}", "good": True, **more})


def everything(version: str, key: str) -> Iterator[Posted]:
    """Yield all requests; `key` is a valid key of the market."""
    for some in (
        successes,
        with_keys,
        repeats,
        refusals,
        odd_calls,
        notes,
        lists,
        others,
        raw_bodies,
        odd_headers,
        tasks,
    ):
        yield from some(version, key)
    if version == MODERN:
        yield from envelopes(version)


def successes(version: str, key: str) -> Iterator[Posted]:
    values: tuple[Any, ...] = (
        None, {"a": None, "b": [None, {}]}, 0.5, -0.0, 1e21, 9007199254740991, "Ünï ☃ \u2028\u2029 \U0001f600", ["x" * 3000], {"_meta": {"x": None}},
    )  # fmt: skip
    for value in values:
        yield call(version, "say_json", {"value": value})
    yield call(version, "say_json", {"value": 1, "times": None, "env": None})
    yield call(version, "show_tree")
    yield posted(version, "tools/call", {"name": "show_tree"}, "no arguments", good=True)
    yield posted(version, "tools/call", {"name": "show_tree", "arguments": None}, "null arguments", good=True)
    yield call(version, "pay_echo", headers=[("x-api-key", key)])
    yield call(version, "search_listings", {"query": "chess"})
    yield call(version, "find_tools", {"query": "listings"})
    yield call(version, "call_tool", {"name": "say_json", "arguments": {"value": [1]}})
    yield call(version, "call_tool", {"name": "get_me", "api_key": key})
    yield call(version, "get_me", headers=[("x-api-key", key)], path="/mcp/oauth")
    yield call(version, "show_tree", path="/mcp/readonly")
    yield call(version, "show_tree", path="/mcp/x/jobs/")
    yield call(version, "show_tree", query="toolsets=jobs,bounties")
    yield call(version, "register_agent", {"name": "Grace"})


def with_keys(version: str, key: str) -> Iterator[Posted]:
    for name, value in (
        ("x-api-key", key),
        ("authorization", f"Bearer {key}"),
        ("authorization", f"bearer  {key}"),
        ("x-api-key", WRONG),
        ("authorization", f"Bearer {WRONG}"),
        ("authorization", "Bearer "),
        ("x-api-key", ""),
    ):
        yield call(version, "get_me", headers=[(name, value)])
        yield call(version, "show_tree", headers=[(name, value)])
    yield call(version, "get_me", query=f"api_key={key}")
    yield call(version, "get_me", query=f"api_key={WRONG}")
    yield call(version, "get_me", query=f"api_key={key}&api_key={WRONG}")
    yield call(version, "get_me", {"api_key": key})
    yield call(version, "get_me", {"api_key": key}, headers=[("x-api-key", key)])
    yield call(version, "get_me", {"api_key": WRONG}, headers=[("x-api-key", key)])
    yield call(version, "get_me", {"api_key": WRONG})
    yield call(version, "get_me", {"api_key": 7})
    yield call(version, "get_me", {"api_key": None})
    yield call(version, "get_me", headers=[("x-api-key", key), ("x-api-key", WRONG)])
    yield call(version, "get_me", headers=[("x-api-key", key), ("authorization", f"Bearer {key}")])
    yield call(version, "get_me")
    for secret in (None, key, WRONG):  # the fast path never answers 401
        more = [] if secret is None else [("authorization", f"Bearer {secret}")]
        yield call(version, "get_me", headers=more, path="/mcp/oauth", good=secret == key)
    yield call(version, "get_me", headers=[("authorization", "Bearer as_token_" + "0" * 40)], good=False)


def repeats(version: str, key: str) -> Iterator[Posted]:
    mine, word = ("x-api-key", key), f"key-of-{version or 'none'}"
    yield call(version, "say_json", {"value": 1, "idempotency_key": word}, headers=[mine])
    yield call(version, "say_json", {"value": 2, "idempotency_key": word}, headers=[mine])
    yield call(version, "say_json", {"value": 1}, headers=[mine, ("idempotency-key", word)])
    yield call(version, "say_json", {"value": 3}, headers=[mine, ("idempotency-key", f"{word}-b")])
    yield call(version, "say_json", {"value": 3}, headers=[mine, ("idempotency-key", word), ("idempotency-key", "x")])
    yield call(version, "say_json", {"value": 1, "idempotency_key": "other"}, headers=[mine, ("idempotency-key", word)])
    yield call(version, "say_json", {"value": 1, "idempotency_key": 7})
    yield call(version, "say_json", {"value": 1, "idempotency_key": "ü" * 22})
    yield call(version, "register_agent", {"name": "Alan", "dry_run": True})
    yield call(version, "say_json", {"value": 1, "dry_run": True}, headers=[mine])
    yield call(version, "say_json", {"value": 1, "dry_run": "yes"})


def refusals(version: str, key: str) -> Iterator[Posted]:
    yield call(version, "lose_echo")
    yield call(version, "get_listing", {"listing_id": "lst_" + "0" * 26})
    yield call(version, "get_listing", {})
    yield call(version, "say_json", {"times": 10, "env": "moon", "valeu": 1})
    yield call(version, "say_json", {"value": 1, "times": "3"})
    yield call(version, "say_json", {"value": 1}, path="/mcp/readonly")
    yield call(version, "call_tool", {"name": "say_json"}, path="/mcp/readonly")
    yield call(version, "pay_echo", {"value": None, "idempotency_key": "short"})
    yield call(version, "create_listing", {"title": "x"}, headers=[("x-api-key", key)])
    for given in (
        {}, {"name": 7}, {"name": "nobody"}, {"name": "get_liting"}, {"name": "say_json", "arguments": [1]},
        {"name": "say_json", "value": 1}, {"name": "call_tool"}, {"name": "get_me", "arguments": {"api_key": WRONG}, "api_key": key},
    ):  # fmt: skip
        yield call(version, "call_tool", given)


def odd_calls(version: str, _: str) -> Iterator[Posted]:
    """Yield calls that only the SDK can refuse or that need its stream."""
    for tool in ("no_such_tool", "", "SAY_JSON", "say_json ", "tools/call", 7, None, ["say_json"], {"say_json": 1}):
        yield call(version, tool, good=False)
    yield posted(version, "tools/call", {"arguments": {}}, "no name")
    for arguments in ("text", "", [1], [], 7, 0, True, False):
        yield call(version, "say_json", arguments, good=False)
    for params in ([], "x", 7, None):
        yield posted(version, "tools/call", params, f"params {params}")
        yield posted(version, "tools/list", params, f"params of a list {params}")
    for more in (
        {"task": {"ttl": 5}}, {"task": 5}, {"task": None}, {"inputResponses": {}}, {"inputResponses": 5}, {"requestState": "x"},
        {"cursor": "x"}, {"unknown": 1}, {"api_key": WRONG},
    ):  # fmt: skip
        yield call(version, "show_tree", params=more, good=False, name=f"show_tree with {more}")
    for waiting in (1, "1", True):
        yield call(version, "say_json", {"value": 1, "wait_seconds": waiting}, good=False)
    yield call(version, "call_tool", {"name": "say_json", "arguments": {"wait_seconds": 1}}, good=False)
    yield call(version, "say_json", {"value": 1, "wait_seconds": 0})


def notes(version: str, _: str) -> Iterator[Posted]:
    """Yield calls with different values of `_meta`."""
    good: tuple[Any, ...] = (
        {},
        {"progressToken": 7},
        {"progressToken": "t"},
        {"progressToken": ""},
        {"claudecode/toolUseId": "toolu_1"},
    )
    for meta in good:
        yield call(version, "show_tree", params={"_meta": meta}, name=f"_meta {meta}")
    for meta in (
        {"progressToken": [1]}, {"progressToken": {}}, {"progressToken": True}, {"progressToken": 1.5}, {"progressToken": None},
        {f"{PREFIX}logLevel": "debug"}, {f"{PREFIX}logLevel": "loud"}, {f"{PREFIX}related-task": {"taskId": "x"}},
        {f"{PREFIX}related-task": 5}, {f"{PREFIX}protocolVersion": MODERN}, {f"{PREFIX}protocolVersion": 5},
    ):  # fmt: skip
        yield call(version, "show_tree", params={"_meta": meta}, name=f"_meta {meta}", good=False)
    for meta in (None, [], "x", 7):
        one = call(version, "show_tree")
        body = json.loads(one.body)
        body["params"]["_meta"] = meta
        yield replace(one, body=json.dumps(body).encode(), name=f"_meta {meta}", good=False)


def lists(version: str, key: str) -> Iterator[Posted]:
    for method in LISTS:
        good = method != "server/discover" or version == MODERN
        yield posted(version, method, {}, good=good)
        yield posted(version, method, {"_meta": {"progressToken": 3}}, f"{method} with a token", good=good)
        for cursor in (None, "", "zzz", 5):
            yield posted(version, method, {"cursor": cursor}, f"{method} from {cursor}")
        yield posted(version, method, {"x": 1}, f"{method} with more")
        yield posted(version, method, {}, f"{method} with a key", headers=[("x-api-key", key)], good=good)
        yield posted(version, method, {}, f"{method} with a wrong key", headers=[("x-api-key", WRONG)], good=good)
        yield posted(version, method, {}, f"{method}, readonly", path="/mcp/readonly", good=good)
        body = {"jsonrpc": "2.0", "id": 1, "method": method}
        bare = replace(posted(version, method, {}), body=json.dumps(body).encode(), name=f"{method} without params")
        yield replace(bare, good=good and version in FRONTED and version != MODERN)
    for path, query, good in (
        ("/mcp/x/jobs", "", True), ("/mcp", "toolsets=jobs", True), ("/mcp/", "toolsets=all", True), ("/mcp", "toolsets=jobs,jobs", True),
        ("/mcp/readonly", "toolsets=all", True), ("/mcp", "toolsets=jobs,bounties", False), ("/mcp", "toolsets=nosuch", False),
        ("/mcp/x/nosuch", "", False), ("/mcp/nowhere", "", False), ("/mcp/oauth", "", False), ("/mcp", f"api_key={key}", True),
    ):  # fmt: skip
        yield posted(version, "tools/list", {}, f"tools/list {path} {query}", path=path, query=query, good=good)


def others(version: str, _: str) -> Iterator[Posted]:
    for method, params in (
        ("ping", {}),
        ("foo/bar", {}),
        ("", {}),
        ("resources/read", {"uri": "doc://skill.md"}),
        ("resources/read", {"uri": "doc://none"}),
        ("prompts/get", {"name": "buy", "arguments": {}}),
        ("logging/setLevel", {"level": "debug"}),
        ("subscriptions/nothing", {}),
        (
            "initialize",
            {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}},
        ),
    ):
        yield posted(version, method, params)


def raw_bodies(version: str, _: str) -> Iterator[Posted]:
    plain = call(version, "say_json", {"value": 1})
    for name, old, new in (
        ("string id", b'"id": 7', b'"id": "a1"'), ("id that looks like a number", b'"id": 7', b'"id": "7"'), ("empty id", b'"id": 7', b'"id": ""'),
        ("id of other letters", b'"id": 7', '"id": "ü\u2028"'.encode()), ("largest id", b'"id": 7', b'"id": 9007199254740991'),
        ("negative id", b'"id": 7', b'"id": -1'), ("id zero", b'"id": 7', b'"id": 0'),
    ):  # fmt: skip
        yield replace(plain, name=name, body=plain.body.replace(old, new))
    for name, old, new in (
        ("true id", b'"id": 7', b'"id": true'), ("fraction id", b'"id": 7', b'"id": 1.5'), ("null id", b'"id": 7', b'"id": null'),
        ("whole fraction id", b'"id": 7', b'"id": 1.0'), ("list id", b'"id": 7', b'"id": [1]'), ("no id", b'"id": 7, ', b""),
        ("too large an id", b'"id": 7', b'"id": 9007199254740992'), ("surrogate id", b'"id": 7', b'"id": "\\ud800"'),
        ("jsonrpc 1.0", b'"2.0"', b'"1.0"'), ("jsonrpc 2", b'"2.0"', b"2.0"), ("no jsonrpc", b'"jsonrpc": "2.0", ', b""),
        ("member more", b'"id": 7', b'"id": 7, "x": 1'), ("result beside", b'"id": 7', b'"id": 7, "result": {}'),
        ("error beside", b'"id": 7', b'"id": 7, "error": {"code": 1, "message": "x"}'), ("id twice", b'"id": 7', b'"id": 7, "id": 8'),
        ("method 7", b'"tools/call"', b"7"), ("method null", b'"tools/call"', b"null"), ("no method", b'"method": "tools/call", ', b""),
        ("key twice", b'{"value": 1}', b'{"value": 1, "value": 2}'), ("NaN", b'"value": 1', b'"value": NaN'),
        ("lone surrogate", b'"value": 1', b'"value": "\\ud800"'), ("null character", b'"value": 1', b'"value": "\\u0000"'),
        ("large integer", b'"value": 1', b'"value": 9007199254740992'), ("surrogate name", b'"say_json"', b'"\\ud800"'),
        ("deep", b'"value": 1', b'"value": ' + b"[" * 70 + b"]" * 70), ("nothing", plain.body, b""), ("brace", plain.body, b"{"),
        ("not UTF-8", b'"value": 1', b'"value": "\xff"'), ("mark", plain.body, b"\xef\xbb\xbf" + plain.body),
        ("batch", plain.body, b"[" + plain.body + b"]"), ("empty batch", plain.body, b"[]"), ("null", plain.body, b"null"),
        ("notification", plain.body, b'{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}'),
        ("response", plain.body, b'{"jsonrpc":"2.0","id":1,"result":{}}'),
    ):  # fmt: skip
        yield replace(plain, name=name, body=plain.body.replace(old, new), good=False)
    for kind in (
        "null",
        "[1, 2]",
        '[["a", "b"]]',
        '"text"',
        "5",
        "true",
        "false",
        "[]",
        '""',
    ):  # null is valid and comes first
        yield replace(
            plain,
            name=f"arguments {kind}",
            body=plain.body.replace(b'{"value": 1}', kind.encode()),
            good=plain.good and kind == "null",
        )
    yield replace(plain, name="blanks around", body=b" \n" + plain.body + b"\r\n ")


def odd_headers(version: str, key: str) -> Iterator[Posted]:
    plain = call(version, "show_tree")
    listed = posted(version, "tools/list", {})
    for one in (plain, listed):
        for host in ("elsewhere.example", "", f"{HOST}:81", None):
            yield one.instead(f"host {host}", host=host)
        for origin in ("https://elsewhere.example", "null"):
            yield one.instead(f"local, from {origin}", host=LOCAL, origin=origin)
        for accept in ("text/html", "", "application/jsonx", "text/event-stream", None):
            yield one.instead(f"accept {accept}", accept=accept)
        yield one.instead("another version", mcp_protocol_version="2099-01-01")
        yield one.instead("wrong Mcp-Method", mcp_method="prompts/list")
        yield one.instead("no Mcp-Method", mcp_method=None)
        yield one.beside("Mcp-Method twice", ("mcp-method", "tools/call"))
        yield one.beside("version twice", ("mcp-protocol-version", version))
        yield one.beside("two versions", ("mcp-protocol-version", "2024-11-05"))
    for accept in (
        "application/json",
        "*/*",
        "application/*",
        "application/json;q=0.1, text/html",
        "TEXT/HTML , APPLICATION/JSON",
    ):
        yield replace(plain.instead(f"accept {accept}", accept=accept), good=plain.good)
    for kind in ("text/plain", "application/json; charset=utf-8", None):
        yield replace(plain.instead(f"content-type {kind}", content_type=kind), good=plain.good)
    yield replace(plain.instead("upper case", host=HOST.upper()), good=plain.good)
    yield replace(plain.instead("a page of a page here", host=LOCAL, origin="http://localhost:3000"), good=plain.good)
    yield replace(plain.instead("a page elsewhere", origin="https://elsewhere.example"), good=plain.good)
    yield plain.instead("blanks", mcp_protocol_version=f"{version} \t")  # which the edge removes
    yield plain.beside("accept twice", ("accept", "text/html"), good=plain.good)
    yield plain.beside("parameter in a header", ("mcp-param-region", "eu"), good=plain.good)
    yield plain.beside("session", ("mcp-session-id", "x"), ("last-event-id", "7"), good=plain.good)
    yield plain.beside("cookies", ("cookie", "a=b"), ("cookie", "c=d"), ("x-request-id", "req_other"), good=plain.good)
    yield plain.beside("Mcp-Name twice", ("mcp-name", "show_tree"))
    yield plain.instead("wrong Mcp-Name", mcp_name="get_me")
    yield plain.instead("no Mcp-Name", mcp_name=None)
    yield plain.instead("Mcp-Name in base64", mcp_name="=?base64?c2hvd190cmVl?=")
    yield plain.instead("Mcp-Name in bad base64", mcp_name="=?base64?c2hvd190cmVl==?=")
    yield plain.instead("Mcp-Name in other letters", mcp_name="SHOW_TREE")
    yield plain.beside("wrong key", ("x-api-key", key[:-1]), good=plain.good)


def tasks(version: str, key: str) -> Iterator[Posted]:
    keyed, can = [("x-api-key", key)], {"_meta": {f"{PREFIX}clientCapabilities": TAKES_TASKS}}
    order = {"listing_id": "lst_0", "input": {}, "wait_seconds": 0}
    yield call(version, "hire", order, params=can, headers=keyed, good=False)
    yield call(version, "hire", order, headers=keyed)
    yield call(version, "call_tool", {"name": "hire", "arguments": order}, params=can, headers=keyed, good=False)
    yield call(
        version, "call_tool", {"name": "get_me"}, params=can, headers=keyed, good=False
    )  # its name could be hire
    yield call(version, "get_me", params=can, headers=keyed)
    for method in TASK_METHODS:
        for params in ({"taskId": "job_0"}, {"taskId": "job_0", "inputResponses": {}}, {"taskId": 5}, {}):
            yield posted(version, method, params | can, f"{method} {params}", headers=keyed)
        yield posted(version, method, {"taskId": "job_0", "inputResponses": {}}, f"{method} undeclared", headers=keyed)


def envelopes(version: str) -> Iterator[Posted]:
    good: tuple[dict[str, Any], ...] = (
        {"clientCapabilities": {"sampling": {}, "elicitation": {}, "extensions": {"x/y": {}}}},
        {"clientCapabilities": TAKES_TASKS},
        {"clientInfo": {"name": "n", "version": "1", "title": "t", "icons": []}},
        {"clientInfo": None},
    )
    bad: tuple[dict[str, Any], ...] = (
        {"clientCapabilities": []}, {"clientCapabilities": None}, {"clientCapabilities": {"sampling": 5}}, {"clientInfo": 5},
        {"clientInfo": {"name": "n"}}, {"clientInfo": {"name": 5, "version": "1"}}, {"protocolVersion": "2025-11-25"},
        {"protocolVersion": "2030-01-01"}, {"protocolVersion": None},
    )  # fmt: skip
    for tool in (True, False):
        one = call(version, "show_tree") if tool else posted(version, "tools/list", {})
        for meta, fine in (*((meta, True) for meta in good), *((meta, False) for meta in bad)):
            body = json.loads(one.body)
            body["params"]["_meta"] |= {f"{PREFIX}{name}": value for name, value in meta.items()}
            yield replace(one, name=f"envelope {meta}", body=json.dumps(body).encode(), good=fine)
        for missing in ("clientCapabilities", "clientInfo", "protocolVersion"):
            body = json.loads(one.body)
            del body["params"]["_meta"][f"{PREFIX}{missing}"]
            yield replace(one, name=f"no {missing}", body=json.dumps(body).encode(), good=missing == "clientInfo")
