"""Clauses of the contract about memory: JSON under a key, private, with an expiry and conditional overwrites."""

import asyncio
from typing import Any

import httpx
import orjson
import pytest
from sqlalchemy import func, select

from storage.query import Query
from storage.tables import MemoryRow
from tests.requirements import covers
from tests.support.market import TestMarket, bare
from tests.support.protocols import served
from tools.kernel.records import stamp

pytestmark = pytest.mark.both_databases

KEYS = ("a", "a/b/c", "notes/2026-11-21", "x:y.z_-", "/", "//a/", "A" * 128, "../up")
every_memory = Query(select(func.count()).select_from(MemoryRow.__table__))


async def put(market: TestMarket, by: Any, key: str, value: Any, **given: Any) -> Any:
    return await market.call("put_memory", by=by, key=key, value=value, **given)


async def keys(market: TestMarket, by: Any, **asked: Any) -> list[str]:
    return [one["key"] for one in (await market.call("list_memory", by=by, **asked))["data"]]


@covers("service.7.memory", "route.memory.put", "route.memory.get", "open_record.memory", "open.memory")
async def test_a_value_is_kept_for_its_agent_alone(market: TestMarket) -> None:
    ada, bo = await market.register("Ada"), await market.register("Bo")
    value = {"b": [1, 2.5, None, "ü"], "a": {}}
    kept = await put(market, ada, "plan", value, ttl_seconds=60)
    now = market.clock.now()
    assert bare(kept) == {
        "object": "memory",
        "key": "plan",
        "size": len(orjson.dumps(value)),
        "version": kept["version"],
        "expires_at": stamp(now.replace(minute=now.minute + 1)),
        "created_at": stamp(now),
        "updated_at": stamp(now),
        "value": value,
    }
    assert list(kept["value"]) == ["b", "a"], "as it was stored"
    assert await market.call("get_memory", by=ada, key="plan") == bare(kept)
    assert (await market.refusal("get_memory", by=bo, key="plan"))["code"] == "not_found"
    assert await keys(market, bo) == []
    market.pass_seconds(5)
    again = await put(market, ada, "plan", None)
    assert (again["version"], again["value"], again["expires_at"]) == (kept["version"] + 1, None, None)
    assert (again["created_at"], again["updated_at"]) == (kept["created_at"], stamp(market.clock.now()))


@covers("second.test_key.memory")
async def test_each_environment_has_a_memory_of_its_own(market: TestMarket) -> None:
    ada = await market.register("Ada")
    kept = await put(market, ada, "plan", "on test")
    assert (await market.refusal("get_memory", by=ada, on="live", key="plan"))["code"] == "not_found"
    assert (await market.call("list_memory", by=ada, on="live"))["data"] == []
    await market.call("put_memory", by=ada, on="live", key="plan", value="on live")
    assert not (await market.call("delete_memory", by=ada, key="other"))["deleted"]
    assert (await market.call("delete_memory", by=ada, on="live", key="plan"))["deleted"]
    assert await market.call("get_memory", by=ada, key="plan") == bare(kept)


@pytest.mark.parametrize("value", [None, False, 0, 1.5, "", "text", [], {}, [{"a": [None]}]])
@covers("route.memory.put")
async def test_any_json_is_a_value(market: TestMarket, value: Any) -> None:
    ada = await market.register()
    await put(market, ada, "k", value)
    assert (await market.call("get_memory", by=ada, key="k"))["value"] == value


@pytest.mark.parametrize(
    ("given", "param"),
    [
        ({"key": ""}, "key"),
        ({"key": "a" * 129}, "key"),
        ({"key": "a b"}, "key"),
        ({"key": "ä"}, "key"),
        ({"key": "a\n"}, "key"),
        ({"ttl_seconds": 0}, "ttl_seconds"),
        ({"ttl_seconds": 31_536_001}, "ttl_seconds"),
        ({"if_version": -1}, "if_version"),
        ({"vlaue": 1}, "vlaue"),
    ],
)
async def test_keys_and_times_are_bounded(market: TestMarket, given: dict[str, Any], param: str) -> None:
    ada = await market.register()
    error = await market.refusal("put_memory", by=ada, **{"key": "k", "value": 1} | given)
    assert (error["code"], error["param"]) == ("invalid_request", param)
    missing = await market.refusal("put_memory", by=ada, key="k")
    assert missing["details"]["violations"] == [{"param": "value", "message": "required"}]


async def test_a_value_of_64_kilobytes_is_taken_and_one_byte_more_is_not(market: TestMarket) -> None:
    ada = await market.register()
    assert (await put(market, ada, "k", "x" * 65_534))["size"] == 65_536
    error = await market.refusal("put_memory", by=ada, key="k", value="x" * 65_535)
    assert (error["code"], error["param"]) == ("payload_too_large", "value")


@covers("route.memory.list", "open.memory")
async def test_keys_are_listed_by_prefix_in_the_order_of_their_bytes_without_values(market: TestMarket) -> None:
    ada = await market.register()
    named = ["a", "a-", "a/", "a/1", "a/2", "a/2/x", "aB", "ab", "a_", "b", "Z", "a.1"]
    for key in named:
        await put(market, ada, key, {"big": "value"})
    assert await keys(market, ada) == sorted(named)
    assert await keys(market, ada, prefix="a/") == ["a/", "a/1", "a/2", "a/2/x"]
    assert await keys(market, ada, prefix="a/2") == ["a/2", "a/2/x"]
    assert await keys(market, ada, prefix="c") == []
    read, cursor = list[str](), None
    while True:
        page = await market.call("list_memory", by=ada, prefix="a", limit=3, **({"cursor": cursor} if cursor else {}))
        read += [one["key"] for one in page["data"]]
        assert all(set(one) & {"value"} == set() for one in page["data"])
        cursor = page["next_cursor"]
        if not page["has_more"]:
            break
    assert read == sorted(key for key in named if key.startswith("a"))


async def test_what_has_expired_is_gone_at_once_and_swept_later(market: TestMarket) -> None:
    ada = await market.register()
    first = await put(market, ada, "lease", 1, ttl_seconds=10)
    await put(market, ada, "note", 1)
    market.pass_seconds(9)
    assert await keys(market, ada) == ["lease", "note"]
    market.pass_seconds(1)
    assert await keys(market, ada) == ["note"]
    assert (await market.refusal("get_memory", by=ada, key="lease"))["code"] == "not_found"
    assert (await market.call("delete_memory", by=ada, key="lease"))["deleted"] is False
    await put(market, ada, "lease", 2, ttl_seconds=10)
    market.pass_seconds(10.001)
    await market.workers.purge_old()
    assert await market.store.read(lambda tx: tx.one(every_memory)) == 1
    last = await put(market, ada, "lease", 3, if_version=0)
    assert (last["created_at"], last["version"] > first["version"]) == (stamp(market.clock.now()), True)


async def test_a_version_never_comes_back_so_a_lease_that_ran_out_is_not_taken_for_held(market: TestMarket) -> None:
    ada = await market.register()
    held = await put(market, ada, "lease", "first", ttl_seconds=10, if_version=0)
    for gone in (10, 0):
        market.pass_seconds(gone)
        if not gone:
            await market.call("delete_memory", by=ada, key="lease")
            market.pass_seconds(1)
        other = await put(market, ada, "lease", "second", if_version=0)
        refused = await market.refusal("put_memory", by=ada, key="lease", value="first", if_version=held["version"])
        assert (refused["code"], refused["details"]) == ("version_conflict", {"version": other["version"]})
        assert "get_memory" in refused["hint"]
        held = other


async def test_what_is_not_there_is_version_0_and_the_refusal_says_so(market: TestMarket) -> None:
    ada = await market.register()
    refused = await market.refusal("put_memory", by=ada, key="k", value=1, if_version=3)
    assert (refused["code"], refused["details"]) == ("version_conflict", {"version": 0})
    assert "if_version 0" in refused["hint"]
    assert (await put(market, ada, "k", 1, if_version=0))["value"] == 1


async def test_deleting_forgets_and_may_be_repeated(market: TestMarket) -> None:
    ada = await market.register()
    await put(market, ada, "a/b", 1)
    assert await market.call("delete_memory", by=ada, key="a/b") == {
        "object": "memory", "key": "a/b", "deleted": True,
    }  # fmt: skip
    assert (await market.call("delete_memory", by=ada, key="a/b"))["deleted"] is False
    assert await keys(market, ada) == []


async def test_of_many_that_write_over_one_version_one_succeeds(market: TestMarket) -> None:
    ada = await market.register()

    async def race(version: int) -> list[Any]:
        given = [{"key": "k", "value": number, "if_version": version} for number in range(12)]
        return await asyncio.gather(*(market.answer("put_memory", one, key=ada.keys["test"]) for one in given))

    version = 0
    for _ in range(3):
        answers = await race(version)
        (won,) = [orjson.loads(answer.body) for answer in answers if not answer.refused]
        assert {answer.error["code"] for answer in answers if answer.refused} == {"version_conflict"}
        read = await market.call("get_memory", by=ada, key="k")
        assert (read["value"], read["version"]) == (won["value"], won["version"])
        version = won["version"]


async def test_counting_with_compare_and_set_loses_nothing(market: TestMarket) -> None:
    ada = await market.register()
    await put(market, ada, "count", 0)

    async def add_one() -> None:
        while True:
            read = await market.call("get_memory", by=ada, key="count")
            given = {"key": "count", "value": read["value"] + 1, "if_version": read["version"]}
            if not (await market.answer("put_memory", given, key=ada.keys["test"])).refused:
                return

    await asyncio.gather(*(add_one() for _ in range(10)))
    assert (await market.call("get_memory", by=ada, key="count"))["value"] == 10


async def test_twins_of_the_last_place_do_not_pass_the_limit(
    market: TestMarket, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tools.memory.operations.MAX_KEYS", 5)
    ada = await market.register()
    calls = [market.answer("put_memory", {"key": f"k{n}", "value": n}, key=ada.keys["test"]) for n in range(12)]
    answers = await asyncio.gather(*calls)
    assert [answer.refused for answer in answers].count(False) == 5
    assert len(await keys(market, ada)) == 5


async def test_a_slash_at_the_end_names_another_key(market: TestMarket) -> None:
    ada = await market.register()
    async with served(market) as url, httpx.AsyncClient(base_url=url, trust_env=False) as http:
        headers = {"X-API-Key": ada.keys["test"]}
        for key in ("notes", "notes/", "notes//"):
            assert (await http.put(f"/v1/memory/{key}", json={"value": key}, headers=headers)).json()["key"] == key
        assert (await http.delete("/v1/memory/notes/", headers=headers)).json()["key"] == "notes/"
        assert [await keys(market, ada), (await http.get("/v1/memory/", headers=headers)).status_code] == [
            ["notes", "notes//"],
            200,
        ]


@covers("route.memory.put", "route.memory.get")
@pytest.mark.parametrize("key", KEYS)
async def test_keys_with_slashes_come_as_they_are_or_encoded(market: TestMarket, key: str) -> None:
    ada = await market.register()
    headers = {"X-API-Key": ada.keys["test"]}
    spelled = [key.replace("/", "%2F"), key.replace("/", "%2f")]
    if key == key.lstrip("/") and ".." not in key:  # clients normalise the other paths
        spelled.append(key)
    async with served(market) as url, httpx.AsyncClient(trust_env=False) as http:
        for number, part in enumerate(spelled):
            place = httpx.URL(url).copy_with(raw_path=f"/v1/memory/{part}".encode())
            kept = await http.put(place, json={"value": number}, headers=headers)
            assert (kept.status_code, kept.json()["key"]) == (200, key)
            assert (await http.get(place, headers=headers)).json()["value"] == number
        assert (await http.delete(place, headers=headers)).json() == {"object": "memory", "key": key, "deleted": True}
        for method in ("POST", "PATCH"):
            assert (await http.request(method, place, json={}, headers=headers)).status_code == 405


async def test_if_match_says_the_version_over_http(market: TestMarket) -> None:
    ada = await market.register()
    async with served(market) as url, httpx.AsyncClient(base_url=url, trust_env=False) as http:

        async def write(match: str | None, **body: Any) -> tuple[int, Any]:
            headers = {"X-API-Key": ada.keys["test"]} | ({} if match is None else {"If-Match": match})
            answer = await http.put("/v1/memory/a/b", json={"value": 1, **body}, headers=headers)
            return answer.status_code, answer.json()

        status, made = await write('"0"')
        assert status == 200
        version = made["version"]
        assert (await write('"0"'))[1]["error"]["code"] == "version_conflict"
        assert (await write(str(version)))[1]["version"] == version + 1
        assert (await write(f'"{version + 1}"', if_version=version + 1))[0] == 200
        key = {"X-API-Key": ada.keys["test"]}
        tag = (await http.get("/v1/memory/a/b", headers=key)).headers["etag"]
        assert tag == f'"{version + 2}"', "what a read calls its ETag is what If-Match takes"
        assert (await http.get("/v1/memory/a/b", headers=key | {"If-None-Match": tag})).status_code == 304
        assert (await write(tag))[1]["version"] == version + 3
        for match, body in (("*", {}), ('W/"1"', {}), ('"abc"', {}), (f'"{version + 3}"', {"if_version": version})):
            status, refused = await write(match, **body)
            assert (status, refused["error"]["param"]) == (400, "If-Match")
        other = await http.get("/v1/memory/a/b", headers={"X-API-Key": ada.keys["test"], "If-Match": '"x"'})
        assert other.status_code == 200, "only where a version is taken"
