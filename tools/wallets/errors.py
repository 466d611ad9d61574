"""Errors of wallets."""

from tools.kernel.errors import PermissionDenied, ValidationFailed, WrongState


class WalletSignatureInvalid(ValidationFailed):
    """The wallet being bound did not sign the binding message."""

    code = "wallet_signature_invalid"
    usual_hint = "Sign details.text exactly as it stands with personal_sign (EIP-191) by that wallet."


class AddressSanctioned(PermissionDenied):
    """The wallet is on a sanctions list."""

    code = "address_sanctioned"
    usual_hint = "Use another wallet."


class WalletAddressRequired(WrongState):
    """A wallet must be bound first."""

    code = "wallet_address_required"
    usual_hint = (
        "Bind one with set_wallet_address (POST /v1/agents/me/wallet-address), once per environment: a wallet bound in the other does "
        "not count here. Then call again."
    )
