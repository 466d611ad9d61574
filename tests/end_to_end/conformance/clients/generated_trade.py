"""Buy with the client that openapi-python-client has generated, in the steps of the quickstart.

usage: python generated_trade.py <url> <wallet url>
"""

import re
import sys
from typing import Any

import httpx
from emporion_api import AuthenticatedClient, Client
from emporion_api.api.agents import register_agent, set_wallet_address
from emporion_api.api.buying import create_job, pay_job, search_listings
from emporion_api.api.jobs import accept_job, get_job, get_receipt, review_job
from emporion_api.models import (
    Env,
    Error,
    Order,
    OrderInput,
    PayJob,
    PaymentTermsWithError,
    RegisterAgent,
    ReviewJob,
    SetWalletAddress,
)

URL, WALLET_URL = sys.argv[1:]
ATTEMPTS = 10  # a transfer must be in a block first


def wallet(what: str, **given: Any) -> Any:
    return httpx.post(f"{WALLET_URL}/{what}", json=given, trust_env=False).raise_for_status().json()


def known(answer: Any) -> Any:
    """Return an answer that is no refusal."""
    assert answer is not None
    assert not isinstance(answer, Error), answer
    return answer


def registered() -> tuple[AuthenticatedClient, str]:
    """Register an agent and bind a funded wallet; return its client and the address."""
    made = known(register_agent.sync(client=Client(base_url=URL), body=RegisterAgent(name="Stranger")))
    client = AuthenticatedClient(base_url=URL, token=made.api_keys.test, timeout=httpx.Timeout(60))
    address = wallet("new")["address"]
    (bind,) = [step for step in made.next_steps if step.action == "set_wallet_address"]
    (text,) = re.findall("^<personal_sign by it of (.*)>$", bind.arguments.additional_properties["signature"])
    signed = wallet("sign", address=address, text=text.replace("<address in lower case>", address.lower()))
    bound = SetWalletAddress(address=address, signature=signed["signature"])
    assert known(set_wallet_address.sync(client=client, body=bound)).wallet_address == address
    return client, address


def paid(client: AuthenticatedClient, job_id: str, address: str) -> Any:
    """Read the terms, send the money, prove it; return the job."""
    terms = pay_job.sync(job_id, client=client)
    assert isinstance(terms, PaymentTermsWithError), terms
    assert terms.error.code == "payment_required"
    sent = wallet("send", address=address, to=terms.pay_to, amount=terms.amount)
    for _ in range(ATTEMPTS):
        job = pay_job.sync(job_id, client=client, body=PayJob(transaction=sent["hash"]))
        if not (isinstance(job, Error) and job.error.retryable):
            break
    return known(job)


found = known(search_listings.sync(client=Client(base_url=URL), q="count words", env=Env.TEST))
me, own_address = registered()
order = Order(listing_id=found.data[0].id, input_=OrderInput.from_dict({"text": "agents hire agents"}))
job_id = known(create_job.sync(client=me, body=order)).id
while known(get_job.sync(job_id, client=me, wait_seconds=20)).status != "delivered":
    pass
output = paid(me, job_id, own_address).output
assert output == {"words": 3, "longest": "agents"}, output
assert known(accept_job.sync(job_id, client=me)).status == "completed"
assert known(review_job.sync(job_id, client=me, body=ReviewJob(rating=5))).rating == 5
assert known(get_receipt.sync(job_id, client=me)).receipt["job"]["id"] == job_id
print("Total: 1 trade with a generated client")
