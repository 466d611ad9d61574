"""Test the discovery documents with published programs: the ARD suite, JSON schemas, the audits of Lighthouse.

    python -m tests.end_to_end.conformance.run_discovery [folder]

Lighthouse needs a Chromium (run_pages.py). If there is none, its audits do not run, and a line says so.
"""

import json
import sys
from collections.abc import Iterator, Mapping
from os import environ
from pathlib import Path
from typing import Any

import httpx
from eth_account import Account
from jsonschema import Draft202012Validator

from protocol.discovery.skills import NAME, SKILL_PATH
from protocol.docs.markdown import front_matter
from tests.end_to_end.conformance.browser import installed
from tests.end_to_end.conformance.run_mcp import NPM_IS_MISSING, Bench, Outcome, install, printed, serving
from tests.protocol.discovery.test_documents import SERVER_CARD
from tests.support.market import Agent
from tests.support.trade import OFFER, binding

CATALOGUES = ("/.well-known/ard.json", "/.well-known/ai-catalog.json", "/ard/listings.json")
AUDITED = ("/docs", "/")
URL = {"type": "string", "pattern": "^https?://"}
ENTRY = {
    "type": "object",
    "required": ["identifier", "displayName", "type", "url", "representativeQueries"],
    "properties": {
        "identifier": {"type": "string", "pattern": r"^urn:air:[a-zA-Z0-9.-]+(:[a-zA-Z0-9._-]+)+$"},
        "displayName": {"type": "string", "minLength": 1},
        "type": {"type": "string", "pattern": "^[a-z]+/"},
        "url": URL,
        "representativeQueries": {"type": "array", "minItems": 2, "maxItems": 5, "items": {"type": "string"}},
        "metadata": {"additionalProperties": {"type": ["string", "number", "boolean"]}},
    },
}
DIGEST = {"type": "string", "pattern": "^sha256:[0-9a-f]{64}$"}
SKILL = {
    "type": "object",
    "required": ["name", "type", "description", "url", "digest"],
    "properties": {
        "name": {"pattern": "^[a-z0-9-]{1,64}$"},
        "type": {"const": "skill-md"},
        "url": URL,
        "digest": DIGEST,
    },
}
LINK = {"type": "object", "required": ["href"], "properties": {"href": URL}}
LINKS = {
    "type": "object",
    "required": ["anchor", "service-desc"],
    "properties": {"anchor": URL, "service-desc": {"type": "array", "minItems": 1, "items": LINK}},
}
SERVER = {
    "type": "object",
    "required": ["$schema", "name", "description", "version", "remotes"],
    "properties": {
        "name": {"pattern": "^[a-zA-Z0-9.-]+/[a-zA-Z0-9._-]+$"},
        "description": {"type": "string", "minLength": 1, "maxLength": 100},
        "remotes": {"type": "array", "minItems": 1},
    },
}


def list_of(name: str, item: Mapping[str, Any]) -> dict[str, Any]:
    array = {"type": "array", "minItems": 1, "items": item}
    return {"type": "object", "required": [name], "properties": {name: array}}


FRONTMATTER = {  # of SEP-2640 and the Agent Skills format
    "type": "object",
    "required": ["name", "description"],
    "properties": {"name": {"const": NAME}, "description": {"type": "string", "minLength": 1, "maxLength": 1024}},
}
SCHEMAS: Mapping[str, Mapping[str, Any]] = {
    **dict.fromkeys(CATALOGUES, list_of("entries", ENTRY)),
    "/mcp/server-card": SERVER_CARD,
    "/.well-known/mcp/server-card.json": SERVER_CARD,
    "/server.json": SERVER,
    "/.well-known/api-catalog": list_of("linkset", LINKS),
    "/.well-known/agent-skills/index.json": list_of("skills", SKILL),
}


def main(folder: Path) -> int:
    """Print a line for each check; return the exit code.

    0: all as expected. 1: not so. 2: npm is missing.
    """
    bench = install(folder)
    if bench is None:
        return NPM_IS_MISSING
    with serving() as url, httpx.Client(base_url=url.removesuffix("/mcp"), trust_env=False, timeout=30) as http:
        sell(http)
        return printed([*schemas(http), *catalogues(bench, http), *audits(bench, http)], folder)


def sell(http: httpx.Client) -> None:
    """Offer something in live, so that the catalogue of listings is not empty."""
    made = http.post("/v1/agents", json={"name": "Sela"}).raise_for_status().json()
    seed = bytes.fromhex(made["keypair"]["secret_key"])
    seller = Agent(made["agent"]["id"], made["agent"]["handle"], made["api_keys"], seed, Account.create())
    key = {"X-API-Key": seller.keys["live"]}
    proof = {"address": seller.wallet.address, "signature": binding(seller)}
    http.post("/v1/agents/me/wallet-address", json=proof, headers=key).raise_for_status()
    http.post("/v1/listings", json=OFFER, headers=key).raise_for_status()


def schemas(http: httpx.Client) -> Iterator[Outcome]:
    for path, schema in SCHEMAS.items():
        yield fits(f"schema of {path}", http.get(path).raise_for_status().json(), schema)
    skill = http.get(SKILL_PATH).raise_for_status().text
    yield fits(f"frontmatter of {SKILL_PATH}", front_matter(skill)[0], FRONTMATTER)


def fits(name: str, value: Any, schema: Mapping[str, Any]) -> Outcome:
    found = [one.message for one in Draft202012Validator(schema).iter_errors(value)]
    return Outcome(name, not found, "; ".join(found[:3]))


def catalogues(bench: Bench, http: httpx.Client) -> Iterator[Outcome]:
    for path in CATALOGUES:
        outcome, said = bench.run(f"ard {path}", "node", "ard.mjs", f"{http.base_url}{path}")
        yield Outcome(outcome.name, outcome.went_well, "" if outcome.went_well else said.strip()[:500])


def audits(bench: Bench, http: httpx.Client) -> Iterator[Outcome]:
    """Yield the agentic audits of Lighthouse for each page, if they apply."""
    program = installed()
    if program is None:
        print("LIGHTHOUSE NOT RUN: no Chromium on this machine", file=sys.stderr)
        return
    environ["CHROME_PATH"] = program
    for path in AUDITED:
        report = bench.folder / "lighthouse.json"
        options = ("--only-categories=agentic-browsing", "--output=json", f"--output-path={report}", "--quiet")
        flags = "--chrome-flags=--headless --no-sandbox"
        address = f"{http.base_url}{path}"
        outcome, said = bench.run(f"lighthouse {path}", "lighthouse", address, *options, flags)
        if not outcome.went_well:
            yield Outcome(outcome.name, False, said.strip()[-300:])
            continue
        made = json.loads(report.read_text())["audits"]
        scores = {name: one["score"] for name, one in made.items() if one["score"] is not None}
        bad = {name: score for name, score in scores.items() if score < 1}
        yield Outcome(outcome.name, not bad and "llms-txt" in scores and "ard-schema" in scores, f"{bad or scores}")


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1] if len(sys.argv) > 1 else ".conformance").resolve()))
