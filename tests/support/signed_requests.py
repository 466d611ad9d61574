"""Signed requests for tests: RFC 9421 implemented by hand, so that a test can change each part."""

import base64
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any
from urllib.parse import quote, urlencode, urlsplit

import orjson
from nacl.signing import SigningKey

from tests.support.market import BASE_URL, Agent
from tools.engine.context import CallRequest, Surface
from tools.engine.registry import Operation
from tools.kernel.http_signatures import HttpRequest


def encoded(raw: bytes) -> str:
    return base64.b64encode(raw).decode()


def digest_of(body: bytes) -> str:
    return f"sha-256=:{encoded(sha256(body).digest())}:"


@dataclass
class Signing:
    """A request to be signed.

    `headers` returns the headers to send. A test may change each field first.
    """

    method: str
    url: str
    body: bytes = b""
    keyid: str = ""
    created: int = 0
    env: str | None = "test"
    nonce: str | None = None
    label: str = "sig1"
    covered: Sequence[str] | None = None
    parameters: str | None = None  # all parameters, as text
    sent: Mapping[str, str] = field(default_factory=dict)  # additional headers

    @property
    def components(self) -> Sequence[str]:
        return (
            ["@method", "@target-uri", *(["content-digest"] if self.body else [])]
            if self.covered is None
            else self.covered
        )

    @property
    def input(self) -> str:
        named = " ".join(f'"{name}"' for name in self.components)
        nonce = f';nonce="{self.nonce}"' if self.nonce is not None else ""
        usual = f';created={self.created};keyid="{self.keyid}";alg="ed25519"{nonce}'
        return f"({named}){usual if self.parameters is None else self.parameters}"

    @property
    def plain(self) -> dict[str, str]:
        """The headers apart from the signature, by their names in lower case."""
        told = {name.lower(): value for name, value in self.sent.items()}
        if self.body:
            told.setdefault("content-digest", digest_of(self.body))
        return told if self.env is None else {"x-env": self.env, **told}

    @property
    def base(self) -> str:
        parts, headers = urlsplit(self.url), self.plain
        derived = {
            "@method": self.method, "@target-uri": self.url, "@authority": parts.netloc.lower(), "@scheme": parts.scheme,
            "@path": parts.path, "@query": f"?{parts.query}",
        }  # fmt: skip
        lines = [f'"{name}": {derived.get(name, headers.get(name, ""))}' for name in self.components]
        return "\n".join([*lines, f'"@signature-params": {self.input}'])

    def headers(self, seed: bytes) -> dict[str, str]:
        made = SigningKey(seed).sign(self.base.encode("latin-1")).signature
        return {
            **self.plain,
            "signature-input": f"{self.label}={self.input}",
            "signature": f"{self.label}=:{encoded(made)}:",
        }


def signing(agent: Agent, op: Operation, given: Mapping[str, Any], at: float, **more: Any) -> Signing:
    """Return the REST request of an operation, ready to be signed, with the market's own URL."""
    rest, path = dict(given), op.path
    for name in op.path_names:
        path = path.replace(f"{{{name}}}", quote(str(rest.pop(name)), safe=""))
    url = BASE_URL + path
    if op.method == "GET" and rest:
        url += "?" + urlencode({name: ",".join(one) if isinstance(one, list) else one for name, one in rest.items()})
    body = orjson.dumps(rest) if op.method != "GET" else b""
    return Signing(**{"method": op.method, "url": url, "body": body, "keyid": agent.id, "created": int(at)} | more)


def approach(agent: Agent, op: Operation, given: Mapping[str, Any], at: float, **more: Any) -> CallRequest:
    """Return the signed request as `Market.call` receives it."""
    made = signing(agent, op, given, at, **more)
    parts = urlsplit(made.url)
    headers = tuple((name.encode(), value.encode()) for name, value in made.headers(agent.seed).items())
    request = HttpRequest(made.method, parts.path.encode(), parts.query.encode(), headers, made.body)
    return CallRequest(Surface.REST, "203.0.113.9", "req_test", request=request)
