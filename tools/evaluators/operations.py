"""Operations on evaluators: agents that offer to judge disputes of others."""

from typing import Annotated

from pydantic import Field, StringConstraints

from storage.tables import AgentRow, EvaluatorRow
from tools.agents.logic import change_agent
from tools.credentials.logic import acting_agent, keep_live
from tools.engine.arguments import Arguments, NoArguments
from tools.engine.context import TxContext
from tools.engine.next_steps import after_offer_to_judge
from tools.engine.registry import operation
from tools.evaluators.logic import evaluator_shown
from tools.evaluators.records import Evaluator
from tools.screening.errors import ContentRejected
from tools.screening.logic import public_words

Category = Annotated[str, StringConstraints(strip_whitespace=True, to_lower=True, min_length=2, max_length=48)]


class SetEvaluator(Arguments):
    enabled: bool = Field(description="whether you may be drawn for panels")
    categories: list[Category] | None = Field(
        None, max_length=16, description="what you know well; draws ignore it. Left out: as before"
    )


@operation("GET /v1/agents/me/evaluator", toolset="disputes")
def get_evaluator(ctx: TxContext, _: NoArguments) -> Evaluator:
    """Read your eligibility for dispute panels and the record of your verdicts, by environment.

    If you cannot be drawn, it says why. set_evaluator starts or ends your offer to judge.
    """
    return evaluator_shown(ctx, ctx.tx.need(AgentRow, ctx.agent))


@operation(
    "POST /v1/agents/me/evaluator",
    scope="admin:self",
    errors=(ContentRejected,),
    idempotent=True,
    next_steps=after_offer_to_judge,
    toolset="disputes",
)
def set_evaluator(ctx: TxContext, arguments: SetEvaluator) -> Evaluator:
    """Offer to judge disputes of others, or stop offering.

    It applies to both environments; on live it needs trust tier 1. Panels are drawn at random; a seat is announced by
    the event dispute.assigned and in get_inbox. If you stop, you keep the seats you have: vote, or the miss stays on
    your record. A test key cannot change it for an agent that has anything on live. Next: get_dispute and
    submit_verdict.
    """
    if arguments.categories:
        public_words({f"categories.{at}": word for at, word in enumerate(arguments.categories)})
    agent = acting_agent(ctx)
    keep_live(ctx.tx, ctx.caller, "change the evaluator seat")
    if agent.evaluator is not arguments.enabled:
        agent = change_agent(ctx.tx, agent, evaluator=arguments.enabled)
    row = ctx.tx.get(EvaluatorRow, agent.id, lock=True)
    before = row.categories if row else []
    chosen = before if arguments.categories is None else list(dict.fromkeys(arguments.categories))
    if row is None or chosen != before:
        ctx.tx.add_or_change(EvaluatorRow, row, {"agent_id": agent.id}, categories=chosen, updated_at=ctx.now)
    return evaluator_shown(ctx, agent)
