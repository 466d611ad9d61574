"""One payment, sent once: what is signed is in the journal before it is sent, and only that is sent.

A second signature is made only if the first can never be used: an authorization with the same nonce, of which the
token takes one; a transaction whose account nonce another transaction of this home has used; a transaction that failed.
Only the node and the market tell the last two. So a purchase replaces one such transaction at most, and both count as spent.
"""

import re
import time

from emporion_client.account import Account
from emporion_client.answers import JsonObject, part, record_at, text, whole
from emporion_client.chain import account_nonce, base_fee, broadcast, fund, receipt
from emporion_client.errors import (
    Conflict,
    MarketDown,
    MarketError,
    PaymentDue,
    PaymentStuck,
    StillWaiting,
    TooDear,
    UnexpectedAnswer,
    WrongTerms,
)
from emporion_client.home import Held, safe_url
from emporion_client.money import shown
from emporion_client.purchase import Purchase
from emporion_client.transport import Call, Flow, Pause, attempts
from emporion_client.wallet import (
    CHAINS,
    MAX_FEE,
    USDC,
    authorization,
    settle_body,
    transaction_hash,
    transfer,
)

ADDRESS = re.compile(r"0x[0-9a-fA-F]{40}")
HASH = re.compile(r"0x[0-9a-fA-F]{64}")
LONGEST_AUTHORIZATION = 7200  # seconds; the market asks for 900
GRACE = 60  # seconds by which the clocks of this computer and the chain may differ
ROUNDS = 20
MIN_SECONDS = 60.0
NOT_YET = ("transaction_not_found", "transaction_pending")
UNPAID = (*NOT_YET, "payment_required")


def pay(account: Account, purchase: Purchase, terms: JsonObject | None, most: int, until: float) -> Flow[JsonObject]:
    """Pay for a job and prove it; return the job. After a crash, continue with what was signed.

    No attempt begins after `until`, but each payment gets at least MIN_SECONDS.
    """
    end = max(until, time.time() + MIN_SECONDS)
    for _ in range(ROUNDS):
        if time.time() > end:
            break
        renewed = _expired(purchase)
        if purchase.paying is None or renewed:
            terms = terms or (yield from _terms(account, purchase))
            if terms is None:
                return (yield from account.call("get_job", job_id=purchase.job_id))
            yield from _sign(account, purchase, terms, most, renewed)
            terms = None
        if "transaction" not in _paying(purchase):
            yield from _send(account, purchase)
        job = yield from (_proven if "transaction" in _paying(purchase) else _searched)(account, purchase)
        if job is not None:
            return job
        yield Pause(2)
    said = f" ({purchase.paying['said']})" if purchase.paying and purchase.paying.get("said") else ""
    raise StillWaiting(f"the payment for {purchase.job_id} is not proven yet{said}; the same buy() continues with it")


def _paying(purchase: Purchase) -> JsonObject:
    if purchase.paying is None:
        raise UnexpectedAnswer("the journal has no payment")
    return purchase.paying


def _terms(account: Account, purchase: Purchase) -> Flow[JsonObject | None]:
    """Return the terms; None if the job is paid."""
    try:
        yield from account.call("pay_job", job_id=purchase.job_id)
    except PaymentDue as due:
        return due.body
    return None


def _sign(account: Account, purchase: Purchase, terms: JsonObject, most: int, renewed: str | None) -> Flow[None]:
    """Check the terms, set the money aside, sign, and write what is signed down."""
    check_terms(account, purchase, terms, most)
    amount = whole(terms, "amount")
    offered = account.gasless and isinstance(terms.get("gasless"), dict)
    if offered or renewed:
        yield from fund(account, amount, gas=False)
        _written(account, purchase, _authorized(account, terms, renewed), amount)
    else:
        yield from fund(account, amount, gas=True)
        yield from _transferred(account, purchase, terms)


def _written(account: Account, purchase: Purchase, signed: JsonObject, amount: int) -> None:
    with account.home.journal.transaction():
        purchase.reserve(amount)
        purchase.paying = signed
        purchase.note("signed")


def check_terms(account: Account, purchase: Purchase, terms: JsonObject, most: int) -> None:
    """Compare the terms with the order: this job, amount, token, chain and wallet."""
    chain = CHAINS[account.env]
    agreed = {"job_id": purchase.job_id, "chain_id": chain, "asset": USDC[chain], "pay_from": account.wallet.address}
    wrong = [name for name, value in agreed.items() if str(part(terms, name)).lower() != str(value).lower()]
    amount, price, before = whole(terms, "amount"), whole(terms, "price"), whole(terms, "already_paid")
    if amount <= 0 or before < 0 or amount + before != price:
        wrong.append("amount")
    if not ADDRESS.fullmatch(text(terms, "pay_to")):
        wrong.append("pay_to")
    if wrong:
        raise WrongTerms(f"the terms of {purchase.job_id} have another {', '.join(wrong)} than the order")
    if price > most:
        raise TooDear(f"{purchase.job_id} costs {shown(price)}; max_price is {shown(most)}")


def _authorized(account: Account, terms: JsonObject, renewed: str | None) -> JsonObject:
    """Sign an authorization, which needs no gas.

    The market makes its nonce from the job and the debt.
    """
    gasless = record_at(terms, "gasless")
    nonce = text(gasless, "typed_data", "message", "nonce")
    end = whole(gasless, "typed_data", "message", "validBefore")
    if not HASH.fullmatch(nonce) or not time.time() < end < time.time() + LONGEST_AUTHORIZATION:
        raise WrongTerms("the authorization has an unusual nonce or end")
    if renewed is not None and nonce.lower() != renewed.lower():
        raise PaymentStuck(
            "the market asks for another nonce than before, so that both could be used; nothing was signed"
        )
    url = safe_url(gasless.get("settle_url"), account.url, "facilitator")
    payer, payee, amount = account.wallet.address, text(terms, "pay_to"), whole(terms, "amount")
    typed = authorization(CHAINS[account.env], payer, payee, amount, end, nonce)
    body = settle_body(typed, account.wallet.sign_typed(typed), f"{account.url}/v1/jobs/{terms['job_id']}/pay")
    return {"way": "authorization", "nonce": nonce, "end": end, "url": url, "body": body}


def _transferred(account: Account, purchase: Purchase, terms: JsonObject) -> Flow[None]:
    """Sign and send an ordinary transfer; one at a time, so that each has its own account nonce."""
    for _ in range(300):
        try:
            with account.home.lock("wallet"):
                signed = yield from _signed_transfer(account, terms)
                _written(account, purchase, signed, whole(terms, "amount"))
                yield from _send(account, purchase)
            return
        except Held:
            yield Pause(0.2)
    raise StillWaiting("another payment of this wallet takes long; the same buy() continues")


def _signed_transfer(account: Account, terms: JsonObject) -> Flow[JsonObject]:
    mined = account.home.journal.get(f"next_nonce:{account.wallet.address.lower()}") or 0
    nonce = max((yield from account_nonce(account)), mined)
    fee = yield from base_fee(account)
    made = transfer(CHAINS[account.env], text(terms, "pay_to"), whole(terms, "amount"), nonce, fee)
    if made["maxFeePerGas"] > MAX_FEE:
        raise WrongTerms("gas costs unusually much now; nothing was signed")
    raw = account.wallet.sign_transaction(made)
    amount = whole(terms, "amount")
    return {"way": "transfer", "raw": raw, "hash": transaction_hash(raw), "nonce": nonce, "amount": amount}


def _send(account: Account, purchase: Purchase) -> Flow[None]:
    """Send what is signed; note the transaction once it is known."""
    paying = _paying(purchase)
    if paying["way"] == "transfer":
        paying["said"] = yield from broadcast(account, paying["raw"])
        paying["transaction"] = paying["hash"]
        purchase.note("sent")
        return
    try:
        answer = yield from attempts(Call("POST", paying["url"], json=paying["body"]))
    except (MarketError, MarketDown, UnexpectedAnswer) as failed:
        answer = {"errorReason": str(failed)}
    transaction = answer.get("transaction")
    if answer.get("success") is True and HASH.fullmatch(str(transaction)):
        paying["transaction"] = transaction
        purchase.note("sent")
    else:
        paying["said"] = str(answer.get("errorReason"))[:300]


def _searched(account: Account, purchase: Purchase) -> Flow[JsonObject | None]:
    """Let the market find the transaction; return None if it is not there yet."""
    try:
        return (yield from account.call("pay_job", NOT_YET, job_id=purchase.job_id, gasless=True))
    except (Conflict, PaymentDue) as refused:
        if refused.code not in UNPAID:
            raise
        return None


def _expired(purchase: Purchase) -> str | None:
    """Return the nonce of an authorization that ended without a known transaction.

    It is signed again with the same nonce, so it does no harm if the first was used.
    """
    paying = purchase.paying
    if paying is None or paying["way"] != "authorization" or "transaction" in paying:
        return None
    return None if time.time() < paying["end"] + GRACE else str(paying["nonce"])


def _proven(account: Account, purchase: Purchase) -> Flow[JsonObject | None]:
    """Prove the transaction to the market; None if it must be looked at again."""
    paying = _paying(purchase)
    try:
        job = yield from account.call("pay_job", job_id=purchase.job_id, transaction=paying["transaction"])
    except (Conflict, PaymentDue) as refused:
        if refused.code == "job_not_payable":  # proven before, by the call whose answer was lost
            job = yield from account.call("get_job", job_id=purchase.job_id)
            if text(job, "payment", "status") == "paid":
                return _mined(account, purchase, job)
        if paying["way"] == "transfer":
            yield from _transfer_again(account, purchase, refused)
        elif refused.code in ("transaction_not_found", "payment_invalid"):
            del paying["transaction"]  # the facilitator named another one
            purchase.note("signed")
        elif refused.code not in NOT_YET:
            raise _stuck(purchase, refused) from refused
        return None
    return _mined(account, purchase, job)


def _mined(account: Account, purchase: Purchase, job: JsonObject) -> JsonObject:
    """Remember which job an account nonce paid, because it proves that it can pay no other."""
    paying = _paying(purchase)
    if paying["way"] == "transfer":
        address, nonce, journal = account.wallet.address.lower(), paying["nonce"], account.home.journal
        with journal.transaction():
            journal.put(f"paid:{address}:{nonce}", {"job": purchase.job_id, "hash": paying["hash"]})
            journal.put(f"next_nonce:{address}", max(journal.get(f"next_nonce:{address}") or 0, nonce + 1))
    return job


def _transfer_again(account: Account, purchase: Purchase, refused: MarketError) -> Flow[None]:
    """Send the transaction again, or give it up if it can never count."""
    paying = _paying(purchase)
    other = account.home.journal.get(f"paid:{account.wallet.address.lower()}:{paying['nonce']}")
    other = other if other is not None and other["job"] != purchase.job_id else None
    if other is not None and other["hash"] == paying["hash"]:  # an equal transaction, which paid that job
        purchase.give_up_transfer()
        return
    mined = yield from receipt(account, paying["hash"])
    failed = mined.get("status") == "0x0" if mined is not None else other is not None  # its account nonce is used
    if failed and not purchase.failed:
        purchase.give_up_transfer(failed=whole(paying, "amount"))
    elif mined is None:
        paying["said"] = yield from broadcast(account, paying["raw"])
    elif failed or refused.code not in NOT_YET:
        raise _stuck(purchase, refused)


def _stuck(purchase: Purchase, refused: MarketError) -> PaymentStuck:
    sent = _paying(purchase)["transaction"]
    return PaymentStuck(f"{sent} was sent for {purchase.job_id}, and the market answers: {refused}")
