"""Purchases with one signed payment over real HTTP, through a faulty facilitator in front of the sandbox's own."""

import asyncio
import secrets  # noqa: TID251 - an authorization's nonce, made by the payer's own software
import time
from collections import defaultdict
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, Self

import aiohttp
import httpx
import orjson
from aiohttp import web
from eth_account import Account
from eth_account.signers.local import LocalAccount
from sqlalchemy import create_engine, select
from sqlalchemy.pool import NullPool

from storage.rows import metadata
from tests.end_to_end.processes.pair import Chain, Wired
from tests.support.market import OPERATOR_SECRET, Agent
from tests.support.payment_flows import _AUTHORIZATION_FIELDS, _DOMAIN_FIELDS
from tests.support.trade import PRICE, Trade
from tools.purchases.quotes import header

INPUT = {"text": "guten Tag"}
WORK = {"english": "good day"}
PATIENCE_SECONDS = 150.0  # for one step on a busy machine
BALANCE = "0x70a08231"


class Between:
    """A facilitator in front of the sandbox's own.

    Each /settle of a wallet takes its next fault. Without a fault it is honest. "lost": sends the transfer and hangs
    up. "held": sends it and never answers. "late": waits for `go_on`, then is honest. "drops": hangs up and sends
    nothing. "fails": sends it and answers 500. "lies": sends nothing and names another transfer.
    """

    def __init__(self, real_url: str) -> None:
        self.real_url, self.url, self.port = real_url, "", 0
        self.told: defaultdict[str, list[str]] = defaultdict(list)
        self.bodies: defaultdict[str, list[Any]] = defaultdict(list)
        self.lie = ""
        self.go_on, self.ends = asyncio.Event(), asyncio.Event()

    async def __aenter__(self) -> Self:
        self.real = aiohttp.ClientSession()
        await self.open()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()
        await self.real.close()

    async def open(self) -> None:
        """Listen, on the same port as before."""
        app = web.Application()
        app.router.add_post("/settle", self._settle)
        app.router.add_post("/verify", self._verify)
        self.runner = web.AppRunner(app, access_log=None, shutdown_timeout=1)
        await self.runner.setup()
        self.ends = asyncio.Event()
        await web.TCPSite(self.runner, "127.0.0.1", self.port, reuse_address=True).start()
        self.port = self.runner.addresses[0][1]
        self.url = f"http://127.0.0.1:{self.port}"

    async def close(self) -> None:
        """Stop listening."""
        self.ends.set()
        await self.runner.cleanup()

    async def _verify(self, request: web.Request) -> web.Response:
        """Forward to the real facilitator, which is honest."""
        async with self.real.post(f"{self.real_url}/verify", json=await request.json()) as real:
            return web.json_response(await real.json(), status=real.status)

    async def _settle(self, request: web.Request) -> web.Response:
        body = await request.json()
        payer = body["paymentPayload"]["payload"]["authorization"]["from"]
        word = self.told[payer].pop(0) if self.told[payer] else "honest"
        self.bodies[payer].append(body)
        if word == "late":
            await self.go_on.wait()
        if word in ("drops", "lies"):
            return _hung_up(request) if word == "drops" else _said(self.lie)
        async with self.real.post(f"{self.real_url}/settle", json=body) as real:
            answer = await real.json()
        if word == "held":
            await self.ends.wait()
        if word in ("held", "lost"):
            return _hung_up(request)
        return web.Response(status=500, text="it broke") if word == "fails" else web.json_response(answer)


def _said(transaction: str) -> web.Response:
    return web.json_response({"success": True, "transaction": transaction, "network": "eip155:84532"})


def _hung_up(request: web.Request) -> web.Response:
    if request.transport is not None:  # None: the market was killed first
        request.transport.abort()
    return web.Response()


@dataclass
class Bought:
    """A wallet with USDC and no gas, its order, and the header that pays for it."""

    wallet: LocalAccount
    pay: str
    given: Mapping[str, Any] = field(default_factory=lambda: INPUT)


@dataclass
class Till:
    """A listing of the operator on one market or two processes.

    It includes the facilitator and the database.
    """

    market: Wired
    chain: Chain
    between: Between
    database_url: str
    seller: Agent
    listing: Any
    answers: list[str] = field(default_factory=list)  # to keep_asking

    def wallet(self, usdc_minor: int = PRICE) -> LocalAccount:
        someone: LocalAccount = Account.create()
        self.chain.rpc("dev_faucet", someone.address, usdc_minor)
        return someone

    async def signed(self, *words: str, usdc_minor: int = PRICE, **changed: Any) -> Bought:
        """Return a new wallet's header for the listing; `words` are the facilitator's faults for it."""
        wallet = self.wallet(usdc_minor)
        self.between.told[wallet.address] += words
        terms = await self.post(INPUT)
        assert terms.status_code == 402, terms.text
        return Bought(wallet, header(payload(terms.json()["required"], wallet, **changed)))

    async def post(self, given: Any, pay: str | None = None, at: int = 0, **beside: Any) -> httpx.Response:
        headers = {} if pay is None else {"PAYMENT-SIGNATURE": pay}
        http = self.market.http[at]
        return await http.post(f"/v1/x402/{self.listing['id']}", json=given, headers=headers, **beside)

    async def buy(self, one: Bought, at: int = 0, **beside: Any) -> httpx.Response:
        return await self.post(one.given, one.pay, at, **{"timeout": PATIENCE_SECONDS} | beside)

    def begin(self, one: Bought, at: int = 0) -> "asyncio.Task[httpx.Response]":
        return asyncio.create_task(self.buy(one, at))

    async def keep_asking(self, one: Bought) -> None:
        """Send the payment again while its answer is an error that may be repeated."""

        async def settled() -> bool | None:
            answer = await self.buy(one)
            self.answers.append(f"{one.wallet.address}: {answer.text[:300]}")
            return answer.status_code == 200 or not answer.json()["error"]["retryable"] or None

        await until(settled)

    async def job_of(self, one: Bought, status: str = "") -> Any:
        """Wait until the job of a payment has this status; return it."""
        row = await self.row_of(one)
        return await until(lambda: self._job(row["job_id"], status))

    async def _job(self, job_id: str, status: str) -> Any:
        job = await self.market.call("get_job", by=self.seller, job_id=job_id)
        return job if status in ("", job["status"]) else None

    async def row_of(self, one: Bought, status: str = "") -> Any:
        """Wait until the purchase has this status; return its row, read directly."""
        read: list[Any] = []

        async def found() -> Any:
            read[:] = [
                row for row in self.rows("purchases") if row["payer"] == one.wallet.address.lower() and row["job_id"]
            ]
            return next((row for row in read if status in ("", row["status"])), None)

        try:
            return await until(found)
        except AssertionError as late:
            raise AssertionError(f"none is {status}: {read}; the answers were {self.answers}") from late

    def rows(self, table: str) -> list[dict[str, Any]]:
        """Return all rows of a table, read directly from the database."""
        return rows_of(self.database_url, table)

    async def work(self, one: Bought) -> None:
        """Accept the order at the desk and deliver."""
        job = await self.job_of(one, "open")
        await self.market.call("accept_job", by=self.seller, job_id=job["id"])
        await self.market.call("deliver_job", by=self.seller, job_id=job["id"], output=WORK)

    async def done(self, one: Bought, at: int = 0) -> httpx.Response:
        """Make a whole purchase, with the work; return the answer."""
        answer = self.begin(one, at)
        await self.work(one)
        return await answer

    def held(self, wallet: LocalAccount) -> int:
        """Return the USDC in a wallet."""
        asked = {"to": self.listing["pays_in"], "data": BALANCE + wallet.address[2:].lower().rjust(64, "0")}
        return int(self.chain.rpc("eth_call", asked, "latest"), 16)

    def check_paid_once(self, *bought: Bought) -> None:
        """Check that each wallet paid the price once, and each transfer is recorded for its job."""
        recorded, jobs = self.rows("settlements"), {one["id"]: one for one in self.rows("jobs")}
        purchases = {one["payer"]: one for one in self.rows("purchases")}
        for one in bought:
            row = purchases[one.wallet.address.lower()]
            assert (row["status"], jobs[row["job_id"]]["status"]) == ("paid", "completed")
            (settled,) = (each for each in recorded if each["job_id"] == row["job_id"])
            assert (settled["status"], settled["tx_hash"]) == ("settled", row["tx_hash"])
            assert self.held(one.wallet) == 0


def rows_of(url: str, table: str) -> list[dict[str, Any]]:
    address = url.replace("sqlite:///", "sqlite:///file:", 1) + "?mode=ro&uri=true"
    engine = create_engine(
        address if url.startswith("sqlite") else url.replace(":", "+psycopg:", 1), poolclass=NullPool
    )
    with engine.connect() as connection:
        return [dict(row._mapping) for row in connection.execute(select(metadata.tables[table]))]


async def until(look: Callable[[], Any], seconds: float = PATIENCE_SECONDS) -> Any:
    """Repeat `look` until it returns a value; return the value."""
    ends = time.monotonic() + seconds
    while (found := await look()) is None:
        assert time.monotonic() < ends, "it did not come about"
        await asyncio.sleep(0.1)
    return found


async def comes(met: Callable[[], bool]) -> None:
    """Wait until this is true."""

    async def look() -> bool | None:
        return met() or None

    await until(look)


def payload(required: Any, wallet: LocalAccount, signer: LocalAccount | None = None, **changed: Any) -> Any:
    """Return the payload of a client of version 2 for these terms.

    `changed` replaces fields of the authorization.
    """
    (accepted,) = required["accepts"]
    message = {
        "from": wallet.address,
        "to": accepted["payTo"],
        "value": int(accepted["amount"]),
        "validAfter": 0,
        "validBefore": int(time.time()) + 600,  # noqa: TID251 - the payer's own clock
        "nonce": "0x" + secrets.token_hex(32),
    } | changed
    document = {
        "types": {"EIP712Domain": _DOMAIN_FIELDS, "TransferWithAuthorization": _AUTHORIZATION_FIELDS},
        "primaryType": "TransferWithAuthorization",
        "domain": {
            "name": accepted["extra"]["name"],
            "version": accepted["extra"]["version"],
            "chainId": int(accepted["network"].split(":")[1]),
            "verifyingContract": accepted["asset"],
        },
        "message": message,
    }
    signature = bytes(Account.sign_typed_data((signer or wallet).key, full_message=document).signature).hex()
    written = {name: str(value) for name, value in message.items()}
    said = {"signature": f"0x{signature}", "authorization": written}
    return {"x402Version": 2, "resource": required["resource"], "accepted": accepted, "payload": said}


def outcome(answer: httpx.Response) -> tuple[int, str | None]:
    """Return the status, and the code of an error."""
    told = orjson.loads(answer.content)
    error = told.get("error")
    return answer.status_code, error["code"] if isinstance(error, dict) else None


@asynccontextmanager
async def opened(market: Wired, chain: Chain, between: Between, database_url: str, **offer: Any) -> AsyncIterator[Till]:
    """Open the operator's seller with its listing, on a market with the tests' operator secret."""
    trade = Trade(market, chain)  # type: ignore[arg-type] - it calls and registers as TestMarket does
    seller = await trade.agent("Desk")
    operator, at = {"X-Admin-Token": OPERATOR_SECRET}, f"/v1/admin/agents/{seller.id}/first-party"
    labelled = await market.http[0].post(at, json={"first_party": True}, headers=operator)
    assert labelled.status_code == 200, labelled.text
    listing = await trade.listing(seller, **offer)
    terms = (await market.http[0].post(f"/v1/x402/{listing['id']}")).json()
    listing["pays_in"] = terms["required"]["accepts"][0]["asset"]
    yield Till(market, chain, between, database_url, seller, listing)
