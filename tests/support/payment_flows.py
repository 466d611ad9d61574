"""Every kind of payment on a chain, honest or not. Each function makes one transaction and returns its hash.

A payer or payee is an account. If a contract pays, it is the `Wallet`, and its owner signs.
"""

import secrets  # noqa: TID251 - an authorization's nonce, made by the payer's own software
from dataclasses import dataclass
from typing import Any

from eth_account.messages import encode_typed_data
from eth_account.signers.local import LocalAccount

from tests.support.evm import Evm, address_of, pack

_EVERYTHING = 2**256 - 1
_AUTHORIZATION_FIELDS = [
    {"name": "from", "type": "address"},
    {"name": "to", "type": "address"},
    {"name": "value", "type": "uint256"},
    {"name": "validAfter", "type": "uint256"},
    {"name": "validBefore", "type": "uint256"},
    {"name": "nonce", "type": "bytes32"},
]
_DOMAIN_FIELDS = [
    {"name": "name", "type": "string"},
    {"name": "version", "type": "string"},
    {"name": "chainId", "type": "uint256"},
    {"name": "verifyingContract", "type": "address"},
]
_AUTHORIZED = "(address,address,uint256,uint256,uint256,bytes32,"

Move = tuple[str | LocalAccount, str | LocalAccount, int]


@dataclass(frozen=True)
class Wallet:
    """A smart-contract wallet and the account that may use it."""

    address: str
    owner: LocalAccount


@dataclass(frozen=True)
class Authorization:
    """A signed EIP-3009 authorization."""

    arguments: tuple[Any, ...]
    signature: bytes


# -- one account, one transfer -------------------------------------------------------------------------------------


def plain(evm: Evm, payer: LocalAccount, payee: LocalAccount, amount_minor: int) -> str:
    """Transfer payer → payee."""
    return evm.transfer(payer, payee, amount_minor)


def reverted(evm: Evm, payer: LocalAccount, payee: LocalAccount) -> str:
    """Transfer more than the payer has. It is mined with status 0 and no logs."""
    return evm.transfer(payer, payee, evm.balance(payer) + 1)


def approve_only(evm: Evm, payer: LocalAccount, spender: str | LocalAccount, amount_minor: int) -> str:
    """Approve only: an Approval log of the real token, no Transfer."""
    return evm.send(payer, evm.usdc, pack("approve(address,uint256)", address_of(spender), amount_minor))


def coins_only(evm: Evm, payer: LocalAccount, payee: LocalAccount, amount_in_wei: int) -> str:
    """Send the network's own coin instead of USDC, which makes no logs."""
    return evm.send(payer, payee.address, value=amount_in_wei)


def self_transfer(evm: Evm, payer: LocalAccount, amount_minor: int) -> str:
    """Transfer payer → payer."""
    return evm.transfer(payer, payer, amount_minor)


# -- other tokens --------------------------------------------------------------------------------------------------


def fake_token(evm: Evm, payer: LocalAccount, payee: LocalAccount, amount_minor: int) -> str:
    """Emit the right Transfer log from another contract, without any transfer."""
    spoof = pack("spoof(address,address,uint256)", payer.address, payee.address, amount_minor)
    return evm.send(payer, evm.shared("FakeToken"), spoof)


def other_token(evm: Evm, payer: LocalAccount, payee: LocalAccount, amount_minor: int) -> str:
    """Transfer another token with the same code, as bridged USDC has."""
    token = evm.shared("DevUSDC")
    evm.send(payer, token, pack("mint(address,uint256)", payer.address, amount_minor))
    return evm.send(payer, token, pack("transfer(address,uint256)", payee.address, amount_minor))


# -- through a contract that spends allowances ---------------------------------------------------------------------


def allow(evm: Evm, holder: LocalAccount, spender: str | LocalAccount) -> str:
    """Let a spender move all USDC of a holder."""
    return approve_only(evm, holder, spender, _EVERYTHING)


def pay_and_return(evm: Evm, payer: LocalAccount, payee: LocalAccount, amount_minor: int, back_minor: int) -> str:
    """Transfer payer → payee, then payee → payer, in one transaction."""
    splitter = evm.shared("Splitter")
    allow(evm, payer, splitter)
    allow(evm, payee, splitter)
    signature = "payAndReturn(address,address,uint256,uint256)"
    return evm.send(payer, splitter, pack(signature, evm.usdc, payee.address, amount_minor, back_minor))


def through_router(evm: Evm, payer: LocalAccount, payee: LocalAccount, amount_minor: int) -> str:
    """Transfer payer → router → payee. No log is from payer to payee."""
    splitter = evm.shared("Splitter")
    allow(evm, payer, splitter)
    return evm.send(payer, splitter, pack("route(address,address,uint256)", evm.usdc, payee.address, amount_minor))


def several_logs(evm: Evm, payer: LocalAccount, shares: list[tuple[LocalAccount, int]]) -> str:
    """Transfer payer → each of several payees, in order, in one transaction."""
    splitter = evm.shared("Splitter")
    allow(evm, payer, splitter)
    payees, amounts = [one.address for one, _ in shares], [amount for _, amount in shares]
    return evm.send(payer, splitter, pack("multi(address,address[],uint256[])", evm.usdc, payees, amounts))


# -- smart-contract wallets ----------------------------------------------------------------------------------------


def smart_wallet(evm: Evm, usdc_minor: int = 0) -> Wallet:
    """Deploy a wallet with a new owner and fund it."""
    owner = evm.person()
    wallet = Wallet(evm.deploy("SmartWallet", owner.address), owner)
    if usdc_minor:
        evm.fund(wallet.address, usdc_minor)
    return wallet


def smart_wallet_pays(evm: Evm, wallet: Wallet, payee: LocalAccount, amount_minor: int) -> str:
    """Transfer wallet → payee. The receipt's `from` is the owner and its `to` the wallet."""
    inner = pack("transfer(address,uint256)", payee.address, amount_minor)
    return evm.send(wallet.owner, wallet.address, pack("execute(address,uint256,bytes)", evm.usdc, 0, inner))


def moves(evm: Evm, wallet: Wallet, several: list[Move]) -> str:
    """Make any sequence of USDC transfers in one transaction of a wallet.

    Each other sender has allowed the wallet to move its USDC.
    """
    for holder in {sender.address: sender for sender, _, _ in several if not isinstance(sender, str)}.values():
        allow(evm, holder, wallet.address)
    calls = [(evm.usdc, 0, _move(wallet, one)) for one in several]
    return evm.send(wallet.owner, wallet.address, pack("executeBatch((address,uint256,bytes)[])", calls), gas=1_500_000)


def _move(wallet: Wallet, one: Move) -> bytes:
    sender, to, amount_minor = one
    if address_of(sender) == wallet.address:
        return pack("transfer(address,uint256)", address_of(to), amount_minor)
    return pack("transferFrom(address,address,uint256)", address_of(sender), address_of(to), amount_minor)


def swap_then_pay(evm: Evm, wallet: Wallet, payee: LocalAccount, amount_minor: int) -> str:
    """Transfer pool → wallet, then wallet → payee.

    The first transfer is the payer's own funding.
    """
    pool = evm.person(amount_minor)
    return moves(evm, wallet, [(pool, wallet.address, amount_minor), (wallet.address, payee, amount_minor)])


def flash_loan(evm: Evm, wallet: Wallet, payee: LocalAccount, amount_minor: int) -> str:
    """Transfer lender → wallet → payee → lender. The payee keeps nothing."""
    lender = evm.person(amount_minor)
    steps: list[Move] = [
        (lender, wallet.address, amount_minor),
        (wallet.address, payee, amount_minor),
        (payee, lender, amount_minor),
    ]
    return moves(evm, wallet, steps)


def round_trip(evm: Evm, wallet: Wallet, payee: LocalAccount, amount_minor: int) -> str:
    """Transfer wallet → payee → third account → wallet. The payee keeps nothing."""
    somebody = evm.person()
    steps: list[Move] = [
        (wallet.address, payee, amount_minor),
        (payee, somebody, amount_minor),
        (somebody, wallet.address, amount_minor),
    ]
    return moves(evm, wallet, steps)


def third_party_return(evm: Evm, wallet: Wallet, payee: LocalAccount, amount_minor: int, back_minor: int) -> str:
    """Transfer wallet → payee, then third account → wallet: a return by another account."""
    somebody = evm.person(back_minor)
    return moves(evm, wallet, [(wallet.address, payee, amount_minor), (somebody, wallet.address, back_minor)])


def returned_first(evm: Evm, wallet: Wallet, payee: LocalAccount, amount_minor: int, back_minor: int) -> str:
    """Transfer payee → wallet, then wallet → payee: a return before the payment."""
    return moves(evm, wallet, [(payee, wallet.address, back_minor), (wallet.address, payee, amount_minor)])


# --- EIP-3009: the payer signs, another account sends --------------------------------------------------------------


def authorization(
    evm: Evm,
    payer: LocalAccount,
    payee: str | LocalAccount,
    amount_minor: int,
    *,
    kind: str = "TransferWithAuthorization",
    valid_before: int | None = None,
    nonce: bytes | None = None,
) -> Authorization:
    """Sign an authorization without sending it. It is valid for an hour by default."""
    until = valid_before if valid_before is not None else evm.now() + 3600
    values = (payer.address, address_of(payee), amount_minor, 0, until, nonce or secrets.token_bytes(32))
    document = {
        "types": {"EIP712Domain": _DOMAIN_FIELDS, kind: _AUTHORIZATION_FIELDS},
        "primaryType": kind,
        "domain": {
            "name": evm.token_name,
            "version": "2",
            "chainId": evm.chain_id,
            "verifyingContract": evm.usdc,
        },
        "message": dict(zip([field["name"] for field in _AUTHORIZATION_FIELDS], values, strict=True)),
    }
    signed = payer.sign_message(encode_typed_data(full_message=document))
    return Authorization(values, bytes(signed.signature))


def signed_terms(payer: LocalAccount, typed_data: Any) -> Authorization:
    """Sign what the gas-free terms of a job give to sign."""
    message = typed_data["message"]
    values = (message[name] for name in ("from", "to", "value", "validAfter", "validBefore"))
    signed = payer.sign_typed_data(full_message=typed_data)
    return Authorization((*values, bytes.fromhex(message["nonce"][2:])), bytes(signed.signature))


def relayed(evm: Evm, relayer: LocalAccount, signed: Authorization) -> str:
    """Send the payer's authorization from another account, with the signature as bytes."""
    return evm.send(relayer, evm.usdc, relaying(signed))


def relaying(signed: Authorization) -> bytes:
    """Return the call data that sends an authorization."""
    return pack(f"transferWithAuthorization{_AUTHORIZED}bytes)", *signed.arguments, signed.signature)


def relayed_in_parts(evm: Evm, relayer: LocalAccount, signed: Authorization) -> str:
    """Send the same in the older form with v, r and s."""
    call = pack(f"transferWithAuthorization{_AUTHORIZED}uint8,bytes32,bytes32)", *signed.arguments, *_parts(signed))
    return evm.send(relayer, evm.usdc, call)


def received(evm: Evm, payee: LocalAccount, signed: Authorization) -> str:
    """Collect as the payee. `signed` has the kind ReceiveWithAuthorization."""
    call = pack(f"receiveWithAuthorization{_AUTHORIZED}uint8,bytes32,bytes32)", *signed.arguments, *_parts(signed))
    return evm.send(payee, evm.usdc, call)


def _parts(signed: Authorization) -> tuple[int, bytes, bytes]:
    return signed.signature[64], signed.signature[:32], signed.signature[32:64]
