"""Finding 2: a buyer guesses a sealed output from its hash and never pays."""

import base64
import hashlib
import json
import re
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from itertools import product
from typing import Any

import httpx
import pytest
from fastmcp import Client
from fastmcp.client.transports import StreamableHttpTransport

from tests.end_to_end.attacks.world import Agent, Arena, Market, eventually
from tests.requirements import covers
from tests.support.http_receiver import Receiver

DIGESTS = ("sha256", "sha1", "md5", "sha512", "sha3_256", "blake2b", "blake2s")
ENOUGH = 12  # this many characters of a digest identify a guess
OUTPUT = {"words": 8241}
DOCUMENTS: list[Any] = [{"id": 1}, {"id": "one"}, {}, {"id": 4}, {"id": None}, {"id": 6}]


def spellings(value: Any) -> Iterator[bytes]:
    """Yield the ways in which a server may have serialised a value before hashing it."""
    for separators in ((",", ":"), (", ", ": ")):
        for sort_keys in (True, False):
            for ascii_only in (True, False):
                text = json.dumps(value, separators=separators, sort_keys=sort_keys, ensure_ascii=ascii_only)
                yield text.encode()


def traces(value: Any) -> set[str]:
    """Make every unsalted digest of a guess, in hex and base64, cut to ENOUGH characters."""
    found = set[str]()
    for text in spellings(value):
        for name in DIGESTS:
            digest = hashlib.new(name, text).digest()
            for spelled in (digest.hex(), base64.b64encode(digest).decode(), base64.urlsafe_b64encode(digest).decode()):
                found.add(spelled[:ENOUGH].lower())
    return found


def confirms(seen: str, guess: Any) -> bool:
    """Check whether the collected text contains the guessed output or a digest of it."""
    low = seen.lower()
    written = {text.decode() for text in spellings(guess) if len(text) > 8}
    return any(one in low for one in traces(guess)) or any(
        one in seen or one in seen.replace("\\", "") for one in written
    )


async def over_rest(market: Market, buyer: Agent, job: Any) -> str:
    """Read everything that REST shows its buyer and strangers about the job, headers included."""
    about = f"/v1/jobs/{job['id']}"
    own = (
        about, f"{about}/deliveries/0", f"{about}/receipt", f"{about}/events", "/v1/jobs", "/v1/events?limit=100",
        "/v1/inbox", "/v1/agents/me/export", f"/v1/threads/{job['thread_id']}/messages", "/v1/payments/settlements",
        "/v1/disputes", f"/v1/agents/{job['seller']['id']}/reputation",
    )  # fmt: skip
    public = ("/v1/feed?env=test", "/v1/stats?env=test", f"/v1/listings/{job['listing_id']}?env=test")
    answers = [await market.get(path, buyer.test) for path in own] + [await market.get(path) for path in public]
    for path in (about, f"{about}/receipt"):
        head = await market.send("HEAD", path, buyer.test)
        answers += [head, await market.get(path, buyer.test, headers={"If-None-Match": head.headers.get("etag", "*")})]
    answers += [
        await market.post(f"{about}/{move}", buyer.test, body)
        for move, body in (
            ("pay", None), ("dispute", {"reason": "I want to see it."}), ("request_revision", {"message": "Again."}),
            ("accept", None), ("reviews", {"rating": 1}), ("deliver", {"output": OUTPUT}), ("refund", {"transaction": "0x" + "1" * 64}),
        )
    ]  # fmt: skip
    answers.append(await market.post(f"{about}/cancel?dry_run=true", buyer.test))
    return "\n".join(answer.text + str(sorted(answer.headers.items())) for answer in answers)


async def over_mcp(market: Market, buyer: Agent, job: Any) -> str:
    """Read the job over MCP: results of tools, full and brief, and every resource."""
    found = list[str]()
    transport = StreamableHttpTransport(f"{market.url}/mcp", headers={"X-API-Key": buyer.test})
    async with Client(transport) as client:
        for tool, given in (
            ("get_job", {"job_id": job["id"]}), ("get_job", {"job_id": job["id"], "detail": "full"}),
            ("list_jobs", {"detail": "full"}), ("list_events", {"detail": "full"}), ("get_inbox", {"detail": "full"}),
        ):  # fmt: skip
            answer = await client.call_tool_mcp(tool, given)
            found.append(str(answer.structured_content) + str(answer.content))
        for uri in ("", "/output", "/deliveries/0"):
            found.append(await resource(client, f"job://{job['id']}{uri}"))
        found.append(await resource(client, f"receipt://{job['id']}"))
    return "\n".join(found)


async def resource(client: Any, uri: str) -> str:
    try:
        return str(await client.read_resource(uri))
    except Exception as refused:
        return str(refused)


async def over_a2a(market: Market, buyer: Agent, job: Any) -> str:
    """Read the job as a task, and the list of tasks with artifacts."""
    asked = (
        ("GetTask", {"id": job["id"], "historyLength": 50}),
        ("ListTasks", {"includeArtifacts": True, "historyLength": 50}),
    )
    answers = [await market.a2a(method, params, buyer.test) for method, params in asked]
    return "\n".join(answer.text for answer in answers)


async def streamed(market: Market, buyer: Agent) -> str:
    """Read the server-sent events from the first one until the event of the delivery."""
    found = ""
    headers = {"X-API-Key": buyer.test, "Last-Event-ID": "evt_" + "0" * 26}
    async with (
        httpx.AsyncClient(base_url=market.url, trust_env=False, timeout=30) as http,
        http.stream("GET", "/v1/events/stream", headers=headers) as answer,
    ):
        async for line in answer.aiter_lines():
            found += line
            if "job.delivered" in found and line == "":
                return found
            assert len(found) < 200_000
    return found


@asynccontextmanager
async def told_by_webhooks(market: Market, buyer: Agent) -> AsyncIterator[Receiver]:
    async with Receiver() as receiver:
        url = receiver.url.replace("127.0.0.1", "localhost")
        (await market.post("/v1/webhooks", buyer.test, {"url": url, "event_types": ["*"]})).expect(201)
        yield receiver


async def sealed(
    market: Market, seller: Agent, buyer: Agent, output: Any, offer: dict[str, Any] | None = None, **more: Any
) -> Any:
    """Order and have it delivered; return the job as the buyer sees it."""
    listing = await market.listing(seller, **(offer or {}))
    job = await market.order(buyer, listing)
    await market.deliver(seller, job, output, **more)
    return (await market.get(f"/v1/jobs/{job['id']}", buyer.test)).expect()


@pytest.mark.finding(2)
async def test_a_short_output_is_not_found_by_guessing(arena: Arena) -> None:
    market = await arena.market()
    seller, buyer = await market.agent("Sela"), await market.agent("Bo", usdc_minor=1_000_000)
    job = await sealed(market, seller, buyer, OUTPUT)
    assert (job["output"], job["output_sealed"]) == (None, True)
    seen = json.dumps(job) + await over_rest(market, buyer, job)
    known = set(re.findall(r"[0-9a-f]{64}", seen.lower()))
    found = [number for number in range(10_000) if guessed_by({"words": number}, known)]
    assert found == []


def guessed_by(guess: Any, known: set[str]) -> bool:
    return hashlib.sha256(json.dumps(guess, separators=(",", ":"), sort_keys=True).encode()).hexdigest() in known


def verdict(valid: tuple[bool, ...]) -> Any:
    """Return the operator's validator's output for these documents, as in its example_output."""
    return {
        "draft": "2020-12",
        "schema_error": None,
        "all_valid": all(valid),
        "results": [
            {"index": index, "valid": one, "errors": [] if one else [fault_of(DOCUMENTS[index])]}
            for index, one in enumerate(valid)
        ],
    }


def fault_of(document: Any) -> Any:
    kind = {str: "a string", type(None): "null", int: "an integer"}[type(document.get("id"))]
    return {"path": "/id", "keyword": "type", "message": f'The value, {kind}, does not satisfy "type": "integer"'}


@pytest.mark.finding(2)
async def test_the_verdict_of_a_validator_is_not_found_by_guessing(arena: Arena) -> None:
    """A validator has few possible answers: one per combination of valid and invalid."""
    market = await arena.market()
    seller, buyer = await market.agent("Sela"), await market.agent("Bo", usdc_minor=1_000_000)
    truth = (True, False, False, True, False, True)
    job = await sealed(market, seller, buyer, verdict(truth), offer={"output_schema": None, "example_output": None})
    seen = json.dumps(job) + await over_rest(market, buyer, job)
    seen += await over_mcp(market, buyer, job) + await over_a2a(market, buyer, job)
    guesses = list(product((True, False), repeat=len(DOCUMENTS)))
    assert (truth in guesses, len(guesses)) == (True, 64)
    assert [one for one in guesses if confirms(seen, verdict(one))] == []


@covers("second.sealed.wires")
async def test_no_wire_tells_anything_that_proves_a_guess(arena: Arena) -> None:
    market = await arena.market()
    seller, buyer = await market.agent("Sela"), await market.agent("Bo", usdc_minor=1_000_000)
    async with told_by_webhooks(market, buyer) as receiver:
        job = await sealed(market, seller, buyer, OUTPUT, message="Counted.", preview={"done": True})
        seen = {
            "REST": await over_rest(market, buyer, job),
            "MCP": await over_mcp(market, buyer, job),
            "A2A": await over_a2a(market, buyer, job),
            "SSE": await streamed(market, buyer),
        }

        async def posted() -> bool:
            return any(b"job.delivered" in one.raw for one in receiver.got)

        await eventually(posted)
        seen["webhooks"] = "\n".join(one.raw.decode() + str(one.headers) for one in receiver.got)
    for wire, text in seen.items():
        assert job["id"] in text, f"{wire} shows the job"
        assert not confirms(text.replace(json.dumps(OUTPUT), ""), OUTPUT), wire


@pytest.mark.finding(2)
async def test_outputs_of_different_length_look_alike(arena: Arena) -> None:
    """Sizes could tell `true` from `false`, and how many of a hundred answers are positive."""
    market = await arena.market()
    seller, buyer = await market.agent("Sela"), await market.agent("Bo", usdc_minor=1_000_000)
    outputs = [{"words": 1}, {"words": 100_000}, {"words": 1, "said": "yes " * 189}]
    jobs = [await sealed(market, seller, buyer, output) for output in outputs]
    exact = [len(json.dumps(output, separators=(",", ":"))) for output in outputs]
    shown = []
    for job in jobs:
        delivery = (await market.get(f"/v1/jobs/{job['id']}/deliveries/0", buyer.test)).expect()
        receipt = (await market.get(f"/v1/jobs/{job['id']}/receipt", buyer.test)).expect()["receipt"]["job"]
        listed = (await market.get("/v1/jobs?limit=100", buyer.test)).expect()["data"]
        mine = next(one for one in listed if one["id"] == job["id"])
        shown.append([one["output_bytes"] for one in (job, job["deliveries"][0], delivery, receipt, mine)])
    seen = await over_rest(market, buyer, jobs[2])
    for wire in (seen, await over_mcp(market, buyer, jobs[2]), await over_a2a(market, buyer, jobs[2])):
        assert not re.search(rf"(?<![0-9a-zA-Z]){exact[2]}(?![0-9a-zA-Z])", wire)
    assert shown[0] == shown[1] == shown[2]
    assert not set(exact) & {size for sizes in shown for size in sizes}


@pytest.mark.finding(2)
@pytest.mark.parametrize("end", ["cancelled", "sealed"])
async def test_two_jobs_with_one_output_cannot_be_told_from_two_with_different_ones(arena: Arena, end: str) -> None:
    """A buyer that paid for one output must not learn that another job has the same output."""
    market = await arena.market()
    seller, buyer = await market.agent("Sela"), await market.agent("Bo", usdc_minor=2_000_000)
    bought = await sealed(market, seller, buyer, {"words": 7})
    paid = await market.pay(buyer, bought)
    assert paid["output"] == {"words": 7}
    job = await sealed(market, seller, buyer, {"words": 7})
    if end == "cancelled":
        (await market.post(f"/v1/jobs/{job['id']}/cancel", buyer.test)).expect()
    about = (await market.get(f"/v1/jobs/{job['id']}", buyer.test)).expect()
    known = set(re.findall(r"[0-9a-f]{64}", json.dumps(paid)))
    unknown = set(re.findall(r"[0-9a-f]{64}", json.dumps(about)))
    frozen = {about["panel_seed_hash"], paid["panel_seed_hash"]}
    assert (known & unknown) - frozen == set()


async def test_what_the_buyer_stores_tells_no_exact_size_of_a_sealed_output(arena: Arena) -> None:
    """An output counts against its buyer. The count must tell no more than output_bytes does."""
    market = await arena.market()
    seller, buyer = await market.agent("Sela"), await market.agent("Bo", usdc_minor=1_000_000)

    async def stored() -> int:
        return int((await market.get("/v1/agents/me", buyer.test)).expect()["storage"]["used"])

    grown = set[int]()
    for length in (5_000, 5_001, 5_090):
        job = await market.order(buyer, await market.listing(seller))
        before = await stored()
        await market.deliver(seller, job, {"words": 1, "said": "y" * length})
        seen = (await market.get(f"/v1/jobs/{job['id']}", buyer.test)).expect()
        grown.add(await stored() - before)
        assert grown == {seen["output_bytes"]}


async def test_the_output_that_was_sealed_is_the_one_that_is_revealed(arena: Arena) -> None:
    """The commitment is binding: neither the seller nor the market can change the output."""
    market = await arena.market()
    seller, buyer = await market.agent("Sela"), await market.agent("Bo", usdc_minor=1_000_000)
    job = await sealed(market, seller, buyer, OUTPUT)
    early = (await market.get(f"/v1/jobs/{job['id']}/receipt", buyer.test)).expect()["receipt"]["job"]
    paid = await market.pay(buyer, job)
    late = (await market.get(f"/v1/jobs/{job['id']}/receipt", buyer.test)).expect()["receipt"]["job"]
    text = json.dumps(paid["output"], separators=(",", ":"), sort_keys=True).encode()
    made = "sha256:" + hashlib.sha256(bytes.fromhex(paid["output_salt"]) + text).hexdigest()
    assert made == early["output_commitment"] == job["output_commitment"] == late["output_commitment"]
    assert len(bytes.fromhex(paid["output_salt"])) == 32
    assert (early["output_salt"], early["output_hash"]) == (None, None)
    assert (late["output_salt"], late["output_hash"]) == (paid["output_salt"], hashlib.sha256(text).hexdigest())


async def test_a_refused_repeat_of_the_delivery_tells_a_stranger_nothing(arena: Arena) -> None:
    """The seller gets 200 if it repeats the same output; a buyer gets one answer to any guess."""
    market = await arena.market()
    seller, buyer, mallory = [await market.agent(name, usdc_minor=1_000_000) for name in ("Sela", "Bo", "Mallory")]
    job = await sealed(market, seller, buyer, OUTPUT)
    for key in (buyer.test, mallory.test, seller.live):
        answers = []
        for guess in (OUTPUT, {"words": 1}):
            answer = await market.post(f"/v1/jobs/{job['id']}/deliver", key, {"output": guess})
            answer.record["error"].pop("request_id")
            answers.append((answer.status, answer.record))
        assert answers[0] == answers[1]
    (await market.post(f"/v1/jobs/{job['id']}/deliver", seller.test, {"output": OUTPUT})).expect(200)


async def test_one_payment_opens_no_other_output_by_dry_runs(arena: Arena) -> None:
    """A dry run only checks a payment, so it must not show what the payment would reveal."""
    market = await arena.market()
    seller, buyer = await market.agent("Sela"), await market.agent("Bo", usdc_minor=1_000_000)
    jobs = [await sealed(market, seller, buyer, OUTPUT) for _ in range(2)]
    transaction = market.chains["test"].transfer(buyer.wallet, seller.wallet.address, jobs[0]["price"])
    seen = ""
    for job in jobs:
        told = await market.post(f"/v1/jobs/{job['id']}/pay?dry_run=true", buyer.test, {"transaction": transaction})
        seen += told.expect(200) and told.text
        given = {"job_id": job["id"], "transaction": transaction}
        seen += str(await market.mcp_tool("pay_job", buyer.test, **given, dry_run=True))
        parts = [{"data": {"tool": "pay_job", "arguments": given}}]
        message = {"messageId": job["id"], "role": "ROLE_USER", "parts": parts, "metadata": {"dry_run": True}}
        seen += (await market.a2a("SendMessage", {"message": message}, buyer.test)).text
    assert '"paid"' in seen
    assert not confirms(seen, OUTPUT)
