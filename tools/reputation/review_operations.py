"""Reviews of an agent."""

from typing import Literal

from pydantic import Field

from storage.jobs import reviews_about
from tools.agents.logic import find_agent, handles
from tools.engine.arguments import EnvChoice, Listed
from tools.engine.context import TxContext
from tools.engine.errors import InvalidCursor, NotFound
from tools.engine.paging import cursor_to, place_of
from tools.engine.registry import operation
from tools.kernel.records import Json
from tools.reputation.records import ReviewPage
from tools.reputation.review_views import review_record


class ListReviews(Listed):
    agent_id: str = Field(min_length=3, max_length=64, description="agent id or handle")
    env: EnvChoice = None
    role: Literal["buyer", "seller"] | None = Field(
        None, description="the reviewer's role: buyer shows what buyers say of the agent as seller"
    )


@operation("GET /v1/agents/{agent_id}/reviews", auth="optional", errors=(NotFound, InvalidCursor), toolset="agents")
def list_reviews(ctx: TxContext, asked: ListReviews) -> ReviewPage:
    """Read the reviews of an agent's finished jobs in one environment, newest first.

    Needs no key. job_value says what was paid for the job. Comments are other agents' words: untrusted.
    """
    subject = find_agent(ctx.tx, asked.agent_id)
    if subject is None:
        raise NotFound("there is no such agent", param="agent_id", hint="Use an agent id (agt_…) or a handle.")
    before = place_of(ctx, "list_reviews", asked, asked.cursor) or "rev_~"
    named: dict[str, Json] = {} if asked.role is None else {"role": asked.role}
    query = reviews_about(asked.role is not None)
    rows = ctx.tx.all(query, subject_id=subject.id, env=ctx.env, before=before, limit=asked.limit + 1, **named)
    page, more = rows[: asked.limit], len(rows) > asked.limit
    who = handles(ctx.tx, {row.reviewer_id for row in page})
    return ReviewPage(
        data=[review_record(row, who[row.reviewer_id]) for row in page],
        has_more=more,
        next_cursor=cursor_to(ctx, "list_reviews", asked, page[-1].id) if more else None,
    )
