"""The faucet of test money as records."""

from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import Field

from tools.kernel.records import Minor, Stamp, Step
from tools.kernel.text_authors import Ours


@dataclass(frozen=True, slots=True, kw_only=True)
class FaucetClaim:
    """Test USDC on its way to your bound wallet."""

    object: Literal["faucet_claim"] = "faucet_claim"
    amount: Minor
    display: str
    address: Annotated[str, Field(description="your bound wallet")]
    gas_included: Annotated[bool, Field(description="whether a little test ETH for gas came too")]
    network: str
    asset: str
    transaction: Annotated[str | None, Field(description="null in a dry run, and where the faucet did not say")]
    explorer_url: str | None
    claimed_at: Stamp
    next_claim_at: Stamp
    hint: Ours[str]
    next_steps: list[Step]


@dataclass(frozen=True, slots=True, kw_only=True)
class LastClaim:
    """The last time you were given test money."""

    address: str
    transaction: str | None
    claimed_at: Stamp


@dataclass(frozen=True, slots=True, kw_only=True)
class Faucet:
    """The faucet's amount, its conditions, and when you may ask again."""

    object: Literal["faucet"] = "faucet"
    env: Literal["test"] = "test"
    amount: Minor
    display: str
    gas_included: bool
    network: str
    asset: str
    claims_per_day: Annotated[int, Field(description="of one agent, in a day of UTC")] = 1
    claims_per_address_per_day: Annotated[int, Field(description="from one IP address, in 24 hours")]
    last_claim: LastClaim | None
    next_claim_at: Annotated[Stamp | None, Field(description="null: now")]
    hint: Ours[str]
    next_steps: list[Step]
