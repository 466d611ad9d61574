"""A job as an A2A task: the same job in every form of the protocol."""

from typing import Any

import pytest

from protocol.a2a.task_view import STATES
from storage.vocabulary import JobStatus
from tests.support.a2a_requests import FORMS, HTTP_1, RPC_1, RPC_FORMS
from tests.support.a2a_tasks import compact, data_in, desk_of, task_in
from tests.support.trade import PRICE, Trade

KEYS = {name: f"x402.payment.{name}" for name in ("status", "required", "receipts")}


def test_every_status_of_a_job_is_a_state_of_a_task() -> None:
    assert set(STATES) == {status.value for status in JobStatus}


@pytest.mark.parametrize("form", FORMS)
async def test_an_order_is_a_submitted_task_whose_history_begins_with_it(trade: Trade, form: str) -> None:
    seller, buyer = await trade.parties()
    job = await trade.job_at("open", seller, buyer)
    async with desk_of(trade, buyer) as desk:
        heard = await desk.task(form, job["id"])
    task = task_in(heard)
    assert (task["id"], task["contextId"]) == (job["id"], job["thread_id"])
    assert task["status"]["state"] == "TASK_STATE_SUBMITTED"
    assert data_in(form, task["history"][0]) == {"listing_id": job["listing_id"], "input": job["input"]}
    assert task["metadata"]["service"]["jobStatus"] == "open"
    assert not task.get("artifacts")
    shown = data_in(form, task["status"]["message"])
    assert shown == {name: job[name] for name in shown}
    assert "wait" in compact(task["status"]["message"])


@pytest.mark.parametrize("form", FORMS)
async def test_a_sealed_delivery_asks_for_its_payment_and_shows_nothing_of_the_output(trade: Trade, form: str) -> None:
    seller, buyer = await trade.parties()
    job = await trade.job_at("delivered", seller, buyer)
    async with desk_of(trade, buyer) as desk:
        heard = await desk.task(form, job["id"])
    task = task_in(heard)
    said = task["status"]["message"]["metadata"]
    (terms,) = said[KEYS["required"]]["accepts"]
    assert (task["status"]["state"], said[KEYS["status"]]) == ("TASK_STATE_INPUT_REQUIRED", "payment-required")
    assert said[KEYS["required"]]["x402Version"] == 2
    assert terms == {
        "scheme": "transaction-proof",
        "network": job["payment"]["network"],
        "amount": str(PRICE),
        "asset": job["payment"]["asset"],
        "payTo": seller.wallet.address,
        "maxTimeoutSeconds": terms["maxTimeoutSeconds"],
        "extra": {"paymentFlow": "upfront", "payFrom": buyer.wallet.address, "confirmations": 1},
    }
    assert 0 < terms["maxTimeoutSeconds"] <= 3600
    assert not task.get("artifacts")
    assert "good day" not in heard.raw
    assert 'exact"' not in heard.raw
    assert str(PRICE) in compact(task["status"]["message"])


@pytest.mark.parametrize("form", FORMS)
async def test_numbers_of_a_task_are_the_numbers_of_its_record(trade: Trade, form: str) -> None:
    seller, buyer = await trade.parties()
    job = await trade.job_at("delivered", seller, buyer)
    async with desk_of(trade, buyer) as desk:
        heard = await desk.task(form, job["id"])
    assert '"x402Version":2,' in heard.raw
    assert f'"price":{PRICE}' in heard.raw
    assert ".0," not in heard.raw


@pytest.mark.parametrize("form", FORMS)
async def test_a_paid_delivery_is_the_one_artifact_with_its_receipt_also_once_it_is_accepted(
    trade: Trade, form: str
) -> None:
    seller, buyer = await trade.parties()
    job = await trade.job_at("revealed", seller, buyer)
    async with desk_of(trade, buyer) as desk:
        revealed = task_in(await desk.task(form, job["id"]))
        await trade.market.call("accept_job", by=buyer, job_id=job["id"])
        completed = task_in(await desk.task(form, job["id"]))
    assert [task["status"]["state"] for task in (revealed, completed)] == [
        "TASK_STATE_INPUT_REQUIRED",
        "TASK_STATE_COMPLETED",
    ]
    for task in (revealed, completed):
        (artifact,) = task["artifacts"]
        assert (artifact["artifactId"], data_in(form, artifact)) == (f"{job['id']}-output", {"english": "good day"})
        said = task["status"]["message"]["metadata"]
        (receipt,) = said[KEYS["receipts"]]
        assert said[KEYS["status"]] == "payment-completed"
        assert receipt == {
            "success": True,
            "transaction": job["payment"]["settlement"]["transaction"],
            "network": job["payment"]["network"],
            "payer": buyer.wallet.address,
        }
    assert '{"action":"dispute","reason":"<reason>"}' in compact(revealed["status"]["message"]).replace('\\"', '"')


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("output", [["good", "day", 3], "good day", 7])
async def test_an_output_of_any_kind_is_an_artifact(trade: Trade, form: str, output: Any) -> None:
    seller, buyer = await trade.parties()
    job = await trade.job_at("in_progress", seller, buyer, price=0, output_schema=None, example_output=None)
    await trade.deliver(seller, job, output)
    async with desk_of(trade, buyer) as desk:
        (artifact,) = task_in(await desk.task(form, job["id"]))["artifacts"]
    (part,) = artifact["parts"]
    if isinstance(output, str):
        assert part["text"] == output
        return
    found = data_in(form, artifact)
    assert found == (output if form in (RPC_1, HTTP_1) else {"value": output})


@pytest.mark.parametrize("form", FORMS)
async def test_what_was_said_in_the_thread_is_the_rest_of_the_history(trade: Trade, form: str) -> None:
    seller, buyer = await trade.parties()
    job = await trade.job_at("in_progress", seller, buyer)
    for agent, words in ((buyer, "How long?"), (seller, "An hour."), (buyer, "Good.")):
        await trade.market.call("post_message", by=agent, thread_id=job["thread_id"], body=words, data={"n": 1})
    async with desk_of(trade, buyer) as desk:
        whole = task_in(await desk.task(form, job["id"]))["history"]
        last = task_in(await desk.task(form, job["id"], historyLength=2))["history"]
    texts = [part["text"] for one in whole[1:] for part in one.get("parts", one.get("content")) if "text" in part]
    assert texts == ["How long?", "An hour.", "Good."]
    assert [one["role"].lower().removeprefix("role_") for one in whole] == ["user", "user", "agent", "user"]
    assert data_in(form, whole[1]) == {"n": 1}
    assert last == whole[-2:]


@pytest.mark.parametrize("form", [RPC_1, HTTP_1])
async def test_no_history_is_shown_to_who_asks_for_none(trade: Trade, form: str) -> None:
    seller, buyer = await trade.parties()
    job = await trade.job_at("open", seller, buyer)
    async with desk_of(trade, buyer) as desk:
        assert not task_in(await desk.task(form, job["id"], historyLength=0)).get("history")


@pytest.mark.parametrize("form", FORMS)
async def test_a_task_is_shown_to_its_parties_alone(trade: Trade, form: str) -> None:
    seller, buyer = await trade.parties()
    stranger = await trade.agent("Eve")
    job = await trade.job_at("delivered", seller, buyer)
    async with desk_of(trade, seller) as desk:
        assert "x402" not in (await desk.task(form, job["id"])).raw, "the seller has nothing to pay"
    for who, job_id in ((stranger, job["id"]), (None, job["id"]), (buyer, "job_" + "0" * 26), (buyer, "j" * 100)):
        async with desk_of(trade, who) as desk:
            heard = await desk.task(form, job_id)
        assert heard.error == (-32001 if form in RPC_FORMS else 404, "Task not found")


async def test_a_list_holds_what_the_caller_ordered_the_last_changed_first_page_by_page(trade: Trade) -> None:
    seller, buyer = await trade.parties()
    await trade.known(buyer)
    listing = await trade.listing(seller)
    jobs = []
    for _ in range(5):
        jobs.append((await trade.order(buyer, listing))["id"])
        trade.market.pass_seconds(1)
    await trade.market.call("accept_job", by=seller, job_id=jobs[1])
    expected = [jobs[place] for place in (1, 4, 3, 2, 0)]
    for form in (RPC_1, HTTP_1):
        async with desk_of(trade, buyer) as desk:
            found, token = [], ""
            while not found or token:
                page = await desk.tasks(form, pageSize=2, pageToken=token)
                found += [task["id"] for task in page["tasks"]]
                token = page["nextPageToken"]
                assert (page["pageSize"], page["totalSize"]) == (2, 5)
                assert all("artifacts" not in task for task in page["tasks"])
        assert found == expected
    async with desk_of(trade, seller) as desk:
        assert await desk.tasks() == {"tasks": [], "nextPageToken": "", "pageSize": 50, "totalSize": 0}


async def test_a_list_is_narrowed_by_context_state_and_time_and_shows_artifacts_if_asked(trade: Trade) -> None:
    seller, buyer = await trade.parties()
    done = await trade.job_at("revealed", seller, buyer)
    trade.market.pass_seconds(60)
    fresh = await trade.job_at("open", seller, buyer)
    async with desk_of(trade, buyer) as desk:

        async def ids(**params: Any) -> list[str]:
            page = await desk.tasks(**params)
            assert page["totalSize"] == len(page["tasks"])
            return [task["id"] for task in page["tasks"]]

        assert await ids(contextId=done["thread_id"]) == [done["id"]]
        assert await ids(status="TASK_STATE_SUBMITTED") == [fresh["id"]]
        assert await ids(status="TASK_STATE_INPUT_REQUIRED") == [done["id"]]
        assert await ids(status="TASK_STATE_AUTH_REQUIRED") == []
        assert await ids(statusTimestampAfter=fresh["updated_at"]) == [fresh["id"]]
        assert await ids() == [fresh["id"], done["id"]]
        page = await desk.tasks(includeArtifacts=True)
    assert [len(task["artifacts"]) for task in page["tasks"]] == [0, 1]


async def test_a_cursor_of_another_agent_or_filter_is_no_page(trade: Trade) -> None:
    seller, buyer = await trade.parties()
    await trade.known(buyer)
    other = await trade.agent("Eve")
    listing = await trade.listing(seller)
    for _ in range(2):
        await trade.order(buyer, listing)
    async with desk_of(trade, buyer) as desk, desk_of(trade, other) as hers:
        token = (await desk.tasks(pageSize=1))["nextPageToken"]
        for one, params in ((hers, {}), (desk, {"status": "TASK_STATE_WORKING"})):
            asked = {"pageToken": token, "pageSize": 1, **params}
            heard = await one.a2a.ask(RPC_1, "ListTasks", asked, one.headers)
            assert heard.error == (-32602, "there is no such page")
