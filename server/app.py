"""The composition root: build the store, the world, the market and the surfaces from the settings."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

import structlog
from starlette.types import Receive, Scope, Send

from protocol.a2a.agent_card import card_json
from protocol.a2a.server import A2aSurface
from protocol.accept import is_visit
from protocol.discovery.web_bot_auth import DIRECTORY
from protocol.docs.texts import Texts
from protocol.http import RequestReader, send_refusal
from protocol.mcp.server import McpSurface
from protocol.mcp.toolsets import OPENINGS
from rest.ard import ArdRegistry
from rest.oauth import OAuth
from rest.pages.site import Site
from rest.routes import Rest
from server.adapters.catalogs import CatalogFetcher
from server.adapters.chain import JsonRpcChain, watched_chains
from server.adapters.checks import CheckPool
from server.adapters.clock import SeedSigner, SystemClock, SystemDice
from server.adapters.facilitator import HttpFacilitator
from server.adapters.faucet import RpcFaucet
from server.adapters.sanctions import SanctionsLists
from server.adapters.web import GuardedWeb
from server.docs import make_pages, signed_directory
from server.http_identity import request_reader
from server.keys import finish_rotation, until_replaced
from server.listed_openapi import PATH as OPENAPI
from server.listed_openapi import ListedOpenapi
from server.metrics import Metrics, Now, metrics_page
from server.middleware import Edge, hosts_of
from server.pages import Pages, Probe, send_probe, send_to
from server.peers import PeerCatalogs
from server.readiness import Readiness, is_low
from server.secrets import BRAND_BREAKS, Secrets, check_brand, check_chain, check_secrets, read_secrets
from server.settings import BadSettings, Settings, config_of
from server.webhook_sender import Sender
from server.workers import DailyRechecks, Workers
from storage.open import ReadReplica, open_store
from storage.store import Store
from storage.vocabulary import Env
from tools.catalogue import CATALOGUE
from tools.engine.caller import Surface
from tools.engine.config import MarketConfig
from tools.engine.dispatch import Market
from tools.engine.oauth import OPEN_MCP
from tools.engine.ports import World
from tools.engine.protocol_requests import count_document

if TYPE_CHECKING:
    from server.traces import Tracing

log = structlog.get_logger("emporion.start")
SURFACES = frozenset({*OPENINGS, "/a2a"})  # a browser that opens one is led to the page on how to connect
Closing = JsonRpcChain | HttpFacilitator | GuardedWeb | RpcFaucet


@dataclass(frozen=True, slots=True)
class Served:
    """One running market with its surfaces."""

    market: Market
    rest: Rest
    mcp: McpSurface
    a2a: A2aSurface
    oauth: OAuth
    ard: ArdRegistry
    pages: Pages
    site: Site  # the pages for people
    probes: Mapping[str, Probe]  # the pages for the operator's monitoring
    request_of: RequestReader

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        path = scope["path"]
        if path.startswith("/v1/") and path not in self.oauth:
            await self.rest(scope, receive, send)
        else:
            await self._serve_other(path, scope, receive, send)

    async def _serve_other(self, path: str, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a path outside the REST API; a path that is unknown here too is left to its router."""
        if path in SURFACES and is_visit(scope):
            await self._documented(scope, send, partial(send_to, f"{self.market.config.base_url}/docs/quickstart"))
        elif path in self.pages and not (path == "/" and is_visit(scope)):
            await self._documented(scope, send, self.pages)
        elif path == OPEN_MCP or path.startswith(f"{OPEN_MCP}/"):
            await self.mcp(scope, receive, send)
        elif path == "/a2a" or path.startswith("/a2a/"):
            await self.a2a(scope, receive, send)
        elif path in self.oauth:
            await self.oauth(scope, receive, send)
        elif path == DIRECTORY:
            await self._documented(scope, send, partial(send_probe, partial(signed_directory, self.market)))
        elif path in self.ard:
            await self.ard(scope, receive, send)
        elif path in self.probes:
            await send_probe(self.probes[path], scope, send)
        elif found := self.site.find(path):
            await self.site(found, scope, receive, send)
        else:
            await self._operated(scope, receive, send)

    async def _operated(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer an operation over REST; a browser gets a page if there is none at the path."""
        if not is_visit(scope) or self.rest.serves(scope):
            await self.rest(scope, receive, send)
        else:
            await self.site.refuse_path(scope, send)

    async def _documented(self, scope: Scope, send: Send, answer: Callable[[Scope, Send], Awaitable[None]]) -> None:
        """Answer a read of a document, which counts against the rate limit of the address."""
        refused = count_document(self.market, self.request_of(scope, Surface.REST))
        await (answer(scope, send) if refused is None else send_refusal(send, refused))


class Service:
    """The ASGI application of one process. It can serve requests only inside `running()`."""

    def __init__(
        self,
        settings: Settings,
        sandbox_rpc_url: str | None = None,
        sandbox_genesis: str = "",
        *,
        change_brand: bool = False,
    ) -> None:
        self.settings, self.sandbox_genesis = settings, sandbox_genesis
        self.change_brand = change_brand
        self.secrets: Secrets = read_secrets(settings)
        self.config = config_of(settings, self.secrets.pepper, sandbox_rpc_url)
        self.world, self.closing = make_world(settings, self.config, self.secrets)
        self.served: Served | None = None
        self.replaced: Callable[[], None] = lambda: None  # called once this process's signing key was replaced
        self.hosts = hosts_of(self.config.urls)
        self.edge = Edge(not_running, self.hosts, self.config.docs_url, self.world.dice)
        self.tracing = make_tracing(settings, self.config)
        self.application = self.edge if self.tracing is None else partial(self.tracing.trace_request, self.edge)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self.application(scope, receive, send)

    @asynccontextmanager
    async def running(self) -> AsyncIterator[Served]:
        """Open the database, start the workers and the surfaces; close everything again."""
        if self.settings.database.startswith("sqlite:///"):
            self.settings.make_data_dir()
        async with AsyncExitStack() as stack:
            store = open_store(
                self.settings.database,
                direct=self.settings.database_direct_url,
                replica=read_replica(self.settings),
            )
            stack.callback(store.close)
            self.secrets = await check_secrets(store, self.secrets)
            self.world = replace(self.world, signer=SeedSigner(self.secrets.signing_seed))
            finish_rotation(self.settings, self.secrets)
            before = await check_brand(store, self.config.brand, change=self.change_brand)
            if before is not None:
                log.warning("brand_changed", before=before, now=self.config.brand, breaks=BRAND_BREAKS)
            if self.sandbox_genesis:
                await check_chain(store, self.sandbox_genesis)
            for one in self.closing:
                stack.push_async_callback(one.close)
            if isinstance(self.world.checks, CheckPool):
                stack.callback(self.world.checks.close)
            if isinstance(self.world.sanctions, SanctionsLists):
                await self.world.sanctions.refresh()  # before the first call, so that it is already screened
                stack.push_async_callback(_stop, asyncio.create_task(self.world.sanctions.run(), name="sanctions"))
            if self.tracing is not None:
                stack.push_async_callback(asyncio.to_thread, self.tracing.provider.shutdown)
            metrics = Metrics(self.world.clock) if self.settings.metrics else None
            market = make_market(store, self.world, self.config, metrics, self.tracing)
            self.edge.app = self.served = assemble(market, self.settings, self.hosts, metrics)
            await stack.enter_async_context(self.served.mcp.running())
            workers = Workers(market, partial(disk_is_low, self.settings))
            await workers.check_health()
            fetcher = CatalogFetcher(allow_private=self.settings.allow_private_networks)
            stack.push_async_callback(fetcher.close)
            loops = {"workers": workers.run(), "looks": DailyRechecks(market).run()}
            loops["peers"] = PeerCatalogs(market, fetcher).run()
            if metrics is None:
                loops["sender"] = Sender(market).run()
            else:
                loops |= {"sender": Sender(market, metrics.attempted).run(), "lag": metrics.watch_loop()}
            loops["key"] = until_replaced(market, self.replaced)
            for name, loop in loops.items():
                stack.push_async_callback(_stop, asyncio.create_task(loop, name=name))
            yield self.served


async def not_running(scope: Scope, receive: Receive, send: Send) -> None:
    """Stand for the surfaces of a service before it runs."""
    raise RuntimeError("this service does not run yet")


def read_replica(settings: Settings) -> ReadReplica | None:
    """Return the replica that answers reads, if one is set."""
    url = settings.read_database_url
    return None if url is None else ReadReplica(url, settings.read_database_lag_seconds)


def disk_is_low(settings: Settings) -> bool:
    """Return True if little space is left at the database file; always False without a file."""
    file = settings.database_file
    with suppress(OSError):
        return file is not None and is_low(file.parent, settings.min_free_disk_mb)
    return False


def make_tracing(settings: Settings, config: MarketConfig) -> "Tracing | None":
    """Return the tracer, or None without OTEL_ENDPOINT; it is imported only if needed."""
    if settings.otel_endpoint is None:
        return None
    try:
        from server.traces import Tracing
    except ImportError:
        raise BadSettings("EMPORION_OTEL_ENDPOINT: traces need more; install emporion[otel]") from None
    return Tracing(settings.otel_endpoint, config)


def make_market(
    store: Store, world: World, config: MarketConfig, metrics: Metrics | None = None, tracing: "Tracing | None" = None
) -> Market:
    """Return the market; metrics and traces observe its calls, transactions and chains."""
    observers = [one for one in (metrics, tracing) if one is not None]
    for observer in observers:
        world = replace(world, chains=watched_chains(world.chains, observer.chain_call))
    if tracing is not None:
        store.around_write = tracing.unit
    market = Market(store, world, config, observers)
    if metrics is not None:
        metrics.registry.register(Now(market))
    return market


def assemble(market: Market, settings: Settings, hosts: frozenset[str], metrics: Metrics | None = None) -> Served:
    """Build the surfaces of a market."""
    request_of = request_reader(frozenset(settings.trusted_proxies))
    texts = Texts(CATALOGUE.values(), market.config)
    card = card_json(market.config, CATALOGUE.values(), market.world.signer)
    file = settings.database_file
    probes: dict[str, Probe] = {"/ready": Readiness(market, file and file.parent, settings.min_free_disk_mb)}
    if metrics is not None:
        probes["/metrics"] = partial(metrics_page, market, metrics, request_of)
    pages = make_pages(texts, market.config, card, market.world.clock.now())
    pages.fresh[OPENAPI] = ListedOpenapi(market, pages.pages[OPENAPI])
    rest = Rest(market, request_of)
    return Served(
        market=market,
        rest=rest,
        mcp=McpSurface(market, request_of, texts, tuple(sorted(hosts))),
        a2a=A2aSurface(market, request_of),
        oauth=OAuth(market, request_of),
        ard=ArdRegistry(market, request_of),
        pages=pages,
        site=Site(market, rest, request_of),
        probes=probes,
        request_of=request_of,
    )


def make_world(settings: Settings, config: MarketConfig, secrets: Secrets) -> tuple[World, list[Closing]]:
    """Return the real world, and the parts of it that must be closed at the end."""
    clock = SystemClock()
    urls = {Env.LIVE: settings.live_rpc_url, Env.TEST: settings.test_rpc_url}
    chains = {env: JsonRpcChain(url, config.networks[env].chain_id) for env, url in urls.items() if url}
    try:
        sanctions = SanctionsLists(settings.sanctions_files, settings.sanctions_urls, settings.data_dir)
    except ValueError as bad:
        raise BadSettings(f"EMPORION_SANCTIONS_LISTS: {bad}") from None
    web = GuardedWeb(allow_private=settings.allow_private_networks)
    networks = config.networks.items()
    facilitators = {
        env: HttpFacilitator(one.facilitator_url) for env, one in networks if one.facilitator_url is not None
    }
    signer, dns = SeedSigner(secrets.signing_seed), _SystemNameServers()
    faucet = None
    if settings.test_faucet_url is not None:
        faucet = RpcFaucet(settings.test_faucet_url, gives_gas=config.networks[Env.TEST].own_chain)
    world = World(clock, SystemDice(), chains, signer, sanctions, CheckPool(), web, dns, facilitators, faucet)
    return world, [*chains.values(), *facilitators.values(), web, *filter(None, [faucet])]


class _SystemNameServers:
    """The system's name servers.

    Their library takes 6 MB of memory, so it is imported for the first question.
    """

    async def texts(self, name: str) -> list[bytes]:
        from server.adapters.dns import NameServers

        return await NameServers().texts(name)


async def _stop(task: asyncio.Task[None]) -> None:
    task.cancel()
    with suppress(asyncio.CancelledError):
        await task
