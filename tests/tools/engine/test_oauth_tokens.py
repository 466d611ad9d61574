"""OAuth client credentials (contract: Authentication 9): how to get a token, its scopes, and when it ends."""

import asyncio
import hmac
from base64 import b64encode
from collections.abc import AsyncIterator
from typing import Any
from urllib.parse import quote, urlencode

import jwt
import orjson
import pytest
from nacl.signing import SigningKey

import rest.oauth
from storage.store import Store
from tests.requirements import covers
from tests.support.databases import Opening
from tests.support.market import BASE_URL, PEPPER, Agent, TestMarket
from tests.support.oauth_login import GRANT, TOKEN_URL, TYPE, Asserting, Site, base64url, secret, site
from tests.support.signed_requests import approach
from tools.catalogue import CATALOGUE
from tools.engine.token_claims import Token, read_token, token_key, write_token
from tools.kernel.keys import did_of, public_key_of, rotation_message

INVALID_CLIENT, INVALID_REQUEST = (401, "invalid_client"), (400, "invalid_request")
OTHER = "http://market.elsewhere:8443"


@pytest.fixture
async def at(market: TestMarket) -> AsyncIterator[Site]:
    async with site(market, OTHER) as made:
        yield made


@pytest.fixture
async def ada(market: TestMarket) -> Agent:
    return await market.register("Ada")


def did(agent: Agent) -> str:
    return did_of(public_key_of(agent.seed))


def basic(client: str, password: str) -> dict[str, str]:
    return {"Authorization": "Basic " + b64encode(f"{client}:{password}".encode()).decode()}


async def key_with(market: TestMarket, agent: Agent, **given: Any) -> tuple[str, str]:
    """Make another key of the agent; return its id and secret."""
    made = await market.call("create_api_key", by=agent, **{"env": "test"} | given)
    return made["id"], made["key"]


@covers("auth.9.oauth")
async def test_an_api_key_is_a_client_secret_in_the_body_or_as_basic_under_each_name_of_its_agent(
    at: Site, ada: Agent
) -> None:
    for env in ("test", "live"):
        for name in (ada.id, ada.handle, did(ada)):
            body = {**GRANT, "client_id": name, "client_secret": ada.keys[env]}
            for answer in (
                await at.login(body),
                await at.http.post("/v1/oauth/token", json=body),
                await at.login(GRANT, headers=basic(quote(name, safe=""), ada.keys[env])),
                await at.login({**GRANT, "client_id": name}, headers=basic(name, ada.keys[env])),
            ):
                assert answer.status_code == 200, answer.text
                told = answer.json()
                token = told.pop("access_token")
                assert told == {"token_type": "Bearer", "expires_in": 3600, "scope": f"env:{env} *", "agent_id": ada.id}
                assert (answer.headers["cache-control"], answer.headers["pragma"]) == ("no-store", "no-cache")
                assert token.startswith("oat_")
                me = (await at.me(token)).json()
                assert (me["id"], me["env"]) == (ada.id, env)


@covers("auth.9.oauth")
async def test_an_assertion_signed_with_the_agents_key_logs_in_to_test_or_to_live(at: Site, ada: Agent) -> None:
    for name in (ada.id, ada.handle, did(ada)):
        for asked, env in (({}, "test"), ({"scope": "env:live"}, "live"), ({"scope": "env:test env:live"}, "test")):
            made = at.assertion(ada, claims={"iss": name, "sub": name})
            told = (await at.login({**made.form, **asked})).json()
            assert (told["scope"], told["agent_id"], told["expires_in"]) == (f"env:{env} *", ada.id, 3600)
            assert (await at.me(told["access_token"])).json()["env"] == env


@pytest.mark.parametrize("algorithm", ["EdDSA", "Ed25519"])
async def test_both_names_of_the_algorithm_are_taken_and_a_library_s_own_assertion_works(
    at: Site, ada: Agent, algorithm: str
) -> None:
    made = at.assertion(ada, header={"alg": algorithm, "kid": "whatever the client calls its key"})
    assert (await at.login({**made.form, "client_id": ada.handle})).status_code == 200
    now = int(at.market.clock.at.timestamp())
    claims = {"iss": ada.id, "sub": ada.id, "aud": [BASE_URL], "exp": now + 60, "jti": "theirs"}
    jwk = jwt.PyJWK({"kty": "OKP", "crv": "Ed25519", "x": base64url(public_key_of(ada.seed)), "d": base64url(ada.seed)})
    theirs = jwt.encode(claims, jwk.key, algorithm="EdDSA")
    form = {**GRANT, "client_assertion_type": TYPE, "client_assertion": theirs}
    assert (await at.login(form)).status_code == 200


async def test_an_assertion_is_for_the_issuer_with_or_without_its_slash_or_for_the_token_endpoint(
    at: Site, ada: Agent
) -> None:
    good = [BASE_URL, f"{BASE_URL}/", TOKEN_URL, OTHER, f"{OTHER}/", f"{OTHER}/v1/oauth/token", [BASE_URL]]
    for audience in good:
        assert (await at.login(at.assertion(ada, claims={"aud": audience}).form)).status_code == 200, audience
    bad = [
        None, "", "https://market.test", f"{BASE_URL}//", f"{BASE_URL}/mcp", "http://market.test.evil", [], [BASE_URL, "http://evil"],
        [BASE_URL, BASE_URL], 7, {}, [7], [[BASE_URL]],
    ]  # fmt: skip
    for audience in bad:
        assert await at.refused(at.assertion(ada, claims={"aud": audience}).form) == INVALID_CLIENT, audience


async def test_an_assertion_is_for_now(at: Site, ada: Agent) -> None:
    now = int(at.market.clock.at.timestamp())
    good = [
        {"exp": now + 1},
        {"exp": now + 360},
        {"exp": now + 60.5},
        {"nbf": now, "iat": None},
        {"nbf": now + 60, "iat": now + 60},
    ]
    for claims in good:
        assert (await at.login(at.assertion(ada, claims=claims).form)).status_code == 200, claims
    bad: list[dict[str, Any]] = [
        {"exp": now}, {"exp": now - 1}, {"exp": now + 362}, {"exp": None}, {"exp": True}, {"exp": str(now + 60)}, {"exp": -1},
        {"exp": 1e300}, {"nbf": now + 120}, {"iat": now + 120}, {"nbf": "now"}, {"iat": False},
    ]  # fmt: skip
    for claims in bad:
        assert await at.refused(at.assertion(ada, claims=claims).form) == INVALID_CLIENT, claims


async def test_an_assertion_counts_once(at: Site, ada: Agent) -> None:
    form = at.assertion(ada).form
    assert (await at.login(form)).status_code == 200
    assert await at.refused(form) == INVALID_CLIENT
    again = at.assertion(ada, jti="jti-1", claims={"exp": int(at.market.clock.at.timestamp()) + 200})
    assert await at.refused(again.form) == INVALID_CLIENT
    bo = await at.market.register("Bo")
    assert (await at.login(at.assertion(bo, jti="jti-1").form)).status_code == 200  # a jti is unique per agent


async def test_of_twenty_that_send_one_assertion_at_once_one_gets_a_token(at: Site, ada: Agent) -> None:
    form = at.assertion(ada).form
    answers = await asyncio.gather(*(at.login(form) for _ in range(20)))
    assert sorted(answer.status_code for answer in answers) == [200, *[401] * 19]


async def test_an_assertion_and_a_revoked_key_are_the_same_in_every_process(
    postgres_url: str, opening: Opening
) -> None:
    markets = [TestMarket(opening(postgres_url)) for _ in range(2)]
    markets[1].dice.seed = "another process"
    ada = await markets[0].register("Ada")
    async with site(markets[0]) as one, site(markets[1]) as other:
        form = one.assertion(ada).form
        answers = await asyncio.gather(*(at.login(form) for at in (one, other) * 5))
        assert sorted(answer.status_code for answer in answers) == [200, *[401] * 9]
        key_id, key = await key_with(markets[0], ada)
        token = await other.token({**secret(ada), "client_secret": key})
        assert [(await at.me(token)).status_code for at in (one, other)] == [200, 200]
        await markets[0].call("revoke_api_key", by=ada, key_id=key_id)
        assert (await one.me(token)).status_code == 401
        for market in markets:
            market.pass_seconds(1.001)
        assert (await other.me(token)).status_code == 401


async def test_what_is_no_assertion_of_that_agent_opens_nothing(at: Site, ada: Agent) -> None:
    bo = await at.market.register("Bo")
    public = public_key_of(ada.seed)
    good = at.assertion(ada)
    jwk = {"kty": "OKP", "crv": "Ed25519", "x": base64url(public_key_of(bo.seed))}
    by_bo = {"seed": bo.seed}
    head, body, tail = good.text.split(".")
    bent: dict[str, str] = {
        "another agent's signature": at.assertion(ada, **by_bo).text,
        "its key in the header": at.assertion(ada, header={"jwk": jwk}, **by_bo).text,
        "its key by name": at.assertion(ada, header={"kid": did(bo), "jku": "http://evil/jwks"}, **by_bo).text,
        "iss and sub apart": at.assertion(ada, claims={"sub": bo.id}).text,
        "sub and iss apart": at.assertion(ada, claims={"iss": bo.id}).text,
        "nobody": at.assertion(ada, claims={"iss": "agt_nobody", "sub": "agt_nobody"}).text,
        "no jti": at.assertion(ada, jti="").text,
        "a long jti": at.assertion(ada, jti="j" * 256).text,
        "a jti that is no text": at.assertion(ada, claims={"jti": 7}).text,
        "crit": at.assertion(ada, header={"crit": ["exp"]}).text,
        "an unencoded payload": at.assertion(ada, header={"crit": ["b64"], "b64": False}).text,
        "another algorithm": at.assertion(ada, header={"alg": "ES256"}).text,
        "Ed448": at.assertion(ada, header={"alg": "Ed448"}).text,
        "alg none": f"{at.assertion(ada, header={'alg': 'none'}).signing_input}.",
        "alg None signed": at.assertion(ada, header={"alg": "none"}).text,
        "no alg": at.assertion(ada, header={"alg": None}).text,
        "alg a list": at.assertion(ada, header={"alg": ["EdDSA"]}).text,
        "the public key as a password": _hmac(at.assertion(ada, header={"alg": "HS256"}), public),
        "the public key's text as a password": _hmac(at.assertion(ada, header={"alg": "HS256"}), public.hex().encode()),
        "no signature": f"{head}.{body}.",
        "half a signature": f"{head}.{body}.{tail[:43]}",
        "padding": f"{head}.{body}.{tail}==",
        "another body": f"{head}.{at.assertion(ada).text.split('.')[1]}.{tail}",
        "two parts": f"{head}.{body}",
        "five parts": f"{head}.{body}.{tail}.{tail}.{tail}",
        "claims twice": _raw(
            ada, b'{"alg":"EdDSA"}', b'{"iss":"' + ada.id.encode() + b'","iss":"' + ada.id.encode() + b'"}'
        ),
        "claims that are a list": _raw(ada, b'{"alg":"EdDSA"}', b"[]"),
        "a header that is no JSON": _raw(ada, b"\xff{", b"{}"),
        "deep": _raw(ada, b'{"alg":"EdDSA"}', b'{"a":' + b"[" * 900 + b"]" * 900 + b"}"),
        "large": at.assertion(ada, claims={"more": "x" * 5000}).text,
        "snow": "☃.☃.☃",
    }
    for name, text in bent.items():
        form = {**GRANT, "client_assertion_type": TYPE, "client_assertion": text}
        assert await at.refused(form) == INVALID_CLIENT, name
    assert await at.refused({**at.assertion(ada).form, "client_id": bo.id}) == INVALID_CLIENT
    assert (await at.login(good.form)).status_code == 200  # none of them used it up


def _raw(agent: Agent, header: bytes, claims: bytes) -> str:
    signing_input = f"{base64url(header)}.{base64url(claims)}"
    return f"{signing_input}.{base64url(SigningKey(agent.seed).sign(signing_input.encode()).signature)}"


def _hmac(made: Asserting, password: bytes) -> str:
    return f"{made.signing_input}.{base64url(hmac.digest(password, made.signing_input.encode(), 'sha256'))}"


async def test_requests_that_are_not_well_formed_are_refused_in_the_words_of_rfc_6749(at: Site, ada: Agent) -> None:
    own, made = secret(ada), at.assertion(ada).form
    table: list[tuple[Any, tuple[int, str]]] = [
        ({}, INVALID_REQUEST),
        (without(own, "grant_type"), INVALID_REQUEST),
        ({**own, "grant_type": ""}, INVALID_REQUEST),
        ({**own, "grant_type": "password"}, (400, "unsupported_grant_type")),
        ({**own, "grant_type": "authorization_code"}, (400, "unsupported_grant_type")),
        (without(own, "client_id"), INVALID_CLIENT),
        (without(own, "client_secret"), INVALID_CLIENT),
        (GRANT, INVALID_CLIENT),
        ({**own, **made}, INVALID_REQUEST),
        (without(made, "client_assertion_type"), INVALID_REQUEST),
        (
            {**made, "client_assertion_type": "urn:ietf:params:oauth:client-assertion-type:saml2-bearer"},
            INVALID_REQUEST,
        ),
        (without(made, "client_assertion"), INVALID_CLIENT),
        ({**own, "client_id": "agt_nobody"}, INVALID_CLIENT),
        ({**own, "client_id": "n" * 10_000}, INVALID_CLIENT),
        ({**own, "client_id": "a\0b"}, INVALID_CLIENT),
        ({**own, "client_secret": "as_test_" + "0" * 40}, INVALID_CLIENT),
        ({**own, "client_secret": "\0"}, INVALID_CLIENT),
        ({**own, "client_secret": await at.token(own)}, INVALID_CLIENT),
        ({**own, "scope": "env:live"}, (400, "invalid_scope")),
        ({**own, "scope": "everything"}, (400, "invalid_scope")),
        ({**own, "scope": "read  buy"}, (400, "invalid_scope")),
        ({**own, "scope": "read " * 200}, (400, "invalid_scope")),
        ({**own, "resource": "https://elsewhere.example/mcp"}, (400, "invalid_target")),
        ({**own, "resource": [f"{BASE_URL}/mcp", "http://evil"]}, (400, "invalid_target")),
        ({**own, "resource": f"{BASE_URL}/mcp#part"}, (400, "invalid_target")),
        ({**own, "resource": "http://["}, (400, "invalid_target")),
    ]
    for form, expected in table:
        assert await at.refused(form) == expected, form
        assert await at.refused({}, json=form) == expected or "x00" in str(form), form


def without(form: dict[str, str], name: str) -> dict[str, str]:
    return {key: value for key, value in form.items() if key != name}


async def test_what_is_said_twice_or_in_two_ways_is_refused(at: Site, ada: Agent) -> None:
    own = secret(ada)
    for name in (*own, "scope"):
        pairs = [*own.items(), *([("scope", "read")] if name == "scope" else []), (name, own.get(name, "read"))]
        answer = await at.http.post("/v1/oauth/token", content=urlencode(pairs))
        assert (answer.status_code, answer.json()["error"]) == INVALID_REQUEST, name
    right = basic(ada.id, ada.keys["test"])
    assert await at.refused(own, headers=right) == INVALID_REQUEST
    assert await at.refused(at.assertion(ada).form, headers=right) == INVALID_REQUEST
    assert await at.refused({**GRANT, "client_id": "another"}, headers=right) == INVALID_REQUEST
    twice = [("Authorization", right["Authorization"])] * 2
    assert await at.refused(GRANT, headers=twice) == INVALID_REQUEST
    for wrong in (
        "Bearer " + ada.keys["test"],
        "Basic",
        "Basic !",
        "Basic " + b64encode(b"\xff:x").decode(),
        "Basic Og==",
    ):
        answer = await at.login(GRANT, headers={"Authorization": wrong})
        assert (answer.status_code, answer.json()["error"]) == INVALID_CLIENT, wrong
        assert answer.headers["www-authenticate"] == 'Basic realm="service"'


async def test_a_body_larger_than_any_token_request_is_not_read(at: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    read = list[bytes]()
    monkeypatch.setattr(rest.oauth, "_fields", lambda body: read.append(body) or {})
    for size, answer in ((16_385, "a token request is at most 16384 bytes"), (16_384, "grant_type is missing")):
        refused = await at.http.post(TOKEN_URL, content=b"resource=" + b"a" * (size - 9))
        assert (refused.status_code, refused.json()["error"]) == INVALID_REQUEST
        assert refused.json()["error_description"].startswith(answer)
    assert [len(body) for body in read] == [16_384]


async def test_bodies_that_cannot_be_read_are_invalid_requests(at: Site) -> None:
    many = "&".join(f"a{number}=b" for number in range(30))
    for body in (
        "{",
        "[]",
        '{"grant_type": 7}',
        '{"grant_type": {"a": 1}}',
        "grant_type=%ff",
        "\xff",
        many,
        '{"a":1,"a":2}',
        "",
    ):
        answer = await at.http.post("/v1/oauth/token", content=body.encode("latin-1"))
        assert (answer.status_code, answer.json()["error"]) == INVALID_REQUEST, body
    for method in ("GET", "PUT", "DELETE"):
        answer = await at.http.request(method, "/v1/oauth/token")
        assert (answer.status_code, answer.json()["error"], answer.headers["allow"]) == (405, "invalid_request", "POST")


async def test_every_address_of_the_market_may_be_the_resource(at: Site, ada: Agent) -> None:
    for resource in ("", "/", "/mcp", "/mcp/", "/mcp/oauth", "/a2a", "/v1"):
        for base in (BASE_URL, BASE_URL.replace("market", "MARKET"), f"{BASE_URL}:80", OTHER):
            assert (await at.login(secret(ada, resource=base + resource))).status_code == 200, base + resource
    pairs = [*secret(ada).items(), ("resource", BASE_URL), ("resource", f"{BASE_URL}/mcp")]
    assert (await at.http.post("/v1/oauth/token", content=urlencode(pairs))).status_code == 200


async def test_a_token_has_the_scopes_asked_for_and_never_more_than_its_key(
    at: Site, market: TestMarket, ada: Agent
) -> None:
    _, narrow = await key_with(market, ada, scopes=["read", "message"])
    form = {**secret(ada), "client_secret": narrow}
    for asked, granted in (
        ("", "env:test read message"),
        ("read", "env:test read"),
        ("env:test env:live", "env:test read message"),
    ):
        assert (await at.login({**form, "scope": asked})).json()["scope"] == granted
    for beyond in ("*", "buy", "read buy", "admin:self"):
        assert await at.refused({**form, "scope": beyond}) == (400, "invalid_scope")
    read = await at.token({**at.assertion(ada).form, "scope": "env:test read"})
    refused = await at.http.patch("/v1/agents/me", json={"name": "Ida"}, headers={"X-API-Key": read})
    assert (refused.status_code, refused.json()["error"]["details"]["scope"]) == (403, "admin:self")
    made = await at.http.post("/v1/agents/me/keys", json={"scopes": ["*"]}, headers={"X-API-Key": read})
    assert made.status_code == 403


async def test_a_token_is_sent_where_a_key_is_except_in_a_url(at: Site, market: TestMarket, ada: Agent) -> None:
    token = await at.token(secret(ada))
    for header in ({"Authorization": f"Bearer {token}"}, {"Authorization": f"bearer  {token}"}, {"X-API-Key": token}):
        assert (await at.http.get("/v1/agents/me", headers=header)).json()["id"] == ada.id
    both = {"Authorization": f"Bearer {token}", "X-API-Key": ada.keys["test"]}
    assert (await at.http.get("/v1/agents/me", headers=both)).status_code == 401
    assert (await called(at, "/mcp", {"api_key": token}))["id"] == ada.id
    assert (await called(at, f"/mcp?api_key={ada.keys['test']}", {}))["id"] == ada.id
    assert (await called(at, f"/mcp?api_key={token}", {}))["error"]["code"] == "unauthenticated"
    said = {"messageId": "1", "role": "ROLE_USER", "parts": [{"data": {"tool": "get_me", "arguments": {}}}]}
    for message, headers in (
        ({**said, "metadata": {"api_key": token}}, {}),
        (said, {"Authorization": f"Bearer {token}"}),
    ):
        answer = await at.http.post(
            "/a2a/message:send", json={"message": message}, headers={"A2A-Version": "1.0", **headers}
        )
        assert answer.json()["message"]["parts"][0]["data"]["id"] == ada.id


async def called(at: Site, path: str, given: dict[str, Any], **headers: str) -> Any:
    """Call get_me over MCP; return its answer."""
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "get_me", "arguments": given}}
    more = {"accept": "application/json, text/event-stream", "mcp-protocol-version": "2025-11-25", **headers}
    answer = await at.http.post(path, json=body, headers=more)
    assert answer.status_code == 200, answer.text
    return orjson.loads(answer.json()["result"]["content"][0]["text"])


async def test_a_token_changed_in_any_place_is_401_on_every_surface(at: Site, ada: Agent) -> None:
    token = await at.token(secret(ada))
    for place in range(len(token)):
        changed = token[:place] + ("A" if token[place] != "A" else "B") + token[place + 1 :]
        answer = await at.me(changed)
        assert answer.status_code == 401, place
        assert answer.headers["www-authenticate"].startswith('Bearer error="invalid_token"')
    for other in (
        token + "A",
        token[:-1],
        f"{token}=",
        f"{token}.",
        "oat_",
        "oat_.",
        "oat_" + "A" * 2000,
        token.upper(),
    ):
        assert (await at.me(other)).status_code == 401, other
    own = read_token(token_key(PEPPER), token)
    assert own is not None
    forged = write_token(token_key(bytes(32)), own)
    for path in ("/v1/agents/me", "/mcp", "/mcp/oauth", "/a2a", "/a2a/message:send", "/v1/events/stream"):
        for method in ("GET", "POST") if not path.startswith("/v1") else ("GET",):
            answer = await at.http.request(
                method, path, headers={"Authorization": f"Bearer {forged}", "A2A-Version": "1.0"}
            )
            assert answer.status_code in (401, 405), path
            if method == "POST" or answer.status_code == 401:
                assert answer.json()["error"]["code"] == "unauthenticated", path
                assert 'error="invalid_token"' in answer.headers["www-authenticate"], path
    listing = await at.http.get("/v1/listings", headers={"Authorization": f"Bearer {forged}"})
    assert listing.status_code == 401  # also if no credential is needed


async def test_a_token_of_one_environment_opens_nothing_in_the_other(at: Site, ada: Agent) -> None:
    token = await at.token(secret(ada, "live"))
    headers = {"Authorization": f"Bearer {token}", "X-Env": "test"}
    assert (await at.http.get("/v1/agents/me", headers=headers)).json()["env"] == "live"
    own = read_token(token_key(PEPPER), token)
    assert own is not None
    for change in ({"env": "test"}, {"key_id": "key_nobody"}, {"epoch": own.epoch + 1}, {"agent_id": "agt_nobody"}):
        forged = Token(**{name: getattr(own, name) for name in own.__slots__} | change)
        assert (await at.me(write_token(token_key(PEPPER), forged))).status_code == 401, change


async def test_a_token_ends_with_its_hour_or_with_its_key_if_that_is_sooner(
    at: Site, market: TestMarket, ada: Agent
) -> None:
    token = await at.token(secret(ada))
    market.pass_seconds(3599)
    assert (await at.me(token)).status_code == 200
    market.pass_seconds(1)
    for path in ("/v1/agents/me", "/v1/listings"):
        answer = await at.me(token, path)
        assert (answer.status_code, answer.json()["error"]["code"]) == (401, "unauthenticated")
        assert answer.json()["error"]["hint"] == "Get a new one: POST /v1/oauth/token."
    _, short = await key_with(market, ada, expires_in_days=1)
    market.pass_seconds(86_400 - 600)
    told = (await at.login({**secret(ada), "client_secret": short})).json()
    assert told["expires_in"] == 600
    assert (await at.me(told["access_token"])).status_code == 200
    market.pass_seconds(600)
    assert (await at.me(told["access_token"])).status_code == 401
    assert await at.refused({**secret(ada), "client_secret": short}) == INVALID_CLIENT


@pytest.mark.parametrize("end", ["revoke", "rotate", "recover", "suspend", "delete"])
async def test_a_token_ends_at_once_with_what_it_was_given_for(
    at: Site, market: TestMarket, ada: Agent, end: str
) -> None:
    key_id, key = await key_with(market, ada)
    by_key, by_agent = await at.token({**secret(ada), "client_secret": key}), await at.token(at.assertion(ada).form)
    for token in (by_key, by_agent):
        assert (await at.me(token)).status_code == 200
    await ended(at, market, ada, key_id, end)
    assert (await at.me(by_key)).status_code == 401
    assert (await at.me(by_agent)).status_code == (200 if end == "revoke" else 401)


async def ended(at: Site, market: TestMarket, agent: Agent, key_id: str, end: str) -> None:
    if end == "revoke":
        await market.call("revoke_api_key", by=agent, key_id=key_id)
    elif end == "suspend":
        await market.as_operator("set_agent_status", agent_id=agent.id, status="suspended")
        await market.as_operator("set_agent_status", agent_id=agent.id, status="active")  # the tokens stay revoked
    elif end == "delete":
        await market.call("delete_me", by=agent, confirm=agent.handle)
    else:
        old, new = public_key_of(agent.seed).hex(), public_key_of(b"\x09" * 32).hex()
        text = rotation_message("service", agent.id, old, new)
        proof = SigningKey(b"\x09" * 32).sign(text.encode()).signature.hex()
        name = {"rotate": "rotate_key", "recover": "recover_agent"}[end]
        given = {"rotate": {"new_public_key": new, "proof": proof}, "recover": {"revoke_existing": True}}[end]
        came = approach(agent, CATALOGUE[name], given, market.clock.at.timestamp())
        answer = await market.market.call(CATALOGUE[name], given, came)
        assert not answer.refused, answer.body


async def test_who_is_suspended_or_gone_or_has_another_key_by_now_gets_no_token(
    at: Site, market: TestMarket, ada: Agent
) -> None:
    for status in ("suspended", "deleted"):
        await market.as_operator("set_agent_status", agent_id=ada.id, status=status)
        assert await at.refused(secret(ada)) == INVALID_CLIENT
        assert await at.refused(at.assertion(ada).form) == INVALID_CLIENT
    bo = await market.register("Bo")
    await ended(at, market, bo, "", "rotate")
    assert await at.refused(at.assertion(bo).form) == INVALID_CLIENT
    assert (await at.login(at.assertion(bo, seed=b"\x09" * 32).form)).status_code == 200
    assert (await at.login(secret(bo))).status_code == 200  # rotation does not change API keys


async def test_a_key_is_another_agent_s_secret_for_nobody(at: Site, market: TestMarket, ada: Agent) -> None:
    bo = await market.register("Bo")
    assert await at.refused({**secret(ada), "client_secret": bo.keys["test"]}) == INVALID_CLIENT


@covers("limit.rate.value.oauth")
async def test_a_key_gives_sixty_tokens_a_minute(store: Store) -> None:
    market = TestMarket(store, enforced=True)
    ada = await market.register("Ada")
    async with site(market) as at:
        for left in (59, *range(58, -1, -1)):
            answer = await at.login(secret(ada))
            assert (answer.status_code, answer.headers["ratelimit"]) == (200, f'"oauth";r={left};t=60')
        assert await at.refused(secret(ada)) == (429, "temporarily_unavailable")
        assert (await at.login(secret(ada))).headers["retry-after"] == "60"
        assert (await at.login(at.assertion(ada).form)).status_code == 200  # the agent's own key has its own rate limit
        market.pass_seconds(60)
        assert (await at.login(secret(ada))).status_code == 200


async def test_who_guesses_secrets_is_stopped(store: Store) -> None:
    market = TestMarket(store, enforced=True)
    async with site(market) as at:
        form = {**GRANT, "client_id": "nobody", "client_secret": "as_test_" + "0" * 40}
        for _ in range(600):
            assert (await at.login(form)).status_code == 401
        assert await at.refused(form) == (429, "temporarily_unavailable")


@covers("second.test_key.token")
async def test_a_token_of_a_test_key_is_a_test_key(at: Site, market: TestMarket, ada: Agent) -> None:
    await market.call("get_me", by=ada, on="live")
    await market.workers.write_touches()
    assert await at.refused(secret(ada, scope="env:live")) == (400, "invalid_scope")
    for form in (secret(ada), at.assertion(ada).form):
        key = {"X-API-Key": await at.token(form)}
        for method, path, body in (
            ("PATCH", "/v1/agents/me", {"name": "Eve"}),
            ("POST", "/v1/agents/me/keys", {"env": "live"}),
        ):
            refused = await at.http.request(method, path, json=body, headers=key)
            assert (refused.status_code, refused.json()["error"]["details"]) == (403, {"scope": "live_key"})
    key = {"X-API-Key": await at.token(secret(ada, "live"))}
    assert (await at.http.patch("/v1/agents/me", json={"name": "Ida"}, headers=key)).status_code == 200
