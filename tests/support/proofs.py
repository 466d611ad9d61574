"""External services for tests of proofs: DNS records, web files, and tokens of a registry on a chain."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

from eth_account.signers.local import LocalAccount

from server.sandbox.genesis import IDENTITIES
from server.workers import DailyRechecks
from tests.support.evm import Evm, pack
from tests.support.market import BASE_URL, Agent, TestMarket
from tools.engine.ports import Fetched, Reply, Unreachable
from tools.kernel.ssrf_guard import UrlUnreachable

DOMAIN = "agent.example.com"
DAY = 86_400


@dataclass
class Zone:
    """TXT records by name.

    A text instead of a list of records is the reason of a failed query.
    """

    records: dict[str, list[bytes] | str] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)

    async def texts(self, name: str) -> list[bytes]:
        self.asked.append(name)
        found = self.records.get(name, [])
        if isinstance(found, str):
            raise Unreachable(found)
        return found


@dataclass
class Sites:
    """Files by URL. An exception instead of a file is raised. Each POST gets 200."""

    files: dict[str, Fetched | Exception] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)

    async def get(self, url: str, by: str) -> Fetched:
        self.asked.append(url)
        found = self.files.get(url, UrlUnreachable("name_not_found"))
        if isinstance(found, Exception):
            raise found
        return found

    async def post(self, url: str, body: bytes, headers: Mapping[str, str], by: str) -> Reply:
        return Reply(200)


@dataclass
class ReadContext:
    """The external services of a market, and the worker that checks the proofs every day."""

    market: TestMarket
    zone: Zone = field(default_factory=Zone)
    sites: Sites = field(default_factory=Sites)

    def __post_init__(self) -> None:
        self.market.market.services.world = replace(self.market.market.world, dns=self.zone, web=self.sites)
        self.looks = DailyRechecks(self.market.market)

    def publish(self, *agents: Agent, domain: str = DOMAIN) -> None:
        """Publish the TXT records of these agents only."""
        self.zone.records[f"_service.{domain}"] = [f"service={one.id}".encode() for one in agents]

    def upload(self, *lines: str, domain: str = DOMAIN, status: int = 200) -> None:
        body = "\n".join(lines).encode()
        self.sites.files[f"https://{domain}/.well-known/service.txt"] = Fetched(status, body)

    async def claimed(self, agent: Agent, domain: str = DOMAIN, on: str = "test") -> Any:
        return await self.market.call("add_domain", by=agent, on=on, domain=domain)

    async def verified(self, agent: Agent, domain: str = DOMAIN, on: str = "test") -> Any:
        """Claim, publish and check the domain with a key of `on`; return the answer."""
        await self.claimed(agent, domain, on)
        self.publish(agent, domain=domain)
        return await self.market.call("verify_domain", by=agent, on=on, domain=domain)

    async def after(self, seconds: float) -> int:
        self.market.pass_seconds(seconds)
        return await self.looks.step()

    async def events(self, agent: Agent, kind: str, on: str = "test") -> Any:
        page = await self.market.call("list_events", by=agent, on=on, types=[kind], limit=100)
        return [one["data"] for one in page["data"]]


@contextmanager
def world_with(market: TestMarket, **ports: Any) -> Iterator[None]:
    """Replace some services of the market's world for the duration of the context."""
    kept = market.market.world
    market.market.services.world = replace(kept, **ports)
    yield
    market.market.services.world = kept


def own_file(agent: Agent) -> str:
    return f"{BASE_URL}/agents/{agent.id}/erc8004.json"


@dataclass
class Registry:
    """The ERC-8004 identity registry of the chain."""

    evm: Evm

    @property
    def address(self) -> str:
        return str(IDENTITIES[self.evm.chain_id])

    def register(self, owner: LocalAccount, uri: str) -> str:
        """Register a new token with this URI; return its decimal number."""
        sent = self.evm.send(owner, self.address, pack("register(string)", uri), gas=5_000_000)
        (registered,) = [log for log in self.evm.receipt(sent)["logs"] if len(log["topics"]) == 3]
        return str(int(registered["topics"][1], 16))

    def rename(self, owner: LocalAccount, token: str, uri: str) -> None:
        self.evm.send(owner, self.address, pack("setAgentURI(uint256,string)", int(token), uri))

    def transfer(self, owner: LocalAccount, to: LocalAccount, token: str) -> None:
        call = pack("transferFrom(address,address,uint256)", owner.address, to.address, int(token))
        self.evm.send(owner, self.address, call)
