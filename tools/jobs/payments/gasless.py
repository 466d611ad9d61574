"""Payment without gas: the authorization that a buyer signs, and sends to a facilitator itself."""

from datetime import datetime, timedelta
from typing import Any

from tools.chain.x402_payload import SECONDS, Authorization, Token, requirements, settle_body
from tools.engine.config import Network
from tools.kernel.errors import Json
from tools.kernel.money import display
from tools.kernel.records import stamp

METHOD = "eip3009_transfer_with_authorization"
PLACEHOLDER = "<the signature, 0x and 130 hex>"
SPECIFICATION = "https://github.com/x402-foundation/x402"
SIGN_WITH = {
    "eth_account": "Account.sign_typed_data(private_key, full_message=typed_data).signature",
    "viem": "walletClient.signTypedData({domain, types, primaryType, message}) with the members of typed_data",
    "ethers": "wallet.signTypedData(domain, {TransferWithAuthorization: types.TransferWithAuthorization}, message)",
    "MetaMask": "request eth_signTypedData_v4 with [from, JSON.stringify(typed_data)]",
    "client": "An x402 client can sign the x402 block instead. Its nonce is its own, so let it sign and send once only.",
}
HOW = [
    "Sign gasless.typed_data with the wallet `from`; it needs USDC, and no ETH.",
    f"In gasless.settle_body put the signature in the place of '{PLACEHOLDER}'.",
    "POST settle_body as JSON to settle_url. It answers {success, transaction, …}.",
    "Call pay_job with that transaction. If the answer is lost, call it with gasless: true: the market finds it.",
]
CAVEATS = [
    "Sign what the terms show, at once: an authorization holds for 15 minutes.",
    "Signing the same terms again cannot pay twice: the nonce is made from the job and what is still due.",
    "Between signing and valid_before send nothing else for the job: whoever holds what was signed may still send it, and you would pay twice.",
    "The facilitator can only send what was signed, to whom it was signed for. Never send a private key to anybody.",
    "The market itself hands a signed payment on in one place only: where the operator's own services are bought (GET /v1/x402).",
]


def token_of(network: Network) -> Token:
    return Token(network.id, network.chain_id, network.asset, network.asset_name, network.asset_version)


def facilitator_block(network: Network) -> dict[str, Json] | None:
    """Return how the facilitator is reached; None if none is configured."""
    if network.facilitator_url is None:
        return None
    return {
        "url": network.facilitator_url,
        "how": "POST gasless.settle_body, signed, to <url>/settle. It pays the gas and answers the transaction hash.",
    }


def gasless_block(
    network: Network, terms: dict[str, Any], payer: str | None, nonce: str, now: datetime
) -> dict[str, Json] | None:
    """Return how to pay these x402 terms without gas; None without a payer or a facilitator."""
    if payer is None or network.facilitator_url is None:
        return None
    accepted, until = terms["accepts"][0], now + timedelta(seconds=SECONDS)
    given = Authorization(payer, accepted["payTo"], int(accepted["amount"]), int(until.timestamp()), nonce)
    settle_url = f"{network.facilitator_url.rstrip('/')}/settle"
    return {
        "method": METHOD,
        "summary": f"Sign a transfer of {display(given.value)} that the facilitator sends for you: no ETH is needed.",
        "typed_data": given.typed_data(token_of(network)),
        "valid_before": stamp(until.replace(microsecond=0)),
        "settle_url": settle_url,
        "facilitator": network.facilitator_url,
        "settle_body": settle_body(terms["resource"], accepted, given, PLACEHOLDER),
        "signature_placeholder": PLACEHOLDER,
        "steps": HOW,
        "sign_with": SIGN_WITH,
        "fallback": "If the facilitator fails, what was signed may still be sent until valid_before: call pay_job with gasless: true "
        "until it answers new terms. After that an ordinary transfer pays as well, by its hash.",
    }


def gasless_info(network: Network) -> dict[str, Json]:
    """Describe gasless payment in general, without an amount."""
    url = network.facilitator_url
    return {
        "recommended": url is not None,
        "no_eth_needed": True,
        "facilitator": url,
        "settle_url": None if url is None else f"{url.rstrip('/')}/settle",
        "method": METHOD,
        "how": ["pay_job without transaction: its answer holds the block gasless.", *HOW],
        "caveats": CAVEATS if url is not None else ["Not offered here: no facilitator is configured.", *CAVEATS],
    }


def x402_info(network: Network) -> dict[str, Json]:
    """Return the x402 terms of this environment, without the amount and pay_to of a job."""
    token = token_of(network)
    own = requirements(token, "<pay_to of the terms>", 0)
    return {
        "x402_version": 2,
        **{name: own[name] for name in ("scheme", "network", "asset", "extra")},
        "max_timeout_seconds": own["maxTimeoutSeconds"],
        "specification": SPECIFICATION,
    }
