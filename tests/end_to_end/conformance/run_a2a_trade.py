"""A stranger trades on the sandbox with the published JavaScript client of A2A, in each form.

It needs at most five messages. The client runs clients/a2a.mjs, which also uses all task methods.
"""

import asyncio
import sys
from pathlib import Path

from tests.end_to_end.conformance.run_mcp import NPM_IS_MISSING, Bench, Outcome, install, printed
from tests.end_to_end.conformance.run_trade import trading

FORMS = (("JSONRPC", "1.0"), ("HTTP+JSON", "1.0"), ("JSONRPC", "0.3"), ("HTTP+JSON", "0.3"))


def main(folder: Path) -> int:
    """Trade and print a line for each form; return the exit code.

    0: all as expected. 1: not so. 2: npm is missing.
    """
    bench = install(folder)
    return NPM_IS_MISSING if bench is None else printed(asyncio.run(trades(bench)), folder)


async def trades(bench: Bench) -> list[Outcome]:
    async with trading() as (url, wallet):
        return [await _trade(bench, url, wallet, form) for form in FORMS]


async def _trade(bench: Bench, url: str, wallet: str, form: tuple[str, str]) -> Outcome:
    name = f"stranger a2a-js {' '.join(form)}"
    return (await asyncio.to_thread(bench.run, name, "node", "a2a.mjs", url, wallet, *form))[0]


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1] if len(sys.argv) > 1 else ".conformance").resolve()))
