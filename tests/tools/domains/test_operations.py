"""Clauses of the contract about domains: claimed, proven, checked every day, transferred, removed."""

import asyncio
from dataclasses import replace
from typing import Any

import pytest

from storage.tables import AgentRow, DomainRow
from storage.vocabulary import Env
from tests.requirements import covers
from tests.requirements.probes import write_row
from tests.support.market import Agent, TestMarket, bare
from tests.support.proofs import DAY, DOMAIN, ReadContext
from tests.support.trade import Trade
from tests.tools.jobs.test_races import PLACE, together
from tools.engine.config import Limits
from tools.kernel.records import stamp


@pytest.fixture
def outside(market: TestMarket) -> ReadContext:
    return ReadContext(market)


def row_of(agent: Agent, at: str, **changed: Any) -> dict[str, Any]:
    value = f"service={agent.id}"
    return {
        "object": "domain",
        "domain": DOMAIN,
        "status": "pending",
        "method": None,
        "verified_at": None,
        "last_checked_at": None,
        "revoked_at": None,
        "revoked_reason": None,
        "failures": 0,
        "last_error": None,
        "instructions": {
            "dns": {"type": "TXT", "name": f"_service.{DOMAIN}", "value": value},
            "https": {
                "url": f"https://{DOMAIN}/.well-known/service.txt",
                "content": value,
                "note": "over https on port 443 with a valid certificate, no redirect, at most 64 KB",
            },
            "then": f"verify_domain (POST /v1/agents/me/domains/{DOMAIN}/verify)",
        },
        "created_at": at,
    } | changed


async def profile(market: TestMarket, agent: Agent) -> tuple[Any, int]:
    me = await market.call("get_me", by=agent)
    return me["verified_domain"], me["trust_tier"]


@covers("route.agents.domains.start", "route.agents.domains.verify", "route.agents.domains.get")
@covers("domain.dns", "domain.value", "domain.search", "event.kind.agent.domain_verified")
async def test_a_domain_is_claimed_published_and_proven_by_a_record(outside: ReadContext) -> None:
    market = outside.market
    ada, at = await market.register("Ada"), stamp(market.clock.now())
    pending = await market.call("add_domain", by=ada, domain=f"https://{DOMAIN.upper()}/")
    assert bare(pending) == row_of(ada, at)
    assert await market.call("add_domain", by=ada, domain=DOMAIN) == pending
    assert (await market.refusal("get_domain_claim", domain=DOMAIN))["code"] == "not_found"

    outside.publish(ada)
    market.pass_seconds(60)
    later = stamp(market.clock.now())
    checked = await market.call("verify_domain", by=ada, domain=DOMAIN)
    seen = {"verified_at": later, "last_checked_at": later}
    proven = row_of(ada, at, status="verified", method="dns", **seen)
    assert {name: checked[name] for name in proven} == proven
    told = {name: checked[name] for name in checked.keys() - proven - {"next_steps"}}
    hint = "The domain is yours. Leave the proof where it is: it is looked for every day."
    assert told == {"verified": True, "trust_tier": 0, "check": None, "hint": hint}
    assert outside.sites.asked == [], "the record is enough"

    me = await market.call("get_me", by=ada)
    assert await market.call("get_domain_claim", domain=DOMAIN) == {
        "object": "domain_claim",
        "domain": DOMAIN,
        "agent": {name: me[name] for name in ("id", "handle", "name", "did", "trust_tier", "first_party")},
        "method": "dns",
        **seen,
    }
    listed = await market.call("list_domains", by=ada)
    assert (listed["data"], listed["verified_domain"], listed["trust_tier"]) == ([proven], DOMAIN, 0)
    for env in Env:
        (event,) = await outside.events(ada, "agent.domain_verified", on=env)
        told = {name: event[name] for name in ("domain", "method", "trust_tier")}
        assert told == {"domain": DOMAIN, "method": "dns", "trust_tier": 0}
    for said in (DOMAIN, DOMAIN.upper() + ".", f"https://{DOMAIN}/"):
        found = await market.call("search_agents", domain=said)
        assert [one["id"] for one in found["data"]] == [ada.id]
    assert [one["id"] for one in (await market.call("search_agents", verified=True))["data"]] == [ada.id]
    assert (await market.call("search_agents", verified=False))["data"] == []


@covers("domain.file")
async def test_a_domain_is_proven_by_a_file_where_there_is_no_record(outside: ReadContext) -> None:
    ada = await outside.market.register("Ada")
    await outside.claimed(ada)
    outside.upload("# who we are", f"service={ada.id}")
    checked = await outside.market.call("verify_domain", by=ada, domain=DOMAIN)
    assert (checked["verified"], checked["method"], checked["check"]) == (True, "https", None)
    assert outside.zone.asked == [f"_service.{DOMAIN}"], "the record is looked for first"


@pytest.mark.parametrize(
    ("record", "file", "check"),
    [
        ([], None, ("no_record", "name_not_found")),
        ("timeout", (404, "x"), ("timeout", "status_404")),
        ([b"service=agt_other"], (301, "service={id}"), ("other_records_only", "redirected")),
        ([b"service={id}x"], (200, "service={id}x"), ("other_records_only", "other_lines_only")),
    ],
)
async def test_a_check_without_proof_is_answered_with_what_was_met(
    outside: ReadContext, record: Any, file: tuple[int, str] | None, check: tuple[str, str]
) -> None:
    market = outside.market
    ada = await market.register("Ada")
    await outside.claimed(ada)
    outside.zone.records[f"_service.{DOMAIN}"] = record
    if file:
        outside.upload(file[1].format(id=ada.id), status=file[0])
    checked = await market.call("verify_domain", by=ada, domain=DOMAIN)
    met = {"dns_error": check[0], "https_error": check[1]}
    assert (checked["verified"], checked["status"], checked["check"]) == (False, "pending", met)
    assert checked["last_error"] == f"dns: {check[0]}; https: {check[1]}"
    assert await outside.events(ada, "agent.domain_verified") == []


async def test_only_what_was_claimed_is_looked_at(outside: ReadContext) -> None:
    ada, bo = await outside.market.register("Ada"), await outside.market.register("Bo")
    await outside.claimed(ada)
    error = await outside.market.refusal("verify_domain", by=bo, domain=DOMAIN)
    assert (error["code"], error["param"]) == ("not_found", "domain")
    assert (outside.zone.asked, outside.sites.asked) == ([], [])


@covers("error.more.too_many_domains")
async def test_an_agent_claims_five_domains_and_says_the_same_twice(outside: ReadContext) -> None:
    market = outside.market
    ada = await market.register("Ada")
    for number in range(5):
        await outside.claimed(ada, f"a{number}.example.com")
    error = await market.refusal("add_domain", by=ada, domain="more.example.com")
    assert (error["code"], error["details"]) == ("too_many_domains", {"limit": 5})
    await outside.claimed(ada, "a0.example.com")
    await market.call("remove_domain", by=ada, domain="a0.example.com")
    await outside.claimed(ada, "more.example.com")
    assert len((await market.call("list_domains", by=ada))["data"]) == 5


async def test_five_is_the_most_also_for_claims_made_at_once(outside: ReadContext) -> None:
    market = outside.market
    ada = await market.register("Ada")
    names = [{"domain": f"a{number}.example.com"} for number in range(12)]
    answers = await asyncio.gather(*(market.answer("add_domain", one, key=ada.keys["test"]) for one in names))
    assert sorted(one.status for one in answers) == [201] * 5 + [409] * 7


@covers("tier.2", "event.kind.agent.domain_revoked")
async def test_tier_two_is_tier_one_with_a_domain_and_goes_with_it(outside: ReadContext) -> None:
    market = outside.market
    ada = await market.register("Ada")
    await write_row(market, AgentRow, ada.id, trust_tier=1)
    assert (await outside.verified(ada))["trust_tier"] == 2
    assert await profile(market, ada) == (DOMAIN, 2)
    assert await market.call("remove_domain", by=ada, domain=DOMAIN) == {"object": "domain.deleted", "domain": DOMAIN}
    assert await profile(market, ada) == (None, 1)
    assert (await market.refusal("get_domain_claim", domain=DOMAIN))["code"] == "not_found"
    assert (await market.call("search_agents", domain=DOMAIN))["data"] == []
    await outside.verified(ada)
    outside.publish()
    for _ in range(3):
        assert await outside.after(DAY) == 1
    assert await profile(market, ada) == (None, 1)
    (event,) = await outside.events(ada, "agent.domain_revoked")
    assert (event["domain"], event["reason"]) == (DOMAIN, "challenge_missing")


@covers("domain.daily")
async def test_a_proof_is_looked_for_every_day_and_missed_three_times_in_a_row_it_counts_no_longer(
    outside: ReadContext,
) -> None:
    market = outside.market
    ada = await market.register("Ada")
    await outside.verified(ada)
    assert await outside.after(DAY - 1) == 0
    assert await outside.after(1) == 1
    assert await outside.after(0) == 0, "once a day"
    outside.publish()
    await outside.after(DAY)
    await outside.after(DAY)
    (record,) = (await market.call("list_domains", by=ada))["data"]
    assert (record["status"], record["failures"]) == ("verified", 2)
    assert record["last_error"] == "dns: no_record; https: name_not_found"
    outside.publish(ada)
    await outside.after(DAY)
    (record,) = (await market.call("list_domains", by=ada))["data"]
    assert (record["failures"], record["last_error"], record["last_checked_at"]) == (
        0,
        None,
        stamp(market.clock.now()),
    )
    outside.publish()
    for days_missed in range(3):
        assert (await market.call("list_domains", by=ada))["data"][0]["failures"] == days_missed
        await outside.after(DAY)
    (record,) = (await market.call("list_domains", by=ada))["data"]
    assert (record["status"], record["revoked_reason"], record["failures"]) == ("revoked", "challenge_missing", 3)
    assert record["revoked_at"] == stamp(market.clock.now())
    assert await outside.after(10 * DAY) == 0, "nobody looks at it any more"
    again = await outside.verified(ada)
    assert (again["status"], again["revoked_at"], again["revoked_reason"], again["failures"]) == (
        "verified",
        None,
        None,
        0,
    )


async def test_checks_of_ones_own_revoke_nothing(outside: ReadContext) -> None:
    ada = await outside.market.register("Ada")
    await outside.verified(ada)
    outside.publish()
    for _ in range(4):
        checked = await outside.market.call("verify_domain", by=ada, domain=DOMAIN)
        assert (checked["verified"], checked["status"], checked["failures"]) == (False, "verified", 0)
    assert await profile(outside.market, ada) == (DOMAIN, 0)


@covers("domain.one_agent")
async def test_a_later_proof_by_another_agent_takes_the_domain_over(outside: ReadContext) -> None:
    market = outside.market
    ada, bo = await market.register("Ada"), await market.register("Bo")
    for agent in (ada, bo):
        await write_row(market, AgentRow, agent.id, trust_tier=1)
    await outside.verified(ada)
    assert (await outside.verified(bo))["trust_tier"] == 2
    assert (await profile(market, ada), await profile(market, bo)) == ((None, 1), (DOMAIN, 2))
    (record,) = (await market.call("list_domains", by=ada))["data"]
    assert (record["status"], record["revoked_reason"]) == ("revoked", "claimed_by_other_agent")
    (event,) = await outside.events(ada, "agent.domain_revoked")
    assert (event["domain"], event["reason"]) == (DOMAIN, "claimed_by_other_agent")
    assert (await market.call("get_domain_claim", domain=DOMAIN))["agent"]["id"] == bo.id
    assert [one["id"] for one in (await market.call("search_agents", domain=DOMAIN))["data"]] == [bo.id]
    assert await outside.after(DAY) == 1, "only who holds it is looked at"


async def test_the_same_domain_proven_by_two_agents_at_once_is_held_by_exactly_one(outside: ReadContext) -> None:
    market = outside.market
    ada, bo = await market.register("Ada"), await market.register("Bo")
    trade = Trade(market, None)  # type: ignore[arg-type] - nothing here is paid

    async def verify(place: int, agent: Agent) -> Any:
        PLACE.set(place)
        return await market.answer("verify_domain", {"domain": DOMAIN}, key=agent.keys["test"])

    for first in (0, 1):
        for agent in (ada, bo):
            await outside.claimed(agent)
        outside.publish(ada, bo)
        with together(trade):
            answers = await asyncio.gather(verify(first, ada), verify(1 - first, bo))
        assert [one.status for one in answers] == [200, 200]
        held = [one for one in (ada, bo) if (await profile(market, one))[0] == DOMAIN]
        rows = [await market.store.read(lambda tx, one=one: tx.get(DomainRow, one.id, DOMAIN)) for one in (ada, bo)]
        assert sorted(row.status for row in rows) == ["revoked", "verified"]
        assert [(await market.call("get_domain_claim", domain=DOMAIN))["agent"]["id"]] == [one.id for one in held]
        for agent in (ada, bo):
            await market.call("remove_domain", by=agent, domain=DOMAIN)


async def test_a_profile_shows_the_domain_proven_first_and_each_one_finds_the_agent(outside: ReadContext) -> None:
    market = outside.market
    ada = await market.register("Ada")
    for domain in ("z.example.com", "b.example.com"):
        await outside.verified(ada, domain)
        market.pass_seconds(1)
    assert (await profile(market, ada))[0] == "z.example.com"
    await market.call("update_me", by=ada, description="Still both.")
    for domain in ("z.example.com", "b.example.com"):
        assert [one["id"] for one in (await market.call("search_agents", domain=domain))["data"]] == [ada.id]
    await market.call("remove_domain", by=ada, domain="z.example.com")
    assert (await profile(market, ada))[0] == "b.example.com"


async def test_an_agent_that_leaves_releases_its_domains(outside: ReadContext) -> None:
    market = outside.market
    ada, bo = await market.register("Ada"), await market.register("Bo")
    await outside.verified(ada)
    await market.call("delete_me", by=ada, confirm=ada.handle)
    assert (await market.refusal("get_domain_claim", domain=DOMAIN))["code"] == "not_found"
    assert await outside.after(DAY) == 0
    assert (await outside.verified(bo))["verified"]
    assert await market.store.read(lambda tx: tx.get(DomainRow, ada.id, DOMAIN)) is None


async def test_twenty_checks_an_hour_are_counted_in_the_database_for_all_keys_of_an_agent(outside: ReadContext) -> None:
    market = outside.market
    ada = await market.register("Ada")
    await outside.claimed(ada)
    other = await market.call("create_api_key", by=ada, on="live", env="live")
    market.market.config = replace(market.market.config, limits=Limits())
    for number in range(20):
        key = (ada.keys["live"], other["key"])[number % 2]
        assert (await market.answer("verify_domain", {"domain": DOMAIN}, key=key)).status == 200
    market.market.windows.counts.clear()  # as in another process
    refused = await market.answer("verify_domain", {"domain": DOMAIN}, key=ada.keys["live"])
    assert refused.error is not None
    assert (refused.status, refused.error["details"]["retry_after_seconds"]) == (429, 3600)
    assert len(outside.zone.asked) == 20
    market.pass_seconds(3600)
    assert (await market.answer("verify_domain", {"domain": DOMAIN}, key=ada.keys["live"])).status == 200


@pytest.mark.parametrize("operation", ["add_domain", "verify_domain", "remove_domain", "get_domain_claim"])
@pytest.mark.parametrize("domain", ["127.0.0.1", "localhost", "a.internal", "[::1]", "0x7f.1", "x", "a" * 254])
async def test_a_text_that_names_no_domain_is_refused_and_the_field_is_named(
    outside: ReadContext, operation: str, domain: str
) -> None:
    ada = await outside.market.register("Ada")
    error = await outside.market.refusal(operation, by=ada, domain=domain)
    assert (error["code"], error["param"]) == ("invalid_request", "domain")
