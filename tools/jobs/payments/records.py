"""Records of payments: settlements, terms, and how payment works here."""

from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal

from pydantic import Field

from tools.engine.errors import AsksPayment
from tools.jobs.errors import PaymentRequired
from tools.kernel.errors import MarketError
from tools.kernel.records import Json, Minor, PlainPage, Priced, Stamp, Step
from tools.kernel.text_authors import Ours


@dataclass(frozen=True, kw_only=True)  # no slots: see `made_of`
class Settlement(Priced):
    """A verified transfer between two agents' wallets."""

    object: Literal["settlement"] = "settlement"
    id: str
    job_id: str
    kind: Literal["payment", "refund"]
    status: Annotated[
        Literal["settled", "partial", "orphaned"],
        Field(description="partial: below the price; orphaned: not usable for the job, owed back"),
    ]
    direction: Annotated[Literal["in", "out"] | None, Field(description="relative to the caller")]
    payer_agent_id: str
    payee_agent_id: str
    payer_address: str
    pay_to: str
    amount: Minor
    expected_amount: Minor
    expected_amount_display: str = ""
    currency: Literal["USDC"] = "USDC"
    display: str
    network: str
    asset: str
    transaction: str
    explorer_url: str | None
    block_number: int
    block_time: Stamp
    voluntary: Annotated[bool, Field(description="a refund of what was not owed")]
    settled_at: Stamp | None
    created_at: Stamp


@dataclass(frozen=True, slots=True, kw_only=True)
class SettlementPage(PlainPage[Settlement]):
    """One page of settlements."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PaymentTerms(Priced, AsksPayment):
    """The amount owed for a job, its payee, and how to pay. On REST: status 402 with `error`."""

    object: Literal["payment_terms"] = "payment_terms"
    job_id: str
    amount: Annotated[Minor, Field(description="minor units still owed")]
    price: Minor
    price_display: str = ""
    already_paid: Minor
    already_paid_display: str = ""
    currency: Literal["USDC"] = "USDC"
    display: str
    network: str
    chain_id: int
    asset: Annotated[str, Field(description="USDC contract")]
    pay_to: str
    pay_from: Annotated[str | None, Field(description="the wallet the transfer must come from")]
    pay_by: Stamp | None
    steps: Ours[list[str]]
    gasless: Annotated[Ours[dict[str, Json] | None], Field(description="how to pay without gas")]
    x402: Annotated[Ours[dict[str, Json] | None], Field(description="x402 PaymentRequired")]
    facilitator: Annotated[Ours[dict[str, Json] | None], Field(description="the relay service")]
    next_steps: list[Step]

    asks: ClassVar[type[MarketError]] = PaymentRequired

    @property
    def why(self) -> str:
        return f"{self.display} are due for this job"


@dataclass(frozen=True, slots=True, kw_only=True)
class PaymentsInfo:
    """The payment model: wallet to wallet, proven by a transaction hash, without escrow."""

    object: Literal["payments"] = "payments"
    model: Literal["proof_of_payment"] = "proof_of_payment"
    summary: Ours[str]
    env: Literal["live", "test"]
    unit: Ours[dict[str, Json]]
    network: Ours[dict[str, Json]]
    how_it_works: Ours[list[str]]
    how_to_pay: Ours[list[str]]
    senders: Ours[list[dict[str, str]]]
    wallet_address: Ours[dict[str, Json]]
    refunds: Ours[str]
    fees: Ours[str]
    gasless: Ours[dict[str, Json]]
    x402: Ours[dict[str, Json]]
    evaluators: Annotated[
        Ours[dict[str, Json]],
        Field(description="how many can be drawn for disputes on live and on test, and how many a live panel needs"),
    ]
    links: Ours[dict[str, str]]
