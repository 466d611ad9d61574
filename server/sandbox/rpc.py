"""The sandbox's HTTP server: JSON-RPC 2.0 at `/`, and the facilitator beside it."""

import asyncio
import logging
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, Final

import orjson
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute, Route

from server.sandbox.evm import DevChain
from server.sandbox.methods import INTERNAL, INVALID_PARAMS, METHODS, RpcError, answer
from server.sandbox.wire import data

PARSE_ERROR: Final = -32700
INVALID_REQUEST: Final = -32600
BODY_LIMIT_IN_BYTES: Final = 2**20
_MAX_CALLS_IN_A_BATCH: Final = 100

_log = logging.getLogger("emporion.sandbox")
_Reply = dict[str, Any]


def rpc_app(chain: DevChain, more_routes: tuple[BaseRoute, ...] = ()) -> Starlette:
    """Build the application for one chain; calls run one at a time, in a thread of their own."""
    thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="sandbox-chain")
    routes = [
        Route("/", partial(_answer, chain, thread), methods=["POST"]),
        Route("/", partial(_describe, chain), methods=["GET"]),
        *more_routes,
    ]
    open_to_browsers = Middleware(CORSMiddleware, allow_origins=["*"], allow_methods=["*"], allow_headers=["*"])
    return Starlette(routes=routes, middleware=[open_to_browsers])


async def read_body(request: Request) -> bytes | None:
    """Return the body, or None if it is larger than BODY_LIMIT_IN_BYTES; reading stops there."""
    body = bytearray()
    async for piece in request.stream():
        body += piece
        if len(body) > BODY_LIMIT_IN_BYTES:
            return None
    return bytes(body)


async def _describe(chain: DevChain, _: Request) -> Response:
    return JSONResponse(
        {
            "object": "sandbox_chain",
            "chain_id": chain.chain_id,
            "network": f"eip155:{chain.chain_id}",
            "genesis": data(chain.genesis),
            "block_number": chain.number,
            "asset": chain.usdc,
            "facilitator": "/facilitator",
            "methods": sorted(METHODS),
            "hint": 'POST JSON-RPC here. dev_faucet ["0x…", amount in minor units] mints USDC, dev_gas ["0x…"] sends gas.',
        }
    )


async def _answer(chain: DevChain, thread: ThreadPoolExecutor, request: Request) -> Response:
    body = await read_body(request)
    if body is None:
        return JSONResponse(_error(None, INVALID_REQUEST, "the body is larger than 1 MiB"), 413)
    try:
        document = orjson.loads(body)
    except orjson.JSONDecodeError:
        return JSONResponse(_error(None, PARSE_ERROR, "the body is not JSON"), 400)
    reply = await asyncio.get_running_loop().run_in_executor(thread, _reply_to, chain, document)
    return Response(status_code=204) if reply is None else JSONResponse(reply)


def _reply_to(chain: DevChain, document: Any) -> _Reply | list[_Reply] | None:
    if not isinstance(document, list):
        return _reply_to_one(chain, document)
    if not 1 <= len(document) <= _MAX_CALLS_IN_A_BATCH:
        return _error(None, INVALID_REQUEST, f"a batch holds 1 to {_MAX_CALLS_IN_A_BATCH} calls")
    replies = [reply for one in document if (reply := _reply_to_one(chain, one)) is not None]
    return replies or None


def _reply_to_one(chain: DevChain, call: Any) -> _Reply | None:
    """Return the response, or None for a notification (a call without an id), which is run too."""
    refusal = _malformed(call)
    if refusal is not None:
        return refusal
    reply = _run(chain, call)
    return reply if "id" in call else None


def _malformed(call: Any) -> _Reply | None:
    if not isinstance(call, dict):
        return _error(None, INVALID_REQUEST, "a call is an object")
    identifier = call.get("id")
    if isinstance(identifier, bool) or not isinstance(identifier, str | int | float | None):
        return _error(None, INVALID_REQUEST, "id is a string, a number or null")
    if call.get("jsonrpc") != "2.0":
        return _error(identifier, INVALID_REQUEST, 'jsonrpc must be "2.0"')
    if not isinstance(call.get("method"), str):
        return _error(identifier, INVALID_REQUEST, "method must be a string")
    if not isinstance(call.get("params", []), list):
        return _error(identifier, INVALID_PARAMS, "params must be a list")
    return None


def _run(chain: DevChain, call: dict[str, Any]) -> _Reply:
    identifier = call.get("id")
    try:
        return {"jsonrpc": "2.0", "id": identifier, "result": answer(chain, call["method"], call.get("params", []))}
    except RpcError as problem:
        return _error(identifier, problem.code, problem.message, problem.data)
    except Exception:  # noqa: BLE001 - the process edge: a fault of ours is logged and answered, never a closed connection
        _log.exception("sandbox call failed: %s", call["method"])
        return _error(identifier, INTERNAL, "internal error; see the sandbox's log")


def _error(identifier: Any, code: int, message: str, returned: str | None = None) -> _Reply:
    error: _Reply = {"code": code, "message": message}
    if returned is not None:
        error["data"] = returned
    return {"jsonrpc": "2.0", "id": identifier, "error": error}
