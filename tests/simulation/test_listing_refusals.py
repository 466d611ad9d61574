"""The model believes that a listing is gone only if it may be."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest

from tests.simulation.model import Contract, Model, Observation, Rule, Violation
from tests.simulation.model.story import Change, Story, second

UNAVAILABLE, UNKNOWN = "listing_unavailable", "not_found"


def refused(story: Story, code: str, name: str = "order upfront", **changes: Any) -> dict[str, Observation]:
    """Return the answers up to one that is refused instead, with changes of that one."""
    found = story.refused(name, code)
    return found | {name: replace(found[name], **changes)}


def before(story: Story, code: str, *extra: Observation) -> Mapping[str, Observation]:
    """Return the answers up to a refused order, with others just before it."""
    *first, last = refused(story, code).values()
    return _in_turn([*first, *extra, last])


def _in_turn(answers: Sequence[Observation]) -> Mapping[str, Observation]:
    return {str(place): replace(one, after=place) for place, one in enumerate(answers)}


def of_seller(story: Story, operation: str, status: int = 200, **given: Any) -> Observation:
    """Return an answer to the seller just before the order."""
    offered = story.named["upfront"]
    return replace(offered, operation=operation, status=status, arguments=given, idempotency_key=None)


def updates(story: Story, *statuses: str, **also: str) -> Iterator[Observation]:
    """Let the seller change the status of its listing, each time a second later."""
    offered = story.named["upfront"].body
    for number, status in enumerate(statuses):
        body = offered | {"status": status, "updated_at": second(offered["updated_at"], number + 1)} | also
        yield replace(of_seller(story, "update_listing", listing_id=offered["id"]), number=100 + number, body=body)


def changed(story: Story, *statuses: str) -> Mapping[str, Observation]:
    """Change the status of a listing before an order is refused."""
    return before(story, UNAVAILABLE, *updates(story, *statuses))


def sold(story: Story, *statuses: str, **also: str) -> Mapping[str, Observation]:
    """Change the status of a listing before an order succeeds."""
    place = [*story.named].index("order upfront")
    answers = [*story.named.values()]
    return _in_turn([*answers[:place], *updates(story, *statuses, **also), answers[place]])


def perhaps_paused(story: Story) -> Mapping[str, Observation]:
    offered = story.named["upfront"].body
    lost = of_seller(story, "update_listing", status=0, listing_id=offered["id"])
    return before(story, UNAVAILABLE, replace(lost, body=None))


def suspended(story: Story) -> Mapping[str, Observation]:
    seller = story.named["upfront"].body["seller"]["id"]
    return before(story, UNAVAILABLE, replace(of_seller(story, "set_agent_status", agent_id=seller), agent="agt_op"))


def purchase(story: Story, code: str, **given: Any) -> Mapping[str, Observation]:
    """Return the answers up to a purchase of a listing instead of an order."""
    named = {"listing_id": story.named["upfront"].body["id"], "input": {}} | given
    return refused(story, code, operation="buy_with_x402", agent=None, arguments=named)


def expired(story: Story, code: str, buyers: int) -> Mapping[str, Observation]:
    """Let the orders of some buyers expire, and refuse another order from that listing."""
    order, listed = story.named["ask again"], story.named["expired"]
    made = []
    for number in range(buyers):
        buyer = {"id": f"agt_ignored_{number}", "handle": f"ignored{number}"}
        given = dict(order.arguments) | {"reference": None}
        about = {"id": f"job_ignored_{number}", "buyer": order.body["buyer"] | buyer, "thread_id": f"thr_{number}"}
        made.append(replace(order, agent=buyer["id"], arguments=given, body=order.body | about))
        shown = {"agent": buyer["id"], "arguments": {"job_id": about["id"]}, "body": listed.body | about}
        made.append(replace(listed, **shown))
    refusal = replace(order, began=listed.ended, ended=listed.ended, status=409, body={"error": {"code": code}})
    orders, ends = made[::2], made[1::2]
    return {
        str(n): replace(one, number=n, after=n)
        for n, one in enumerate([story.named["quotes"], *orders, *ends, refusal])
    }


WRONG: dict[str, Change] = {
    "an active listing": lambda s: refused(s, UNAVAILABLE),
    "a known listing": lambda s: refused(s, UNKNOWN),
    "a known listing that is hired": lambda s: refused(s, UNKNOWN, operation="hire"),
    "a listing that is active again": lambda s: changed(s, "paused", "active"),
    "a purchase of an active listing": lambda s: purchase(s, UNAVAILABLE),
    "a purchase of a known listing": lambda s: purchase(s, UNKNOWN, env="test"),
    "a listing whose orders two buyers lost": lambda s: expired(s, UNAVAILABLE, 2),
    "a hidden listing of an absent seller": lambda s: expired(s, UNKNOWN, 3),
}
RIGHT: dict[str, Change] = {
    "a paused listing": lambda s: changed(s, "paused"),
    "an archived listing": lambda s: changed(s, "archived"),
    "a listing that may be paused": perhaps_paused,
    "a suspended seller": suspended,
    "the other environment": lambda s: refused(s, UNKNOWN, env="live"),
    "a purchase in the other environment": lambda s: purchase(s, UNKNOWN, env="live"),
    "a listing that nobody has seen": lambda s: refused(
        s, UNKNOWN, arguments={"listing_id": "lst_none", "input": {"text": "guten Tag"}}
    ),
    "a listing whose orders three buyers lost": lambda s: expired(s, UNAVAILABLE, 3),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_listing_that_is_there_is_not_gone(story: Story, name: str) -> None:
    with pytest.raises(Violation) as found:
        story.replayed(WRONG[name](story))
    assert found.value.rule is Rule.REFUSAL, found.value


@pytest.mark.parametrize("status", ["paused", "archived"])
def test_a_listing_that_its_seller_withdrew_is_not_ordered(story: Story, status: str) -> None:
    with pytest.raises(Violation) as found:
        story.replayed(sold(story, status))
    assert found.value.rule is Rule.RESULT, found.value


def test_a_listing_is_ordered_while_it_is_on_sale(story: Story) -> None:
    assert story.replayed(sold(story, "paused", "active"))
    assert story.replayed(sold(story, "paused", paused_by="market"))  # its seller may have called since


@pytest.mark.parametrize("name", RIGHT)
def test_a_listing_may_be_gone(story: Story, name: str) -> None:
    assert isinstance(story.replayed(RIGHT[name](story)), Model)


def test_clocks_that_differ_do_not_tell_which_status_is_the_last(story: Story) -> None:
    answers = changed(story, "paused", "active")
    model = Model(Contract(clock_seconds=180.0))
    model.doubts.oldest = lambda: model.observed
    for one in answers.values():
        model.observe(one)
