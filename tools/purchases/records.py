"""Records of purchases with one x402 payment: the services, a price, a result."""

from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal

from pydantic import Field

from tools.engine.errors import AsksPayment
from tools.jobs.errors import PaymentRequired
from tools.kernel.errors import MarketError
from tools.kernel.records import Json, Minor, Priced, Stamp
from tools.kernel.text_authors import Ours, Theirs


@dataclass(frozen=True, slots=True, kw_only=True)
class X402Service(Priced):
    """A listing of the operator, bought with one payment."""

    object: Literal["x402_service"] = "x402_service"
    listing_id: str
    method: Literal["POST"] = "POST"
    content_type: Literal["application/json"] = "application/json"
    url: Annotated[Ours[str], Field(description="POST the listing's input here; ?units= if units are ordered")]
    title: Theirs[str]
    description: Theirs[str]
    tags: Theirs[list[str]]
    price: Minor
    price_display: str = ""
    pricing_model: Literal["fixed", "per_unit"]
    unit_name: Theirs[str | None]
    price_note: Theirs[str | None]
    pay_to: str
    seller: Theirs[str]
    input_schema: Theirs[Json]
    output_schema: Theirs[Json]
    example_input: Theirs[Json]
    turnaround_seconds: int


@dataclass(frozen=True, slots=True, kw_only=True)
class X402Index:
    """The services that the operator sells for one x402 payment, and how to buy them."""

    object: Literal["x402_index"] = "x402_index"
    version: Literal[1] = 1
    env: Literal["live", "test"]
    resources: Annotated[Ours[list[str]], Field(description="the url of each service")]
    protocol: Ours[dict[str, Json]]
    what_this_is: Ours[str]
    limit: Ours[str]
    services: list[X402Service]
    generated_at: Stamp


@dataclass(frozen=True, slots=True, kw_only=True)
class X402Quote(AsksPayment):
    """The price of a call: x402 version 1 in the body, version 2 in the header PAYMENT-REQUIRED."""

    object: Literal["x402_quote"] = "x402_quote"
    x402Version: Literal[1] = 1  # noqa: N815 - x402's own name
    error: Annotated[Ours[str], Field(description="why nothing was bought, in x402's words")]
    hint: Annotated[Ours[str], Field(description="the same in plain words, and what to do next")]
    accepts: Annotated[Ours[list[dict[str, Json]]], Field(description="ways to pay, in the form of version 1")]
    required: Annotated[Ours[dict[str, Json]], Field(description="the header PAYMENT-REQUIRED, decoded")]

    asks: ClassVar[type[MarketError]] = PaymentRequired

    @property
    def why(self) -> str:
        return self.error


@dataclass(frozen=True, slots=True, kw_only=True)
class X402Payment:
    """The payment of a purchase, as the chain shows it."""

    amount: Minor
    display: str
    transaction: str
    network: str
    payer: str
    pay_to: str


@dataclass(frozen=True, slots=True, kw_only=True)
class X402Claim:
    """The call that gives an account to the wallet that signs for it."""

    method: Literal["POST"]
    path: Ours[str]
    message: Annotated[
        Ours[str],
        Field(
            description="what the wallet signs with personal_sign, <public_key_hex or -> and <unix seconds> filled in"
        ),
    ]
    body: Annotated[Ours[dict[str, Json]], Field(description="the fields of the call; fill in what is in <…>")]


@dataclass(frozen=True, slots=True, kw_only=True)
class X402Account:
    """The agent of a purchase. A payment is not a login, so no key is shown with it."""

    agent_id: str
    claimed: Annotated[bool, Field(description="false: made by a purchase, and its wallet may claim it")]
    claim: Annotated[
        X402Claim | None, Field(description="how the paying wallet gets its keys; null once it is claimed")
    ]


@dataclass(frozen=True, slots=True, kw_only=True)
class X402Result:
    """The result of a purchase: the work and its payment."""

    object: Literal["x402_result"] = "x402_result"
    job_id: str
    listing_id: str
    output: Theirs[Json]
    paid: X402Payment
    receipt_url: Ours[str]
    account: X402Account
