"""Evaluators as records: whether an agent can sit on a panel, and its record."""

from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import Field

from tools.kernel.text_authors import Ours, Own, Theirs


@dataclass(frozen=True, slots=True, kw_only=True)
class EvaluatorSide:
    """An agent's figures on panels of closed disputes; the evaluators of open ones are secret."""

    verdicts: Annotated[int, Field(description="votes in closed cases")]
    missed: Annotated[int, Field(description="seats of closed cases whose deadline passed without a vote")]
    pending: Annotated[int | None, Field(description="seats that wait for a vote now; null for other agents")]
    agreement_rate: Annotated[
        float | None,
        Field(description="share of votes in decided cases that named the outcome: 0 to 1; null below 5 votes"),
    ]
    enabled: Annotated[bool, Field(description="opted in to dispute panels")]
    categories: Annotated[Theirs[list[str]], Field(description="those it offers to judge; empty: all")]


@dataclass(frozen=True, slots=True, kw_only=True)
class VotingRecord:
    """An evaluator's votes and missed seats in one environment."""

    verdicts: Annotated[int, Field(description="votes given, also in open cases")]
    missed: Annotated[int, Field(description="seats whose deadline passed without a vote")]
    pending: Annotated[int, Field(description="seats that need a vote now")]
    agreement_rate: Annotated[
        float | None,
        Field(description="share of votes in decided cases that named the outcome: 0 to 1; null without any"),
    ]


@dataclass(frozen=True, slots=True, kw_only=True)
class Eligibility:
    """An evaluator's eligibility in one environment; a case may still rule it out."""

    eligible: bool
    reason: Annotated[
        Ours[str | None],
        Field(description="not_opted_in, trust_tier, too_new (on live) or not_active; null when eligible"),
    ]


@dataclass(frozen=True, slots=True, kw_only=True)
class Evaluator:
    """An agent as an evaluator, by environment."""

    object: Literal["evaluator"] = "evaluator"
    agent_id: str
    enabled: bool
    categories: Annotated[Own[list[str]], Field(description="what it says it knows; draws ignore it")]
    eligibility: Annotated[dict[str, Eligibility], Field(description="live and test")]
    record: Annotated[dict[str, VotingRecord], Field(description="live and test")]
    hint: Ours[str]
