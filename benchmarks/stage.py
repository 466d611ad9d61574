"""The stage: one seeded market with the real server, and all processes, which end with the benchmark."""

import shutil
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from functools import cached_property
from pathlib import Path
from types import MappingProxyType

import orjson

from benchmarks import shots
from benchmarks.clones import clone_history
from benchmarks.cluster import Cluster
from benchmarks.data import LISTINGS, PEPPER, seed
from benchmarks.load import Plan, Shot, Tally, fire
from benchmarks.processes import Child, Worker
from benchmarks.subject import tell
from benchmarks.trade import BASE_CHAIN, Trades, chain_settings, model_jobs
from tests.support.evm import Evm


class Stage:
    """Makes the servers and data of the cases, once each.

    `full` runs longer and at a larger scale.
    """

    def __init__(self, stack: ExitStack, full: bool) -> None:
        self.stack, self.full = stack, full
        self.rounds, self.seconds = (5, 3.0) if full else (3, 0.8)
        self.few_jobs, self.many_jobs = (10_000, 1_000_000) if full else (20_000, 60_000)
        self.folder = Path(tempfile.mkdtemp(prefix="emporion-bench-"))
        stack.callback(shutil.rmtree, self.folder)
        self.template = self.folder / "template.db"
        self.data = seed(f"sqlite:///{self.template}", PEPPER, LISTINGS)
        self.worker = Worker()
        stack.callback(self.worker.close)

    @cached_property
    def subject(self) -> Child:
        """The market with rate limits on, as it runs by default.

        A case takes turns among the thousand keys, so that none reaches its limit.
        """
        return self.market()

    @cached_property
    def unlimited(self) -> Child:
        """The same with rate limits off."""
        return self.market(env={"EMPORION_RATE_LIMITS": "false"})

    @cached_property
    def uncached(self) -> Child:
        """The same without cached hits: each search is one that was not made before."""
        return self.market("--uncached")

    @cached_property
    def all_tools(self) -> Child:
        """A market as old as `one_tool`, because caches and heap grow with each request."""
        return self.market()

    @cached_property
    def one_tool(self) -> Child:
        """The same market with a catalogue of one operation."""
        return self.market("--only", "get_listing")

    @cached_property
    def http(self) -> Child:
        return self._floor("http")

    @cached_property
    def mcp(self) -> Child:
        return self._floor("mcp")

    @cached_property
    def a2a(self) -> Child:
        return self._floor("a2a")

    @cached_property
    def chain(self) -> Evm:
        """A chain in this process, on which the seeded agents pay."""
        made = Evm(BASE_CHAIN)
        self.stack.callback(made.close)
        return made

    @cached_property
    def history(self) -> Path:
        """The seeded file with about a hundred jobs for each of the first hundred agents."""
        child = self.market(env=chain_settings(self.chain))
        models = model_jobs(Trades(child, self.data, self.chain))
        child.stop()
        path = child.folder / "market.db"
        clone_history(f"sqlite:///{path}", models, self.data)
        return path

    @cached_property
    def cluster(self) -> Cluster:
        return Cluster(self)

    @cached_property
    def answers(self) -> Path:
        """The subject's own answers, which the floors store."""
        folder = self.folder / "answers"
        folder.mkdir()
        reader, (buyer, listing) = self.data.traders[0].key, shots.orders(self.data)[0]
        order = {"listing_id": listing, "input": shots.ORDERED}
        asked = {
            "listing": self.subject.ask("GET", f"/v1/listings/{self.data.listing_ids[0]}", reader),
            "search": self.subject.ask("GET", "/v1/listings?tag=trade-0&limit=20", reader),
            "events": self.subject.ask("GET", "/v1/events?limit=20", reader),
            "job": self.subject.ask("POST", "/v1/jobs", buyer, order),
        }
        for name, (status, answer) in asked.items():
            if status not in (200, 201):
                raise RuntimeError(f"{name}: {status} {answer}")
            (folder / f"{name}.json").write_bytes(orjson.dumps(answer))
        for name in ("search", "events"):
            assert len(asked[name][1]["data"]) == 20, name
        return folder

    def market(
        self, *options: str, template: Path | None = None, env: Mapping[str, str] = MappingProxyType({})
    ) -> Child:
        """Start the real server over a copy of the seeded file, or of another one."""
        return self.serve(self.market_file(template or self.template).parent, *options, env=env)

    def market_file(self, template: Path) -> Path:
        """Copy a market's file to a new folder."""
        copy = Path(tempfile.mkdtemp(dir=self.folder)) / "market.db"
        shutil.copyfile(template, copy)
        return copy

    def serve(self, folder: Path, *options: str, env: Mapping[str, str] = MappingProxyType({})) -> Child:
        """Start the real server with this data folder; it ends with the benchmark."""
        (folder / "key_pepper").write_text(PEPPER.hex())
        (folder / "signing_seed").write_text(bytes(32).hex())
        return self.start(["-m", "benchmarks.subject", "--data-dir", str(folder), *options], folder, "/health", env)

    def start(
        self, command: Sequence[str], folder: Path, path: str = "/", env: Mapping[str, str] = MappingProxyType({})
    ) -> Child:
        """Start a server; it ends with the benchmark."""
        made = Child(command, folder, path, env)
        self.stack.callback(made.stop)
        return made

    def counters(self, child: Child) -> dict[str, float]:
        return tell(child.folder, "counters")

    def cost(self, child: Child, given: Sequence[Shot], connections: int = 16, warm: int = 100) -> float:
        """Run once against a server; return microseconds of its CPU for one answer."""
        return self.fire(child, given, connections, warm).cpu_us

    def fire(self, child: Child, given: Sequence[Shot], connections: int = 16, warm: int = 100) -> Tally:
        return self.worker.run(fire, Plan([child.port], [child.pid], given, connections, self.seconds, warm))

    def _floor(self, kind: str) -> Child:
        return self.start(["-m", "benchmarks.floors", kind, "--answers", str(self.answers)], self.folder)
