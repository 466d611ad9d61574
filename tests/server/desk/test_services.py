"""The desk on a served sandbox: every row of the contract's table as jobs, faulty models, restarts."""

import asyncio
import os
import stat
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest.mock import ANY

import httpx
import orjson
import pytest

from server.desk.catalogue import SERVICES
from server.desk.keys import FILE, KeyFile
from server.desk.market import Away, Market
from server.desk.opening import NO_MODEL, _on_sale, open_desk
from server.desk.service import Declined, Kit, Service
from server.desk.worker import AT_ONCE, FAULT, UNSAID, Worker
from server.settings import BadSettings, read_settings
from tests.end_to_end.processes.test_demo import environment, free_ports, served
from tests.requirements import covers
from tests.server.desk.test_model_services import FAULTS, LABELLED, ORDERS, SCHEMA, SUMMARISED, TEXT, TRANSLATED
from tests.support.commands import Started, run, start
from tests.support.desk_buyer import Buyer
from tests.support.http_receiver import Receiver, hang
from tests.support.model_answers import ARTICLE, completion, page

SECRET = "the-operator's-own-secret"
TRANSLATION = dict(ORDERS["translate"][0].input)


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A market with its sandbox chain, without a desk."""
    with free_ports(2) as ports:
        own = environment(tmp_path_factory.mktemp("market"), ports)
    with served(own | {"EMPORION_OPERATOR_SECRET": SECRET}):
        yield f"http://127.0.0.1:{ports[0]}"


@pytest.fixture
async def buyer(base: str) -> AsyncIterator[Buyer]:
    async with httpx.AsyncClient(base_url=base, timeout=60, trust_env=False) as http:
        yield await Buyer.joined(http)


@asynccontextmanager
async def desk(
    base: str, folder: Path, kit: Kit, secret: str | None = SECRET, at_once: int = AT_ONCE
) -> AsyncIterator[dict[str, str]]:
    """Run a desk; yield the listing of each service. It is cancelled at the end, like a kill."""
    async with Market(base) as market:
        model = {"desk_llm_url": kit.model.url, "desk_llm_model": kit.model.name} if kit.model else {}
        settings = read_settings(_env_file=None, operator_secret=secret, **model)
        services = await open_desk(market, KeyFile(folder), settings)
        task = asyncio.create_task(Worker(market, kit, services, at_once).run())
        try:
            yield {one.name: listing for listing, one in services.items()}
        finally:
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task


@covers("service.operator.*")
async def test_every_service_of_the_table_is_sold_by_the_desk_of_a_sandbox(tmp_path: Path) -> None:
    async with Receiver() as endpoint, Receiver() as site:
        site.always = page(ARTICLE)
        with free_ports(2) as ports:
            own = environment(tmp_path, ports)
        own |= {"EMPORION_DESK_LLM_URL": f"http://127.0.0.1:{endpoint.port}/v1", "EMPORION_DESK_LLM_MODEL": "m-1"}
        with served(own, "--desk"):
            url = f"http://127.0.0.1:{ports[0]}"
            async with httpx.AsyncClient(base_url=url, timeout=60, trust_env=False) as http:
                buyer = await Buyer.joined(http)
                listings = await buyer.listings(at_least=6)
                orders: dict[str, tuple[Any, int, Any]] = {
                    "validate-json": ({"schema": SCHEMA, "data": {}}, 10_000, None),
                    "extract-web": ({"url": site.url}, 10_000, None),
                    "classify": ({"labels": ["praise", "b"], "items": ["x"] * 11}, 40_000, eleven()),
                    "translate": (TRANSLATION, 20_000, TRANSLATED),
                    "extract-structured": ({"text": TEXT, "schema": SCHEMA}, 30_000, {"number": 3}),
                    "summarize": ({"url": site.url}, 40_000, SUMMARISED),
                }
                outputs = {}
                for name, (given, price, answer) in orders.items():
                    endpoint.answers = [completion(answer)] if answer else []
                    job = await buyer.order(listings[name]["id"], given)
                    delivered = await buyer.until(job, "delivered")
                    assert (delivered["price"], delivered["output_sealed"], delivered["output"]) == (price, True, None)
                    outputs[name] = (await buyer.paid(job))["output"]
                    assert (await buyer.post(f"/v1/jobs/{job['id']}/accept"))["status"] == "completed"
    assert [one["path"] for one in outputs["validate-json"]["results"][0]["errors"]] == [""]
    assert outputs["extract-web"]["title"] == outputs["summarize"]["source"]["title"] == "How it is paid"
    assert [one["label"] for one in outputs["classify"]["results"]] == ["praise"] * 11
    assert outputs["translate"]["translation"] == TRANSLATED["translation"]
    assert outputs["extract-structured"]["data"] == {"number": 3}
    assert outputs["summarize"]["summary"] == SUMMARISED["summary"]
    assert stat.S_IMODE((tmp_path / FILE).stat().st_mode) == 0o600
    with KeyFile(tmp_path).held():
        """The desk has stopped with its market, so no process uses its keys."""


def eleven() -> Any:
    return {"results": [{**LABELLED["results"][0], "index": index} for index in range(11)]}


async def test_of_a_faulty_model_nothing_is_delivered_and_nobody_is_charged(
    base: str, tmp_path: Path, buyer: Buyer, kit: Kit, endpoint: Receiver
) -> None:
    assert kit.model is not None
    kit.model.seconds = 1.0
    async with desk(base, tmp_path, kit) as listings:
        for fault in ("cut off", "other JSON", "no JSON", "empty", "refusing", "slow", "HTTP 500", "hung up"):
            endpoint.always = FAULTS[fault]
            job = await buyer.order(listings["translate"], TRANSLATION)
            ended = await buyer.until(job, "cancelled", "delivered")
            assert (ended["status"], ended["output_commitment"]) == ("cancelled", None), fault
            assert "You are not charged" in ended["cancel_reason"]
            assert ended["payment"]["status"] == "not_due"
            await buyer.post(f"/v1/jobs/{job['id']}/pay", (409,))


async def test_what_cannot_be_worked_is_declined_with_the_reason_before_it_is_accepted(
    base: str, tmp_path: Path, buyer: Buyer, kit: Kit, site: Receiver, endpoint: Receiver
) -> None:
    site.always = page("words and words " * 1500, "text/plain")
    with free_ports(1) as ports:
        gone = {"url": f"http://127.0.0.1:{ports[0]}/"}
    async with desk(base, tmp_path, kit) as listings:
        orders = [
            ("summarize", {"url": site.url}, 1, "units: 3"),
            ("extract-web", gone, None, "cannot be reached"),
            ("extract-web", {"url": "https://169.254.169.254/"}, None, "not a public https address"),
            ("validate-json", {"schema": {"$ref": "https://example.com/a"}, "data": 1}, None, "$ref must be"),
            ("extract-structured", {"text": "x", "schema": {"type": "array"}}, 1, '"type": "object"'),
        ]
        for name, given, units, why in orders:
            ended = await buyer.until(
                await buyer.order(listings[name], given, units), "declined", "delivered", "cancelled"
            )
            assert (ended["status"], ended["accepted_at"]) == ("declined", None)
            assert why in ended["cancel_reason"]
    assert endpoint.got == []


async def test_the_market_counts_the_units_of_an_input_itself(
    base: str, tmp_path: Path, buyer: Buyer, kit: Kit
) -> None:
    async with desk(base, tmp_path, kit) as listings:
        given = {"text": "x" * 2001, "target_language": "German"}
        refused = await buyer.post("/v1/jobs", (400,), listing_id=listings["translate"], input=given, units=1)
        assert "comes to 3" in refused["error"]["message"]
        assert (await buyer.order(listings["translate"], given))["price"] == 60_000


async def test_without_a_model_its_services_are_paused_and_say_so_until_there_is_one(
    base: str, tmp_path: Path, buyer: Buyer, kit: Kit
) -> None:
    for model, status in ((None, "paused"), (kit.model, "active"), (None, "paused")):
        async with desk(base, tmp_path, replace(kit, model=model)) as listings:
            for name, listing in listings.items():
                shown = await buyer.get(f"/v1/listings/{listing}", env="test")
                assert shown["status"] == (status if name in ORDERS else "active")
                assert shown["description"].startswith(NO_MODEL) == (name in ORDERS and model is None)
            if model is None:
                refused = await buyer.post("/v1/jobs", (409,), listing_id=listings["translate"], input=TRANSLATION)
                assert refused["error"]["code"] == "listing_unavailable"
    assert len({*listings.values()}) == 6


async def test_a_desk_that_ended_in_the_middle_is_taken_up_by_the_next_one(
    base: str, tmp_path: Path, buyer: Buyer, kit: Kit, endpoint: Receiver
) -> None:
    assert kit.model is not None
    kit.model.seconds = 30
    endpoint.always = hang
    async with desk(base, tmp_path, kit) as listings:
        await buyer.known(listings)
        first = await buyer.until(await buyer.order(listings["translate"], TRANSLATION), "in_progress")
        await endpoint.has(1)
    waiting = await buyer.order(listings["translate"], TRANSLATION)
    assert (await buyer.get(f"/v1/jobs/{first['id']}"))["status"] == "in_progress"
    endpoint.always = completion(TRANSLATED)
    async with desk(base, tmp_path, kit) as again:
        assert again == listings
        jobs = [await buyer.until(job, "delivered", "cancelled", "declined") for job in (first, waiting)]
    assert [job["status"] for job in jobs] == ["delivered", "delivered"]
    assert len(endpoint.got) == 3, "what was cut off once more, and the order that waited"
    async with desk(base, tmp_path, kit):
        await asyncio.sleep(0.5)
        trails = [await buyer.get(f"/v1/jobs/{job['id']}/events") for job in jobs]
    told = [[one["type"] for one in trail["data"]] for trail in trails]
    assert told == [["created", "accepted", "delivered", "payment_due"]] * 2
    assert len(endpoint.got) == 3


def begun(base: str, env: dict[str, str]) -> Started:
    return start(["desk", "run", "--url", base], env)


async def test_a_process_that_was_killed_is_followed_by_one_that_finishes_its_work(
    base: str, tmp_path: Path, buyer: Buyer, endpoint: Receiver
) -> None:
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("EMPORION_", "DATABASE_URL"))}
    model = {"DESK_LLM_URL": f"http://127.0.0.1:{endpoint.port}/v1", "DESK_LLM_MODEL": "m-1", "DATA_DIR": str(tmp_path)}
    given = kept | {f"EMPORION_{name}": value for name, value in (model | {"OPERATOR_SECRET": SECRET}).items()}
    endpoint.always = hang
    first = begun(base, given)
    assert first.stdout is not None
    said = await asyncio.to_thread(first.stdout.readline)
    assert said == f"The desk is open at {base}: 6 services on sale\n".encode()
    keys = orjson.loads((tmp_path / FILE).read_bytes())
    listings = (await buyer.get("/v1/listings", env="test", seller=keys["agent_id"]))["data"]
    (translating,) = [one["id"] for one in listings if one["tags"][0] == "translate"]
    job = await buyer.until(await buyer.order(translating, TRANSLATION), "in_progress")
    await endpoint.has(1)
    first.kill()
    first.communicate()
    endpoint.always = completion(TRANSLATED)
    second = begun(base, given)
    assert (await buyer.until(job, "delivered", "cancelled"))["status"] == "delivered"
    second.terminate()
    assert (second.communicate(timeout=20), second.returncode) == ((ANY, None), 0)
    assert orjson.loads((tmp_path / FILE).read_bytes()) == keys


def test_a_desk_without_a_model_says_how_many_services_wait_for_one() -> None:
    with_model = read_settings(_env_file=None, desk_llm_url="http://127.0.0.1:1/v1", desk_llm_model="m-1")
    assert _on_sale(SERVICES, with_model) == "6 services on sale"
    without = read_settings(_env_file=None)
    assert _on_sale(SERVICES, without) == "2 services on sale, 4 wait for EMPORION_DESK_LLM_URL"


def test_a_desk_that_cannot_begin_says_why(tmp_path: Path) -> None:
    with free_ports(2) as ports:
        own = environment(tmp_path, ports)
    for words, more, said in (
        (["serve", "--desk"], {}, "--desk goes with --sandbox"),
        (["desk", "run"], {"EMPORION_DESK_LLM_URL": "http://127.0.0.1:1/v1"}, "set EMPORION_DESK_LLM_MODEL"),
        (["desk", "run"], {"EMPORION_DESK_ENV": "both"}, "EMPORION_DESK_ENV"),
    ):
        done = run(words, own | more)
        assert (done.returncode, said in done.stderr) == (2, True), done.stderr


async def test_a_revision_gets_the_same_output_again(
    base: str, tmp_path: Path, buyer: Buyer, kit: Kit, endpoint: Receiver
) -> None:
    endpoint.answers = [completion(TRANSLATED)]
    async with desk(base, tmp_path, kit) as listings:
        job = await buyer.until(await buyer.order(listings["translate"], TRANSLATION), "delivered")
        first = await buyer.paid(job)
        revised = await buyer.post(f"/v1/jobs/{job['id']}/request_revision", message="Another word, please.")
        again = await buyer.until(revised, "delivered")
    assert (again["output"], again["revision_count"]) == (first["output"], 1)
    assert len(endpoint.got) == 1


async def test_an_order_that_breaks_the_desk_ends_itself_and_no_other(
    base: str, tmp_path: Path, buyer: Buyer, kit: Kit, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(_: Service, *__: object) -> Any:
        raise ZeroDivisionError

    async with desk(base, tmp_path, kit) as listings:
        with monkeypatch.context() as patch:
            patch.setattr("server.desk.worker.Order", broken)
            job = await buyer.order(listings["validate-json"], {"schema": {}, "data": 1})
            ended = await buyer.until(job, "declined", "cancelled", "delivered")
        assert (ended["status"], ended["cancel_reason"]) == ("declined", FAULT)
        good = await buyer.order(listings["validate-json"], {"schema": {}, "data": 1})
        await buyer.until(good, "delivered")


async def test_an_order_without_a_model_does_not_wait_behind_a_slow_one(
    base: str, tmp_path: Path, buyer: Buyer, kit: Kit, endpoint: Receiver
) -> None:
    endpoint.always = hang
    async with desk(base, tmp_path, kit) as listings:
        await buyer.known(listings)
        for _ in range(5):
            await buyer.order(listings["translate"], TRANSLATION)
        await endpoint.has(4)
        quick = await buyer.order(listings["validate-json"], {"schema": {}, "data": 1})
        await buyer.until(quick, "delivered")
    assert endpoint.most_at_once == 4


async def test_a_reason_that_would_quote_a_secret_is_left_unsaid(
    base: str, tmp_path: Path, buyer: Buyer, kit: Kit, monkeypatch: pytest.MonkeyPatch
) -> None:
    def quoting(*_: object) -> Any:
        raise Declined("You said as_live_" + "Ab3" * 14)

    monkeypatch.setattr("server.desk.worker.Order", quoting)
    async with desk(base, tmp_path, kit) as listings:
        job = await buyer.order(listings["validate-json"], {"schema": {}, "data": 1})
        assert (await buyer.until(job, "declined"))["cancel_reason"] == UNSAID


async def test_only_so_many_are_worked_at_once_and_all_in_the_end(
    base: str, tmp_path: Path, buyer: Buyer, kit: Kit, endpoint: Receiver
) -> None:
    async def slowly(writer: asyncio.StreamWriter) -> None:
        await asyncio.sleep(0.3)
        await completion(TRANSLATED)(writer)

    assert kit.model is not None
    kit.model.seconds, endpoint.always = 10, slowly
    others = []
    async with desk(base, tmp_path, kit) as listings:
        await buyer.known(listings)
        jobs = [await buyer.order(listings["translate"], TRANSLATION) for _ in range(5)]
        async with httpx.AsyncClient(base_url=base, timeout=60, trust_env=False) as http:
            other = await (await Buyer.joined(http)).known(listings)
            others = [await other.order(listings["translate"], TRANSLATION) for _ in range(5)]
            ended = [await buyer.until(job, "delivered", "cancelled") for job in jobs]
            ended += [await other.until(job, "delivered", "cancelled") for job in others]
    assert {job["status"] for job in ended} == {"delivered"}
    assert endpoint.most_at_once <= 4


async def test_a_desk_that_is_not_labelled_sells_all_the_same_and_counts_by_itself(
    base: str, tmp_path: Path, buyer: Buyer, kit: Kit, endpoint: Receiver
) -> None:
    endpoint.always = completion({**TRANSLATED, "translation": "x" * 1500})
    given = {"text": "x" * 1500, "target_language": "German"}
    async with desk(base, tmp_path, kit, secret=None) as listings:
        shown = await buyer.get(f"/v1/listings/{listings['translate']}", env="test")
        assert (shown["first_party"], shown["pricing"]["unit_basis"]) == (False, None)
        ended = await buyer.until(await buyer.order(listings["translate"], given, 1), "declined")
        assert "units: 2" in ended["cancel_reason"]
        await buyer.until(await buyer.order(listings["translate"], given, 2), "delivered")
    async with desk(base, tmp_path, kit) as labelled:
        assert labelled == listings
        assert (await buyer.get(f"/v1/listings/{listings['translate']}", env="test"))["pricing"]["unit_basis"][
            "max"
        ] == 50


async def test_keys_are_one_desks_and_a_sandbox_that_was_emptied_is_joined_anew(base: str, tmp_path: Path) -> None:
    file = KeyFile(tmp_path)
    with file.held(), pytest.raises(BadSettings, match="another desk"), KeyFile(tmp_path).held():
        pass
    wallet = file.read().wallet_key
    stale = {"live": "as_live_" + "x" * 40, "test": "as_test_" + "x" * 40}
    file.write(replace(file.read(), agent_id="agt_gone", api_keys=stale))
    async with Market(base) as market:
        with pytest.raises(BadSettings, match="move the file away"):
            await open_desk(market, file, read_settings(_env_file=None, desk_env="live"))
        assert len(await open_desk(market, file, read_settings(_env_file=None))) == 6
    kept = file.read()
    assert kept.wallet_key == wallet
    assert kept.api_keys != stale
    (tmp_path / FILE).write_text("{}")
    with pytest.raises(BadSettings, match="move it away"):
        file.read()


async def test_an_answer_of_the_market_that_is_lost_is_asked_for_again_and_the_work_is_done_once(
    base: str, tmp_path: Path, buyer: Buyer, kit: Kit, endpoint: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    post, lost = Market.post, []

    async def losing(market: Market, path: str, *given: Any, **more: Any) -> Any:
        """Lose the first answer to each kind of call: "accept" after the call, others before it."""
        word = path.rsplit("/")[-1]
        if word in lost:
            return await post(market, path, *given, **more)
        lost.append(word)
        if word == "accept":
            await post(market, path, *given, **more)
        raise Away(f"{word} was lost")

    endpoint.always = completion(TRANSLATED)
    monkeypatch.setattr("server.desk.worker.WAIT_SECONDS", 1)
    monkeypatch.setattr("server.desk.worker.AGAIN_SECONDS", 0.05)
    async with desk(base, tmp_path, kit) as listings:
        monkeypatch.setattr(Market, "post", losing)
        job = await buyer.until(await buyer.order(listings["translate"], TRANSLATION), "delivered", "cancelled")
    assert (job["status"], lost) == ("delivered", ["accept", "deliver"])
    assert len(endpoint.got) == 1
