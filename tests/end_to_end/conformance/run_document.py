"""Test the served openapi.json with two published linters, Redocly's and Spectral's."""

from collections.abc import Iterator
from pathlib import Path

import httpx

from tests.end_to_end.conformance.run_mcp import NPM_IS_MISSING, Bench, Outcome, install, serving

# The market names no licence and no contact. Both are for its operator.
REDOCLY = ("--extends=recommended", "--skip-rule=info-license")
RULESET = 'extends: ["spectral:oas"]\nrules:\n  info-contact: off\n  info-license: off\n'


def main(folder: Path) -> int:
    """Install into `folder`, fetch, lint, print a line for each linter; return the exit code.

    0: accepted. 1: not so. 2: npm is missing.
    """
    bench = install(folder)
    if bench is None:
        return NPM_IS_MISSING
    with serving() as url:
        answer = httpx.get(f"{url.removesuffix('/mcp')}/openapi.json", trust_env=False).raise_for_status()
    (folder / "openapi.json").write_bytes(answer.content)
    outcomes = list(lint(bench))
    for outcome in outcomes:
        print(f"{'ok  ' if outcome.went_well else 'FAIL'} {outcome.name} {outcome.told}".rstrip())
    return 0 if all(outcome.went_well for outcome in outcomes) else 1


def lint(bench: Bench) -> Iterator[Outcome]:
    """Yield each linter's outcome. Its output is in logs/, and is printed if it found something."""
    (bench.folder / "spectral.yaml").write_text(RULESET)
    commands = {
        "redocly": ("lint", "openapi.json", *REDOCLY),
        "spectral": ("lint", "openapi.json", "--ruleset=spectral.yaml", "--fail-severity=warn"),
    }
    for name, options in commands.items():
        outcome, said = bench.run(name, name, *options)
        if not outcome.went_well:
            print(said)
        yield outcome
