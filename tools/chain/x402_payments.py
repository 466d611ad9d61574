"""x402 payments from clients: strict parsing of the headers PAYMENT-SIGNATURE and X-PAYMENT, and checks.

PAYMENT-SIGNATURE is of version 2, X-PAYMENT of version 1 or 2. Source: the x402 specification, versions 1 and 2,
transport HTTP, scheme `exact` on EVM chains. What a client sent is untrusted until the payer's signature over all of it
is verified.
"""

import re
from base64 import b64decode
from binascii import Error as NotBase64
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum
from urllib.parse import SplitResult, urlsplit

from eth_utils.crypto import keccak

from tools.chain.wallet_proof import BadAddress, address_of
from tools.chain.x402_payload import SCHEME, SECONDS, Authorization
from tools.kernel.strict_json import BadJson, Json, parse

MAX_HEADER = 16_384  # characters
MAX_SIGNATURE = 4_096  # hex digits; a contract wallet's is longer than a key's 130
MIN_LEFT = 60  # seconds an authorization must still be valid, so that the work can be done first
MAX_LEFT = 3600  # ... and may be valid at most, because its result stays open that long
MIN_TO_SETTLE = 10  # seconds it must still be valid when it is submitted
AFTERMATH = timedelta(seconds=60)  # after valid_before, because a node may lag behind its chain
QUIET = timedelta(hours=1)  # after valid_before, if the chain's newest block is older than that
MAX_UINT = 2**256 - 1
V1_NETWORKS = {"base": "eip155:8453", "base-sepolia": "eip155:84532"}

_USED = f"0x{bytes(keccak(text='AuthorizationUsed(address,bytes32)')).hex()}"
_SIGNATURE = re.compile(r"0x(?:[0-9a-fA-F]{2})+")
_NONCE = re.compile(r"0x[0-9a-fA-F]{64}")
_NUMBER = re.compile(r"0|[1-9][0-9]{0,77}")


class BadPayment(ValueError):
    """A header without a payment that can be read."""


class Fault(StrEnum):
    """Why a readable payment is refused. The values are x402's own error reasons."""

    NETWORK = "invalid_network"
    SCHEME = "unsupported_scheme"
    RECIPIENT = "invalid_exact_evm_payload_recipient_mismatch"
    VALUE = "invalid_exact_evm_payload_authorization_value_mismatch"
    EXPIRED = "invalid_exact_evm_payload_authorization_valid_before"
    EARLY = "invalid_exact_evm_payload_authorization_valid_after"
    SIGNATURE = "invalid_exact_evm_payload_signature"
    RESOURCE = "invalid_payload"


ANEW = "Nothing was charged. Sign what `accepts` says, with any x402 client, and send it with the same request."
IN_WORDS: dict[str, str] = {
    Fault.NETWORK: f"It is for another chain. {ANEW}",
    Fault.SCHEME: f"Only the scheme exact is taken. {ANEW}",
    Fault.RECIPIENT: f"It pays another wallet than payTo. {ANEW}",
    Fault.VALUE: f"It must be for exactly the amount asked, neither less nor more. {ANEW}",
    Fault.EXPIRED: f"valid_before must lie {MIN_LEFT} to {MAX_LEFT} seconds ahead; clients take {SECONDS}. {ANEW}",
    Fault.EARLY: f"It is not valid yet: it must begin now or earlier, 0 is best. {ANEW}",
    Fault.SIGNATURE: f"The wallet `from` did not sign exactly this. {ANEW}",
    Fault.RESOURCE: f"Its resource.url names another site: whoever signed it did not sign it for this market. {ANEW}",
}


@dataclass(frozen=True, slots=True)
class Payment:
    """A signed authorization, and the terms that its client says it accepted."""

    version: int
    scheme: str
    network: str  # CAIP-2, or what the client wrote
    authorization: Authorization
    signature: str  # 0x and lower-case hex
    resource: str | None = None  # the url that the client says it pays for; it is not signed


def read_payment(header: str) -> Payment:
    """Parse the payment in a header; raises BadPayment."""
    if len(header) > MAX_HEADER:
        raise BadPayment(f"is longer than {MAX_HEADER} characters")
    try:
        found = parse(b64decode(header, validate=True))
    except (NotBase64, ValueError) as error:
        why = error.message if isinstance(error, BadJson) else "it is not standard base64"
        raise BadPayment(f"must be base64 of JSON: {why}") from None
    version = _member(found, "x402Version")
    if version not in (1, 2) or isinstance(version, bool):
        raise BadPayment("x402Version: must be 1 or 2")
    terms = _object(found, "accepted") if version == 2 else found
    payload = _object(found, "payload")
    network = _text(terms, "network")
    return Payment(
        version=int(version),
        scheme=_text(terms, "scheme"),
        network=V1_NETWORKS.get(network, network),
        authorization=read_authorization(_object(payload, "authorization")),
        signature=_matching(payload, "signature", _SIGNATURE, "0x and whole bytes of hex", MAX_SIGNATURE).lower(),
        resource=_resource(found),
    )


def fault_of(payment: Payment, asked: Mapping[str, Json], now_seconds: float) -> Fault | None:
    """Return why a payment does not match the quoted `requirements`, or None.

    Its signature is not checked.
    """
    given = payment.authorization
    in_time = now_seconds + MIN_LEFT <= given.valid_before <= now_seconds + MAX_LEFT
    matches = {
        Fault.SCHEME: payment.scheme == SCHEME,
        Fault.NETWORK: payment.network == asked["network"],
        Fault.RECIPIENT: given.payee == asked["payTo"],
        Fault.VALUE: str(given.value) == asked["amount"],
        Fault.EARLY: given.valid_after <= now_seconds,
        Fault.EXPIRED: in_time,
    }
    return next((fault for fault, matched in matches.items() if not matched), None)


def is_for(resource: str | None, urls: Iterable[str]) -> bool:
    """Check that a resource lies under one of these urls, or that the client names none."""
    return resource is None or any(_lies_under(resource, url) for url in urls)


def _lies_under(resource: str, url: str) -> bool:
    try:
        one, base = urlsplit(resource), urlsplit(url)
        same = _origin(one) == _origin(base)
    except ValueError:  # an invalid port or address
        return False
    folder = base.path.rstrip("/")
    inside = one.path == folder or one.path.startswith(f"{folder}/")
    return same and inside and ".." not in one.path.split("/")


def _origin(url: SplitResult) -> tuple[str, str | None, int | None, bool]:
    port = url.port or {"http": 80, "https": 443}.get(url.scheme)
    return url.scheme, url.hostname, port, "@" in url.netloc


def settles(receipt: object, asset: str, authorization: Authorization) -> bool:
    """Check whether a receipt shows that the token used this authorization.

    The token then emits AuthorizationUsed (EIP-3009).
    """
    logs = receipt.get("logs") if isinstance(receipt, dict) else None
    return isinstance(logs, list) and any(_is_use(log, asset, authorization) for log in logs)


def inputs_in(block: object) -> tuple[tuple[str, str], ...]:
    """Return the hash and the input of each transaction of a block, in lower case.

    A node's answer is untrusted, and malformed parts are ignored.
    """
    found = block.get("transactions") if isinstance(block, dict) else None
    return tuple(
        (one["hash"].lower(), text.lower())
        for one in (found if isinstance(found, list) else [])
        if isinstance(one, dict)
        and isinstance(text := one.get("input"), str)
        and isinstance(one.get("hash"), str)
        and _NONCE.fullmatch(one["hash"])
    )


def transactions_with_nonce(inputs: Iterable[tuple[str, str]], given_nonce: str) -> list[str]:
    """Return the hashes of the transactions whose input has this nonce."""
    wanted = given_nonce[2:]
    return [transaction for transaction, text in inputs if wanted in text]


def _is_use(log: object, asset: str, authorization: Authorization) -> bool:
    if not isinstance(log, dict) or not isinstance(log.get("address"), str) or not isinstance(log.get("topics"), list):
        return False
    topics = [one.lower() for one in log["topics"] if isinstance(one, str)]
    wanted = [_USED, f"0x{authorization.payer[2:].lower():0>64}", authorization.nonce]
    return log["address"].lower() == asset.lower() and topics == wanted


def read_authorization(found: Json) -> Authorization:
    """Parse an authorization as it is in a payment payload; raises BadPayment."""
    return Authorization(
        payer=_address(found, "from"),
        payee=_address(found, "to"),
        value=_number(found, "value"),
        valid_after=_number(found, "validAfter"),
        valid_before=_number(found, "validBefore"),
        nonce=_matching(found, "nonce", _NONCE, "0x and 64 hex", 66).lower(),
    )


def _member(found: Json, name: str) -> Json:
    if not isinstance(found, dict) or name not in found:
        raise BadPayment(f"{name}: required")
    return found[name]


def _resource(found: Json) -> str | None:
    if not isinstance(found, dict) or found.get("resource") is None:
        return None
    return _text(_object(found, "resource"), "url")


def _object(found: Json, name: str) -> dict[str, Json]:
    inner = _member(found, name)
    if not isinstance(inner, dict):
        raise BadPayment(f"{name}: must be a JSON object")
    return inner


def _text(found: Json, name: str) -> str:
    inner = _member(found, name)
    if not isinstance(inner, str) or len(inner) > MAX_HEADER:
        raise BadPayment(f"{name}: must be a string")
    return inner


def _matching(found: Json, name: str, form: re.Pattern[str], said: str, longest: int) -> str:
    text = _text(found, name)
    if len(text) > longest or not form.fullmatch(text):
        raise BadPayment(f"{name}: must be {said}")
    return text


def _address(found: Json, name: str) -> str:
    try:
        return address_of(_text(found, name))
    except BadAddress as bad:
        raise BadPayment(f"{name}: {bad}") from None


def _number(found: Json, name: str) -> int:
    """Parse a uint256.

    Version 2 and most clients of version 1 write it as text, some clients as an integer.
    """
    inner = _member(found, name)
    if isinstance(inner, int) and not isinstance(inner, bool) and inner >= 0:
        return inner
    number = int(_matching(found, name, _NUMBER, "a whole number as text", 78))
    if number > MAX_UINT:
        raise BadPayment(f"{name}: must be a uint256")
    return number
