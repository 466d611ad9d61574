"""A simulated x402 facilitator: it sends authorizations to the simulated chain, and fails in every way that one can."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, fields
from random import Random
from typing import Any

from tests.simulation.blocks import Window
from tests.simulation.chain import SimulatedChain
from tools.chain.x402_payload import SCHEME, Authorization, Token
from tools.chain.x402_payments import BadPayment, read_authorization
from tools.engine.ports import SettleNotSent, SettleResult, SettleUnknown

MALFORMED = "invalid_payload"
CONNECT_SECONDS = 10.0
OUT_SECONDS = 600  # it is out of order for this time
OUT_ONCE_IN = 4  # such times, and works in the others
RELAYER = "0x" + "fac1" * 10  # the wallet that pays the gas


@dataclass(frozen=True, slots=True)
class FacilitatorFaults:
    """Probabilities per request, from 0 to 1; at most one of them happens to a request."""

    refuses: float = 0.0  # says no without a reason that is true
    never_mined: float = 0.0  # names a transaction that was never sent
    another_hash: float = 0.0  # sends nothing and names another transaction of the chain
    not_sent: float = 0.0  # is not reached: SettleNotSent
    lost: float = 0.0  # sends, and its answer is lost: SettleUnknown
    unknown: float = 0.0  # sends nothing, and no answer comes: SettleUnknown
    denies: float = 0.0  # sends, and says that it did not
    slow: float = 0.0  # does as it should, but late
    slow_seconds: float = 60.0  # at most
    connect_seconds: float = 0.0  # until it is certain that it is not reached, at most


class SimulatedFacilitator:
    """The facilitator port over the simulated chain.

    `faults` may be replaced at any time, and `heal` switches all off. `check_signatures` is off only for a chain whose
    payers sign nothing.
    """

    def __init__(
        self,
        chain: SimulatedChain,
        dice: Random,
        sleep: Callable[[float], Awaitable[None]],
        *,
        check_signatures: bool = True,
    ) -> None:
        self.chain, self.dice, self.sleep = chain, dice, sleep
        self.check_signatures = check_signatures
        self.faults = FacilitatorFaults()

    def heal(self) -> None:
        """Switch all faults off."""
        self.faults = FacilitatorFaults()

    async def verify(self, body: Mapping[str, Any]) -> str | None:
        """Return why this payment would be refused now; None if it would be sent.

        Raises SettleNotSent and SettleUnknown.
        """
        fault = await self._fault()
        if fault == "not_sent":
            raise SettleNotSent("ConnectError")
        if fault in ("lost", "unknown"):
            raise SettleUnknown("ReadTimeout")
        return "unexpected_verify_error" if fault == "refuses" else self._refusal(body)

    async def settle(self, body: Mapping[str, Any]) -> SettleResult:
        """Send the authorization, unless the chain would refuse it.

        Raises SettleNotSent and SettleUnknown.
        """
        fault = await self._fault()
        if fault == "not_sent":
            raise SettleNotSent("ConnectError")
        if fault == "unknown":
            raise SettleUnknown("ReadTimeout")
        if fault == "refuses":
            return SettleResult(None, "unexpected_settle_error")
        if fault == "never_mined":
            return SettleResult(self.chain.new_hash(), None)
        if fault == "another_hash" and (known := self.chain.transfers()):
            return SettleResult(self.dice.choice(known).hash, None)
        refusal = self._refusal(body)
        sent = self._send(body) if refusal is None else None
        if fault == "lost":
            raise SettleUnknown("ReadTimeout")
        return SettleResult(None, "settle_failed") if fault == "denies" else SettleResult(sent, refusal)

    async def _fault(self) -> str | None:
        """Choose the fault of a request; a slow one is slow here."""
        left = self.dice.random()
        for name in ("refuses", "never_mined", "another_hash", "not_sent", "lost", "unknown", "denies", "slow"):
            left -= getattr(self.faults, name)
            if left < 0:
                takes = {"slow": self.faults.slow_seconds, "not_sent": self.faults.connect_seconds}.get(name)
                if takes:
                    await self.sleep(self.dice.uniform(0, takes))
                return name
        return None

    def _refusal(self, body: Mapping[str, Any]) -> str | None:
        """Return x402's reason if the terms, the chain or the signature forbid this payment."""
        try:
            asked, payload = body["paymentRequirements"], body["paymentPayload"]["payload"]
            given, signature = read_authorization(payload["authorization"]), payload["signature"]
            network, asset = asked["network"], asked["asset"].lower()
            pays = given.payee.lower() == asked["payTo"].lower() and str(given.value) == asked["amount"]
        except (BadPayment, KeyError, TypeError, AttributeError):
            return MALFORMED
        if (asked.get("scheme"), network, asset) != (SCHEME, self.chain.network.id, self.chain.usdc) or not pays:
            return "invalid_exact_evm_payload_recipient_mismatch"
        return self._chain_refusal(given) or (None if self._signed(given, signature) else "invalid_exact_evm_signature")

    def _chain_refusal(self, given: Authorization) -> str | None:
        seconds = self.chain.clock.now().timestamp()
        if seconds <= given.valid_after:
            return "invalid_exact_evm_payload_authorization_valid_after"
        if seconds >= given.valid_before:
            return "invalid_exact_evm_payload_authorization_valid_before"
        if self.chain.is_used(given.payer, given.nonce):
            return "invalid_exact_evm_nonce_already_used"
        poor = self.chain.balance(given.payer) < given.value
        return "invalid_exact_evm_insufficient_balance" if poor else None

    def _signed(self, given: Authorization, signature: str) -> bool:
        if not self.check_signatures:
            return True
        network = self.chain.network
        token = Token(network.id, network.chain_id, network.asset, network.asset_name, network.asset_version)
        return self.chain.accepts(given.payer, given.digest(token), signature)

    def _send(self, body: Mapping[str, Any]) -> str:
        given = read_authorization(body["paymentPayload"]["payload"]["authorization"])
        window = Window(given.nonce, given.valid_after, given.valid_before)
        return self.chain.authorize(given.payer, given.payee, given.value, window, relayer=RELAYER)


class NotedFacilitator(SimulatedFacilitator):
    """A facilitator whose faults are counted."""

    note: Callable[[str], None]

    def begin(self, note: Callable[[str], None], chance: float) -> None:
        """Let each kind of fault happen with this chance per request, and report each one."""
        self.note = note
        kinds = [one.name for one in fields(FacilitatorFaults) if not one.name.endswith("_seconds")]
        self.faults = FacilitatorFaults(
            **dict.fromkeys(kinds, chance), connect_seconds=CONNECT_SECONDS if chance else 0.0
        )

    async def _fault(self) -> str | None:
        found = await super()._fault()
        if found is None and self._is_out():
            found = self.dice.choice(("not_sent", "unknown"))
        if found is not None:
            self.note("facilitator")
        return found

    def _is_out(self) -> bool:
        """Tell if it is out of order now, for so long that payments end without it."""
        failing = self.faults != FacilitatorFaults()
        return failing and int(self.chain.clock.now().timestamp()) // OUT_SECONDS % OUT_ONCE_IN == 0
