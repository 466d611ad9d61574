"""The export of an agent: all its data as the API shows it, complete or visibly truncated, once a day."""

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import AsyncGenerator, MutableMapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import httpx
import jsonschema
import orjson
import pytest
from structlog.testing import capture_logs

import rest.stream
from rest.openapi import openapi
from rest.stream import CHUNK_BYTES, DOCUMENT, send_stream
from server.verify import verify
from storage.rows import metadata
from storage.store import Store
from storage.transaction import Tx, Unavailable
from storage.vocabulary import Env
from tests.support.exports import PATH, exported, full, opened
from tests.support.market import START, Agent, TestMarket
from tests.support.trade import Trade
from tools.account import export_writer as machine
from tools.account import operations as exports
from tools.account.export_sections import SECTIONS
from tools.catalogue import CATALOGUE
from tools.engine.caller import CallRequest, Surface
from tools.kernel.records import stamp

OP = CATALOGUE["export_me"]
HERE = {"platform", "agent_id", "env", "generated_at", "object", "version", "finished_at"}
SHARED = (
    "profile",
    "handles",
    "wallets",
    "proven_domains",
    "public_keys",
    "api_keys",
    "domains",
    "evaluator",
    "reputation",
)
OF_ONE = ("profile", "evaluator", "reputation", "attestation")

FOUND_IN = {  # the section in which each table of an agent is exported
    "agents": "profile", "handles": "handles", "former_keys": "public_keys", "api_keys": "api_keys",
    "wallets": "profile", "wallets_held": "wallets", "domains_held": "proven_domains", "agent_domains": "domains", "identities": "profile",
    "evaluators": "evaluator", "reputations": "reputation", "reputation_categories": "reputation",
    "listings": "listings", "job_results": "listings", "bounties": "bounties", "proposals": "proposals",
    "jobs": "jobs", "job_events": "jobs", "job_deliveries": "jobs", "documents": "jobs", "open_refunds": "jobs",
    "settlements": "settlements", "reviews": "reviews_written", "disputes": "disputes", "dispute_seats": "disputes",
    "threads": "threads", "messages": "threads", "events": "events", "webhooks": "webhooks",
    "webhook_deliveries": "webhooks", "schedules": "schedules", "memories": "memory",
    "support_reports": "support_reports",
}  # fmt: skip
NOT_EXPORTED = {
    "mailboxes": "a sum of what threads show as unread",
    "job_marks": "what a job counts for: the sums of it are in reputation",
    "unmarked_jobs": "work that waits to be done",
    "bounty_matches": "work that waits to be done",
    "payment_searches": "work that waits to be done: what it finds is a settlement",
    "bounty_alerts": "one switch and what it did today: get_bounty_alerts shows both",
    "reputation_counterparties": "what others did with the agent, by their wallets: the sums of it are in reputation",
    "listing_payers": "others' wallets: the sums of it are in each listing's stats",
    "listing_promises": "earlier words of the agent's listings, kept for cases and gone with the last job under way",
    "purchases": "what a wallet signed, kept to settle it once: its job and its settlement are exported",
    "x402_accounts": "when a wallet claimed an agent: the wallet itself is in the profile",
    "agent_storage": "a sum of the agent's rows: get_me shows it",
    "job_texts": "inputs and outputs: they are in the jobs and deliveries",
    "faucet_claims": "when the agent was last given test money: get_faucet shows it",
    "departures": "who left has no key to export with",
    "answers": "kept for a day, encrypted under what only the caller has, and secrets among them",
    "answer_bodies": "kept for a day for repeated calls",
    "rate_windows": "counts of calls, forgotten after a day",
    "signature_uses": "names of signatures that may not come twice, forgotten after minutes",
    "house": "the installation's", "retired_keys": "the installation's, told at /.well-known/retired-keys.json",
    "searches": "whose search it was cannot be told from it",
    "agent_search": "an index of agents", "bounty_search": "an index of bounties",
    "listing_search": "an index of listings", "unindexed_agents": "work that waits to be done",
    "dispute_draws": "who was eligible for a panel: shown to nobody before the case is closed, then in its dispute",
    "archives": "the operator's files", "archived_jobs": "when a job was archived: get_job shows it",
    "daily_counts": "counts of the whole market", "peer_catalogs": "what other markets publish",
    "webhook_hosts": "leases of seconds", "webhook_fanout": "how far the installation has come",
}  # fmt: skip


def empty(document: Any) -> set[str]:
    return {name for name in SECTIONS if document[name]["data"] == []}


def test_every_table_is_exported_or_left_out_for_a_reason() -> None:
    assert {*FOUND_IN} | {*NOT_EXPORTED} == {*metadata.tables}
    assert not {*FOUND_IN} & {*NOT_EXPORTED}
    assert {*FOUND_IN.values()} | {"attestation", "reviews_received"} == {*SECTIONS}


async def test_an_export_holds_something_of_everything_and_is_as_openapi_says(trade: Trade) -> None:
    made = await full(trade)
    document = await exported(trade.market, made.ada)
    assert [*document] == [*list(document)[:6], *SECTIONS, "finished_at"]
    assert {*document} == HERE | {*SECTIONS}
    assert empty(document) == set()
    assert [len(one["proposals"]) for one in document["bounties"]["data"]] == [2]
    assert all(one["deliveries"] and one["events"] for one in document["jobs"]["data"])
    assert {len(one["messages"]) for one in document["threads"]["data"]} == {0, 1}
    assert [len(one["deliveries"]) for one in document["webhooks"]["data"]] == [1]
    assert sorted(case["case"] is None for case in document["disputes"]["data"]) == [False, True]
    described = openapi(CATALOGUE.values(), trade.market.market.config)
    schema = described["paths"][PATH]["get"]["responses"]["200"]["content"]["application/json"]["schema"]
    jsonschema.Draft202012Validator({**schema, "components": described["components"]}).validate(document)


async def test_records_are_those_the_api_shows(trade: Trade) -> None:
    made = await full(trade)
    document, call = await exported(trade.market, made.ada), trade.market.call

    async def lists(name: str, **given: Any) -> Any:
        return (await call(name, by=made.ada, **given))["data"]

    shown = {
        "profile": await call("get_me", by=made.ada),
        "evaluator": await call("get_evaluator", by=made.ada),
        "reputation": await call("get_reputation", by=made.ada, agent_id=made.ada.id),
        "attestation": await call("get_attestation", by=made.ada, agent_id=made.ada.id),
        "api_keys": await lists("list_api_keys"),
        "domains": await lists("list_domains"),
        "listings": await lists("list_my_listings"),
        "settlements": await lists("list_settlements"),
        "reviews_received": await lists("list_reviews", agent_id=made.ada.id),
        "reviews_written": await lists("list_reviews", agent_id=made.bo.id),
        "events": await lists("list_events"),
        "schedules": await lists("list_schedules"),
        "memory": [await call("get_memory", by=made.ada, key="notes/today")],
        "disputes": [
            await call("get_dispute", by=made.ada, dispute_id=one["id"]) for one in await lists("list_disputes")
        ],
    }
    assert {name: document[name]["data"] for name in shown} == shown
    jobs = document["jobs"]["data"]
    assert [one["job"] for one in jobs] == await lists("list_jobs")
    for one in jobs:
        job_id = one["job"]["id"]
        assert one["receipt"] == await call("get_receipt", by=made.ada, job_id=job_id)
        assert one["events"] == await lists("list_job_events", job_id=job_id)
        assert one["deliveries"] == [await call("get_delivery", by=made.ada, job_id=job_id, revision=0)]
    for one in document["threads"]["data"]:
        thread_id = one["thread"]["id"]
        assert one["thread"] == await call("get_thread", by=made.ada, thread_id=thread_id)
        assert one["messages"] == await lists("list_messages", thread_id=thread_id, order="desc")
    ((hook),) = document["webhooks"]["data"]
    assert [hook["webhook"]] == await lists("list_webhooks")
    assert hook["deliveries"] == await lists("list_webhook_deliveries", webhook_id=hook["webhook"]["id"])
    ((bounty),) = document["bounties"]["data"]
    assert bounty["bounty"] == await call("get_bounty", by=made.ada, bounty_id=bounty["bounty"]["id"])
    proposed = await lists("list_proposals", bounty_id=bounty["bounty"]["id"])
    by_id = sorted(bounty["proposals"], key=lambda one: one["price"])
    assert by_id == [one | {"comparison": None} for one in proposed]
    ((own),) = document["proposals"]["data"]
    assert [own] == [one | {"comparison": None} for one in await lists("list_proposals", bounty_id=own["bounty_id"])]


async def test_nothing_secret_and_nothing_sealed_is_in_an_export(trade: Trade) -> None:
    made = await full(trade)
    sealed = await trade.order(made.bo, await trade.listing(made.ada))
    await trade.market.call("accept_job", by=made.ada, job_id=sealed["id"])
    await trade.deliver(made.ada, sealed, {"english": "nobody has paid for this"})
    texts = [json.dumps(await exported(trade.market, one)) for one in (made.ada, made.bo)]
    assert [text.count(sealed["id"]) > 0 for text in texts] == [True, True]
    for hidden in (*made.secrets, "nobody has paid for this"):
        assert not any(hidden in text for text in texts)
    assert ["notes/today" in text for text in texts] == [True, False]
    await trade.pay(made.bo, sealed)
    assert "nobody has paid for this" in json.dumps(await exported(trade.market, made.bo))


async def test_what_an_evaluator_exports_of_a_case_names_no_party(trade: Trade) -> None:
    made = await full(trade)
    document = await exported(trade.market, made.ada)
    (case,) = [one for one in document["disputes"]["data"] if one["case"] is not None]
    row = await trade.market.store.read(lambda tx: tx.get(metadata.tables["disputes"].info["row"], case["id"]))
    for party in (row.buyer_id, row.seller_id):
        assert party not in json.dumps(document)


async def test_a_key_exports_its_environment_and_what_both_share(trade: Trade) -> None:
    made = await full(trade)
    test, live = [await exported(trade.market, made.ada, on=env) for env in ("test", "live")]
    assert (test["env"], live["env"]) == ("test", "live")
    own = {name for name in SECTIONS if name not in (*SHARED, "attestation")}
    assert empty(live) == own - {"events"}
    same = set(SHARED) - {"profile", "api_keys"}
    assert {name: live[name]["data"] for name in same} == {name: test[name]["data"] for name in same}
    keys_of_test = [one for one in live["api_keys"]["data"] if one["env"] == "test"]
    assert test["api_keys"]["data"] == keys_of_test != live["api_keys"]["data"], "a test key lists those of test"


CHECKED = ("receipt", "job", "delivery")  # each is checked for every job of the export


async def test_receipts_and_the_attestation_of_an_export_verify_offline(trade: Trade, tmp_path: Path) -> None:
    """This holds even if a counterparty's message imitates a receipt."""
    made = await full(trade)
    bait = {"receipt": {"object": "receipt", "job": {"id": "job_of_nobody"}}, "signature": {"did": "x"}}
    await trade.market.call("start_thread", by=made.bo, to=made.ada.id, body="Look.", data=bait)
    file = tmp_path / "export.json"
    async with opened(trade.market) as http:
        file.write_bytes((await http.get(PATH, headers={"X-API-Key": made.ada.keys["test"]})).content)
    document = json.loads(file.read_bytes())
    assert "job_of_nobody" in file.read_text()
    did = document["platform"]["did"]
    program = [Path(sys.executable).parent / "emporion", "verify", str(file), "--did", did]
    here = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[3])}
    done = await asyncio.to_thread(subprocess.run, program, capture_output=True, check=False, env=here, text=True)
    signed = [f"{kind} {one['job']['id']}" for one in document["jobs"]["data"] for kind in CHECKED]
    assert sorted(done.stdout.splitlines()) == sorted(
        f"VALID   {one}" for one in (f"attestation {made.ada.id}", *signed)
    )
    assert (done.returncode, len(signed)) == (0, 6)
    file.write_text(json.dumps({name: value for name, value in document.items() if name != "finished_at"}))
    assert verify(file, trade.market.clock.now(), did) == 1, "it is not whole"
    document["jobs"]["data"][0]["receipt"]["receipt"]["job"]["price"] = 1
    document["jobs"]["data"][1]["receipt"] = None
    file.write_text(json.dumps(document))
    assert verify(file, trade.market.clock.now(), did) == 1


async def test_an_export_is_counted_once_a_day_in_each_environment_for_all_keys_and_processes(store: Store) -> None:
    market = TestMarket(store, enforced=True)
    ada, bo = await market.register("Ada"), await market.register("Bo")
    other = await market.call("create_api_key", by=ada, env="test")
    async with opened(market) as http:

        async def ask(key: str) -> tuple[int, str | None]:
            answer = await http.get(PATH, headers={"X-API-Key": key})
            return answer.status_code, answer.headers.get("retry-after")

        assert await ask(ada.keys["test"]) == (200, None)
        market.pass_seconds(3 * 3600)
        await market.workers.purge_old()
        assert await ask(other["key"]) == (429, str(21 * 3600))
        assert [(await ask(one))[0] for one in (ada.keys["live"], bo.keys["test"])] == [200, 200]
        market.pass_seconds(21 * 3600)
        assert await ask(ada.keys["test"]) == (200, None)


async def test_what_is_refused_and_a_head_use_up_no_export(store: Store) -> None:
    market = TestMarket(store, enforced=True)
    ada = await market.register("Ada")
    few = {
        scopes: (await market.call("create_api_key", by=ada, env="test", scopes=[scopes]))["key"]
        for scopes in ("read", "admin:self")
    }
    async with opened(market) as http:
        own = {"X-API-Key": ada.keys["test"]}
        assert (await http.get(PATH)).status_code == 401
        assert [(await http.get(PATH, headers={"X-API-Key": key})).status_code for key in few.values()] == [403, 403]
        assert [(await http.head(PATH, headers={"X-API-Key": key})).status_code for key in few.values()] == [403, 403]
        assert (await http.get(PATH, params={"since": "x"}, headers=own)).status_code == 400
        headed = await http.head(PATH, headers=own)
        assert (headed.status_code, headed.headers["content-type"], headed.content) == (200, "application/json", b"")
        done = await http.get(PATH, headers=own)
    assert (done.status_code, done.headers["content-type"]) == (200, "application/json")
    assert done.headers["cache-control"] == "no-cache, no-transform"


async def test_a_database_that_does_not_answer_refuses_before_the_export_is_counted(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    market = TestMarket(store, enforced=True)
    ada = await market.register("Ada")
    async with opened(market) as http:
        with monkeypatch.context() as outage:
            await http.get("/v1/agents/me", headers={"X-API-Key": ada.keys["test"]})  # cache the key
            outage.setattr(market.store, "read", no_answer)
            refused = await http.get(PATH, headers={"X-API-Key": ada.keys["test"]})
        done = await http.get(PATH, headers={"X-API-Key": ada.keys["test"]})
    assert (refused.status_code, done.status_code) == (503, 200)


async def no_answer(read: object) -> None:
    raise Unavailable("the server closed the connection")


async def broken(market: TestMarket, agent: Agent, monkeypatch: pytest.MonkeyPatch, happens: Any) -> bytes:
    """Call `happens` before the schedules are read; return the export, which must break off."""
    read = SECTIONS["schedules"].pages  # type: ignore[union-attr]

    async def pages(*given: Any) -> Any:
        await happens()
        return await read(*given)

    monkeypatch.setattr(exports, "SECTIONS", {**SECTIONS, "schedules": machine.Section(pages)})
    monkeypatch.setattr(machine, "PIECE_BYTES", 100)
    got = bytearray()
    async with opened(market) as http, http.stream("GET", PATH, headers={"X-API-Key": agent.keys["test"]}) as answer:
        assert answer.status_code == 200
        with pytest.raises(httpx.RemoteProtocolError):
            await _read(answer, got)
    return bytes(got)


async def _read(answer: httpx.Response, into: bytearray) -> None:
    async for part in answer.aiter_raw():
        into += part


async def test_an_export_breaks_where_the_database_fails_and_cannot_be_taken_for_whole(
    trade: Trade, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = await full(trade)

    async def fails() -> None:
        raise Unavailable("the disk is full")

    with capture_logs() as logged:
        got = await broken(trade.market, made.ada, monkeypatch, fails)
    assert "export broken" in [one["event"] for one in logged]
    assert "fault" not in [one["event"] for one in logged], "it is no fault of the market's code"
    assert b'"webhooks":' in got
    with pytest.raises(ValueError):
        orjson.loads(got)


async def test_an_export_breaks_where_its_key_is_revoked(trade: Trade, monkeypatch: pytest.MonkeyPatch) -> None:
    made = await full(trade)
    keys = (await trade.market.call("list_api_keys", by=made.ada))["data"]
    (own,) = [one["id"] for one in keys if made.ada.keys["test"].startswith(one["prefix"])]

    async def revoked() -> None:
        await trade.market.call("revoke_api_key", by=made.ada, on="live", key_id=own)

    got = await broken(trade.market, made.ada, monkeypatch, revoked)
    assert b'"notes/today"' not in got
    with pytest.raises(ValueError):
        orjson.loads(got)


async def begun(market: TestMarket, agent: Agent) -> AsyncGenerator[bytes, None]:
    approach = CallRequest(Surface.REST, "127.0.0.1", "req_1", credential=agent.keys["test"])
    opened = await market.market.stream(OP, {}, approach)
    assert isinstance(opened, AsyncGenerator)
    return opened


async def test_who_stops_reading_or_goes_away_ends_its_export_and_no_read_waits_for_it(
    market: TestMarket, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rest.stream, "SEND_SECONDS", 0.05)
    monkeypatch.setattr(machine, "PIECE_BYTES", 1)
    agent = await market.register()

    async def goes() -> dict[str, Any]:
        return {"type": "http.disconnect"}

    async def stays() -> dict[str, Any]:
        await asyncio.Event().wait()
        return {}

    for receive in (goes, stays):
        sent, looks = list[MutableMapping[str, Any]](), list[int]()

        async def send(message: MutableMapping[str, Any], sent: Any = sent, looks: Any = looks) -> None:
            sent.append(message)
            looks.append(market.store.counters.looks)
            if message["type"] == "http.response.body":
                await asyncio.Event().wait()

        pieces = await begun(market, agent)
        async with asyncio.timeout(20):
            await send_stream(pieces, receive, send, DOCUMENT)
        assert all(one.get("more_body", True) for one in sent), "it was never said to be whole"
        assert market.store.counters.looks == looks[-1], "nothing was read for who takes nothing"
        assert [piece async for piece in pieces] == []


async def test_a_large_export_is_read_in_pages_and_sent_in_chunks(
    market: TestMarket, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Reads, pieces and chunks have a bounded size, so at most a page is in memory."""
    ada, bo = await market.register("Ada"), await market.register("Bo")
    await many_messages(market, ada, bo, threads=3, each=1500)
    reads, pieces, chunks = list[int](), list[int](), list[int]()
    page_of = machine.Page

    def counted(records: Any, names: Any, after: Any) -> Any:
        reads.append(len(records))
        return page_of(records, names, after)

    monkeypatch.setattr(machine, "Page", counted)
    sent = bytearray()

    async def send(message: MutableMapping[str, Any]) -> None:
        chunks.append(len(message.get("body", b"")))
        sent.extend(message.get("body", b""))

    async def receive() -> dict[str, Any]:
        await asyncio.Event().wait()
        return {}

    async def watched() -> AsyncGenerator[bytes, None]:
        async for piece in await begun(market, ada):
            pieces.append(len(piece))
            yield piece

    await send_stream(watched(), receive, send, DOCUMENT)
    document = orjson.loads(bytes(sent))
    found = [message["body"] for one in document["threads"]["data"] for message in one["messages"]]
    assert len(found) == len(set(found)) == 4500
    assert len(sent) > 2_000_000
    assert max(reads) == 50
    assert max(pieces) < 2 * machine.PIECE_BYTES
    assert max(chunks) <= CHUNK_BYTES


async def test_others_get_their_turn_between_any_two_reads_of_an_export(
    market: TestMarket, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A read on SQLite blocks the event loop, and a fast client never makes the export wait."""
    ada, bo = await market.register("Ada"), await market.register("Bo")
    await many_messages(market, ada, bo, threads=1, each=600)
    turns, seen = 0, list[int]()

    async def others() -> None:
        nonlocal turns
        while True:
            await asyncio.sleep(0)
            turns += 1

    def noted(look: Any) -> Any:
        async def looked(read: Any) -> Any:
            seen.append(turns)
            return await look(read)

        return looked

    pieces = await begun(market, ada)
    for way in ("read", "scan"):
        monkeypatch.setattr(market.store, way, noted(getattr(market.store, way)))
    running = asyncio.create_task(others())
    try:
        text = b"".join([piece async for piece in pieces])
    finally:
        running.cancel()
        with suppress(asyncio.CancelledError):
            await running
    assert len(orjson.loads(text)["threads"]["data"][0]["messages"]) == 600
    assert len(seen) >= len(SECTIONS) + 600 / machine.PAGE
    assert len(set(seen)) == len(seen)


async def many_messages(market: TestMarket, ada: Agent, bo: Agent, *, threads: int, each: int) -> None:
    """Insert messages from Bo to Ada as rows, because the rate limit allows too few by calls."""
    messages, kept = metadata.tables["messages"].info["row"], metadata.tables["threads"].info["row"]
    ids = iter(range(10**6))

    def write(tx: Tx) -> None:
        for number in range(threads):
            thread = f"thr_{number:026d}"
            tx.add(
                kept(
                    id=thread, env="test", kind="direct", job_id=None, a=ada.id, b=bo.id, latest=f"{number:026d}",
                    message_count=each, from_b=each, unread_a=each, created_at=START,
                )
            )  # fmt: skip
            for at in range(1, each + 1):
                tx.add(
                    messages(
                        id=f"msg_{next(ids):026d}", thread_id=thread, number=at, from_a=0, from_b=at, sender_id=bo.id,
                        body=f"{number} {at} " + "x" * 300, data=None, content_warnings=[], created_at=START,
                    )
                )  # fmt: skip

    await market.store.write(write)


async def test_what_is_written_meanwhile_leaves_no_gap_and_comes_not_twice(
    market: TestMarket, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Meanwhile threads, schedules, memory keys and events are added, changed and deleted."""
    monkeypatch.setattr(machine, "PAGE", 2)
    monkeypatch.setattr("tools.account.export_sections.PAGE", 2)
    monkeypatch.setattr(machine, "PIECE_BYTES", 1)
    ada = await market.register("Ada")
    others = [await market.register(f"Bo {number}") for number in range(7)]
    for number, other in enumerate(others):
        market.pass_seconds(1)
        await market.call("start_thread", by=other, to=ada.id, body="Hello?")
        await market.call("create_schedule", by=ada, in_seconds=60, name=f"s{number}")
        await market.call("put_memory", by=ada, key=f"m{number}", value=number)
    before = (await market.call("list_events", by=ada))["data"]
    turn, text = 0, b""
    async for piece in await begun(market, ada):
        text += piece
        market.pass_seconds(1)
        turn += 1
        if turn % 5 == 0:
            other = others[turn // 5 % len(others)]
            await market.answer("start_thread", {"to": ada.id, "body": "And?"}, key=other.keys["test"])
            await market.call("create_schedule", by=ada, in_seconds=60, name="new")
            await market.call("put_memory", by=ada, key=f"a{turn}", value=None)
    document = orjson.loads(text)
    threads = [one["thread"]["id"] for one in document["threads"]["data"]]
    assert (len(threads), len(set(threads))) == (7, 7)
    schedules = [one["name"] for one in document["schedules"]["data"]]
    assert [name for name in schedules if name != "new"] == [f"s{number}" for number in range(6, -1, -1)]
    assert [one["key"] for one in document["memory"]["data"] if one["key"][0] == "m"] == [f"m{n}" for n in range(7)]
    events = [one["id"] for one in document["events"]["data"]]
    assert events == sorted(set(events))
    assert {one["id"] for one in before} <= {*events}
    for name in SECTIONS:
        assert document["generated_at"] <= document[name]["as_of"] <= document["finished_at"]
    assert document["generated_at"] < document["memory"]["as_of"]


async def test_what_is_deleted_between_its_list_and_its_reading_is_left_out(
    market: TestMarket, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(machine, "PIECE_BYTES", 1)
    ada = await market.register("Ada")
    for key in ("a", "b", "c"):
        await market.call("put_memory", by=ada, key=key, value=key)
    text = b""
    async for piece in await begun(market, ada):
        text += piece
        if b'"key":"a"' in piece:
            await market.call("delete_memory", by=ada, key="b")
    assert [one["key"] for one in orjson.loads(text)["memory"]["data"]] == ["a", "c"]


async def test_a_slow_reader_of_a_busy_agent_comes_to_an_end(
    market: TestMarket, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After each page of events, more new events follow than the page had."""
    monkeypatch.setattr(machine, "PIECE_BYTES", 1)
    monkeypatch.setattr("tools.account.export_sections.PAGE", 2)
    ada = await market.register("Ada")

    async def tell(count: int) -> None:
        def say(tx: Tx) -> None:
            for _ in range(count):
                tx.emit(ada.id, Env.TEST, "webhook.test", "{}", market.clock.now())

        await market.store.write(say)

    await tell(5)
    async with asyncio.timeout(60):
        pieces = [piece async for piece in told_between(await begun(market, ada), tell)]
    document = orjson.loads(b"".join(pieces))
    assert 5 <= len(document["events"]["data"]) <= 12


async def told_between(pieces: AsyncGenerator[bytes, None], tell: Any) -> AsyncGenerator[bytes, None]:
    async for piece in pieces:
        if b"webhook.test" in piece:
            await tell(3)
        yield piece


async def test_an_export_says_when_it_was_made_by_whom_and_for_whom(market: TestMarket) -> None:
    ada = await market.register("Ada")
    pieces = b"".join([piece async for piece in await begun(market, ada)])
    document = orjson.loads(pieces)
    at = stamp(market.clock.now())
    made = {name: document[name] for name in ("object", "version", "agent_id", "env", "generated_at", "finished_at")}
    assert made == {
        "object": "export", "version": 1, "agent_id": ada.id, "env": "test", "generated_at": at, "finished_at": at,
    }  # fmt: skip
    assert document["platform"]["service"] == "service"
    assert {name for name in SECTIONS if name not in OF_ONE and document[name]["data"]} == {"handles", "api_keys"}
