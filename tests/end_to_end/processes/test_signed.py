"""Signed requests over two processes: each refuses a request that the other has accepted, also after both restart."""

import asyncio
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from nacl.signing import SigningKey

from server.adapters.clock import SystemClock
from tests.end_to_end.processes.pair import Pair, Wired
from tests.support.databases import PostgresServer
from tests.support.market import BASE_URL, Agent
from tests.support.signed_requests import Signing, signing
from tools.catalogue import CATALOGUE
from tools.kernel.keys import public_key_of

ROUNDS, AT_ONCE = 10, 6


@pytest.fixture
def pair(forged: Pair, postgres: PostgresServer) -> Iterator[Pair]:
    forged.serve(postgres.create("signed"))
    yield forged
    forged.kill()


def now() -> float:
    return SystemClock().now().timestamp()


async def registered(market: Wired, name: str) -> Agent:
    made = await market.call("register_agent", name=name)
    seed = bytes.fromhex(made["keypair"]["secret_key"])
    return Agent(made["agent"]["id"], made["agent"]["handle"], made["api_keys"], seed)


def post(agent: Agent, number: int) -> Signing:
    given = {"in_seconds": 3600, "name": f"alarm {number}"}
    return signing(agent, CATALOGUE["create_schedule"], given, now(), nonce=f"n{number}")


async def send(market: Wired, at: int, agent: Agent, made: Signing, **headers: str) -> httpx.Response:
    told = made.headers(agent.seed) | {name.replace("_", "-"): text for name, text in headers.items()}
    return await market.http[at].request(made.method, made.url.removeprefix(BASE_URL), content=made.body, headers=told)


def reason(answer: httpx.Response) -> Any:
    return answer.json()["error"]["details"]["reason"] if answer.status_code == 401 else answer.status_code


async def test_a2_a_signature_opens_one_call_whatever_the_process_the_environment_and_the_run(pair: Pair) -> None:
    async with pair.wired() as market:
        ada = await registered(market, "Ada")
        sent = [post(ada, number) for number in range(ROUNDS)]
        for made in sent:
            twins = [
                send(market, turn % 2, ada, made, x_env=("test", "live")[turn % 3 == 0]) for turn in range(AT_ONCE)
            ]
            said = sorted(reason(one) if one.status_code == 401 else "done" for one in await asyncio.gather(*twins))
            assert said == ["done"] + ["replay"] * (AT_ONCE - 1)
        made = [
            one["name"]
            for env in ("test", "live")
            for one in (await market.call("list_schedules", by=ada, on=env))["data"]
        ]
        assert sorted(made) == sorted(f"alarm {number}" for number in range(ROUNDS))
    pair.kill()
    pair.serve(pair.url.split("&application_name")[0])
    async with pair.wired() as market:
        for at in (0, 1):
            assert reason(await send(market, at, ada, sent[-1])) == "replay"
        assert (await send(market, 0, ada, post(ada, ROUNDS))).status_code == 201


async def test_a_changed_root_key_is_the_only_one_in_the_other_process_from_its_answer_on(pair: Pair) -> None:
    async with pair.wired() as market:
        ada = await registered(market, "Ada")
        for number in range(ROUNDS):
            look = signing(ada, CATALOGUE["get_me"], {}, now())
            assert [(await send(market, at, ada, look)).status_code for at in (0, 1)] == [200, 200]
            new = SigningKey(bytes([number + 1]) * 32)
            told = bytes(new.verify_key).hex()
            text = f"service:rotate:{ada.id}:{public_key_of(ada.seed).hex()}:{told}"
            given = {"new_public_key": told, "proof": new.sign(text.encode()).signature.hex()}
            changed = await send(market, number % 2, ada, signing(ada, CATALOGUE["rotate_key"], given, now()))
            assert changed.json()["public_key"] == told
            assert [reason(await send(market, at, ada, look)) for at in (0, 1)] == ["signature"] * 2
            ada.seed = bytes(new)
            assert [(await send(market, at, ada, look)).status_code for at in (0, 1)] == [200, 200]
