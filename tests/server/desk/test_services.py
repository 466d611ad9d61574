"""The desk on a served sandbox: every row of the contract's table as jobs, faulty models, restarts."""

import asyncio
import os
import stat
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, closing, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest.mock import ANY

import httpx
import orjson
import pytest

from emporion_client import Conflict, Decline, EmporionError, InvalidRequest, transport
from emporion_client.home import Home
from emporion_client.orders import FAULT
from server.desk.catalogue import SERVICES
from server.desk.opening import AT_ONCE, NO_MODEL, adopt_keys, joined, on_sale, sell
from server.desk.service import Kit, Service
from server.settings import BadSettings, read_settings
from tests.end_to_end.processes.test_demo import environment, free_ports, served
from tests.requirements import covers
from tests.server.desk.test_model_services import FAULTS, LABELLED, ORDERS, SCHEMA, SUMMARISED, TEXT, TRANSLATED
from tests.support.commands import Started, run, start
from tests.support.desk_buyer import Buyer
from tests.support.http_receiver import Receiver, hang
from tests.support.model_answers import ARTICLE, completion, page

KEYS = Path("desk-test", "agent.json")
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
async def buyer(base: str, tmp_path: Path) -> AsyncIterator[Buyer]:
    async with Buyer(base, tmp_path / "buyer") as made:
        yield made


@asynccontextmanager
async def desk(
    base: str, folder: Path, kit: Kit, secret: str | None = SECRET, at_once: int = AT_ONCE
) -> AsyncIterator[dict[str, str]]:
    """Run a desk; yield the listing of each service. It is cancelled at the end, like a kill."""
    settings = read_settings(_env_file=None, data_dir=folder, operator_secret=secret)
    loop = asyncio.get_running_loop()
    opened: asyncio.Future[dict[str, str]] = loop.create_future()
    async with joined(settings, base) as (market, me):
        task = asyncio.create_task(
            sell(market, me, kit, lambda listings: loop.call_soon_threadsafe(opened.set_result, listings), at_once)
        )
        await asyncio.wait((task, opened), return_when=asyncio.FIRST_COMPLETED)
        try:
            yield opened.result() if opened.done() else await task  # type: ignore[func-returns-value]
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
            async with Buyer(url, tmp_path / "buyer") as buyer:
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
                    assert (await buyer.accept_job(job_id=job["id"]))["status"] == "completed"
    assert [one["path"] for one in outputs["validate-json"]["results"][0]["errors"]] == [""]
    assert outputs["extract-web"]["title"] == outputs["summarize"]["source"]["title"] == "How it is paid"
    assert [one["label"] for one in outputs["classify"]["results"]] == ["praise"] * 11
    assert outputs["translate"]["translation"] == TRANSLATED["translation"]
    assert outputs["extract-structured"]["data"] == {"number": 3}
    assert outputs["summarize"]["summary"] == SUMMARISED["summary"]
    assert stat.S_IMODE((tmp_path / KEYS).stat().st_mode) == 0o600
    with closing(Home(tmp_path / "desk-test")) as home, home.lock("seller"):
        """The desk has stopped with its market, so no process sells with its keys."""


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
            ended = await buyer.until(job, "declined", "cancelled", "delivered")
            assert (ended["status"], ended["output_commitment"]) == ("declined", None), fault
            assert "You are not charged" in ended["cancel_reason"]
            assert ended["payment"]["status"] == "not_due"
            with pytest.raises(Conflict):
                await buyer.pay_job(job_id=job["id"])


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
        with pytest.raises(InvalidRequest, match="comes to 3"):
            await buyer.order(listings["translate"], given, 1)
        assert (await buyer.order(listings["translate"], given))["price"] == 60_000


async def test_without_a_model_its_services_are_paused_and_say_so_until_there_is_one(
    base: str, tmp_path: Path, buyer: Buyer, kit: Kit
) -> None:
    for model, status in ((None, "paused"), (kit.model, "active"), (None, "paused")):
        async with desk(base, tmp_path, replace(kit, model=model)) as listings:
            for name, listing in listings.items():
                shown = await buyer.get_listing(listing_id=listing, env="test")
                assert shown["status"] == (status if name in ORDERS else "active")
                assert shown["description"].startswith(NO_MODEL) == (name in ORDERS and model is None)
            if model is None:
                with pytest.raises(Conflict, match="listing_unavailable"):
                    await buyer.order(listings["translate"], TRANSLATION)
    assert len({*listings.values()}) == 6


async def test_a_desk_that_ended_in_the_middle_is_taken_up_by_the_next_one(
    base: str, tmp_path: Path, buyer: Buyer, kit: Kit, endpoint: Receiver
) -> None:
    assert kit.model is not None
    kit.model.seconds = 30
    endpoint.always = hang
    async with desk(base, tmp_path, kit) as listings:
        await buyer.known(listings)
        first = await buyer.order(listings["translate"], TRANSLATION)
        await endpoint.has(1)
    waiting = await buyer.order(listings["translate"], TRANSLATION)
    assert (await buyer.get_job(job_id=first["id"]))["status"] == "open"
    endpoint.always = completion(TRANSLATED)
    async with desk(base, tmp_path, kit) as again:
        assert again == listings
        jobs = [await buyer.until(job, "delivered", "cancelled", "declined") for job in (first, waiting)]
    assert [job["status"] for job in jobs] == ["delivered", "delivered"]
    assert len(endpoint.got) == 3, "what was cut off once more, and the order that waited"
    async with desk(base, tmp_path, kit):
        await asyncio.sleep(0.5)
        trails = [await buyer.list_job_events(job_id=job["id"]) for job in jobs]
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
    keys = orjson.loads((tmp_path / KEYS).read_bytes())
    listings = (await buyer.search_listings(env="test", seller=keys["agent_id"]))["data"]
    (translating,) = [one["id"] for one in listings if one["tags"][0] == "translate"]
    job = await buyer.order(translating, TRANSLATION)
    await endpoint.has(1)
    first.kill()
    first.communicate()
    endpoint.always = completion(TRANSLATED)
    second = begun(base, given)
    assert (await buyer.until(job, "delivered", "cancelled"))["status"] == "delivered"
    second.terminate()
    assert (second.communicate(timeout=20), second.returncode) == ((ANY, None), 0)
    assert orjson.loads((tmp_path / KEYS).read_bytes()) == keys


def test_a_desk_without_a_model_says_how_many_services_wait_for_one() -> None:
    with_model = read_settings(_env_file=None, desk_llm_url="http://127.0.0.1:1/v1", desk_llm_model="m-1")
    assert on_sale(with_model) == "6 services on sale"
    without = read_settings(_env_file=None)
    assert on_sale(without) == "2 services on sale, 4 wait for EMPORION_DESK_LLM_URL"


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
        revised = await buyer.request_revision(job_id=job["id"], message="Another word, please.")
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
            patch.setattr("server.desk.opening.Order", broken)
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
        raise Decline("You said as_live_" + "Ab3" * 14)

    monkeypatch.setattr("server.desk.opening.Order", quoting)
    async with desk(base, tmp_path, kit) as listings:
        job = await buyer.order(listings["validate-json"], {"schema": {}, "data": 1})
        assert (await buyer.until(job, "declined"))["cancel_reason"] == "You said [secret]"


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
        async with Buyer(base, tmp_path / "other") as other:
            await other.known(listings)
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
        shown = await buyer.get_listing(listing_id=listings["translate"], env="test")
        assert (shown["first_party"], shown["pricing"]["unit_basis"]) == (False, None)
        ended = await buyer.until(await buyer.order(listings["translate"], given, 1), "declined")
        assert "units: 2" in ended["cancel_reason"]
        await buyer.until(await buyer.order(listings["translate"], given, 2), "delivered")
    async with desk(base, tmp_path, kit) as labelled:
        assert labelled == listings
        assert (await buyer.get_listing(listing_id=listings["translate"], env="test"))["pricing"]["unit_basis"][
            "max"
        ] == 50


async def test_one_desk_sells_with_the_keys_of_a_folder(base: str, tmp_path: Path, kit: Kit) -> None:
    async with desk(base, tmp_path, kit):
        with pytest.raises(EmporionError, match="another process already does this"):
            async with desk(base, tmp_path, kit):
                pass


async def test_a_sandbox_that_was_emptied_is_joined_anew_with_the_same_wallet(base: str, tmp_path: Path) -> None:
    folder = tmp_path / "desk-test"
    with closing(Home(folder)) as home:
        old = home.add_keys(wallet="0x" + "11" * 32, agent_id="agt_gone", api_key="as_test_" + "x" * 40)
        home.journal.put("listing:translate", "lst_gone")
    async with joined(read_settings(_env_file=None, data_dir=tmp_path), base) as (market, me):
        new = market.account.home.read_keys()
        assert (new["wallet"], new["agent_id"]) == (old["wallet"], me["id"])
        assert market.account.home.journal.get("listing:translate") is None
    (aside,) = folder.glob("agent-*.json")
    assert orjson.loads(aside.read_bytes()) == old


async def test_the_keys_and_listings_of_an_earlier_version_are_taken_over(
    base: str, tmp_path: Path, buyer: Buyer, kit: Kit
) -> None:
    made = await buyer.create_listing(**SERVICES["validate-json"].offer | {"unit_basis": None})  # by the old desk
    keys, wallet = buyer.account.home.read_keys(), buyer.account.home.read_keys()["wallet"]
    old = {"wallet_key": wallet.removeprefix("0x"), "agent_id": keys["agent_id"], "root_key": None}
    old["api_keys"] = {"test": keys["api_key"], "live": "as_live_" + "x" * 40}
    (tmp_path / "desk.json").write_bytes(orjson.dumps(old))
    async with desk(base, tmp_path, kit) as listings:
        assert listings["validate-json"] == made["id"]
    kept = orjson.loads((tmp_path / KEYS).read_bytes())
    assert (kept["agent_id"], kept["api_key"]) == (keys["agent_id"], keys["api_key"])
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "desk.json").write_text("{}")
    with pytest.raises(BadSettings, match="move it away"):
        adopt_keys(read_settings(_env_file=None, data_dir=tmp_path / "other"))


async def test_an_answer_of_the_market_that_is_lost_is_asked_for_again_and_the_work_is_done_once(
    base: str, tmp_path: Path, buyer: Buyer, kit: Kit, endpoint: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    call, lost = transport.ask, list[str]()

    def losing(http: httpx.Client, asked: transport.Call) -> transport.Answer:
        """Lose the first answer to a delivery after the call, and the first order's list before it."""
        word = asked.url.rsplit("/")[-1]
        if word not in ("deliver", "jobs") or word in lost:
            return call(http, asked)
        lost.append(word)
        if word == "deliver":
            call(http, asked)
        return transport.Answer(0, failed="ReadTimeout")

    endpoint.always = completion(TRANSLATED)
    async with desk(base, tmp_path, kit) as listings:
        monkeypatch.setattr(transport, "ask", losing)
        job = await buyer.until(await buyer.order(listings["translate"], TRANSLATION), "delivered", "cancelled")
    assert (job["status"], sorted(lost)) == ("delivered", ["deliver", "jobs"])
    assert len(endpoint.got) == 1
