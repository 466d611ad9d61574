"""Clauses of the contract about signed requests: over HTTP, used once, within their time, by the right key."""

import asyncio
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import urlsplit

import httpx
import orjson
import pytest
from sqlalchemy import select

from storage.query import Query
from storage.store import Store
from storage.tables import AgentRow, KeyRow, SignatureUseRow
from storage.vocabulary import AgentStatus
from tests.conftest import Opening
from tests.requirements import covers
from tests.requirements.probes import stored, write_row
from tests.support.market import BASE_URL, START, Agent, TestMarket
from tests.support.protocols import served
from tests.support.signed_requests import Signing, approach, digest_of, signing
from tools.catalogue import CATALOGUE
from tools.engine.request_signatures import NOT_SIGNED, USES_KEPT
from tools.kernel.keys import did_of, public_key_of

GIVEN = {"key": "plan", "value": 1}
REPEAT = "one-idempotency-key"
FIRST = round(START.timestamp() * 1_000_000)  # the version of the first write
USES: Query[str] = Query(select(SignatureUseRow.use))


@dataclass
class Signed:
    """An agent with a client that sends its signed requests."""

    market: TestMarket
    agent: Agent
    http: httpx.AsyncClient

    def of(self, operation: str, given: Any = None, **more: Any) -> Signing:
        return signing(self.agent, CATALOGUE[operation], given or {}, self.market.clock.now().timestamp(), **more)

    def put(self, **more: Any) -> Signing:
        return self.of("put_memory", GIVEN, **more)

    async def send(self, made: Signing, *, seed: bytes | None = None, **bent: str) -> httpx.Response:
        headers = made.headers(seed or self.agent.seed) | {name.replace("_", "-"): text for name, text in bent.items()}
        return await self.forward(made.method, made.url, made.body, headers)

    async def forward(self, method: str, url: str, body: bytes, headers: dict[str, str]) -> httpx.Response:
        """Send a request to this market, whatever host its URL names."""
        return await self.http.request(method, url.removeprefix(BASE_URL), content=body, headers=headers)

    async def written(self) -> int:
        """Return how often the memory was written."""
        found = await self.market.answer("get_memory", {"key": "plan"}, key=self.agent.keys["test"])
        return 0 if found.refused else 1 + int(orjson.loads(found.body)["version"]) - FIRST


@pytest.fixture
async def signed(store: Store) -> AsyncIterator[Signed]:
    market = TestMarket(store)
    agent = await market.register()
    async with served(market) as url, httpx.AsyncClient(base_url=url, trust_env=False, timeout=30) as http:
        yield Signed(market, agent, http)


def refused(answer: httpx.Response, reason: str) -> bool:
    error = answer.json().get("error", {})
    told = (answer.status_code, error.get("type"), error.get("code"), error.get("details", {}).get("code"))
    assert told == (401, "authentication_error", "unauthenticated", "invalid_signature"), answer.text
    assert error["hint"]
    assert error["details"]["reason"] == reason, answer.text
    return True


@covers("auth.3.no_key", "auth.3.x_env", "auth.6.rotation")
async def test_a_signed_request_needs_no_key_and_names_its_environment(signed: Signed) -> None:
    for env, seen in (("test", "test"), ("live", "live"), (None, "live")):
        answer = await signed.send(signed.of("get_me", env=env))
        assert (answer.status_code, answer.json()["id"], answer.json()["env"]) == (200, signed.agent.id, seen)
    covered = signed.of("get_me", covered=["@method", "@target-uri", "x-env"])
    assert (await signed.send(covered)).json()["env"] == "test"
    assert refused(await signed.send(covered, x_env="live"), "signature")
    for odd in ("prod", "", "TEST", "test, live"):
        answer = await signed.send(signed.of("get_me"), x_env=odd)
        assert (answer.status_code, answer.json()["error"]["param"]) == (400, "X-Env")


async def test_the_form_that_a_refusal_shows_says_which_environment_it_is_for(signed: Signed) -> None:
    answer = await signed.http.post("/v1/agents/recover", headers={"X-API-Key": signed.agent.keys["test"]})
    assert "X-Env: test or live (live without it)" in answer.json()["error"]["hint"]


async def test_an_agent_is_named_by_its_id_its_handle_or_its_did(signed: Signed) -> None:
    did = did_of(public_key_of(signed.agent.seed))
    for keyid in (signed.agent.id, signed.agent.handle, did):
        assert (await signed.send(signed.of("get_me", keyid=keyid))).status_code == 200
    other = await signed.market.register("Bo")
    wrong = (f"{did}#{did.removeprefix('did:key:')}", did_of(public_key_of(other.seed)), other.id, "nobody", "did:key:z6Mk", "did:web:a", "x" * 3000, "")  # fmt: skip
    for keyid in wrong:
        assert refused(await signed.send(signed.of("get_me", keyid=keyid)), "signature")


async def test_nothing_told_of_a_bad_signature_says_whether_the_agent_exists(signed: Signed) -> None:
    other = await signed.market.register("Bo")
    gone = await signed.market.register("Gone")
    await signed.market.call("delete_me", by=gone, confirm=gone.handle)
    keyids = [other.id, gone.id, gone.handle, f"{other.id[:-1]}0", "nobody", did_of(public_key_of(gone.seed))]
    said = []
    for keyid in keyids:
        made = signed.of("get_me", keyid=keyid)
        error = (await signed.send(made)).json()["error"]
        del error["request_id"]
        assert error["details"].pop("signature_base") == made.base
        assert error["hint"].endswith(made.base)
        error["hint"] = error["hint"].removesuffix(made.base)
        said.append(error)
    assert said == [said[0]] * len(keyids)
    assert said[0]["message"] == NOT_SIGNED


async def test_the_hint_shows_the_base_that_was_to_be_signed(signed: Signed) -> None:
    """The signed URL lacks the query; the error shows the base that had to be signed."""
    wrong = signed.of("list_memory", {"limit": 5})
    headers = replace(wrong, url=f"{BASE_URL}/v1/memory").headers(signed.agent.seed)
    answer = await signed.forward("GET", wrong.url, b"", headers)
    assert refused(answer, "signature")
    base = answer.json()["error"]["details"]["signature_base"]
    assert base == wrong.base
    assert (await signed.send(wrong)).status_code == 200


BENT: dict[str, tuple[Callable[[Signing], Any], dict[str, str], str]] = {
    "the method": (lambda made: ("DELETE", made.url, made.body), {}, "signature"),
    "the path": (lambda made: ("PUT", made.url + "2", made.body), {}, "signature"),
    "an escape of the path": (lambda made: ("PUT", made.url.replace("plan", "%70lan"), made.body), {}, "signature"),
    "the query": (lambda made: ("PUT", made.url + "?a=1", made.body), {}, "signature"),
    "the body": (lambda made: ("PUT", made.url, made.body.replace(b"1", b"2")), {}, "digest"),
    "a blank in the body": (lambda made: ("PUT", made.url, made.body + b" "), {}, "digest"),
    "the body and its digest": (lambda made: ("PUT", made.url, b'{"value":2}'), {"content-digest": digest_of(b'{"value":2}')}, "signature"),
    "nothing but the digest": (lambda made: ("PUT", made.url, made.body), {"content-digest": "sha-256=:AAAA:"}, "digest"),
}  # fmt: skip


@pytest.mark.parametrize("name", BENT)
async def test_a3_what_was_signed_is_what_is_done_byte_for_byte(signed: Signed, name: str) -> None:
    bend, headers, reason = BENT[name]
    made = signed.put()
    method, url, body = bend(made)
    if "query" in name:
        made, (method, url, body) = signed.of("get_me"), ("GET", f"{BASE_URL}/v1/agents/me?a=1", b"")
    answer = await signed.forward(method, url, body, made.headers(signed.agent.seed) | headers)
    assert refused(answer, reason)
    assert await signed.written() == 0


async def test_a_signature_for_another_host_is_refused_with_that_host_and_with_any_header_that_names_it(
    signed: Signed,
) -> None:
    elsewhere = ("https://other.example", BASE_URL.replace("http://", "https://"), f"{BASE_URL}:8443")
    for url in elsewhere:
        made = signed.put(url=f"{url}/v1/memory/plan")
        place = urlsplit(url).netloc
        for bent in (
            {},
            {"host": place},
            {"x_forwarded_host": place, "x_forwarded_proto": "https"},
            {"forwarded": f"host={place}"},
        ):
            headers = made.headers(signed.agent.seed) | {name.replace("_", "-"): text for name, text in bent.items()}
            answer = await signed.forward("PUT", f"{BASE_URL}/v1/memory/plan", made.body, headers)
            if "host" in bent:
                assert (answer.status_code, answer.json()["error"]["code"]) == (421, "host_not_allowed")
            else:
                assert refused(answer, "signature")
    assert await signed.written() == 0


async def test_a_signature_for_another_spelling_the_operator_names_is_taken(signed: Signed) -> None:
    door = signed.market.market
    door.config = replace(door.config, other_urls=("http://localhost:8000", "https://market.test"))
    for url in ("http://localhost:8000", "https://market.test", BASE_URL):
        made = signed.of("get_me", url=f"{url}/v1/agents/me")
        answer = await signed.forward("GET", f"{BASE_URL}/v1/agents/me", b"", made.headers(signed.agent.seed))
        assert answer.status_code == 200


async def test_a2_a_signature_counts_once_in_either_environment_and_says_so(signed: Signed) -> None:
    made = signed.put()
    assert (await signed.send(made)).status_code == 200
    assert refused(await signed.send(made), "replay")
    assert refused(await signed.send(made, x_env="live"), "replay")
    assert refused(await signed.send(made, x_more="1", user_agent="another"), "replay")
    assert await signed.written() == 1
    assert (await signed.send(signed.put(nonce="n1"))).status_code == 200
    signed.market.pass_seconds(1)
    assert refused(await signed.send(signed.put(nonce="n1")), "replay"), "a nonce counts once, whatever else is new"
    assert await signed.written() == 2
    other = await signed.market.register("Bo")
    theirs = signing(other, CATALOGUE["put_memory"], GIVEN, signed.market.clock.now().timestamp(), nonce="n1")
    assert (await signed.send(theirs, seed=other.seed)).status_code == 200, "a nonce is each agent's own"


async def test_what_only_reads_may_be_sent_again(signed: Signed) -> None:
    for made in (signed.of("get_me"), signed.of("list_memory"), signed.of("get_me", method="HEAD")):
        for _ in range(2):
            assert (await signed.send(made)).status_code == 200
    before = await stored(signed.market.store)
    await signed.send(signed.of("get_me"))
    assert await stored(signed.market.store) == before, "and nothing is written for it"


async def test_a2_twelve_at_once_do_it_once(signed: Signed) -> None:
    made = signed.put()
    answers = await asyncio.gather(*(signed.send(made) for _ in range(12)))
    assert sorted(answer.status_code for answer in answers) == [200] + [401] * 11
    assert await signed.written() == 1


async def test_a2_a_signature_stays_used_after_a_restart(
    signed: Signed, database_url: str, opening: Opening, database: str
) -> None:
    made = signed.put()
    assert (await signed.send(made)).status_code == 200
    later = TestMarket(opening(database_url) if database == "postgres" else signed.market.store)
    later.clock.at = signed.market.clock.at
    async with served(later) as url, httpx.AsyncClient(base_url=url, trust_env=False) as http:
        assert refused(await Signed(later, signed.agent, http).send(made), "replay")


async def test_a_used_signature_is_kept_until_it_could_not_be_sent_any_more(signed: Signed) -> None:
    async def kept() -> bool:
        await signed.market.workers.purge_old()
        return bool(await signed.market.store.read(lambda tx: tx.all(USES)))

    ahead = signed.put(created=int(signed.market.clock.now().timestamp()) + 300, nonce="once")
    assert (await signed.send(ahead)).status_code == 200
    text = await stored(signed.market.store)
    assert text.count("once") == 0, "what is kept is a hash"
    seconds = USES_KEPT.total_seconds()
    assert seconds == 600
    for passed in (1, seconds - 2):
        signed.market.pass_seconds(passed)
        assert await kept()
        assert refused(await signed.send(ahead), "replay")
    signed.market.pass_seconds(2)
    assert refused(await signed.send(ahead), "created")
    assert (await signed.send(signed.put(nonce="once"))).status_code == 200, (
        "the nonce is free again before any worker came"
    )
    signed.market.pass_seconds(seconds + 1)
    assert not await kept()


async def test_an_honest_repeat_is_signed_anew_and_gets_the_first_answer(signed: Signed) -> None:
    first = await signed.send(signed.put(), idempotency_key=REPEAT)
    same = await signed.send(signed.put(), idempotency_key=REPEAT)
    assert refused(same, "replay"), "to the byte the same: nobody can tell it from a replay, and it is told nothing"
    for more in ({"nonce": "again"}, {"created": int(signed.market.clock.now().timestamp()) + 1}):
        made = signed.put(**more)
        again = await signed.send(made, idempotency_key=REPEAT)
        assert (again.status_code, again.content, again.headers["idempotent-replayed"]) == (200, first.content, "true")
        assert refused(await signed.send(made, idempotency_key=REPEAT), "replay")
    assert await signed.written() == 1
    by_key = await signed.market.answer("put_memory", GIVEN, key=signed.agent.keys["test"], repeat=REPEAT)
    assert (by_key.replayed, by_key.body) == (True, first.content), "the key and the signature are of one agent"


async def test_a_refused_call_has_used_its_signature_and_one_to_be_sent_again_has_not(signed: Signed) -> None:
    refusals = {
        "update_schedule": ({"schedule_id": "sch_01KDVDNA00E180C7WM7TDHNQEX", "status": "paused"}, 404),
        "put_memory": (GIVEN | {"nonsense": 1}, 400),
    }
    for operation, (given, status) in refusals.items():
        made = signed.of(operation, given)
        assert (await signed.send(made)).status_code == status
        assert refused(await signed.send(made), "replay")
    door = signed.market.market
    limited = replace(door.config, limits=replace(door.config.limits, enforced=True))
    usual, door.config = door.config, limited
    for number in range(121):
        made = signed.put(nonce=f"n{number}")
        last = await door.call(CATALOGUE["put_memory"], dict(GIVEN), approach(signed.agent, CATALOGUE["put_memory"], GIVEN, made.created, nonce=made.nonce))  # fmt: skip
    assert last.status == 429
    door.config = usual
    assert (await signed.send(signed.put(nonce="n120"))).status_code == 200


async def test_it_is_judged_by_this_markets_clock(signed: Signed) -> None:
    now = int(signed.market.clock.now().timestamp())
    for away in (-301, 301):
        answer = await signed.send(signed.of("get_me", created=now + away))
        assert refused(answer, "created")
        assert str(now) in answer.json()["error"]["message"]
    for away in (-300, 300):
        assert (await signed.send(signed.of("get_me", created=now + away))).status_code == 200
    ended = f';created={now};expires={now - 1};keyid="{signed.agent.id}"'
    assert refused(await signed.send(signed.of("get_me", parameters=ended)), "expired")
    forged = await signed.send(signed.of("get_me", created=now - 301), seed=b"\x02" * 32)
    assert refused(forged, "signature"), "who did not sign it hears nothing of its time"


@pytest.mark.parametrize("status", [AgentStatus.SUSPENDED, AgentStatus.DELETED])
@covers("error.code.unauthenticated")
async def test_an_agent_that_is_not_active_signs_nothing_until_it_is_again(signed: Signed, status: AgentStatus) -> None:
    await write_row(signed.market, AgentRow, signed.agent.id, status=status)
    for operation in ("get_me", "search_listings", "recover_agent"):
        assert refused(await signed.send(signed.of(operation)), "signature")
    await write_row(signed.market, AgentRow, signed.agent.id, status=AgentStatus.ACTIVE)
    assert (await signed.send(signed.of("get_me"))).status_code == 200


async def test_a_key_beside_a_signature_decides_alone(signed: Signed) -> None:
    other = await signed.market.register("Bo")
    few = (await signed.market.call("create_api_key", by=other, on="live", env="live", scopes=["read"]))["key"]
    answer = await signed.send(signed.of("get_me"), x_api_key=few)
    assert (answer.json()["id"], answer.json()["env"]) == (other.id, "live"), "X-Env said test"
    refusal = await signed.send(signed.put(), x_api_key=few)
    assert (refusal.status_code, refusal.json()["error"]["code"]) == (403, "forbidden"), "a signature widens no key"
    dead = await signed.send(signed.put(), x_api_key="as_test_" + "0" * 40)
    assert (dead.status_code, "details" in dead.json()["error"]) == (401, False)
    made = signed.put()
    assert (await signed.send(made, seed=b"\x02" * 32, x_api_key=signed.agent.keys["test"])).status_code == 200
    assert (await signed.send(made)).status_code == 200, "what was not read was not used"


@pytest.mark.parametrize(
    "operation", ["search_listings", "get_health", "get_changelog", "register_agent", "verify_receipt"]
)
async def test_a_bad_signature_is_refused_also_where_none_is_needed(signed: Signed, operation: str) -> None:
    made = signed.of(operation, {"name": "Bo"} if operation == "register_agent" else {})
    assert refused(await signed.send(made, seed=b"\x02" * 32), "signature")
    assert refused(await signed.send(made, signature_input="nonsense!"), "malformed")


async def test_what_reads_by_post_counts_once_too(signed: Signed) -> None:
    made = signed.of("verify_receipt", {"signature": {"kid": "k", "sig": "s"}, "receipt": {}})
    assert (await signed.send(made)).status_code == 200
    assert refused(await signed.send(made), "replay")


async def test_a_body_that_is_not_its_digest_s_is_refused_whoever_sends_it(signed: Signed) -> None:
    for headers in ({"X-API-Key": signed.agent.keys["test"]}, {}):
        for digest, status in ((digest_of(b"other"), 400), ("nonsense!", 400), ("sha-256=:AAAA:", 400), (digest_of(b'{"name":"Bo"}'), 201), ("md5=:AAAA:", 201)):  # fmt: skip
            answer = await signed.forward("POST", "/v1/agents", b'{"name":"Bo"}', headers | {"Content-Digest": digest})
            assert answer.status_code == status, digest
            if status == 400:
                assert (answer.json()["error"]["code"], answer.json()["error"]["param"]) == (
                    "invalid_request",
                    "Content-Digest",
                )


async def test_a_signed_stream_goes_on_after_its_signature_is_old_and_ends_with_its_key(signed: Signed) -> None:
    op, agent = CATALOGUE["stream_events"], signed.agent
    opened = await signed.market.market.stream(op, {}, approach(agent, op, {}, signed.market.clock.now().timestamp()))
    frames = aiter(opened)  # type: ignore[arg-type]
    assert (await anext(frames)).event == "ready"
    signed.market.pass_seconds(3600)
    await signed.market.call("start_thread", by=await signed.market.register("Bo"), to=agent.handle, body="Hello.")
    assert (await anext(frames)).event == "message.received"
    await write_row(signed.market, AgentRow, agent.id, public_key="11" * 32)
    await signed.market.call("start_thread", by=await signed.market.register("Cy"), to=agent.handle, body="Hello.")
    with pytest.raises(StopAsyncIteration):
        await anext(frames)


async def test_a_signed_caller_was_seen_and_has_a_window_of_its_own(store: Store) -> None:
    market = TestMarket(store, enforced=True)
    ada, bo = await market.register("Ada"), await market.register("Bo")
    op = CATALOGUE["get_me"]

    async def left(agent: Agent) -> Any:
        return await market.market.call(op, {}, approach(agent, op, {}, market.clock.now().timestamp()))

    assert [(await left(ada)).quota.remaining for _ in range(3)] == [599, 598, 597]
    assert (await left(bo)).quota.remaining == 599, "though from the same address"
    await market.workers.write_touches()
    row = await market.store.read(lambda tx: tx.get(AgentRow, ada.id))
    assert row is not None
    assert row.last_seen_at == market.clock.now()
    assert await market.store.read(lambda tx: tx.get(KeyRow, "")) is None
