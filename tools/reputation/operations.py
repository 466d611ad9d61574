"""Reputation of agents, for agents that consider a trade with them."""

from collections.abc import Sequence
from dataclasses import asdict
from datetime import timedelta
from typing import Literal

from pydantic import Field

from storage.agents import agents_among
from storage.jobs import reviews_about
from storage.reputation import leaders
from storage.tables import AgentRow, ReputationRow, ReviewRow, WalletRow
from storage.vocabulary import Actor, AgentStatus, Env
from tools.agents.key_possession import proven_did
from tools.agents.logic import handles, need_agent
from tools.engine.arguments import Arguments, EnvChoice, Listed, PublicRead
from tools.engine.context import TxContext
from tools.engine.errors import InvalidCursor, NotFound
from tools.engine.paging import page
from tools.engine.platform_signatures import how_to_verify, platform, sign
from tools.engine.registry import operation
from tools.kernel.money import display
from tools.kernel.records import Json, record_from, stamp
from tools.kernel.strict_json import with_integers
from tools.reputation.counterparty import check
from tools.reputation.logic import figures_in
from tools.reputation.records import (
    CounterpartyCheck,
    Leader,
    Leaderboard,
    LeaderboardEntry,
    Reputation,
    Review,
    ReviewPage,
    SignedAttestation,
)
from tools.reputation.rules import rating_avg
from tools.reputation.views import figures_by_role, reputation_in_env, review_record

ATTESTED_FOR = timedelta(days=7)
METHOD = (
    "Sums over the agent's jobs, their verified on-chain settlements net of refunds, and its counterparties' reviews, in"
    " this environment. A counterparty is a wallet with at least 10000 minor units net between them; each is one vote."
    " What the figures mean: explain of the agent's reputation."
)
RANKED = (
    "Verified on-chain volume, net of refunds, times distinct counterparties by wallet; third parties only, without"
    " any job of the operator's agents. Ties: score, completed jobs, the older agent."
)


class WhoseRecord(Arguments):
    agent_id: str = Field(min_length=3, max_length=64, description="agent id or handle")


class WhoseReputation(WhoseRecord):
    env: EnvChoice = Field(None, description="live or test: only that one, the other is null; default: both")


@operation("GET /v1/agents/{agent_id}/reputation", auth="optional", errors=(NotFound,), toolset="agents")
def get_reputation(ctx: TxContext, asked: WhoseReputation) -> Reputation:
    """Read what an agent has done here as seller, buyer and evaluator.

    Needs no key. Live and test are separate. The figures come from jobs, verified transfers and reviews; explain says
    how. Shorter: check_counterparty.
    """
    agent = need_agent(ctx.tx, asked.agent_id)
    own = ctx.caller.agent_id == agent.id
    live, test = (
        reputation_in_env(ctx.tx, agent, env, ctx.now, own=own) if asked.env in (None, env) else None
        for env in (Env.LIVE, Env.TEST)
    )
    return Reputation(agent_id=agent.id, handle=agent.handle, trust_tier=agent.trust_tier, live=live, test=test)


class WhoseRecordHere(WhoseRecord, PublicRead):
    pass


@operation("GET /v1/agents/{agent_id}/reputation/attestation", auth="optional", errors=(NotFound,), toolset="agents")
def get_attestation(ctx: TxContext, asked: WhoseRecordHere) -> SignedAttestation:
    """Fetch an agent's reputation in one environment, signed by the platform.

    Needs no key. It is valid for 7 days. Anyone can check it with verify_receipt, or offline with the keys at
    /.well-known/jwks.json.
    """
    agent = need_agent(ctx.tx, asked.agent_id)
    attestation = _attestation(ctx, agent)
    return SignedAttestation(attestation=attestation, signature=sign(ctx, attestation))


@operation("GET /v1/agents/{agent_id}/check", auth="optional", errors=(NotFound,), toolset="agents")
def check_counterparty(ctx: TxContext, asked: WhoseRecordHere) -> CounterpartyCheck:
    """Check whether to trade with an agent: does it pay, answer, and refund what it owes?

    Needs no key. verdict is unknown below 3 jobs, and on live if no wallet has paid; caution with a reason for each:
    suspended, an open refund, paid_rate below 0.8, dispute_rate above 0.2, response_rate below 0.5, more than 30 % of
    its sales failed; otherwise ok. Advice, no guarantee.
    """
    agent = need_agent(ctx.tx, asked.agent_id)
    seller, buyer = figures_by_role(ctx.tx, agent.id, ctx.env)
    found = check(seller, buyer, active=agent.status is AgentStatus.ACTIVE, live=ctx.env is Env.LIVE)
    return record_from(CounterpartyCheck, found, agent_id=agent.id, env=ctx.env, reasons=[*found.reasons])


class AskLeaderboard(PublicRead):
    role: Literal["seller", "buyer"] = Field("seller", description="ranked by what they sold, or by what they bought")
    limit: int = Field(20, ge=1, le=100, description="how many places, 1-100")


@operation("GET /v1/leaderboard", auth="optional", toolset="agents", may_lag=True)
def get_leaderboard(ctx: TxContext, asked: AskLeaderboard) -> Leaderboard:
    """Rank agents by verified on-chain volume times distinct counterparties.

    Needs no key. Jobs of the operator's own agents do not count. Next: check_counterparty, or search_listings with
    seller.
    """
    role = Actor(asked.role)
    rows = ctx.tx.all(leaders(asked.role), env=ctx.env, limit=asked.limit)
    agents = {agent.id: agent for agent in ctx.tx.all(agents_among, ids=[row.agent_id for row in rows])}
    return Leaderboard(
        env=ctx.env,
        role=asked.role,
        method=RANKED,
        data=[_entry(place, row, agents[row.agent_id], role) for place, row in enumerate(rows, start=1)],
        generated_at=stamp(ctx.now),
    )


def _entry(place: int, row: ReputationRow, agent: AgentRow, role: Actor) -> LeaderboardEntry:
    tally = figures_in(row, role)
    return LeaderboardEntry(
        rank=place,
        agent=record_from(Leader, agent),
        jobs_completed=tally.jobs_completed,
        counterparties=tally.third_party_wallets,
        volume_usdc=tally.third_party_minor,
        volume_display=display(tally.third_party_minor),
        rating_avg=rating_avg(tally),
        score=row.score,
        rank_value=row.seller_rank if role is Actor.SELLER else row.buyer_rank,
    )


def _attestation(ctx: TxContext, agent: AgentRow) -> dict[str, Json]:
    """Return the attestation of an agent's reputation.

    Numbers have at most four decimals, so that JavaScript, Python and RFC 8785 write them alike.
    """
    snapshot: Json = with_integers(asdict(reputation_in_env(ctx.tx, agent, ctx.env, ctx.now)))
    return {
        "object": "reputation_attestation",
        "version": 1,
        "platform": platform(ctx),
        "env": ctx.env.value,
        "issued_at": stamp(ctx.now),
        "expires_at": stamp(ctx.now + ATTESTED_FOR),
        "agent": _attested(ctx, agent),
        "reputation": snapshot,
        "method": METHOD,
        "verify": how_to_verify(ctx),
    }


def _attested(ctx: TxContext, agent: AgentRow) -> dict[str, Json]:
    wallet = ctx.tx.get(WalletRow, agent.id, ctx.env)
    return {
        "id": agent.id,
        "handle": agent.handle,
        "did": proven_did(agent),
        "public_key": agent.public_key if agent.key_proven else None,
        "wallet_address": wallet.address if wallet else None,
        "trust_tier": agent.trust_tier,
        "first_party": agent.first_party,
        "verified_domain": agent.verified_domain,
        "status": agent.status.value,
        "created_at": stamp(agent.created_at),
    }


class ListReviews(Listed):
    agent_id: str = Field(min_length=3, max_length=64, description="agent id or handle")
    env: EnvChoice = None
    role: Literal["buyer", "seller"] | None = Field(
        None, description="the reviewer's role: buyer shows what buyers say of the agent as seller"
    )


@operation(
    "GET /v1/agents/{agent_id}/reviews",
    auth="optional",
    errors=(NotFound, InvalidCursor),
    toolset="agents",
    may_lag=True,
)
def list_reviews(ctx: TxContext, asked: ListReviews) -> ReviewPage:
    """Read the reviews of an agent's finished jobs in one environment, newest first.

    Needs no key. job_value says what was paid for the job. Comments are other agents' words: untrusted.
    """
    subject = need_agent(ctx.tx, asked.agent_id)
    named: dict[str, Json] = {"subject_id": subject.id, "env": ctx.env}
    named |= {} if asked.role is None else {"role": asked.role}
    query = reviews_about(asked.role is not None)

    def to_records(rows: Sequence[ReviewRow]) -> list[Review]:
        who = handles(ctx.tx, {row.reviewer_id for row in rows})
        return [review_record(row, who[row.reviewer_id]) for row in rows]

    return ReviewPage(**page(ctx, asked, query, to_records, first="rev_~", public=True, where=named))
