"""The desk's services for one x402 payment: every row of the contract's table, and every case without a charge."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import httpx
import pytest

from emporion_client.orders import Orders
from server.desk.service import Kit
from tests.end_to_end.processes.test_demo import environment, free_ports, served
from tests.requirements import covers
from tests.server.desk.test_model_services import FAULTS, ORDERS, SCHEMA, SUMMARISED, TEXT, TRANSLATED
from tests.server.desk.test_services import SECRET, TRANSLATION, desk, eleven
from tests.server.desk.test_validate_json import DEEP
from tests.support.http_receiver import Receiver
from tests.support.model_answers import completion, page
from tests.support.refusals import COSTLY, LONG
from tests.support.servers import serving
from tests.support.x402_buyer import Purse, opened

TWICE = {"text": "The job is done. " * 100, "target_language": "German"}
DONE = {"translation": "Der Auftrag ist erledigt. " * 70, "source_language": "English", "notes": []}
WORDS = "words and words " * 1500


@dataclass(frozen=True)
class Place:
    """A market with its desk and chain, the port of the desk's model, and the services sold."""

    url: str
    chain: str
    model_port: int
    services: dict[str, Any]


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    with free_ports(3) as ports:
        own = environment(tmp_path_factory.mktemp("market"), ports)
    model = {"LLM_URL": f"http://127.0.0.1:{ports[2]}/v1", "LLM_MODEL": "m-1"}
    own |= {"EMPORION_OPERATOR_SECRET": SECRET} | {f"EMPORION_DESK_{name}": value for name, value in model.items()}
    with served(own, "--desk"):
        url, chain = (f"http://127.0.0.1:{port}" for port in ports[:2])
        yield Place(url, chain, ports[2], opened(url))


@pytest.fixture
def services(place: Place) -> dict[str, Any]:
    """The services of the served desk; some tests open further desks, whose listings remain."""
    return place.services


@pytest.fixture
async def endpoint(place: Place) -> AsyncIterator[Receiver]:
    async with Receiver(port=place.model_port) as made:
        yield made


@pytest.fixture
async def purse(place: Place) -> AsyncIterator[Purse]:
    async with httpx.AsyncClient(base_url=place.url, timeout=60, trust_env=False) as http:
        yield await Purse.filled(http)


@covers("service.operator.*")
async def test_every_service_of_the_table_is_sold_for_one_payment_and_delivered(
    purse: Purse, services: dict[str, Any], endpoint: Receiver, site: Receiver
) -> None:
    site.always = page(WORDS, "text/plain")
    orders: dict[str, tuple[Any, dict[str, int], int, Any]] = {
        "validate-json": ({"schema": SCHEMA, "data": {}}, {}, 10_000, None),
        "extract-web": ({"url": site.url}, {}, 10_000, None),
        "classify": ({"labels": ["praise", "b"], "items": ["x"] * 11}, {}, 2 * 20_000, eleven()),
        "translate": (TWICE, {}, 2 * 20_000, DONE),
        "extract-structured": ({"text": TEXT * 200, "schema": SCHEMA}, {}, 2 * 30_000, {"number": 3}),
        "summarize": ({"url": site.url}, {"units": 3}, 3 * 40_000, SUMMARISED),
    }
    assert services.keys() == orders.keys()
    income, spent = await purse.usdc(services["summarize"]["pay_to"]), 0
    outputs, buyers = {}, set()
    for name, (given, query, price, answer) in orders.items():
        endpoint.answers = [completion(answer)] if answer else []
        bought = await purse.buy(services[name]["listing_id"], given, **query)
        assert bought.status_code == 200, bought.text
        spent += price
        assert (bought.json()["paid"]["amount"], (await purse.charged())[0]) == (price, spent)
        outputs[name] = bought.json()["output"]
        buyers.add(bought.json()["account"]["agent_id"])
    assert [one["path"] for one in outputs["validate-json"]["results"][0]["errors"]] == [""]
    assert (outputs["extract-web"]["final_url"], outputs["extract-web"]["total_chars"]) == (site.url, len(WORDS) - 1)
    assert [one["label"] for one in outputs["classify"]["results"]] == ["praise"] * 11
    assert outputs["translate"]["translation"] == DONE["translation"].strip()
    assert outputs["extract-structured"]["data"] == {"number": 3}
    assert outputs["summarize"]["summary"] == SUMMARISED["summary"]
    assert (await purse.usdc(services["summarize"]["pay_to"]) - income, await purse.gas()) == (spent, 0)
    assert len(buyers) == 1
    jobs = (await purse.http.get("/v1/jobs", headers=await purse.claimed(bought.json()))).json()["data"]
    assert [(job["status"], job["units"]) for job in jobs] == [("completed", units) for units in (3, 2, 2, 2, 1, 1)]


async def test_what_cannot_be_worked_is_told_with_the_desks_own_reason_and_charged_to_nobody(
    purse: Purse, services: dict[str, Any], endpoint: Receiver, site: Receiver
) -> None:
    site.always = page(WORDS, "text/plain")
    with free_ports(1) as ports:
        gone = {"url": f"http://127.0.0.1:{ports[0]}/"}
    orders: list[tuple[str, Any, dict[str, int], str]] = [
        ("summarize", {"url": site.url}, {}, "Order again with units: 3."),
        ("summarize", {"url": site.url}, {"units": 4}, "it was ordered with 4. Order again with units: 3."),
        ("extract-web", gone, {}, "cannot be reached"),
        ("extract-web", {"url": "https://169.254.169.254/"}, {}, "not a public https address"),
        ("extract-structured", {"text": "x", "schema": {"type": "array"}}, {}, '"type": "object"'),
        ("validate-json", {"schema": {"$ref": "https://example.com/a"}, "data": 1}, {}, "$ref must be"),
        ("validate-json", {"schema": {"pattern": "(?=a)a"}, "data": "a"}, {}, "lookaround"),
        ("validate-json", {"schema": COSTLY, "data": LONG}, {}, "more than 250 ms to check"),
    ]
    for name, given, query, why in orders:
        status, code, message = await purse.refused(services[name]["listing_id"], given, **query)
        assert (status, code) == (409, "x402_not_delivered"), message
        assert message.startswith("the seller did not do the work; nothing was charged: ")
        assert why in message
    assert endpoint.got == []


async def test_what_the_schema_refuses_is_refused_before_it_is_ordered(
    purse: Purse, services: dict[str, Any], site: Receiver
) -> None:
    for name, given, query, expected in [
        ("validate-json", {"schema": {}, "documents": [1] * 101}, {}, (400, "input_schema_mismatch")),
        ("validate-json", {"schema": {}, "data": "x" * 600_000}, {}, (413, "payload_too_large")),
        ("validate-json", {"schema": DEEP, "data": "a"}, {}, (400, "malformed_json")),
        ("classify", {"labels": ["a"], "text": "x"}, {}, (400, "input_schema_mismatch")),
        ("translate", {"text": "x" * 50_001, "target_language": "de"}, {}, (400, "invalid_request")),
        ("validate-json", {"schema": {}, "data": 1}, {"units": 2}, (400, "invalid_request")),
        ("summarize", {"url": site.url}, {"units": 11}, (400, "invalid_request")),
    ]:
        status, code, message = await purse.refused(services[name]["listing_id"], given, **query)
        assert (status, code) == expected, message
    assert site.got == []


async def test_of_a_faulty_model_nothing_is_delivered_and_no_payment_is_handed_over(
    purse: Purse, services: dict[str, Any], endpoint: Receiver
) -> None:
    orders = {name: dict(order.input) for name, (order, _) in ORDERS.items()}
    for fault, why in {
        "cut off": "cut off",
        "other JSON": "the form it was asked for",
        "no JSON": "is no JSON",
        "empty": "is empty",
        "refusing": "the model refused",
        "HTTP 500": "HTTP 500",
        "hung up": "cannot be reached",
    }.items():
        endpoint.always = FAULTS[fault]
        for name in orders if fault == "other JSON" else ("translate",):
            status, code, message = await purse.refused(services[name]["listing_id"], orders[name])
            assert (status, code) == (409, "x402_not_delivered"), fault
            assert "nothing was charged: Nothing could be delivered: " in message
            assert name == "extract-structured" or why in message


async def test_a_model_that_is_too_slow_for_the_desk_costs_nobody_anything(
    purse: Purse, place: Place, tmp_path: Path, kit: Kit, endpoint: Receiver
) -> None:
    assert kit.model is not None
    kit.model.seconds, endpoint.always = 0.5, FAULTS["slow"]
    async with desk(place.url, tmp_path, kit) as listings:
        status, code, message = await purse.refused(listings["translate"], TRANSLATION)
    assert (status, code) == (409, "x402_not_delivered")
    assert "the model did not answer in time" in message


async def test_without_an_endpoint_the_services_of_a_model_are_not_sold(
    purse: Purse, place: Place, tmp_path: Path, kit: Kit
) -> None:
    async with desk(place.url, tmp_path, replace(kit, model=None)) as listings:
        shown = await purse.on_sale()
        for name, listing in listings.items():
            assert (listing in shown) == (name not in ORDERS)
            if name in ORDERS:
                given = dict(ORDERS[name][0].input)
                assert (await purse.refused(listing, given))[:2] == (409, "listing_unavailable")
        bought = await purse.buy(listings["validate-json"], {"schema": {}, "data": 1})
        assert bought.status_code == 200, bought.text


class EarlierForTheLater:
    """A patience that ends for the first purchase after all others.

    No other purchase gets the place of the first.
    """

    first: datetime | None = None

    def __radd__(self, created_at: datetime) -> datetime:
        self.first = self.first or created_at
        return self.first + timedelta(seconds=3 if created_at == self.first else 1)


@pytest.mark.parametrize("told", [True, False], ids=["is told of it", "finds out when it delivers"])
async def test_a_desk_stops_work_on_a_purchase_that_ran_out_of_time_and_works_the_next(
    told: bool,
    purse: Purse,
    place: Place,
    tmp_path: Path,
    kit: Kit,
    endpoint: Receiver,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """At the timeout, one order is with the slow model and one waits for a place."""
    over = asyncio.Event()

    async def late(writer: asyncio.StreamWriter) -> None:
        await over.wait()
        await completion(TRANSLATED)(writer)

    if not told:
        monkeypatch.setattr(Orders, "stop", lambda *_: None)
    assert kit.model is not None
    kit.model.seconds, endpoint.answers, endpoint.always = 1000, [late], completion(TRANSLATED)
    chain = {"test_rpc_url": place.chain, "test_facilitator_url": f"{place.chain}/facilitator"}
    async with (
        serving(tmp_path / "market", operator_secret=SECRET, allow_private_networks=True, **chain) as service,
        httpx.AsyncClient(base_url=service.settings.url, timeout=60, trust_env=False) as http,
        desk(service.settings.url, tmp_path, kit, at_once=1) as listings,
    ):
        purse = replace(purse, http=http)
        first = await purse.buy(listings["validate-json"], {"schema": {}, "data": 1})
        assert first.status_code == 200, "who never paid holds one place of a listing; now two may be held"
        with monkeypatch.context() as patch:
            patch.setattr("tools.purchases.rules.PATIENCE", EarlierForTheLater())
            worked = asyncio.create_task(purse.refused(listings["translate"], TRANSLATION))
            await endpoint.has(1)
            waited = await purse.refused(listings["translate"], TRANSLATION)
            ended = [await worked, waited]
        assert ended == [(409, "x402_timeout", "the work did not come in time; nothing was charged")] * 2
        if not told:
            over.set()
        bought = await purse.buy(listings["translate"], TRANSLATION)
        assert bought.status_code == 200, bought.text
        jobs = (await http.get("/v1/jobs", headers=await purse.claimed(bought.json()))).json()["data"]
    assert [job["status"] for job in jobs] == ["completed", "cancelled", "cancelled", "completed"]
    assert {job["cancel_reason"] for job in jobs} == {None, "the purchase it was ordered for came to nothing"}
    assert [job["accepted_at"] for job in jobs[1:3]] == [None, None]
    assert len(endpoint.got) == 2, "what waited for its place is not worked any more"
