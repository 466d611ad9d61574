"""Domains: the search for an agent's proof in DNS or in a file, and the changes that follow from its result."""

from datetime import timedelta
from typing import Literal, TypeVar

from storage.agents import holder_to_change, proven_domains_of
from storage.tables import AgentRow, DomainRow, HeldDomainRow
from storage.transaction import Tx
from storage.vocabulary import DomainStatus
from tools.agents.logic import change_agent, set_tier
from tools.domains.records import Check, DnsProof, Domain, FileProof, Instructions, Method
from tools.engine.config import MarketConfig
from tools.engine.context import TxContext
from tools.engine.outgoing_urls import own_places
from tools.engine.ports import Dns, HttpClient, Unreachable, World
from tools.events.identity_payloads import DomainRevoked, DomainVerified
from tools.kernel.domain_names import claim_text, dns_name, https_url, in_file, in_records
from tools.kernel.records import Json, record_from
from tools.kernel.ssrf_guard import BadTarget, UrlUnreachable, judge_target

DAILY, SOON = timedelta(hours=24), timedelta(hours=1)
MAX_FAILURES = 3
D = TypeVar("D", bound=Domain)
Proof = Method | Check  # the place where it was found, or the error of each of the two places
Reason = Literal["challenge_missing", "claimed_by_other_agent"]


async def look_for_proof(world: World, config: MarketConfig, agent_id: str, domain: str) -> Proof:
    """Look for the proof in the TXT record, then in the file.

    Never raises because of what the domain answers. Raises NotTried if too many requests are running.
    """
    wanted = claim_text(config.brand, agent_id)
    dns_error = await _read_dns(world.dns, dns_name(config.brand, domain), wanted)
    if dns_error is None:
        return "dns"
    https_error = await _read_file(world.web, config, https_url(config.brand, domain), wanted, agent_id)
    return "https" if https_error is None else Check(dns_error=dns_error, https_error=https_error)


def hold(ctx: TxContext, row: DomainRow, method: Method) -> DomainRow:
    """Make the domain the agent's because its proof was found, and revoke it for another holder."""
    found = {"method": method, "failures": 0, "last_error": None, **_looked(ctx)}
    if row.status is DomainStatus.VERIFIED:
        return ctx.tx.change(row, **found)
    holder = ctx.tx.one(holder_to_change, domain=row.domain)
    if holder is not None:
        revoke(ctx, holder, "claimed_by_other_agent")
    now_verified = {"status": DomainStatus.VERIFIED, "verified_at": ctx.now, "revoked_at": None, "revoked_reason": None}
    held = ctx.tx.change(row, **found, **now_verified)
    ctx.tx.insert_if_absent(HeldDomainRow(domain=row.domain, agent_id=row.agent_id, held_at=ctx.now))
    agent = follow_domains(ctx.tx, row.agent_id)
    told: DomainVerified = {
        "domain": row.domain,
        "method": method,
        "trust_tier": agent.trust_tier,
        "hint": "Leave the proof where it is: it is looked for every day.",
    }
    ctx.emit_in_both(row.agent_id, "agent.domain_verified", told)
    return held


def revoke(ctx: TxContext, row: DomainRow, reason: Reason, **more: Json) -> DomainRow:
    """Revoke a domain. The claim stays, so that it can be proven again."""
    ended = {"status": DomainStatus.REVOKED, "revoked_at": ctx.now, "revoked_reason": reason, "check_at": None}
    after = ctx.tx.change(row, **ended, **more)
    follow_domains(ctx.tx, row.agent_id)
    told: DomainRevoked = {
        "domain": row.domain,
        "reason": reason,
        "hint": "Publish the proof again, then call verify_domain; list_domains says what to publish.",
    }
    ctx.emit_in_both(row.agent_id, "agent.domain_revoked", told)
    return after


def follow_domains(tx: Tx, agent_id: str) -> AgentRow:
    """Update profile, search and trust tier from the agent's proven domains."""
    agent = tx.need(AgentRow, agent_id, lock=True)
    proven = tx.all(proven_domains_of, agent_id=agent_id)
    return set_tier(tx, change_agent(tx, agent, verified_domain=proven[0] if proven else None))


def finish_check(ctx: TxContext, due: DomainRow, proof: Proof | None) -> None:
    """Store the result of the daily check, unless its lease was lost; None: no check was made."""
    row = ctx.tx.get(DomainRow, due.agent_id, due.domain, lock=True)
    if row is None or row.status is not DomainStatus.VERIFIED or row.check_at != due.check_at:
        return
    if proof is None:
        ctx.tx.change(row, check_at=ctx.now + SOON)
    elif not isinstance(proof, Check):
        hold(ctx, row, proof)
    elif row.failures + 1 < MAX_FAILURES:
        ctx.tx.change(row, failures=row.failures + 1, last_error=proof.errors, **_looked(ctx))
    else:
        missed = {"failures": row.failures + 1, "last_error": proof.errors, "last_checked_at": ctx.now}
        revoke(ctx, row, "challenge_missing", **missed)


def domain_record(config: MarketConfig, row: DomainRow, kind: type[D] = Domain, **others: object) -> D:  # type: ignore[assignment]
    """Return the record of a claimed domain, or another record that extends it."""
    return record_from(kind, row, instructions=_instructions(config, row), **others)


def _instructions(config: MarketConfig, row: DomainRow) -> Instructions:
    value = claim_text(config.brand, row.agent_id)
    return Instructions(
        dns=DnsProof(name=dns_name(config.brand, row.domain), value=value),
        https=FileProof(
            url=https_url(config.brand, row.domain),
            content=value,
            note="over https on port 443 with a valid certificate, no redirect, at most 64 KB",
        ),
        then=f"verify_domain (POST /v1/agents/me/domains/{row.domain}/verify)",
    )


async def _read_dns(dns: Dns, name: str, wanted: str) -> str | None:
    """Return None if the record exists, otherwise the error."""
    try:
        records = await dns.texts(name)
    except Unreachable as unanswered:
        return unanswered.reason
    if not records:
        return "no_record"
    return None if in_records(records, wanted) else "other_records_only"


async def _read_file(web: HttpClient, config: MarketConfig, url: str, wanted: str, agent_id: str) -> str | None:
    """Return None if the file contains the line, otherwise the error."""
    try:
        judge_target(url, config.allow_private_networks, own_places(config))
        fetched = await web.get(url, agent_id)
    except BadTarget:
        return "blocked_address"
    except UrlUnreachable as unreached:
        return unreached.reason
    if fetched.status != 200:
        return "redirected" if 300 <= fetched.status < 400 else f"status_{fetched.status}"
    return None if in_file(fetched.body, wanted) else "other_lines_only"


def _looked(ctx: TxContext) -> dict[str, Json]:
    return {"last_checked_at": ctx.now, "check_at": ctx.now + DAILY}
