"""Routes by their documented paths, over HTTP: each works, and an agent without access gets 404."""

from typing import Any

import pytest

from rest.routes import MAX_KEPT, Router
from server.webhook_sender import Sender
from tests.requirements import covers
from tests.server.test_http import Web, web
from tests.support.bounties import NEED
from tests.support.http_receiver import Receiver
from tests.support.panels import Court
from tests.support.proofs import Registry, own_file
from tests.support.trade import PRICE, Trade
from tests.support.webhooks import Scene
from tools.catalogue import CATALOGUE
from tools.engine.errors import InvalidRequest, RouteNotFound


async def not_for(http: Web, key: str, *calls: tuple[str, str]) -> None:
    """Check that a stranger's key gets 404 at each of these."""
    for method, path in calls:
        body = {"status": "active"} if method == "PATCH" else None
        assert (await http.ask(method, path, body, key=key, status=404))["error"]["code"] == "not_found"


@covers("route.decided.bounties.get", "route.decided.bounties.close")
@covers("route.decided.proposals.list", "route.decided.proposals.withdraw")
async def test_a_bounty_is_read_and_closed_and_a_proposal_listed_and_withdrawn(trade: Trade) -> None:
    seller, buyer = await trade.parties()
    stranger = await trade.market.register("Stu")
    selling, buying = seller.keys["test"], buyer.keys["test"]
    async with web(trade.market) as http:
        posted = await http.ask("POST", "/v1/bounties", NEED, key=buying, status=201)
        path = f"/v1/bounties/{posted['id']}"
        made = await http.ask("POST", f"{path}/proposals", {"price": PRICE}, key=selling, status=201)
        listed = await http.ask("GET", f"{path}/proposals", key=buying)
        assert [(one["id"], one["price"], one["status"]) for one in listed["data"]] == [(made["id"], PRICE, "pending")]
        assert (await http.ask("GET", f"{path}/proposals", key=stranger.keys["test"]))["data"] == []
        gone = await http.ask("DELETE", f"{path}/proposals/me", key=selling)
        assert (gone["id"], gone["status"]) == (made["id"], "withdrawn")
        seen = await http.ask("GET", path, env="test")
        assert (seen["id"], seen["title"], seen["status"], seen["proposal_count"]) == (
            posted["id"],
            NEED["title"],
            "open",
            0,
        )
        await http.ask("GET", path, env="live", status=404)
        await not_for(http, stranger.keys["test"], ("POST", f"{path}/close"))
        assert (await http.ask("POST", f"{path}/close", key=buying))["status"] == "closed"
        assert (await http.ask("GET", path, env="test"))["status"] == "closed"


@covers("route.decided.disputes.withdraw", "route.decided.jobs.events", "route.decided.jobs.delivery")
async def test_a_dispute_is_withdrawn_and_the_jobs_events_and_delivery_are_read(trade: Trade) -> None:
    court = await Court.opened(trade, price=PRICE)
    stranger = (await trade.market.register("Stu")).keys["test"]
    buying, path = court.buyer.keys["test"], f"/v1/jobs/{court.job['id']}"
    async with web(trade.market) as http:
        withdrawing = f"/v1/disputes/{court.dispute_id}/withdraw"
        await not_for(http, stranger, ("POST", withdrawing), ("GET", f"{path}/events"), ("GET", f"{path}/deliveries/0"))
        seen = await http.ask("POST", withdrawing, key=buying)
        assert (seen["status"], seen["outcome"], seen["resolved_by"]) == ("resolved", None, "buyer")
        assert (await http.ask("GET", path, key=buying))["status"] == "completed"
        events = await http.ask("GET", f"{path}/events", key=court.seller.keys["test"])
        steps = ["created", "accepted", "delivered", "payment_due", "paid", "disputed", "completed"]
        assert [one["type"] for one in events["data"]] == steps
        assert {one["object"] for one in events["data"]} == {"job_event"}
        assert [one["actor_id"] for one in events["data"]][:3] == [court.buyer.id, court.seller.id, court.seller.id]
        delivery = await http.ask("GET", f"{path}/deliveries/0", key=buying)
        assert (delivery["revision"], delivery["output"]) == (0, {"english": "good day"})
        await http.ask("GET", f"{path}/deliveries/1", key=buying, status=404)


@covers("route.decided.threads.read", "route.decided.memory.delete")
async def test_a_thread_is_marked_as_read_and_a_memory_forgotten(trade: Trade) -> None:
    ada, bo = [await trade.market.register(name) for name in ("Ada", "Bo")]
    stranger, key = (await trade.market.register("Stu")).keys["test"], bo.keys["test"]
    async with web(trade.market) as http:
        begun = await http.ask("POST", "/v1/threads", {"to": bo.id, "body": "1"}, key=ada.keys["test"], status=201)
        thread_id = begun["thread"]["id"]
        last = await http.ask(
            "POST", f"/v1/threads/{thread_id}/messages", {"body": "2"}, key=ada.keys["test"], status=201
        )
        assert (await http.ask("GET", "/v1/inbox", key=key))["unread_total"] == 2
        await not_for(http, stranger, ("POST", f"/v1/threads/{thread_id}/read"))
        read = await http.ask("POST", f"/v1/threads/{thread_id}/read", key=key)
        assert (read["thread_id"], read["unread_count"], read["last_read_message_id"]) == (thread_id, 0, last["id"])
        assert (await http.ask("GET", "/v1/inbox", key=key))["unread_total"] == 0
        await http.ask("PUT", "/v1/memory/plan", {"value": [1]}, key=key)
        assert await http.ask("DELETE", "/v1/memory/plan", key=key) == {
            "object": "memory",
            "key": "plan",
            "deleted": True,
        }
        await http.ask("GET", "/v1/memory/plan", key=key, status=404)


@covers("route.decided.webhooks.*")
async def test_a_webhook_is_read_changed_tried_sent_again_and_ended(scene: Scene) -> None:
    ada, stu = await scene.market.register("Ada"), await scene.market.register("Stu")
    key = ada.keys["test"]
    async with Receiver() as receiver, web(scene.market) as http:
        hook = await http.ask("POST", "/v1/webhooks", {"url": receiver.url}, key=key, status=201)
        path = f"/v1/webhooks/{hook['id']}"
        seen = await http.ask("GET", path, key=key)
        assert (seen["id"], seen["url"], seen["status"], seen.get("secret")) == (
            hook["id"],
            receiver.url,
            "active",
            None,
        )
        changed = await http.ask("PATCH", path, {"event_types": ["job.*"]}, key=key)
        assert changed["event_types"] == (await http.ask("GET", path, key=key))["event_types"] == ["job.*"]
        assert (await http.ask("POST", f"{path}/test", key=key))["status"] == "queued"
        await Sender(scene.market.market).step()
        (sent,) = (await http.ask("GET", f"{path}/deliveries", key=key))["data"]
        assert (sent["event_type"], sent["status"], sent["attempt"]) == ("webhook.test", "delivered", 1)
        again = f"{path}/deliveries/{sent['id']}/redeliver"
        calls = [("GET", path), ("PATCH", path), ("DELETE", path), ("GET", f"{path}/deliveries")]
        await not_for(http, stu.keys["test"], *calls, ("POST", f"{path}/test"), ("POST", again))
        assert (await http.ask("POST", again, key=key))["status"] == "pending"
        await Sender(scene.market.market).step()
        assert [one.body["type"] for one in receiver.got] == ["webhook.test"] * 2
        assert (await http.ask("DELETE", path, key=key))["deleted"] is True
        await http.ask("GET", path, key=key, status=404)


@covers("route.decided.schedules.*")
async def test_a_schedule_is_read_paused_and_ended(trade: Trade) -> None:
    ada, stu = await trade.market.register("Ada"), await trade.market.register("Stu")
    key = ada.keys["test"]
    async with web(trade.market) as http:
        made = await http.ask("POST", "/v1/schedules", {"in_seconds": 60, "payload": {"n": 1}}, key=key, status=201)
        path = f"/v1/schedules/{made['id']}"
        seen = await http.ask("GET", path, key=key)
        assert (seen["id"], seen["status"], seen["payload"]) == (made["id"], "active", {"n": 1})
        await not_for(http, stu.keys["test"], ("GET", path), ("PATCH", path), ("DELETE", path))
        assert (await http.ask("PATCH", path, {"status": "paused"}, key=key))["status"] == "paused"
        assert (await http.ask("GET", path, key=key))["status"] == "paused"
        assert (await http.ask("DELETE", path, key=key))["deleted"] is True
        await http.ask("GET", path, key=key, status=404)


@covers("route.decided.erc8004.unlink", "route.decided.domains.list", "route.decided.domains.remove")
async def test_an_identity_is_unlinked_and_a_domain_listed_and_removed(trade: Trade) -> None:
    ada = await trade.agent("Ada")
    key, registry = ada.keys["test"], Registry(trade.evm)
    token = registry.register(ada.wallet, own_file(ada))
    async with web(trade.market) as http:
        linked = await http.ask("POST", "/v1/agents/me/erc8004", {"agent_id": token}, key=key)
        assert linked["erc8004"]["agent_id"] == token
        assert (await http.ask("DELETE", "/v1/agents/me/erc8004", key=key))["erc8004"] is None
        assert (await http.ask("GET", f"/v1/agents/{ada.id}"))["erc8004"] is None
        await http.ask("POST", "/v1/agents/me/domains", {"domain": "a.example.com"}, key=key, status=201)
        (claim,) = (await http.ask("GET", "/v1/agents/me/domains", key=key))["data"]
        assert (claim["domain"], claim["verified_at"]) == ("a.example.com", None)
        removed = await http.ask("DELETE", "/v1/agents/me/domains/a.example.com", key=key)
        assert removed == {"object": "domain.deleted", "domain": "a.example.com"}
        assert (await http.ask("GET", "/v1/agents/me/domains", key=key))["data"] == []
        await http.ask("DELETE", "/v1/agents/me/domains/a.example.com", key=key, status=404)


@covers("clients.reference.same")
async def test_an_order_with_a_known_reference_is_answered_200_and_listed_by_it(trade: Trade) -> None:
    seller, buyer = await trade.parties()
    listing, key = await trade.listing(seller), buyer.keys["test"]
    order = {"listing_id": listing["id"], "input": {"text": "guten Tag"}, "reference": "row-7"}
    async with web(trade.market) as http:
        made = await http.ask("POST", "/v1/jobs", order, key=key, status=201)
        again = await http.ask("POST", "/v1/jobs", order, key=key)
        hired = await http.ask("POST", "/v1/hire", order | {"wait_seconds": 0}, key=key)
        assert made["id"] == again["id"] == hired["job"]["id"]
        other = order | {"title": "Another"}
        error = (await http.ask("POST", "/v1/hire", other, key=key, status=409))["error"]
        assert (error["code"], error["details"]["job_id"]) == ("reference_reused", made["id"])
        for query, found in (
            ("reference=row-7", [made["id"]]),
            ("reference=row-8", []),
            ("status=open,delivered", [made["id"]]),
            ("status=delivered,%20completed", []),
        ):
            listed = await http.http.get(f"/v1/jobs?{query}", headers={"X-API-Key": key})
            assert [one["id"] for one in listed.json()["data"]] == found, query
        await http.ask("GET", "/v1/jobs", reference="row-7", status=401)


def asked(path: str, query: str = "", method: str = "GET") -> dict[str, Any]:
    return {"method": method, "path": path, "raw_path": path.encode(), "query_string": query.encode()}


def test_the_target_of_a_read_is_parsed_once_and_no_error_is_kept() -> None:
    router = Router([*CATALOGUE.values()])
    first = router.route(asked("/v1/listings", "q=translate&limit=5"))
    assert (first.op.name, first.read().identity()["q"]) == ("search_listings", "translate")
    again = router.route(asked("/v1/listings", "q=translate&limit=5"))
    assert again is first
    assert again.read() is first.read()
    assert router.route(asked("/v1/listings", "q=translate&limit=6")).read() != first.read()
    assert router.route(asked("/v1/listings", method="POST")).op.name == "create_listing"
    wrong = router.route(asked("/v1/listings", "limit=0"))
    for _ in range(2):
        with pytest.raises(InvalidRequest, match="limit"):
            wrong.read()
        with pytest.raises(RouteNotFound):
            router.route(asked("/v1/nothing"))


def test_a_long_target_is_not_kept() -> None:
    router, long = Router([*CATALOGUE.values()]), asked("/v1/listings", "q=" + "a" * MAX_KEPT)
    assert router.route(long) is not router.route(long)
    assert router.kept.cache_info().currsize == 0
