"""Before payment, every way to read a job shows only a salted commitment of a sealed output."""

import json
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from server.verify import verify
from storage.tables import JobDeliveryRow
from tests.requirements import covers
from tests.support.exports import exported
from tests.support.market import Agent
from tests.support.trade import Trade
from tools.jobs.sealing_rules import commitment, is_revealed, reveal_fault, rounded_size
from tools.kernel.canonical_json import canonical

WORK = {"english": "good day"}
HASH = sha256(canonical(WORK)).hexdigest()
SIZE = len(canonical(WORK))


async def everything_shown(trade: Trade, agent: Agent, job: Any) -> dict[str, Any]:
    """Read a job in every way that a party can."""
    asked = {
        "get_job": {"job_id": job["id"]},
        "get_delivery": {"job_id": job["id"], "revision": 0},
        "get_receipt": {"job_id": job["id"]},
        "list_job_events": {"job_id": job["id"]},
        "list_jobs": {},
        "list_events": {},
        "get_inbox": {},
    }
    found = {name: await trade.market.call(name, by=agent, **given) for name, given in asked.items()}
    return found | {"export_me": await exported(trade.market, agent)}


@covers("second.sealed.hash", "second.sealed.commitment", "second.sealed.size", "second.sealed.everywhere")
async def test_nothing_that_a_buyer_can_read_tells_a_sealed_output(trade: Trade) -> None:
    seller, buyer = await trade.parties()
    job = await trade.job_at("delivered", seller, buyer)
    row = await trade.market.store.read(lambda tx: tx.get(JobDeliveryRow, job["id"], 0))
    assert (len(bytes.fromhex(row.output_salt)), row.output) == (32, HASH)
    told = await everything_shown(trade, buyer, job)
    text = json.dumps(told)
    for hidden in (HASH, row.output_salt, f'"output_bytes": {SIZE}'):
        assert hidden not in text, hidden
    marks = {
        "output_hash": None,
        "output_commitment": commitment(row.output_salt, canonical(WORK)),
        "output_salt": None,
        "output_bytes": 1024,
    }
    delivered = [one["data"] for one in told["list_events"]["data"] if one["type"] == "job.delivered"]
    places = [told["get_job"], *told["get_job"]["deliveries"], told["get_delivery"], told["list_jobs"]["data"][0]]
    for place in [*places, told["get_receipt"]["receipt"]["job"]]:
        assert {name: place[name] for name in marks} == marks
    for place in [*delivered, told["list_job_events"]["data"][2]["data"]]:
        assert {name: place[name] for name in marks if name != "output_bytes"} == {
            name: mark for name, mark in marks.items() if name != "output_bytes"
        }


@covers("second.sealed.seller")
async def test_the_seller_sees_the_hash_and_the_size_of_its_own_work(trade: Trade) -> None:
    seller, buyer = await trade.parties()
    job = await trade.job_at("delivered", seller, buyer)
    shown = await trade.seen(seller, job)
    for place in (shown, shown["deliveries"][0]):
        assert (place["output_hash"], place["output_salt"], place["output_bytes"]) == (HASH, None, SIZE)
    receipt = await trade.market.call("get_receipt", by=seller, job_id=job["id"])
    assert receipt["receipt"]["job"]["output_hash"] is None, "a receipt may be shown to anybody"


@covers("second.sealed.revealed", "second.sealed.receipts", "second.sealed.verify")
async def test_the_salt_comes_with_the_output_and_proves_what_was_sealed(trade: Trade, tmp_path: Path) -> None:
    seller, buyer = await trade.parties()
    job = await trade.job_at("delivered", seller, buyer)
    before = await trade.market.call("get_receipt", by=buyer, job_id=job["id"])
    paid = await trade.pay(buyer, job)
    assert (paid["output_hash"], paid["output_bytes"]) == (HASH, SIZE)
    assert paid["output_commitment"] == job["output_commitment"] == commitment(paid["output_salt"], canonical(WORK))
    after = await trade.market.call("get_receipt", by=buyer, job_id=job["id"])
    named = ("output_hash", "output_commitment", "output_salt", "output_bytes")
    assert [after["receipt"]["job"][name] for name in named] == [paid[name] for name in named]
    delivery = await trade.market.call("get_delivery", by=buyer, job_id=job["id"], revision=0)
    assert [delivery[name] for name in named] == [paid[name] for name in named]

    def holds(*documents: Any) -> bool:
        path = tmp_path / "file.json"
        path.write_text(json.dumps(documents))
        return verify(path, trade.market.clock.now()) == 0

    assert holds(before, after, paid, delivery)
    assert not holds(before, paid | {"output": {"english": "bad day"}})
    other = {"output": {"english": "bad day"}, "output_hash": sha256(canonical({"english": "bad day"})).hexdigest()}
    other |= {"output_commitment": commitment(paid["output_salt"], canonical(other["output"])), "deliveries": []}
    assert holds(paid | other)
    assert not holds(before, paid | other), "not what the receipt committed to before the payment"


@covers("second.sealed.for_ever")
@pytest.mark.parametrize("end", ["cancelled", "expired"])
async def test_what_is_never_paid_stays_sealed_for_ever(trade: Trade, end: str) -> None:
    seller, buyer = await trade.parties()
    job = await trade.job_at("delivered", seller, buyer)
    if end == "cancelled":
        await trade.market.call("cancel_job", by=buyer, job_id=job["id"])
    trade.market.pass_seconds(30 * 86_400)
    told = await everything_shown(trade, buyer, job)
    assert told["get_job"]["status"] == end
    assert told["get_job"]["output_commitment"] == job["output_commitment"]
    assert HASH not in json.dumps(told)


async def test_free_work_is_never_sealed_and_has_its_salt_at_once(trade: Trade) -> None:
    seller, buyer = await trade.parties()
    job = await trade.job_at("delivered", seller, buyer, price=0)
    assert (job["output"], job["output_hash"], job["output_bytes"]) == (WORK, HASH, SIZE)
    assert reveal_fault(job) is None
    events = (await trade.market.call("list_events", by=buyer, types=["job.delivered"]))["data"]
    assert [events[0]["data"][name] for name in ("output_hash", "output_salt")] == [HASH, job["output_salt"]]


async def test_the_same_output_delivered_twice_has_two_commitments(trade: Trade) -> None:
    seller, buyer = await trade.parties()
    first, second = [await trade.job_at("delivered", seller, buyer) for _ in range(2)]
    assert first["output_commitment"] != second["output_commitment"]


async def test_a_buyer_who_guesses_learns_nothing_from_deliver(trade: Trade) -> None:
    """The seller gets 200 for repeating its delivery; a buyer gets one answer to any guess."""
    seller, buyer = await trade.parties()
    job = await trade.job_at("delivered", seller, buyer)
    answers = [
        await trade.market.refusal("deliver_job", by=buyer, job_id=job["id"], output=output)
        for output in (WORK, {"english": "bad day"})
    ]
    for answer in answers:
        answer.pop("request_id", None)
    assert answers[0] == answers[1]
    assert answers[0]["code"] == "invalid_transition"


@pytest.mark.parametrize(("size", "shown"), [(1, 1024), (1023, 1024), (1024, 1024), (1025, 2048), (524_288, 524_288)])
def test_a_size_is_rounded_up_to_whole_kilobytes(size: int, shown: int) -> None:
    assert rounded_size(size) == shown


SALT = "ab" * 32
RECORD = {
    "object": "job", "id": "job_1", "output": None, "output_salt": SALT, "output_hash": sha256(b"null").hexdigest(),
    "output_commitment": commitment(SALT, b"null"),
}  # fmt: skip


@pytest.mark.parametrize(
    "change",
    [
        {"output": 0}, {"output_hash": None}, {"output_commitment": None}, {"output_salt": "ab"}, {"output_salt": 1},
        {"output_salt": "zz" * 32}, {"output": 2**60}, {"output_commitment": "sha256:" + "0" * 64},
        {"output_commitment": "é"},
    ],
)  # fmt: skip
def test_a_record_that_was_changed_does_not_give_its_commitment(change: dict[str, Any]) -> None:
    assert is_revealed(RECORD)
    assert reveal_fault(RECORD) is None
    assert reveal_fault(RECORD | change) is not None


@pytest.mark.parametrize("change", [lambda one: one.pop("output_salt"), lambda one: one.update(object="other")])
def test_only_a_job_or_a_delivery_with_a_salt_is_checked(change: Callable[[Any], Any]) -> None:
    record = dict(RECORD)
    change(record)
    assert not is_revealed(record)
