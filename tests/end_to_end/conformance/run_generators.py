"""Generate clients from the served openapi.json with published generators, compile them, and trade with one.

openapi-python-client must not warn, and its package is small and quick to import. The output of openapi-typescript
compiles strictly. pip installs the first into a virtual environment in `folder`, npm the second.
"""

import asyncio
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import httpx

from tests.end_to_end.conformance.run_mcp import HERE, NPM_IS_MISSING, Bench, Outcome, install, printed
from tests.end_to_end.conformance.run_trade import trading

REQUIREMENTS = HERE / "generator-requirements.txt"
PACKAGE = "emporion_api"  # by default it would be emporion_client, the name of our own client
FEWER_FILES, FEWER_SECONDS = 700, 1.5
REPEATS = 3  # the least of them is compared, because other programs run beside it
IMPORT = f"""\
import time; began = time.perf_counter()
import importlib, pkgutil, {PACKAGE}
for one in pkgutil.walk_packages({PACKAGE}.__path__, "{PACKAGE}."): importlib.import_module(one.name)
print(time.perf_counter() - began)
"""
SECONDS = 300


def main(folder: Path) -> int:
    """Install into `folder`, generate, trade, print a line for each check; return the exit code.

    0: all as expected. 1: not so. 2: npm is missing.
    """
    bench = install(folder)
    if bench is None:
        return NPM_IS_MISSING
    place = Place(folder / "generators")
    place.install()
    return printed(asyncio.run(checks(bench, place)), folder)


async def checks(bench: Bench, place: "Place") -> list[Outcome]:
    async with trading() as (url, wallet), httpx.AsyncClient(base_url=url, trust_env=False) as http:
        (bench.folder / "openapi.json").write_bytes((await http.get("/openapi.json")).raise_for_status().content)
        made = [*await asyncio.to_thread(lambda: [*in_python(place), *in_typescript(bench)])]
        script = str(HERE / "clients" / "generated_trade.py")
        return [*made, await asyncio.to_thread(place.run, "generated client trades", script, url, wallet)]


class Place:
    """A folder with published Python programs in a virtual environment, and what they generate."""

    def __init__(self, folder: Path, requirements: Path = REQUIREMENTS) -> None:
        self.folder, self.programs, self.requirements = folder, folder / "venv" / "bin", requirements

    def install(self) -> None:
        """Make the virtual environment with the pinned packages, unless present."""
        complete, wanted = self.folder / "venv" / "complete", self.requirements.read_text()
        if complete.exists() and complete.read_text() == wanted:
            return
        subprocess.run([sys.executable, "-m", "venv", self.folder / "venv"], check=True)
        pip = [self.programs / "python", "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        subprocess.run([*pip, "-r", self.requirements], check=True, timeout=SECONDS)
        complete.write_text(wanted)

    def do(self, program: str, *options: str) -> tuple[int, str]:
        """Run a program of the environment; return its exit code and its output."""
        env = os.environ | {"PATH": f"{self.programs}:{os.environ['PATH']}", "PYTHONPATH": str(self.folder / "made")}
        ran = subprocess.run(
            [self.programs / program, *options],
            cwd=self.folder, env=env, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False, timeout=SECONDS,
        )  # fmt: skip
        return ran.returncode, ran.stdout + ran.stderr

    def run(self, name: str, *options: str) -> Outcome:
        code, said = self.do("python", *options)
        return Outcome(name, code == 0, said.strip().rpartition("\n")[2])


def in_python(place: Place) -> Iterator[Outcome]:
    """Yield the checks of openapi-python-client: no warning, few files, a quick import."""
    made = place.folder / "made"
    (place.folder / "config.yaml").write_text(f"package_name_override: {PACKAGE}\n")
    options = ("--path", "../openapi.json", "--config", "config.yaml", "--output-path", "made", "--overwrite")
    shutil.rmtree(made, ignore_errors=True)
    code, said = place.do("openapi-python-client", "generate", *options)
    quiet = code == 0 and said.split() == ["Generating", "made"]
    yield Outcome("openapi-python-client", quiet, "" if quiet else said)
    files = sum(1 for one in made.rglob("*") if one.is_file())
    yield Outcome("its files", 0 < files < FEWER_FILES, f"{files} files")
    took = [place.do("python", "-c", IMPORT)[1].strip() for _ in range(REPEATS)]
    least = min((float(one) for one in took if re.fullmatch(r"[\d.]+", one)), default=None)
    told = took[0][-300:] if least is None else f"{least:.2f} s for all modules"
    yield Outcome("its import", least is not None and least < FEWER_SECONDS, told)


def in_typescript(bench: Bench) -> Iterator[Outcome]:
    """Yield the checks of openapi-typescript: it generates, and the compiler accepts its output."""
    outcome, said = bench.run("openapi-typescript", "openapi-typescript", "openapi.json", "--output", "openapi.ts")
    yield outcome if outcome.went_well else Outcome(outcome.name, False, said)
    outcome, said = bench.run("tsc strict", "tsc", "--noEmit", "--strict", "openapi.ts")
    yield outcome if outcome.went_well else Outcome(outcome.name, False, said[-600:])


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1] if len(sys.argv) > 1 else ".conformance").resolve()))
