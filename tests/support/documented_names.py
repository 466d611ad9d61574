"""The names that texts may use: each name, path, event and call of the market, read from the registry and the code."""

import ast
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from protocol.docs.texts import Texts
from protocol.mcp.toolsets import CALL, CORE_NAME, ONE, OPENINGS
from protocol.reserved_arguments import RESERVED
from rest.ard import OPERATIONS as ARD
from rest.openapi import openapi
from rest.pages.table import PAGES
from rest.routes import Router
from server.docs import make_pages
from storage.vocabulary import Env
from tests.support.fixed_market import FixedClock, house
from tools.catalogue import CATALOGUE, every_error
from tools.chain.x402_payload import payment_required, requirements
from tools.credentials.logic import LIVE_KEY
from tools.engine.config import Limits
from tools.engine.oauth import SERVER_PATH, TOKEN_PATH
from tools.engine.registry import Operation
from tools.events.types import FAMILIES, KINDS
from tools.jobs.lifecycle import MOVES
from tools.jobs.payments.gasless import gasless_block, gasless_info, token_of
from tools.screening.codes import Code

ROOT = Path(__file__).parents[2]
OPERATIONS = list(CATALOGUE.values())
HOUSE = replace(house(Limits()), contact="https://emporion.example/contact")
TEXTS = Texts(OPERATIONS, HOUSE)
OPENAPI = openapi(OPERATIONS, HOUSE)
METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE")
SURFACES = {*OPENINGS, "/ard", "/a2a", "/a2a/message:send", "/a2a/agents/{handle}", SERVER_PATH, TOKEN_PATH}
# Names that others define: wallets, OAuth, JWT, RFC 9421, OpenAPI, the platform as a sender, the sandbox's chain.
OUTSIDE = {
    "personal_sign", "client_credentials", "private_key_jwt", "iss", "sub", "aud", "exp", "jti", "created", "nonce",
    "full_message", "private_key", "servers", "system", "dev_faucet", "dev_gas", "contract.functions.transfer",
}  # fmt: skip
SNAKE = re.compile(r"(?<![\w<./-])[a-z]+(?:_[a-z0-9]+)+(?!\w)")
ROUTE = re.compile(r"\b(GET|POST|PUT|PATCH|DELETE) (/(?:[^\s`),;]*[^\s`),;.])?)")
DOTTED = re.compile(r"(?<![\w./:@-])[a-z][a-z_0-9]*(?:\.[a-z_][a-z_0-9]*)+(?![\w/])")
PLACE = re.compile(r"(?<![\w./}>-])/(?:v1|docs|mcp|a2a|agents|\.well-known|llms|openapi|skill|server)\b[\w/{}.:-]*")
CALLED = re.compile(r"\b([a-z]+(?:_[a-z0-9]+)+)\(([a-z0-9_?, ]*)\)")
FILES = ("md", "json", "txt", "py", "com")  # endings of names that look like fields of a record but are files or hosts
QUOTED = re.compile(r"(?<!`)`([a-z]+)`(?!`)")
PROGRAM = re.compile(r"```python\n.*?```", re.DOTALL)


def faults(text: str) -> set[str]:
    """Find the names in a text that do not exist."""
    prose = PROGRAM.sub("", text)
    found = {*SNAKE.findall(prose), *QUOTED.findall(prose)} - vocabulary() - OUTSIDE
    found |= {name for name in DOTTED.findall(prose) if not _known_place(name)} - OUTSIDE
    found |= {f"{method} {path}" for method, path in ROUTE.findall(prose) if not answers(method, path)}
    found |= {path for path in PLACE.findall(prose) if not served(path.rstrip(".:"))}
    for url in re.findall(rf"{re.escape(HOUSE.base_url)}[^\s)\"`>]*", prose):
        if not served(urlsplit(url.rstrip(".,;:")).path or "/"):
            found.add(url)
    for name, arguments in CALLED.findall(prose):
        taken = {word.strip(" ?") for word in arguments.split(",")} - {""}
        if name in CATALOGUE and not taken <= CATALOGUE[name].input.model_fields.keys():
            found.add(f"{name}({arguments})")
    return found


def answers(method: str, path: str) -> bool:
    path = path.split("?")[0]
    return routed(method, path) is not None or (method in ("GET", "HEAD") and path in pages()) or path == TOKEN_PATH


def served(path: str) -> bool:
    """Check whether a path is served, or a path below it if it ends with a slash.

    `{}` and `{name}` match any text without a slash.
    """
    if path in pages() | SURFACES or path.startswith(ONE) or any(routed(method, path) for method in METHODS):
        return True
    pattern = re.compile(re.sub(r"\\\{[a-z_]*\\\}", "[^/]+", re.escape(path)) + (".*" if path.endswith("/") else ""))
    return any(pattern.fullmatch(known) for known in (*(op.path for op in OPERATIONS), *pages()))


def _known_place(name: str) -> bool:
    """Check whether a name is an event kind, a path of nested fields, or a file name."""
    parts = name.split(".")
    return name in KINDS or parts[-1] in FILES or set(parts) <= vocabulary() | {"details", "e", "g"}


@cache
def vocabulary() -> frozenset[str]:
    """Return names in answers: operations, arguments, fields, values, codes, actions, events."""
    known = {CALL, CORE_NAME, *RESERVED, *FAMILIES, *KINDS, *details_in_code(), *values_of_records(), *x402_names()}
    for op in OPERATIONS:
        known |= {op.name, op.toolset, op.action or op.name, *op.input.model_fields, *op.scopes}
    for error in every_error():
        known |= {error.code, error.type}
    known |= {move.action for move in MOVES} | {*Code, LIVE_KEY}
    return frozenset(known | set(names_in(OPENAPI)))


def x402_names() -> set[str]:
    """Return members of payment terms that x402 and EIP-712 define, and our schemas do not."""
    network = replace(HOUSE.networks[Env.TEST], facilitator_url="https://facilitator.example")
    accepted = requirements(token_of(network), "0x1", 1)
    terms = payment_required("https://market.example", "work", accepted)
    block = gasless_block(network, terms, "0x2", "0x3", FixedClock().now())
    return {"gasless", "x402", *members_of(block), *members_of(gasless_info(network))}


def members_of(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        yield from value
        for inner in value.values():
            yield from members_of(inner)


def names_in(part: Any) -> Iterator[str]:
    """Yield the properties and values of every schema."""
    if isinstance(part, list):
        for one in part:
            yield from names_in(one)
    if isinstance(part, dict):
        yield from part.get("properties", {})
        yield from (value for value in [*part.get("enum", []), part.get("const")] if isinstance(value, str))
        for one in part.values():
            yield from names_in(one)


def descriptions_in(part: Any) -> Iterator[str]:
    """Yield the descriptions, summaries and titles in a schema or document."""
    if isinstance(part, list):
        for one in part:
            yield from descriptions_in(one)
    if isinstance(part, dict):
        for name, one in part.items():
            if name in ("description", "summary", "title") and isinstance(one, str):
                yield one
            else:
                yield from descriptions_in(one)


@cache
def code(*packages: str) -> Mapping[Path, ast.AST]:
    paths = [path for package in packages or ("tools",) for path in sorted((ROOT / package).rglob("*.py"))]
    return {path.relative_to(ROOT): ast.parse(path.read_text(encoding="utf-8")) for path in paths}


def calls_in_code() -> Iterator[ast.Call]:
    return (node for tree in code().values() for node in ast.walk(tree) if isinstance(node, ast.Call))


def called(call: ast.Call) -> str:
    return call.func.id if isinstance(call.func, ast.Name) else ""


def details_in_code() -> Iterator[str]:
    """Yield the names of the details of errors.

    This includes details that a function of the same module makes.
    """
    kinds = {error.__name__ for error in every_error()}
    for tree in code().values():
        makers = {node.name: node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}
        for call in (node for node in ast.walk(tree) if isinstance(node, ast.Call) and called(node) in kinds):
            for part in call.keywords:
                if part.arg:
                    yield part.arg
                elif isinstance(part.value, ast.Call) and called(part.value) in makers:
                    made = (node for node in ast.walk(makers[called(part.value)]) if isinstance(node, ast.Dict))
                    yield from (str(key.value) for one in made for key in one.keys if isinstance(key, ast.Constant))


def holds_records(path: Path) -> bool:
    """Check whether a module declares what agents read."""
    return path.stem.endswith(("records", "payloads"))


def values_of_records() -> Iterator[str]:
    """Yield values that a description of a record lists and no enum does.

    Each must be a constant of the code.
    """
    constants = {
        node.value
        for package in ("tools", "server")
        for path, tree in code(package).items()
        if not holds_records(path)
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    }
    told = {name for path, text in sentences("tools") if holds_records(Path(path)) for name in SNAKE.findall(text)}
    return iter(told & constants)


def sentences(*packages: str) -> Iterator[tuple[str, str]]:
    """Yield each text of several words in the code, with its path.

    Docstrings are left out. `{}` replaces the values of an f-string.
    """
    for path, tree in code(*packages).items():
        inside = {id(part) for node in ast.walk(tree) if isinstance(node, ast.JoinedStr) for part in node.values}
        inside |= {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
        for node in ast.walk(tree):
            text = _text(node)
            if text is not None and " " in text and id(node) not in inside:
                yield str(path), text


def addresses_in_code(*packages: str) -> Iterator[tuple[str, str]]:
    """Yield the paths that the code appends to the market's own URL."""
    for path, tree in code(*packages).items():
        for node in ast.walk(tree):
            text = (
                ast.unparse(node).startswith(("f'", 'f"')) and _text(node) if isinstance(node, ast.JoinedStr) else None
            )
            if text and isinstance(node, ast.JoinedStr) and _begins_at_home(node):
                yield str(path), re.split(r"[\s?#`\")]", text.removeprefix("{}"))[0]


def _begins_at_home(node: ast.JoinedStr) -> bool:
    return isinstance(node.values[0], ast.FormattedValue) and ast.unparse(node.values[0].value).endswith("base_url")


def _text(node: ast.AST) -> str | None:
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if not isinstance(node, ast.JoinedStr):
        return None
    return "".join(str(part.value) if isinstance(part, ast.Constant) else "{}" for part in node.values)


def routed(method: str, path: str) -> Operation | None:
    found = _table().find(tuple(path.strip("/").split("/")))
    return found[0].get(method) if found else None


@cache
def _table() -> Router:
    return Router([*OPERATIONS, *ARD])


@cache
def pages() -> frozenset[str]:
    """Return the paths of the documents and of the pages for people."""
    return frozenset(make_pages(TEXTS, HOUSE, b"{}", FixedClock().now()).pages) | {page.path for page in PAGES}
