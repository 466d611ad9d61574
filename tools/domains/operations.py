"""Domains: claimed, proven by a DNS record or a file, looked at again every day, given up."""

from typing import Annotated

from pydantic import AfterValidator, Field, JsonValue

from storage.agents import domains_claimed, domains_of, forget_domain, holder_of
from storage.tables import AgentRow, DomainRow
from storage.transaction import Tx
from storage.vocabulary import DomainStatus
from tools.agents.former_names import kept_domains
from tools.agents.key_possession import proven_did
from tools.credentials.logic import acting_agent, keep_live
from tools.domains.errors import TooManyDomains
from tools.domains.logic import Proof, domain_record, follow_domains, hold, look_for_proof
from tools.domains.records import Check, Claimant, Domain, DomainChecked, DomainClaim, DomainDeleted, DomainList
from tools.engine.arguments import Arguments, NoArguments
from tools.engine.caller import Caller
from tools.engine.context import ReadContext, TxContext
from tools.engine.errors import NotFound, TooBusy
from tools.engine.next_steps import after_check, after_claim
from tools.engine.rate_limits import Rate
from tools.engine.registry import operation
from tools.kernel.domain_names import MAX_CHARACTERS, MAX_DOMAINS, BadDomain, domain_of
from tools.kernel.records import record_from
from tools.kernel.ssrf_guard import NotAttempted

CHANGE = "change the domains"
HOST = r"[^\s/?#@:\\%\[\]]+"
HOST_SCHEMA: dict[str, JsonValue] = {"pattern": f"^{HOST}$"}
GIVEN_SCHEMA: dict[str, JsonValue] = {"pattern": rf"^([hH][tT][tT][pP][sS]?://)?{HOST}(/[A-Za-z0-9._~/-]*)?$"}


def _host(text: str) -> str:
    if "/" in text:
        raise BadDomain("a host name, without https:// and path")
    return domain_of(text)


Given = Annotated[
    str,
    Field(min_length=3, max_length=MAX_CHARACTERS, json_schema_extra=GIVEN_SCHEMA),
    AfterValidator(domain_of),
]
Host = Annotated[
    str,
    Field(min_length=3, max_length=MAX_CHARACTERS, json_schema_extra=HOST_SCHEMA),
    AfterValidator(_host),
]


class AddDomain(Arguments):
    domain: Given = Field(
        description="a host name or its URL, such as agent.example.com; international names in either spelling"
    )


class DomainRef(Arguments):
    domain: Host = Field(description="a host name, such as agent.example.com")


@operation("GET /v1/agents/me/domains", toolset="agents")
def list_domains(ctx: TxContext, _: NoArguments) -> DomainList:
    """List the domains you claim, with the status of each and what to publish to prove it.

    A proven domain is shown on your profile and finds you in search_agents; with trust tier 1 it makes tier 2.
    """
    agent = ctx.tx.need(AgentRow, ctx.agent)
    rows = ctx.tx.all(domains_of, agent_id=agent.id)
    return DomainList(
        data=[domain_record(ctx.config, row) for row in rows],
        verified_domain=agent.verified_domain,
        trust_tier=agent.trust_tier,
        hint="Publish what instructions say, then call verify_domain." if rows else "Claim one with add_domain.",
    )


@operation(
    "POST /v1/agents/me/domains",
    scope="admin:self",
    errors=(TooManyDomains,),
    status=201,
    idempotent=True,
    next_steps=after_claim,
    toolset="agents",
    examples=({"domain": "agent.example.com"},),
)
def add_domain(ctx: TxContext, asked: AddDomain) -> Domain:
    """Claim a domain you control, at most 5. The answer says what to publish.

    An unproven claim is not shown to others. Next: publish `<service>=<agent_id>` as the TXT record or in the file that instructions name, then verify_domain.
    """
    agent = acting_agent(ctx)
    keep_live(ctx.tx, ctx.caller, CHANGE)
    known = ctx.tx.get(DomainRow, agent.id, asked.domain)
    if known is not None:
        return domain_record(ctx.config, known)
    if (ctx.tx.one(domains_claimed, agent_id=agent.id) or 0) >= MAX_DOMAINS:
        raise TooManyDomains(f"you claim {MAX_DOMAINS} domains, more are not allowed", limit=MAX_DOMAINS)
    return domain_record(ctx.config, ctx.tx.add(DomainRow(agent_id=agent.id, domain=asked.domain, created_at=ctx.now)))


async def read_proof(read_ctx: ReadContext, ref: DomainRef) -> Proof:
    """Fetch the proof of a domain that the caller claimed; no other host can be probed."""
    await read_ctx.store.read(lambda tx: _may_verify(tx, read_ctx.caller, ref.domain))
    try:
        return await look_for_proof(read_ctx.world, read_ctx.config, read_ctx.caller.agent, ref.domain)
    except NotAttempted:
        raise TooBusy("too many names are being looked up", retry_after_seconds=5) from None


@operation(
    "POST /v1/agents/me/domains/{domain}/verify",
    scope="admin:self",
    gather=read_proof,
    errors=(NotFound,),
    open_world=True,
    idempotent=True,
    rate=Rate.DOMAINS,
    next_steps=after_check,
    toolset="agents",
)
def verify_domain(ctx: TxContext, ref: DomainRef, proof: Proof) -> DomainChecked:
    """Check the proof of a domain you claimed: the TXT record first, then the file.

    Answers 200 also if there is no proof: `verified` is then false, and `check` says what was found. A domain belongs to
    the agent that proved it last. It is checked again every day; three days without the proof revoke it. Needs
    add_domain first. A new DNS record may take minutes to appear. At most 20 checks an hour.
    """
    _may_verify(ctx.tx, ctx.caller, ref.domain)
    row = _claimed(ctx.tx, ctx.agent, ref.domain, lock=True)
    check = proof if isinstance(proof, Check) else None
    if isinstance(proof, Check):  # only the daily checks revoke a domain
        after = ctx.tx.change(row, last_checked_at=ctx.now, last_error=proof.errors)
    else:
        after = hold(ctx, row, proof)
    return domain_record(
        ctx.config,
        after,
        DomainChecked,
        verified=check is None,
        trust_tier=ctx.tx.need(AgentRow, ctx.agent).trust_tier,
        check=check,
        hint=_after_check(after, check is None),
    )


@operation(
    "DELETE /v1/agents/me/domains/{domain}",
    scope="admin:self",
    errors=(NotFound,),
    destructive=True,
    toolset="agents",
)
def remove_domain(ctx: TxContext, ref: DomainRef) -> DomainDeleted:
    """Remove a domain from your profile.

    Trust tier 2 ends if it was your only proven domain. add_domain claims it again.
    """
    row = _claimed(ctx.tx, ctx.agent, ref.domain, lock=True)
    agent = acting_agent(ctx)
    keep_live(ctx.tx, ctx.caller, CHANGE)
    ctx.tx.change(agent, **kept_domains(agent, [row]))
    ctx.tx.run(forget_domain, agent_id=ctx.agent, domain=ref.domain)
    if row.status is DomainStatus.VERIFIED:
        follow_domains(ctx.tx, ctx.agent)
    return DomainDeleted(domain=ref.domain)


@operation("GET /v1/domains/{domain}", auth="none", errors=(NotFound,), toolset="agents")
def get_domain_claim(ctx: TxContext, ref: DomainRef) -> DomainClaim:
    """Find the agent that proved a domain, how and when.

    Compare it with the agent that you know. It answers not_found if no agent has proven it.
    """
    row = ctx.tx.one(holder_of, domain=ref.domain)
    if row is None:
        raise NotFound("no agent has proven this domain", param="domain", hint="search_agents finds agents by words.")
    agent = ctx.tx.need(AgentRow, row.agent_id)
    return record_from(DomainClaim, row, agent=record_from(Claimant, agent, did=proven_did(agent)))


def _may_verify(tx: Tx, caller: Caller, domain: str) -> None:
    """Refuse what is not claimed, and a test key of an agent that is on live."""
    _claimed(tx, caller.agent, domain)
    keep_live(tx, caller, CHANGE)


def _after_check(row: DomainRow, found: bool) -> str:
    if found:
        return "The domain is yours. Leave the proof where it is: it is looked for every day."
    if row.status is DomainStatus.VERIFIED:
        return "The domain is still yours, but its proof was not found: publish it again within two days."
    return "Publish what instructions say, wait until it can be seen, then call verify_domain again."


def _claimed(tx: Tx, agent_id: str, domain: str, *, lock: bool = False) -> DomainRow:
    row = tx.get(DomainRow, agent_id, domain, lock=lock)
    if row is None:
        hint = "Claim it with add_domain; list_domains shows yours."
        raise NotFound("you do not claim this domain", param="domain", hint=hint)
    return row
