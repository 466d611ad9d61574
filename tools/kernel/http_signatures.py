"""HTTP message signatures (RFC 9421) and Content-Digest (RFC 9530): parsing, signature bases and checks."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from hashlib import sha256, sha512
from typing import TypeVar
from urllib.parse import SplitResult, urlsplit

import http_sf

WINDOW_SECONDS = 300  # by which `created` may differ from our clock
MAX_FIELD_LENGTH = 4096
MAX_COMPONENTS = 32
MAX_NONCE_LENGTH = 255
MAX_SHOWN_LENGTH = 8_000
T = TypeVar("T")
INPUT, SIGNATURE, DIGEST = b"signature-input", b"signature", b"content-digest"
READ = frozenset({INPUT, SIGNATURE, DIGEST})  # a request with one of these headers is kept as received
# RFC 9421, 2.2: those of a request, without parameters
DERIVED = frozenset({"@method", "@target-uri", "@authority", "@scheme", "@path", "@query", "@request-target"})
PARAMETERS = frozenset({"created", "expires", "nonce", "alg", "keyid", "tag"})
FIELD_NAME = re.compile(r"[a-z0-9!#$%&'*+.^_`|~-]{1,64}")
HASHES = {"sha-256": sha256, "sha-512": sha512}
HIDDEN = frozenset({"authorization", "proxy-authorization", "cookie", "x-api-key", "x-admin-token"})
DEFAULT_PORTS = {"http": ":80", "https": ":443"}


class BadSignature(ValueError):
    """A signature that is refused; `reason` is for programs.

    `message` reveals nothing about the owner of the key.
    """

    def __init__(self, reason: str, message: str) -> None:
        super().__init__(message)
        self.reason, self.message = reason, message


@dataclass(frozen=True, slots=True)
class HttpRequest:
    """A raw request, because a signature covers bytes; header names are in lower case."""

    method: str
    path: bytes
    query: bytes
    headers: tuple[tuple[bytes, bytes], ...] = field(repr=False)
    body: bytes = field(default=b"", repr=False)

    @property
    def signed(self) -> bool:
        return any(name in (INPUT, SIGNATURE) for name, _ in self.headers)

    @property
    def repeatable(self) -> bool:
        """Return whether the method is safe by definition (RFC 9110, 9.2.1)."""
        return self.method in ("GET", "HEAD")

    def header(self, name: bytes) -> bytes | None:
        """Return all values of a header as one (RFC 9421, 2.1); None if it was not sent."""
        values = [value.strip() for one, value in self.headers if one == name]
        return b", ".join(values) if values else None


@dataclass(frozen=True, slots=True)
class Claim:
    """The claims of a well-formed signature, which is not verified yet."""

    covered: tuple[str, ...]
    parameters: str  # the last line of the base: as received, in the one serialisation of RFC 9421, 2.3
    keyid: str
    created: int
    expires: int | None
    nonce: str | None
    signature: bytes

    @property
    def use(self) -> str:
        """Return a hash of what may be used only once: the nonce, otherwise the signature.

        The environment is left out, because the signature may not cover it.
        """
        told = b"nonce:" + self.nonce.encode() if self.nonce is not None else b"signature:" + self.signature
        return sha256(told).hexdigest()


def read_claim(request: HttpRequest) -> Claim:
    """Parse the only signature of a request; raises BadSignature if it is malformed."""
    (label, made), (named, signature) = _only_member(request, INPUT), _only_member(request, SIGNATURE)
    if label != named:
        raise BadSignature("malformed", "Signature and Signature-Input carry different labels")
    value = signature[0] if isinstance(signature, tuple) else signature
    if not isinstance(value, bytes) or len(value) != 64:
        raise BadSignature("malformed", "Signature holds no Ed25519 signature of 64 bytes between colons")
    if not (isinstance(made, tuple) and isinstance(made[0], list)):
        raise BadSignature("malformed", 'Signature-Input must be <label>=("@method" …);created=…;keyid="…"')
    covered, given = _covered(made[0]), made[1]
    _check_parameters(given)
    nonce, expires = _optional(given, "nonce", str), _optional(given, "expires", int)
    if nonce is not None and not 0 < len(nonce) <= MAX_NONCE_LENGTH:
        raise BadSignature("malformed", f"nonce has 1-{MAX_NONCE_LENGTH} characters")
    return Claim(
        covered=covered,
        parameters=http_sf.ser([made]),
        keyid=_needed(given, "keyid", str),
        created=_needed(given, "created", int),
        expires=expires,
        nonce=nonce,
        signature=value,
    )


def check_cover(claim: Claim, request: HttpRequest) -> None:
    """Raise BadSignature if a signature does not cover the request as it must.

    It must not leave open what is requested, cover a header that was not sent, or name the digest of another body.
    """
    covered = set(claim.covered)
    target = {"@authority", "@path", *(["@query"] if request.query else [])}
    if "@method" not in covered or not ("@target-uri" in covered or target <= covered):
        raise BadSignature(
            "uncovered", 'the signature must cover "@method" and "@target-uri" (or "@authority", "@path" and "@query")'
        )
    if request.body and "content-digest" not in covered:
        raise BadSignature("uncovered", "a request with a body carries Content-Digest, and the signature covers it")
    for name in claim.covered:
        if name not in DERIVED and request.header(name.encode()) is None:
            raise BadSignature("uncovered", f"the signature covers {name}, which was not sent")
    fault = digest_fault(request, needed="content-digest" in covered)
    if fault is not None:
        raise BadSignature("digest", fault)


def bases(claim: Claim, request: HttpRequest, urls: Iterable[str]) -> list[bytes]:
    """Return the bases that a signer may have signed, one for each address of this market.

    The main address comes first. An empty query ("/x?") cannot be told from no query here, so both forms are returned.
    """
    marks = [b"?" + request.query] if request.query else [b"", b"?"]
    return list(dict.fromkeys(_base(claim, request, url, mark, hide=False) for url in urls for mark in marks))


def shown_base(claim: Claim, request: HttpRequest, url: str) -> str:
    """Return the base to show to the caller: without credentials, at most MAX_SHOWN_LENGTH long."""
    mark = b"?" + request.query if request.query else b""
    text = _base(claim, request, url, mark, hide=True).decode("latin-1")
    return text if len(text) <= MAX_SHOWN_LENGTH else text[:MAX_SHOWN_LENGTH] + "…"


def check_time(claim: Claim, now_seconds: float) -> None:
    """Raise BadSignature if a signature was made too long ago or ahead, or has expired."""
    now = int(now_seconds)
    if abs(now - claim.created) > WINDOW_SECONDS:
        raise BadSignature(
            "created", f"created is more than {WINDOW_SECONDS} seconds away from this market's clock, which says {now}"
        )
    if claim.expires is not None and now_seconds > claim.expires:
        raise BadSignature("expired", f"expires has passed: this market's clock says {now}")


def digest_fault(request: HttpRequest, needed: bool = False) -> str | None:
    """Return what is wrong with Content-Digest over the raw body, or None.

    `needed` means that it must be present and name a known hash.
    """
    given = request.header(DIGEST)
    if given is None:
        return "there is no Content-Digest" if needed else None
    try:
        told = _dictionary(given, "Content-Digest")
    except BadSignature as bad:
        return bad.message
    known = {name: told[name] for name in HASHES if name in told}
    for name, member in known.items():
        value = member[0] if isinstance(member, tuple) else member
        if value != HASHES[name](request.body).digest():
            return f"Content-Digest: {name} is not that of the body as it arrived"
    return "Content-Digest names neither sha-256 nor sha-512" if needed and not known else None


def _dictionary(given: bytes, name: str) -> dict[str, http_sf.ItemType | http_sf.InnerListType]:
    if len(given) > MAX_FIELD_LENGTH:
        raise BadSignature("malformed", f"{name} is longer than {MAX_FIELD_LENGTH} bytes")
    twice = list[str]()
    try:
        found = http_sf.parse(given, tltype="dictionary", on_duplicate_key=lambda key, _: twice.append(key))
    except http_sf.StructuredFieldError:
        raise BadSignature("malformed", f"{name} is no structured field (RFC 8941)") from None
    if twice or not isinstance(found, dict):
        raise BadSignature("malformed", f"{name} says something twice")
    return found


def _only_member(request: HttpRequest, name: bytes) -> tuple[str, http_sf.ItemType | http_sf.InnerListType]:
    shown = "Signature" if name == SIGNATURE else "Signature-Input"
    given = request.header(name)
    if given is None:
        raise BadSignature("malformed", f"{shown} is missing: Signature and Signature-Input come together")
    members = _dictionary(given, shown)
    if len(members) != 1:
        raise BadSignature("malformed", f"{shown} holds {len(members)} signatures: send exactly one")
    return next(iter(members.items()))


def _covered(items: list[http_sf.ItemType]) -> tuple[str, ...]:
    names = list[str]()
    for item in items[: MAX_COMPONENTS + 1]:
        name, more = item if isinstance(item, tuple) else (item, {})
        if more or not isinstance(name, str):
            raise BadSignature("malformed", "a covered component is a quoted name without parameters")
        if name not in DERIVED and not FIELD_NAME.fullmatch(name):
            raise BadSignature("malformed", f"{name[:64]} is no component of a request that can be covered here")
        names.append(name)
    if len(names) > MAX_COMPONENTS or len(set(names)) != len(names):
        raise BadSignature("malformed", f"at most {MAX_COMPONENTS} components are covered, each once")
    return tuple(names)


def _check_parameters(parameters: Mapping[str, object]) -> None:
    unknown = sorted(parameters.keys() - PARAMETERS)
    if unknown:
        raise BadSignature("malformed", f"unknown signature parameter {unknown[0][:64]}")
    if _optional(parameters, "alg", str) not in (None, "ed25519"):
        raise BadSignature("algorithm", "alg must be ed25519, or be left out")
    _optional(parameters, "tag", str)


def authority_of(parts: SplitResult) -> str:
    """Return the host and port of a URL in their normalised form (RFC 9421, 2.2.3)."""
    return parts.netloc.lower().removesuffix(DEFAULT_PORTS.get(parts.scheme, ""))


def _base(claim: Claim, request: HttpRequest, url: str, mark: bytes, *, hide: bool) -> bytes:
    parts = urlsplit(url)
    path = parts.path.encode() + (request.path or b"/")
    derived = {
        "@method": request.method.encode("latin-1"),
        "@target-uri": url.encode() + (request.path or b"/") + mark,
        "@authority": authority_of(parts).encode(),
        "@scheme": parts.scheme.encode(),
        "@path": path,
        "@query": b"?" + request.query,
        "@request-target": path + mark,
    }
    lines = list[bytes]()
    for name in claim.covered:
        value = derived[name] if name in DERIVED else request.header(name.encode()) or b""
        lines.append(b'"%s": %s' % (name.encode(), b"(hidden)" if hide and name in HIDDEN else value))
    return b"\n".join([*lines, b'"@signature-params": ' + claim.parameters.encode()])


def _optional(parameters: Mapping[str, object], name: str, kind: type[T]) -> T | None:
    value = parameters.get(name)
    if value is None or (isinstance(value, kind) and not isinstance(value, bool)):
        return value
    wanted = "a quoted string" if kind is str else "a whole number of seconds since 1970"
    raise BadSignature("malformed", f"{name} is {wanted}")


def _needed(parameters: Mapping[str, object], name: str, kind: type[T]) -> T:
    value = _optional(parameters, name, kind)
    if value is None:
        raise BadSignature("malformed", f"the signature has no {name}")
    return value
