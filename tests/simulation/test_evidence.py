"""A case file with a message that came too late is found, and one that lacks a message."""

from collections.abc import Sequence
from contextlib import nullcontext
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any

import pytest

from tests.simulation.evidence import LEAST_CUT, Evidence
from tests.simulation.records import Observation, Violation
from tests.simulation.wires import Answer, Call

AT = datetime(2027, 1, 1, tzinfo=UTC)
EARLY, LATE = "taint00000001", "taint00000002"


class Market(SimpleNamespace):
    """A run as far as the oracle of evidence asks it, with one case."""

    async def read(self, _: Any) -> list[tuple[str, str]]:
        return [("dsp_1", "thr_1")]


class Watched:
    """The oracle and its calls, each of which ends before the next one unless `ended` is given."""

    def __init__(self) -> None:
        self.market = Market(made=0)
        self.oracle = Evidence(self.market)  # type: ignore[arg-type]

    def see(self, operation: str, record: Any = None, *, ended: int = 0, status: int = 200, **given: Any) -> None:
        number = self.market.made + 1
        self.market.made = number + ended
        call = Call(number, operation, given, "key")
        self.oracle.observe(Observation(call, "agt_1", Answer(status, record or {}), AT, AT, tries=1 + (status == 409)))

    def post(self, token: str, ended: int = 0) -> None:
        self.see("post_message", ended=ended, thread_id="thr_1", body=f"Hello. {token}")

    def vote(self, status: int = 200) -> None:
        self.see("submit_verdict", status=status, dispute_id="dsp_1")

    def file(self, *tokens: str, truncated: bool = False) -> None:
        messages = [{"from": "buyer", "body": f"Hello. {token}"} for token in tokens]
        self.see("get_dispute", {"id": "dsp_1", "case": {"messages": messages, "messages_truncated": truncated}})


@pytest.mark.parametrize(
    ("status", "shown", "truncated", "wrong"),
    [
        (200, [EARLY], False, None),
        (200, [EARLY, LATE], False, f"has {LATE}, posted after a vote"),
        (200, [], False, f"lacks {EARLY}, posted before any vote"),
        (200, [], True, "leaves messages out"),
        (409, [EARLY, LATE], False, None),  # the vote may have counted, because it was sent twice
        (409, [EARLY], False, None),
    ],
)
async def test_a_file_has_what_was_posted_before_the_first_vote(
    status: int, shown: Sequence[str], truncated: bool, wrong: str | None
) -> None:
    watched = Watched()
    watched.post(EARLY)
    watched.vote(status)
    watched.post(LATE)
    watched.file(*shown, truncated=truncated)
    with nullcontext() if wrong is None else pytest.raises(Violation, match=wrong):
        await watched.oracle.at_end()


async def test_a_file_may_leave_messages_out_if_a_party_wrote_many() -> None:
    watched = Watched()
    watched.post(EARLY + "x" * LEAST_CUT)
    watched.file(truncated=True)
    await watched.oracle.at_end()


@pytest.mark.parametrize("shown", [[], [LATE]])
async def test_a_message_beside_a_vote_may_be_in_the_file_or_not(shown: Sequence[str]) -> None:
    watched = Watched()
    watched.post(LATE, ended=1)
    watched.market.made -= 1
    watched.vote()
    watched.file(*shown)
    await watched.oracle.at_end()
