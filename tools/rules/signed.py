"""Signed documents, checked with nothing but themselves: receipts and attestations, by the did:key inside their signature."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

from tools.rules.canonical import NotCanonical, canonical
from tools.rules.keys import BadKey, jwk_of, public_key_from, verify_ed25519

KINDS = {"receipt": "receipt", "attestation": "reputation_attestation"}  # the field, and the object that stands in it
Json = Any  # a JSON value
UNTRUSTED = "signed by another key than the one you trust"
Retired = Mapping[str, str]  # the did:key of each key that was replaced, and when


@dataclass(frozen=True, slots=True)
class Checked:
    """One signed document: what it is, who signed it (None: nobody can tell), and what is wrong with it (None: nothing)."""

    kind: str
    about: str
    did: str | None
    fault: str | None


def all_checked(
    value: Json, now: datetime, trusted: str | None = None, retired: Retired | None = None
) -> Iterator[Checked]:
    """Every signed document in a JSON value, however deep, in its order; and each export that is not whole.

    What one of the `retired` keys signed holds no more.

    Of an export only those the market put there: what others wrote into a job or a message may look like one.
    """
    waiting = [value]
    while waiting:
        one = waiting.pop()
        if isinstance(one, dict) and one.get("object") == "export":
            yield from (_held(one, retired or {}) for one in _of_export(one, now, trusted))
        elif isinstance(one, dict):
            signed = "signature" in one and any(kind in one for kind in KINDS)
            if signed:
                yield _held(checked(one, now, trusted), retired or {})
            known = {*KINDS, "signature"} if signed else ()
            waiting += _backwards(item for name, item in one.items() if name not in known)
        elif isinstance(one, list):
            waiting += _backwards(one)


def _held(one: Checked, retired: Retired) -> Checked:
    """With what is wrong with it because its key was replaced, unless it was wrong before."""
    if one.did is None or one.did not in retired or one.fault not in (None, UNTRUSTED):
        return one
    return replace(one, fault=f"signed by a key that was replaced at {retired[one.did]}")


def _backwards(items: Iterable[Json]) -> list[Json]:
    return [item for item in items if isinstance(item, (dict, list))][::-1]


def _of_export(export: dict[str, Json], now: datetime, trusted: str | None) -> Iterator[Checked]:
    """The attestation, and the receipt of each job; one that was taken out or spoiled has something wrong with it."""
    if not isinstance(export.get("finished_at"), str):
        yield Checked("export", str(export.get("agent_id"))[:64], None, "finished_at is missing: it is not whole")
    yield checked(_as_signed("attestation", _data(export, "attestation")), now, trusted)
    jobs = _data(export, "jobs")
    for job in jobs if isinstance(jobs, list) else ():
        yield checked(_as_signed("receipt", job.get("receipt") if isinstance(job, dict) else None), now, trusted)


def _data(export: dict[str, Json], section: str) -> Json:
    found = export.get(section)
    return found.get("data") if isinstance(found, dict) else None


def _as_signed(kind: str, document: Json) -> dict[str, Json]:
    held = document if isinstance(document, dict) else {}
    return {kind: held.get(kind), "signature": held.get("signature")}


def checked(document: dict[str, Json], now: datetime, trusted: str | None = None) -> Checked:
    """A signed document held against its own signature; with `trusted`, only that did:key may have signed it."""
    kind, *more = [one for one in KINDS if one in document]
    body, signature = document[kind], document["signature"]
    if more:
        return Checked(kind, "?", None, f"{' and '.join((kind, *more))} stand beside one signature")
    if not isinstance(body, dict) or not isinstance(signature, dict):
        return Checked(kind, "?", None, "the document or its signature is no object")
    did = signature.get("did")
    fault = _signature_fault(body, signature) or _content_fault(kind, body, now)
    if fault is None and trusted is not None and did != trusted:
        fault = UNTRUSTED
    return Checked(kind, _about(body), did if isinstance(did, str) else None, fault)


def _signature_fault(body: Json, signature: dict[str, Json]) -> str | None:
    """RFC 8032 over RFC 8785, the key being the one the signature names as did:key and as RFC 7638 thumbprint."""
    did, kid, sig = (signature.get(name) for name in ("did", "kid", "sig"))
    if not isinstance(did, str) or not isinstance(kid, str) or not isinstance(sig, str):
        return "the signature lacks did, kid or sig"
    if signature.get("alg", "EdDSA") != "EdDSA" or signature.get("canonical", "json-sorted-keys") != "json-sorted-keys":
        return "the signature is of another kind"
    try:
        public, message = public_key_from(did), canonical(body)
    except (BadKey, NotCanonical) as bad:
        return str(bad)
    if jwk_of(public)["kid"] != kid:
        return "did and kid name two keys"
    return None if verify_ed25519(public, message, sig) else "the signature does not match"


def _content_fault(kind: str, body: dict[str, Json], now: datetime) -> str | None:
    if body.get("object") != KINDS[kind]:
        return f"what stands in {kind} is none"
    if "expires_at" not in body:
        return None
    ends = _time(body["expires_at"])
    if ends is None:
        return "expires_at is no time"
    return f"it ended on {ends:%Y-%m-%d}" if ends <= now else None


def _time(text: Json) -> datetime | None:
    try:
        found = datetime.fromisoformat(text)
    except (TypeError, ValueError):
        return None
    return found if found.tzinfo else found.replace(tzinfo=UTC)


def _about(body: dict[str, Json]) -> str:
    """The job or the agent it is about."""
    for name in ("job", "agent"):
        if isinstance(body.get(name), dict):
            return str(body[name].get("id"))[:64]
    return "?"
