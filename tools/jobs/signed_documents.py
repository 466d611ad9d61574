"""Offline checks of documents: receipts and attestations by their signature, outputs by their commitment."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

from tools.jobs.sealing_rules import is_revealed, reveal_fault
from tools.kernel.canonical_json import NotCanonical, canonical
from tools.kernel.keys import BadKey, jwk_of, public_key_from, verify_ed25519

KINDS = {
    "receipt": "receipt",
    "attestation": "reputation_attestation",
    "archive": "archive",
}  # field: the `object` of the document in it
Json = Any  # a JSON value
UNTRUSTED = "signed by another key than the one you trust"
Retired = Mapping[str, str]  # did:key of each key that was replaced: when


@dataclass(frozen=True, slots=True)
class Checked:
    """One checked document: its kind, its signer (None: unknown), and its fault (None: valid)."""

    kind: str
    about: str
    did: str | None
    fault: str | None


def all_checked(
    value: Json, now: datetime, trusted: str | None = None, retired: Retired | None = None
) -> Iterator[Checked]:
    """Yield a check of every signed document and revealed output in a JSON value, in order.

    An incomplete export is reported too. A signature by one of the `retired` keys is invalid. A receipt must name a
    commitment of its job, if the job is beside it.

    In an export only the market's own documents are checked, because what others wrote into a job or a message may look
    like one.
    """
    committed, waiting = _commitments(value), [value]
    while waiting:
        one = waiting.pop()
        if isinstance(one, dict) and one.get("object") == "export":
            inside = _commitments(_data(one, "jobs"))
            yield from (_held(one, retired or {}) for one in _of_export(one, now, trusted, inside))
        elif isinstance(one, dict):
            signed = "signature" in one and any(kind in one for kind in KINDS)
            if signed:
                yield _held(_beside(checked(one, now, trusted), one, committed), retired or {})
            elif is_revealed(one):
                yield revealed(one)
            known = {*KINDS, "signature"} if signed else ()
            waiting += _backwards(item for name, item in one.items() if name not in known)
        elif isinstance(one, list):
            waiting += _backwards(one)


def _held(one: Checked, retired: Retired) -> Checked:
    """Add the fault that the key was replaced, unless the document has another fault."""
    if one.did is None or one.did not in retired or one.fault not in (None, UNTRUSTED):
        return one
    return replace(one, fault=f"signed by a key that was replaced at {retired[one.did]}")


def _backwards(items: Iterable[Json]) -> list[Json]:
    return [item for item in items if isinstance(item, (dict, list))][::-1]


def revealed(record: dict[str, Json]) -> Checked:
    """Check a revealed output against the commitment that was shown while it was sealed."""
    kind = str(record["object"])
    return Checked(kind, str(record.get("job_id" if kind == "delivery" else "id"))[:64], None, reveal_fault(record))


Commitments = Mapping[str, set[str]]


def _commitments(value: Json) -> Commitments:
    """Collect the commitments of each job whose output is revealed here."""
    found: dict[str, set[str]] = {}
    waiting = [value]
    while waiting:
        one = waiting.pop()
        if isinstance(one, dict) and is_revealed(one):
            job = str(one.get("job_id", one.get("id")))
            earlier = one["deliveries"] if isinstance(one.get("deliveries"), list) else []
            made = [ref.get("output_commitment") for ref in (one, *earlier) if isinstance(ref, dict)]
            found.setdefault(job, set()).update(map(str, made))
        elif isinstance(one, dict | list):
            waiting += _backwards(one.values() if isinstance(one, dict) else one)
    return found


def _beside(one: Checked, document: dict[str, Json], committed: Commitments) -> Checked:
    """Compare a receipt with the job beside it: its commitment must be one of the job's."""
    body = document.get("receipt")
    job = body.get("job") if isinstance(body, dict) else None
    said = job.get("output_commitment") if isinstance(job, dict) else None
    if one.fault is not None or said is None or said in committed.get(one.about, {said}):
        return one
    return replace(one, fault="its output_commitment is none of the job's beside it")


def _of_export(
    export: dict[str, Json], now: datetime, trusted: str | None, committed: Commitments
) -> Iterator[Checked]:
    """Yield checks of an export's attestation, and of each job's receipt and revealed outputs.

    A damaged document is reported as a fault.
    """
    if not isinstance(export.get("finished_at"), str):
        yield Checked("export", str(export.get("agent_id"))[:64], None, "finished_at is missing: it is not whole")
    yield checked(_as_signed("attestation", _data(export, "attestation")), now, trusted)
    jobs = _data(export, "jobs")
    for job in jobs if isinstance(jobs, list) else ():
        held = job if isinstance(job, dict) else {}
        signed = _as_signed("receipt", held.get("receipt"))
        yield _beside(checked(signed, now, trusted), signed, committed)
        made = held.get("deliveries")
        for record in (held.get("job"), *(made if isinstance(made, list) else ())):
            if isinstance(record, dict) and is_revealed(record):
                yield revealed(record)


def _data(export: dict[str, Json], section: str) -> Json:
    found = export.get(section)
    return found.get("data") if isinstance(found, dict) else None


def _as_signed(kind: str, document: Json) -> dict[str, Json]:
    held = document if isinstance(document, dict) else {}
    return {kind: held.get(kind), "signature": held.get("signature")}


def checked(document: dict[str, Json], now: datetime, trusted: str | None = None) -> Checked:
    """Check a signed document against its own signature.

    With `trusted`, only that did:key may have signed it.
    """
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
    """Return what is wrong with a signature (RFC 8032) over canonical JSON (RFC 8785), or None.

    The signature names its key as did:key and as RFC 7638 thumbprint.
    """
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
    """Return the id of the job, the agent or the archive that a document is about."""
    for name in ("job", "agent"):
        if isinstance(body.get(name), dict):
            return str(body[name].get("id"))[:64]
    return str(body.get("name", "?"))[:64]
