"""The sandbox's x402 facilitator under /facilitator: the public x402 library with a gas account of this chain."""

import asyncio
import logging
import threading
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, Final

import orjson
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Mount, Route

from server.sandbox.genesis import facilitator_key
from server.sandbox.rpc import read_body

if TYPE_CHECKING:
    from x402 import x402FacilitatorSync
    from x402.schemas import PaymentPayload, PaymentRequirements

_RECEIPT_LIMIT_IN_SECONDS: Final = 20
_REFUSED: Final = "invalid_payload"

_log = logging.getLogger("emporion.sandbox")
_Answer = dict[str, Any]


class _Malformed(ValueError):
    """The request is not {paymentPayload, paymentRequirements} of x402 version 2."""


class Facilitator:
    """A facilitator for exact-scheme payments on one chain; it loads the library when needed."""

    def __init__(self, rpc_url: str, chain_id: int) -> None:
        self._rpc_url = rpc_url
        self._network = f"eip155:{chain_id}"
        self._turn = threading.Lock()
        self._library: x402FacilitatorSync | None = None

    def supported(self) -> _Answer:
        """Answer GET /supported."""
        with self._turn:
            return _dumped(self._loaded().get_supported())

    def verify(self, body: bytes) -> _Answer:
        """Answer POST /verify. Raises _Malformed."""
        with self._turn:
            return self._asked("verify", body, {"isValid": False, "invalidReason": _REFUSED}, "invalidMessage")

    def settle(self, body: bytes) -> _Answer:
        """Answer POST /settle. Raises _Malformed.

        The lock lets settlements run one at a time, so that no two take the same nonce.
        """
        unsettled = {"success": False, "errorReason": _REFUSED, "transaction": "", "network": self._network}
        with self._turn:
            answer = self._asked("settle", body, unsettled, "errorMessage")
            if not answer["success"] and not answer["transaction"]:
                # The library's signer may count a nonce as used although nothing was sent. A new one asks the chain.
                self._library = None
            return answer

    def _asked(self, method: str, body: bytes, refusal: _Answer, message: str) -> _Answer:
        """Return the library's answer, or the refusal with the reason in the field `message`."""
        library = self._loaded()
        payload, requirements = _parsed(body)
        try:
            return _dumped(getattr(library, method)(payload, requirements))
        except Exception as problem:  # noqa: BLE001 - the library raises whatever a hostile payload makes it raise
            _log.info("facilitator: %s refused: %r", method, problem)
            return refusal | {message: f"{type(problem).__name__}: {problem}"[:200]}

    def _loaded(self) -> "x402FacilitatorSync":
        if self._library is None:
            self._library = _library(self._rpc_url, self._network)
        return self._library


def facilitator_routes(facilitator: Facilitator) -> Mount:
    """Return the routes /facilitator/supported, /facilitator/verify and /facilitator/settle."""
    routes = [
        Route("/supported", partial(_supported, facilitator), methods=["GET"]),
        Route("/verify", partial(_posted, facilitator.verify), methods=["POST"]),
        Route("/settle", partial(_posted, facilitator.settle), methods=["POST"]),
    ]
    return Mount("/facilitator", routes=routes)


async def _supported(facilitator: Facilitator, _: Request) -> Response:
    return JSONResponse(await asyncio.to_thread(facilitator.supported))


async def _posted(act: Callable[[bytes], _Answer], request: Request) -> Response:
    body = await read_body(request)
    if body is None:
        return JSONResponse({"error": "the body is larger than 1 MiB"}, 413)
    try:
        return JSONResponse(await asyncio.to_thread(act, body))
    except _Malformed as problem:
        return JSONResponse({"error": str(problem)}, 400)


def _library(rpc_url: str, network: str) -> "x402FacilitatorSync":
    from x402 import x402FacilitatorSync
    from x402.mechanisms.evm import FacilitatorWeb3Signer
    from x402.mechanisms.evm.exact.facilitator import ExactEvmScheme, ExactEvmSchemeConfig

    signer = FacilitatorWeb3Signer(
        facilitator_key().to_hex(), rpc_url, confirmation_timeout_seconds=_RECEIPT_LIMIT_IN_SECONDS
    )
    # Simulated first, so that a used nonce is reported as such and no failing transaction is mined.
    config = ExactEvmSchemeConfig(simulate_in_settle=True)
    library = x402FacilitatorSync()
    library.register([network], ExactEvmScheme(signer, config))
    return library


def _parsed(body: bytes) -> "tuple[PaymentPayload, PaymentRequirements]":
    from pydantic import ValidationError
    from x402.schemas import PaymentPayload, PaymentRequirements

    try:
        found = orjson.loads(body)
        return (
            PaymentPayload.model_validate(found["paymentPayload"]),
            PaymentRequirements.model_validate(found["paymentRequirements"]),
        )
    except (orjson.JSONDecodeError, KeyError, TypeError) as problem:
        raise _Malformed("the body is a JSON object with paymentPayload and paymentRequirements") from problem
    except ValidationError as problem:
        first = problem.errors()[0]
        place = ".".join(str(step) for step in first["loc"])
        raise _Malformed(f"not an x402 version 2 request: {place}: {first['msg']}") from problem


def _dumped(model: Any) -> _Answer:
    dumped: _Answer = model.model_dump(by_alias=True, exclude_none=True)
    return dumped
