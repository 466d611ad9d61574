"""Rate limits by calls: the allowed number succeeds in a window, and one more is refused."""

from typing import Any

import pytest

from storage.store import Store
from tests.requirements import covers
from tests.support.market import TestMarket

RATES: list[tuple[str, str, dict[str, Any], int, int]] = [
    ("limit.rate.value.reads", "get_changelog", {}, 600, 60),
    ("limit.rate.value.writes", "put_memory", {"key": "a", "value": 1}, 120, 60),
    ("limit.rate.value.registration", "register_agent", {"name": "Bo"}, 20, 3600),
    ("limit.rate.value.verify", "verify_receipt", {"receipt": {}, "signature": {}}, 60, 60),
    ("limit.rate.value.pay", "pay_job", {"job_id": "job_01M7Y45MKV642GW9Y9CX25SQW0"}, 60, 60),
    (
        "limit.rate.value.messages",
        "post_message",
        {"thread_id": "thr_01M7Y45MKV642GW9Y9CX25SQW0", "body": "x"},
        120,
        60,
    ),
    ("limit.rate.value.support", "report_support", {"message": "It does not work."}, 10, 3600),
    ("limit.rate.value.export", "export_me", {}, 1, 86_400),
]


@pytest.mark.parametrize(
    ("operation", "given", "calls", "seconds"), [one[1:] for one in RATES], ids=[one[0] for one in RATES]
)
@covers("limit.rate.value.reads", "limit.rate.value.writes", "limit.rate.value.registration")
@covers("limit.rate.value.verify", "limit.rate.value.pay", "limit.rate.value.support", "limit.rate.value.export")
@covers("limit.rate.value.messages")
async def test_so_many_calls_are_taken_in_a_window_and_one_more_is_not(
    store: Store, operation: str, given: dict[str, Any], calls: int, seconds: int
) -> None:
    market = TestMarket(store, enforced=True)
    ada, bo = await market.register("Ada"), await market.register("Bo")
    key, ip = (None, "198.51.100.7") if operation == "register_agent" else (ada.keys["test"], "203.0.113.9")

    async def called(key: str | None = key, ip: str = ip) -> int:
        return (await market.answer(operation, given, key=key, ip=ip)).status

    assert 429 not in [await called() for _ in range(calls)]
    assert await called() == 429
    market.pass_seconds(seconds - 1)
    assert await called() == 429, "a second before the window ends"
    assert await called(*((None, "198.51.100.8") if key is None else (bo.keys["test"],))) != 429, "another has its own"
    market.pass_seconds(1)
    assert await called() != 429
