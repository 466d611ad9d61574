"""`emporion serve`: run uvicorn with the market, and beside it the sandbox and the desk if asked to."""

import gc
import logging
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import AsyncExitStack, ExitStack, contextmanager
from functools import partial
from socket import IPPROTO_TCP, socket
from types import FrameType

import uvicorn

from server import logs
from server.app import Service
from server.child_processes import end_process
from server.http_limits import bounded_http
from server.sandbox.process import Sandbox, SandboxRefused, start_sandbox
from server.secrets import OPERATOR_FILE, sandbox_operator_secret
from server.settings import BadSettings, Settings, check_named
from storage.transaction import Unavailable

IDLE_SECONDS = 75  # of a connection; clients and proxies keep one for 60 s, and the last to close it loses no request
GRACE_SECONDS = 10
UNREAD_SECONDS = 20  # then the kernel drops a connection whose peer acknowledges nothing
COLLECT_AFTER = (50_000, 20, 10)  # collector thresholds of the three generations
TCP_USER_TIMEOUT = 18  # linux/tcp.h; RFC 5482


class Server(uvicorn.Server):
    """uvicorn around a service, with bounded heads and an orderly end of open streams.

    Errors that stop the service from starting are raised by `run`.
    """

    def __init__(self, config: uvicorn.Config, service: Service, ready: Callable[[], None] = lambda: None) -> None:
        config.http = bounded_http(service.config.docs_url)
        super().__init__(config)
        self.service, self.ready, self.opened = service, ready, AsyncExitStack()
        self.key_replaced = False
        service.replaced = self.end_with_its_key

    async def startup(self, sockets: list[socket] | None = None) -> None:
        await self.opened.enter_async_context(self.service.running())
        try:
            with _told_why_not(self.config):
                await super().startup(sockets)
        except BaseException:
            await self.opened.aclose()
            raise
        if sys.platform == "linux":
            for one in [one for listening in self.servers for one in listening.sockets]:  # their connections inherit it
                one.setsockopt(IPPROTO_TCP, TCP_USER_TIMEOUT, UNREAD_SECONDS * 1000)
        self.ready()

    async def shutdown(self, sockets: list[socket] | None = None) -> None:
        await super().shutdown(sockets)
        await self.opened.aclose()

    def end_with_its_key(self) -> None:
        """Finish the open requests and end, because new signatures with this key would be invalid."""
        self.key_replaced = self.should_exit = True
        self._end_streams()

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        self._end_streams()
        super().handle_exit(sig, frame)

    def _end_streams(self) -> None:
        if self.service.served is not None:
            self.service.served.market.services.notifier.close()


@contextmanager
def _told_why_not(config: uvicorn.Config) -> Iterator[None]:
    """Raise BadSettings if uvicorn cannot listen, in place of its own log line and exit."""
    caught: list[OSError] = []

    def keep_out(record: logging.LogRecord) -> bool:
        if isinstance(record.msg, OSError):
            caught.append(record.msg)
        return not isinstance(record.msg, OSError)

    log = logging.getLogger("uvicorn.error")
    log.addFilter(keep_out)
    try:
        yield
    except SystemExit:
        place = f"EMPORION_HOST, EMPORION_PORT: {config.host}:{config.port} cannot be listened on"
        why = "".join(f": {os.strerror(error.errno or 0).lower()}" for error in caught)
        raise BadSettings(f"{place}{why}; choose another address, or stop the program that has it") from None
    finally:
        log.removeFilter(keep_out)


def start_desk(settings: Settings) -> "subprocess.Popen[bytes]":
    """Start the desk of a sandbox as its own process, which ends with this one.

    It has a session of its own, because an interrupt at the terminal is the market's to handle.
    """
    words = ["-m", "server", "desk", "run", "--url", settings.listening_url, "--parent-pid", str(os.getpid())]
    given = {
        "EMPORION_OPERATOR_SECRET": str(settings.operator_secret),
        "EMPORION_DATA_DIR": str(settings.data_dir),
        "EMPORION_ALLOW_PRIVATE_NETWORKS": "true",
        "EMPORION_DESK_ENV": "test",
    }
    return subprocess.Popen(  # noqa: S603 - our own module, run by our own interpreter
        [sys.executable, *words], stdin=subprocess.PIPE, env={**os.environ, **given}, start_new_session=True
    )


def serve(settings: Settings, with_sandbox: bool, with_desk: bool = False, change_brand: bool = False) -> None:
    """Serve until stopped; exit 2 with a message if the service cannot start."""
    logs.set_up()
    chain: Sandbox | None = None
    with ExitStack() as started:
        try:
            if warning := check_named(settings):
                print(warning, file=sys.stderr)
            if with_sandbox:
                chain, settings = start_chain(settings)
                started.callback(chain.stop)
            chain_url, genesis = (chain.url, chain.genesis) if chain else (None, "")
            service = Service(settings, chain_url, genesis, change_brand=change_brand)
            ready = partial(settle_and_say, greeting(service, chain), settings if with_desk else None, started)
            server = Server(uvicorn_config(service, settings), service, ready)
            server.run()
            if server.key_replaced:
                raise BadSettings(
                    "the signing key was replaced (`emporion keys rotate`): start again to sign with the new one"
                )
        except (BadSettings, SandboxRefused, Unavailable, OSError) as refused:
            print(str(refused), file=sys.stderr)
            raise SystemExit(2) from None


def settle_and_say(greeting: str, desk: Settings | None, started: ExitStack) -> None:
    """Greet the operator once the market serves, and start a desk that has these settings."""
    tune_garbage_collection()
    print(greeting, flush=True)
    if desk is not None:
        started.callback(end_process, start_desk(desk))


def tune_garbage_collection() -> None:
    """Exclude what is loaded now from garbage collection, and collect less often.

    With Python's own thresholds the collector scans a growing tree of JSON, and the whole program, again and again:
    reading 1 MB took up to ten times as long. Reference counting frees almost everything; only cycles wait a little
    longer.
    """
    gc.enable()  # the command line disables it during its imports
    gc.collect()
    gc.freeze()
    gc.set_threshold(*COLLECT_AFTER)


def start_chain(settings: Settings) -> tuple[Sandbox, Settings]:
    """Start the embedded chain as its own process; return it and the settings that use it."""
    if not settings.is_loopback:
        raise BadSettings("EMPORION_HOST: --sandbox serves loopback only; its faucet gives to everybody")
    for name in ("test_rpc_url", "test_faucet_url"):
        if getattr(settings, name):
            raise BadSettings(
                f"EMPORION_{name.upper()}: not together with --sandbox, which brings a test chain of its own"
            )
    settings.make_data_dir()
    chain = start_sandbox(settings.data_dir, settings.sandbox_port)
    given = {
        "operator_secret": settings.operator_secret or sandbox_operator_secret(settings.data_dir),
        "test_rpc_url": chain.url,
        "test_facilitator_url": chain.facilitator_url,
        "test_faucet_url": chain.url,
        "registrations_per_hour": 1000,
        "allow_private_networks": True,
    }
    return chain, settings.model_copy(update=given)


def uvicorn_config(service: Service, settings: Settings) -> uvicorn.Config:
    """Configure uvicorn: no access log, no trusted forwarded headers, uvloop and httptools."""
    return uvicorn.Config(
        service,
        host=settings.host,
        port=settings.port,
        loop="uvloop",
        http="httptools",
        lifespan="off",  # Server opens and closes the service
        access_log=False,
        log_config=None,  # uvicorn's own log handlers would not redact secrets
        log_level="warning",
        proxy_headers=False,
        server_header=False,
        timeout_graceful_shutdown=GRACE_SECONDS,
        timeout_keep_alive=IDLE_SECONDS,
        ws="none",
    )


def greeting(service: Service, chain: Sandbox | None) -> str:
    base = service.config.base_url
    lines = [
        f"Emporion {service.config.version} serves {base}",
        f"  people     {base}/docs",
        f"  MCP        {base}/mcp",
        f"  A2A        {base}/a2a",
        f"  REST       {base}/v1       {base}/openapi.json",
        f"  agents     {base}/skill.md   {base}/llms.txt",
        f"  data       {service.settings.database_shown}",
    ]
    if chain is not None:
        lines += [
            f"  operator   secret in {service.settings.data_dir / OPERATOR_FILE}",
            f"  test chain {chain.url} (id 84532): dev_faucet [address, amount], dev_gas [address]",
        ]
    return "\n".join(lines)
