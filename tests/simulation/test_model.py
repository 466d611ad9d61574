"""The model agrees with a real market, and refuses each answer that breaks the contract."""

from collections.abc import Mapping
from contextlib import nullcontext
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from tests.simulation.model import Model, Observation, Rule, Violation
from tests.simulation.model.answers import Idempotency
from tests.simulation.model.history import TIME, Call, Graph, History, Visit
from tests.simulation.model.observe import Doubts, Sight, Span
from tests.simulation.model.story import KEY, Change, Story, second
from tests.simulation.model.walk import Walk
from tests.simulation.test_model_votes import VOTES
from tests.simulation.test_purchases import WRONG
from tests.support.trade import Trade

START = datetime(2027, 1, 1, tzinfo=UTC)


@pytest.mark.parametrize("seed, at_once", [(1, 1), (2, 3), (3, 6)])
async def test_the_model_agrees_with_a_market(trade: Trade, seed: int, at_once: int) -> None:
    walk = await Walk.opened(trade, seed)
    await walk.steps(180, at_once)
    await walk.settle()


def test_the_model_agrees_with_the_story(story: Story) -> None:
    story.replayed()


def second_job(story: Story) -> Mapping[str, Observation]:
    """Accept the order that the market refuses because the buyer has one place."""
    body = story.named["order"].body | {"id": "job_second", "reference": "second"}
    return story.with_answer("busy", status=201, body=body)


def spent_twice(story: Story) -> Mapping[str, Observation]:
    """Settle the second payment with the transaction of the first."""
    first = story.named["pay"].body["payment"]["settlement"]["transaction"]
    return story.changed("pay upfront", payment__settlement__transaction=first)


def another_review(story: Story) -> Mapping[str, Observation]:
    extra = replace(story.named["review"], after=len(story.named))
    return story.named | {"second review": replace(extra, body=extra.body | {"id": "rev_second"})}


def other_agent(story: Story) -> Mapping[str, Observation]:
    """Give the buyer's order to a stranger that sends the same key."""
    return story.with_answer("order again", agent="agt_stranger")


def other_call(story: Story) -> Mapping[str, Observation]:
    given = dict(story.named["order again"].arguments) | {"title": "Another"}
    return story.with_answer("order again", arguments=given)


def key_reused_for_nothing(story: Story) -> Mapping[str, Observation]:
    return story.with_answer("order again", status=409, body={"error": {"code": "idempotency_key_reused"}})


def early_end(story: Story) -> Mapping[str, Observation]:
    """Show the expired job a second before its accept_by."""
    seen = story.named["expired"]
    moment = seen.began - timedelta(seconds=6_602)
    return story.with_answer("expired", began=moment, ended=moment)


def strangers(story: Story) -> Any:
    """Return the list of settlements as if a stranger might see it."""
    body = story.named["settlements"].body
    return body | {"data": [one | {"direction": None} for one in body["data"]]}


def seconds(number: int) -> Any:
    return lambda text: second(text, number)


CHANGES: dict[str, tuple[Rule, Change]] = {
    "two ends": (Rule.LIFECYCLE, lambda s: s.changed("completed", status="declined", available_actions=[])),
    "a status that skipped ahead": (Rule.CAUSE, lambda s: s.swapped("open", "sealed")),
    "a status that went back": (Rule.ORDER, lambda s: s.swapped("completed", "open")),
    "a move without a call": (Rule.CAUSE, lambda s: s.without("revise")),
    "a deadline that acts early": (Rule.CAUSE, early_end),
    "an acceptance without effect": (Rule.RESULT, lambda s: s.swapped("accept", "open for the seller")),
    "a refused legal move": (Rule.REFUSAL, lambda s: s.refused("accept", "invalid_transition")),
    "a refused repeat": (Rule.REFUSAL, lambda s: s.refused("late vote", "already_voted")),
    "a seller that is not busy": (Rule.REFUSAL, lambda s: s.refused("order upfront", "seller_busy")),
    "a quote that did not change": (Rule.REFUSAL, lambda s: s.refused("agree", "quote_changed")),
    "a settled job that is not": (Rule.REFUSAL, lambda s: s.refused("review", "job_not_settled")),
    "a bounty that is not closed": (Rule.REFUSAL, lambda s: s.refused("propose", "bounty_closed")),
    "a case that is not closed": (Rule.REFUSAL, lambda s: s.refused("vote 0", "dispute_closed")),
    "a stranger's read": (Rule.PARTY, lambda s: s.with_answer("open", agent="agt_stranger")),
    "a hidden job": (Rule.PARTY, lambda s: s.refused("open", "not_found", 404)),
    "the other environment": (Rule.PARTY, lambda s: s.with_answer("open", env="live")),
    "an acceptance that vanishes": (Rule.AGREED, lambda s: s.changed("completed", accepted_at=None)),
    "an end that vanishes": (Rule.AGREED, lambda s: s.changed("completed", completed_at=None)),
    "a reference that vanishes": (Rule.AGREED, lambda s: s.changed("completed", reference=None)),
    "another input": (Rule.AGREED, lambda s: s.changed("open for the seller", input={"text": "other"})),
    "an input that vanishes": (Rule.AGREED, lambda s: s.changed("completed", input=None)),
    "another title": (Rule.AGREED, lambda s: s.changed("open", title="Another")),
    "an accept_by one second early": (Rule.DEADLINE, lambda s: s.changed("order", deadlines__accept_by=seconds(-1), waiting_on__until=seconds(-1))),
    "a pay_by one second early": (Rule.DEADLINE, lambda s: s.changed("sealed", deadlines__pay_by=seconds(-1), payment__pay_by=seconds(-1), waiting_on__until=seconds(-1))),
    "a deliver_by one second early": (Rule.DEADLINE, lambda s: s.changed("accept", deadlines__deliver_by=seconds(-1), waiting_on__until=seconds(-1))),
    "a review_by one second late": (Rule.DEADLINE, lambda s: s.changed("revealed", deadlines__review_by=seconds(1), waiting_on__until=seconds(1))),
    "a deadline that moves": (Rule.DEADLINE, lambda s: s.changed("open", deadlines__accept_by=seconds(1), waiting_on__until=seconds(1))),
    "a deadline that does not act": (Rule.PUNCTUAL, lambda s: s.swapped("expired", "ask again")),
    "an acceptance at another time": (Rule.MOMENT, lambda s: s.changed("accept", accepted_at=seconds(1), deadlines__deliver_by=seconds(1), waiting_on__until=seconds(1))),
    "a missing action": (Rule.ACTIONS, lambda s: s.changed("open", available_actions=["message"])),
    "an action too many": (Rule.ACTIONS, lambda s: s.changed("sealed", available_actions=["pay", "accept", "cancel", "message"])),
    "a wrong wait": (Rule.WAITING, lambda s: s.changed("open", waiting_on__who="buyer")),
    "a payment status ahead": (Rule.PAYMENT, lambda s: s.changed("sealed", payment__status="paid")),
    "a price off by one": (Rule.PRICE, lambda s: s.changed("order", price=lambda n: n + 1, payment__amount=lambda n: n + 1, payment__display="0.250001 USDC")),
    "an amount off by one": (Rule.PRICE, lambda s: s.changed("sealed", payment__amount=lambda n: n - 1)),
    "a quote that was not made": (Rule.PRICE, lambda s: s.changed("agree", price=30_000, payment__amount=30_000, payment__display="0.030000 USDC", quoted_price=30_000)),
    "terms off by one": (Rule.TERMS, lambda s: s.changed("terms", amount=lambda n: n + 1)),
    "a payment one short": (Rule.TRANSFER, lambda s: s.changed("pay", payment__settlement__amount=lambda n: n - 1)),
    "another time of a payment": (Rule.TRANSFER, lambda s: s.changed("settlements", data__0__settled_at=seconds(1))),
    "a payment without its time": (Rule.TRANSFER, lambda s: s.changed("settlements", data__0__settled_at=None)),
    "a payment to another wallet": (Rule.TRANSFER, lambda s: s.changed("settlements", data__0__pay_to="0x00")),
    "a payment to a wallet that was not told": (Rule.TRANSFER, lambda s: s.changed("pay", payment__settlement__pay_to="0x00")),
    "a job paid at another time": (Rule.TRANSFER, lambda s: s.changed("pay", payment__settlement__settled_at=seconds(1))),
    "a transaction spent twice": (Rule.TRANSFER, spent_twice),
    "a refund off by one": (Rule.REFUND, lambda s: s.changed("give up", refund_expected=lambda n: n - 1, payment__refund_expected=lambda n: n - 1)),
    "a refund still due": (Rule.REFUND, lambda s: s.changed("give up", refund_due=False, refund_expected=None)),
    "an output before payment": (Rule.SEALED, lambda s: s.changed("sealed", output={"english": "good day"})),
    "a hash before payment": (Rule.SEALED, lambda s: s.changed("sealed", output_hash="00")),
    "an exact size before payment": (Rule.SEALED, lambda s: s.changed("sealed", output_bytes=22)),
    "another output": (Rule.DIGEST, lambda s: s.changed("revealed", output={"english": "bye"})),
    "another commitment": (Rule.DIGEST, lambda s: s.changed("sealed", output_commitment="sha256:00")),
    "a hash that vanishes": (Rule.DIGEST, lambda s: s.changed("completed", deliveries__0__output_hash=None)),
    "a salt that vanishes": (Rule.DIGEST, lambda s: s.changed("completed", deliveries__0__output_salt=None)),
    "a forgotten delivery": (Rule.DELIVERIES, lambda s: s.changed("revealed", deliveries=lambda many: many[1:])),
    "a revision too many": (Rule.REVISIONS, lambda s: s.changed("revise", revision_count=3)),
    "a second review": (Rule.REVIEW, another_review),
    "a rating of six": (Rule.REVIEW, lambda s: s.changed("reviews", data__0__rating=6)),
    "another answer to one key": (Rule.IDEMPOTENCY, lambda s: s.changed("order again", title="Another")),
    "one key for two calls": (Rule.IDEMPOTENCY, other_call),
    "a key refused for nothing": (Rule.IDEMPOTENCY, key_reused_for_nothing),
    "another agent's answer": (Rule.PARTY, other_agent),
    "a reference used twice": (Rule.REFERENCE, lambda s: s.changed("order upfront", reference="first")),
    "one place too many": (Rule.PLACES, second_job),
    "a list out of order": (Rule.LIST, lambda s: s.changed("jobs", data=lambda many: many[::-1])),
    "a payment missing in the list": (Rule.LIST, lambda s: s.changed("settlements", data=[])),
    "a payment of others in the list": (Rule.PARTY, lambda s: s.with_answer("settlements", agent="agt_stranger", body=strangers(s))),
    "a job missing in the inbox": (Rule.INBOX, lambda s: s.changed("inbox", jobs_awaiting_my_action=[])),
    "another awarded job": (Rule.BOUNTY, lambda s: s.changed("awarded", awarded_job_id="job_other")),
    "an awarded bounty that opens": (Rule.ORDER, lambda s: s.changed("awarded", status="open", awarded_job_id=None)),
    "a proposal over the budget": (Rule.PROPOSAL, lambda s: s.changed("propose", price=1_000_001)),
    "another verdict": (Rule.DISPUTE, lambda s: s.changed("closed case again", resolved_by="operator")),
    "a tally before the end": (Rule.VOTE, lambda s: s.changed("case", tally={"buyer": 1, "seller": 0, "split": 0})),
    "an outcome against the tally": (Rule.VOTE, lambda s: s.changed("vote 1", outcome="buyer")),
    "a completed job too many": (Rule.COUNT, lambda s: s.changed("counted", stats__jobs_completed=2)),
    "a proposal too many": (Rule.COUNT, lambda s: s.changed("bounty with one", proposal_count=2)),
}  # fmt: skip


@pytest.mark.parametrize("name", CHANGES | VOTES)
def test_a_changed_answer_breaks_its_rule(story: Story, name: str) -> None:
    rule, change = (CHANGES | VOTES)[name]
    with pytest.raises(Violation) as found:
        story.replayed(change(story))
    assert found.value.rule is rule, found.value


def test_an_open_thing_ends_by_its_last_deadline(story: Story) -> None:
    names = list(story.named)
    model = story.replayed({name: story.named[name] for name in names[: names.index("accept")]})
    ends = model.unfinished()[0].ends_by
    assert ends is not None
    model.check_liveness(ends)
    with pytest.raises(Violation, match="LIVENESS"):
        model.check_liveness(ends + timedelta(seconds=1))


def _span(low: float, seconds: int) -> Span:
    moment = START + timedelta(seconds=seconds)
    return Span(low, low + 1, moment, moment)


@pytest.mark.parametrize(("late", "allowed"), [(0.0004, True), (0.0011, False)])
def test_a_state_may_be_shown_in_the_millisecond_of_its_end(story: Story, late: float, allowed: bool) -> None:
    """A deadline is kept in microseconds, and shown rounded down to milliseconds."""
    model = story.replayed({"order": story.named["order"]})
    order = story.named["order"]
    due = datetime.fromisoformat(order.body["deadlines"]["accept_by"])
    moment = due + timedelta(seconds=late)
    seen = replace(order, number=99, operation="get_job", arguments={"job_id": order.body["id"]}, idempotency_key=None)
    seen = replace(seen, status=200, began=moment, ended=moment + timedelta(seconds=1), after=None)
    with nullcontext() if allowed else pytest.raises(Violation, match="PUNCTUAL"):
        model.observe(seen)


@pytest.mark.parametrize(
    "ended_after, accepted_after, called_after, possible",
    [
        (61, None, 30, {"delivered", "completed"}),  # the deadline ended it, and then the clock went back
        (61, None, 62, {"completed"}),
        (61, 59, 30, {"completed"}),  # a call ended it, and then the clock went on and back
        (20, 20, 30, {"completed"}),
    ],
)
def test_a_clock_that_goes_back_makes_an_ended_state_possible(
    ended_after: int, accepted_after: int | None, called_after: int, possible: set[str]
) -> None:
    graph = Graph({"delivered": ((TIME, "completed"), ("accept:buyer", "completed")), "completed": ()}, ["delivered"])
    visits = [
        Visit("delivered", _span(0, 0), first_high=1, last_low=0, due=START + timedelta(seconds=60)),
        Visit("completed", _span(2, ended_after), first_high=3, last_low=2),
    ]
    calls = [] if accepted_after is None else [Call("accept:buyer", _span(1, accepted_after), "completed")]
    assert History(graph, "a job", visits, calls).possible(_span(4, called_after)) == possible


def test_a_clock_that_goes_back_takes_no_call_back() -> None:
    """A payment after the deadline cannot be undone by an earlier time."""
    moves = {"awaiting": ((TIME, "unpaid"),), "unpaid": (("pay:buyer", "in_progress"),), "in_progress": ()}
    visits = [
        Visit("awaiting", _span(0, 0), first_high=1, last_low=0, due=START + timedelta(seconds=60)),
        Visit("unpaid", _span(2, 61), first_high=3, last_low=2),
        Visit("in_progress", _span(4, 62), first_high=5, last_low=4),
    ]
    history, again = History(Graph(moves, ["awaiting"]), "a job", visits), _span(6, 30)
    assert history.possible(again) == {"in_progress"}
    history._set_back(0, again)
    assert [one.state for one in history.visits] == ["awaiting", "unpaid", "in_progress"]


def test_a_lost_answer_may_have_had_its_effect(story: Story) -> None:
    lost = story.with_answer("accept", status=0, body=None)
    assert isinstance(story.replayed(lost), Model)


def test_an_idempotent_call_answers_what_a_lost_one_did(story: Story) -> None:
    assert story.named["order"].idempotency_key == KEY
    story.replayed(story.with_answer("order", status=0, body=None))


def test_an_attempt_before_a_lost_one_may_have_had_the_effect(story: Story) -> None:
    idempotency, call = Idempotency(Doubts(timedelta())), replace(story.named["accept"], idempotency_key="once")
    first, later, end = (START + timedelta(seconds=one) for one in (1, 5, 9))
    lost, answered = (
        Sight(replace(call, status=0, body=None), Span(5, 6, later, end)),
        Sight(call, Span(1, 9, first, end)),
    )
    assert not idempotency.repeats(lost)
    assert not idempotency.repeats(answered)
    assert answered.span == Span(1, 9, first, end)


def test_terms_of_a_payment_are_no_kept_answer(story: Story) -> None:
    terms: dict[str, Any] = {"object": "payment_terms", "valid_before": 1}
    first = replace(story.named["order"], operation="pay_job", idempotency_key="once", body=terms)
    model = Model()
    for number, seconds in enumerate((1, 3)):
        model.observe(replace(first, number=number, body=terms | {"valid_before": seconds}))


def test_each_rule_is_broken_by_a_test() -> None:
    assert {rule for rule, _ in (*CHANGES.values(), *WRONG.values())} | {Rule.LIVENESS} == set(Rule)
