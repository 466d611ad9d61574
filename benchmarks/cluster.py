"""A PostgreSQL server of the benchmark, in a temporary folder, on a Unix socket, with fsync on."""

from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from tempfile import mkdtemp
from types import MappingProxyType
from typing import TYPE_CHECKING

from benchmarks.clones import clone_history
from benchmarks.data import LISTINGS, PEPPER, seed
from benchmarks.processes import Child
from benchmarks.trade import Trades, chain_settings, model_jobs
from tests.support.databases import SETTINGS, PostgresServer

if TYPE_CHECKING:
    from benchmarks.stage import Stage


class Postgres(PostgresServer):
    """A database server with PostgreSQL's own size of its cache."""

    settings = MappingProxyType(SETTINGS | {"shared_buffers": "128MB"})

    @property
    def pid(self) -> int:
        assert self.process
        return self.process.pid


class Cluster:
    """A database server with the seeded market as a template of databases."""

    def __init__(self, stage: "Stage") -> None:
        self.stage, self.server = stage, Postgres()
        stage.stack.callback(self.server.stop)
        seed(self.server.create("seeded"), PEPPER, LISTINGS)

    def markets(self, name: str, processes: int) -> list[Child]:
        """Start this many processes over a new copy of the template."""
        return self.serve(self.server.create(name, template="seeded"), processes)

    def serve(self, url: str, processes: int = 1, more: Mapping[str, str] = MappingProxyType({})) -> list[Child]:
        """Start this many processes over a database, with more settings."""
        env = {
            "EMPORION_DATABASE_URL": url,
            "EMPORION_KEY_PEPPER": PEPPER.hex(),
            "EMPORION_SIGNING_SEED": bytes(32).hex(),
            **more,
        }
        children: list[Child] = []
        for _ in range(processes):
            folder = Path(mkdtemp(dir=self.stage.folder))
            children.append(self.stage.serve(folder, env=env))
            env["EMPORION_BASE_URL"] = f"http://127.0.0.1:{children[0].port}"  # all accept the first one's name
        return children

    @cached_property
    def history(self) -> str:
        """The URL of a database with the jobs that the stage's `history` has."""
        url = self.server.create("history", template="seeded")
        [child] = self.serve(url, more=chain_settings(self.stage.chain))
        models = model_jobs(Trades(child, self.stage.data, self.stage.chain))
        child.stop()
        clone_history(url, models, self.stage.data)
        return url
