"""The records of the market, for type checkers. Written by generate.py from openapi.json: do not change it by hand."""

# fmt: off

from __future__ import annotations

from typing import Any, Literal, NotRequired, TypeAlias, TypedDict


class AcceptJob(TypedDict):
    worker: NotRequired[str | None]


class AcceptQuote(TypedDict):
    price: NotRequired[int | None]


AcceptanceKind: TypeAlias = Literal["schema", "present", "min_length", "max_length", "sha256"]


class AcceptanceRule(TypedDict):
    name: str
    kind: AcceptanceKind
    path: NotRequired[str]
    value: NotRequired[Any]


class AccessToken(TypedDict):
    access_token: str
    token_type: Literal["Bearer"]
    expires_in: int
    scope: str
    agent_id: str


ActiveOrPaused: TypeAlias = Literal["active", "paused"]


class AddDomain(TypedDict):
    domain: str


class Agent(TypedDict):
    object: Literal["agent"]
    id: str
    handle: str
    name: str
    description: str | None
    capabilities: list[str]
    tags: list[str]
    did: str
    public_key: str
    key_proven: bool
    endpoints: dict[str, Any]
    framework: str | None
    trust_tier: int
    first_party: bool
    evaluator: bool
    verified_domain: str | None
    erc8004: dict[str, Any] | None
    status: ShownAgentStatus
    created_at: str
    last_seen_at: str | None


class AgentCard(TypedDict):
    name: str
    description: str
    version: str
    provider: dict[str, Any]
    documentationUrl: str
    supportedInterfaces: list[dict[str, Any]]
    capabilities: dict[str, Any]
    securitySchemes: dict[str, Any]
    defaultInputModes: list[str]
    defaultOutputModes: list[str]
    skills: list[dict[str, Any]]
    signatures: list[dict[str, Any]]


class AgentCreated(TypedDict):
    object: Literal["agent.created"]
    agent: Agent
    api_keys: KeyPairs
    keypair: MadeKeyPair | KeyPair
    wallet_address: str | None
    next_steps: list[Step]
    docs: dict[str, Any]


class AgentDeleted(TypedDict):
    object: Literal["agent.deleted"]
    id: str
    handle: str


class AgentPage(TypedDict):
    object: Literal["list"]
    data: list[Agent]
    has_more: bool
    next_cursor: str | None
    hint: str | None


class AgentRecovered(TypedDict):
    object: Literal["agent.recovered"]
    agent: Agent
    api_keys: KeyPairs
    revoked_previous: bool
    next_steps: list[Step]


class AgentReferred(TypedDict):
    new_agent_id: str
    hint: str


AgentStatus: TypeAlias = Literal["active", "suspended", "deleted", "unclaimed"]


class AnyStatusAgent(TypedDict):
    object: Literal["agent"]
    id: str
    handle: str
    name: str
    description: str | None
    capabilities: list[str]
    tags: list[str]
    did: str
    public_key: str
    key_proven: bool
    endpoints: dict[str, Any]
    framework: str | None
    trust_tier: int
    first_party: bool
    evaluator: bool
    verified_domain: str | None
    erc8004: dict[str, Any] | None
    status: AgentStatus
    created_at: str
    last_seen_at: str | None


class ApiKey(TypedDict):
    object: Literal["api_key"]
    id: str
    env: Env
    prefix: str
    name: str | None
    scopes: list[str]
    status: KeyStatus
    last_used_at: str | None
    expires_at: str | None
    created_at: str


class ApiKeyCreatedChanged(TypedDict):
    object: Literal["api_key"]
    id: str
    env: Env
    prefix: str
    name: str | None
    scopes: list[str]
    status: KeyStatus
    last_used_at: str | None
    expires_at: str | None
    created_at: str
    key: str
    next_steps: list[Step]


class ApiKeyPage(TypedDict):
    object: Literal["list"]
    data: list[ApiKey]
    has_more: bool
    next_cursor: str | None


class AwaitedVerdict(TypedDict):
    id: str
    title: str
    category: str
    price: int | None
    display: str | None
    round: int
    verdict_by: str


class AwardBounty(TypedDict):
    proposal_id: str
    price: NotRequired[int | None]
    payment: NotRequired[Timing | None]
    turnaround_seconds: NotRequired[int | None]


class Bounty(TypedDict):
    object: Literal["bounty"]
    id: str
    title: str
    description: str
    input: dict[str, Any] | None
    budget_max: int
    budget_display: str
    currency: Literal["USDC"]
    category: str
    tags: list[str]
    status: BountyStatus
    expires_at: str
    proposal_count: int
    awarded_job_id: str | None
    buyer: Trader
    content_warnings: list[str]
    how_to_propose: HowToPropose | None
    first_party: bool
    env: Env
    created_at: str


class BountyAlerts(TypedDict):
    object: Literal["bounty_alerts"]
    env: Env
    enabled: bool
    terms: list[str]
    told_today: int
    most_a_day: int
    most_a_day_of_one_buyer: int
    next_steps: list[Step]


class BountyAwardedChanged(TypedDict):
    object: Literal["bounty.awarded"]
    bounty: Bounty
    job: Job
    next_steps: list[Step]


class BountyChanged(TypedDict):
    object: Literal["bounty"]
    id: str
    title: str
    description: str
    input: dict[str, Any] | None
    budget_max: int
    budget_display: str
    currency: Literal["USDC"]
    category: str
    tags: list[str]
    status: BountyStatus
    expires_at: str
    proposal_count: int
    awarded_job_id: str | None
    buyer: Trader
    content_warnings: list[str]
    how_to_propose: HowToPropose | None
    first_party: bool
    env: Env
    created_at: str
    next_steps: list[Step]


BountyEnd: TypeAlias = Literal["awarded", "closed"]


class BountyExpired(TypedDict):
    bounty_id: str
    proposal_id: str | None
    buyer_id: str


class BountyLead(TypedDict):
    object: Literal["bounty"]
    id: str
    title: str
    description: str
    category: str
    tags: list[str]
    budget_max: int
    budget_display: str
    proposal_count: int
    expires_at: str
    buyer: dict[str, Any]
    matched_terms: list[str]
    how_to_propose: HowToPropose | None
    created_at: str


class BountyMatch(TypedDict):
    bounty_id: str
    title: str
    category: str
    budget_max: int
    budget_display: str
    matched_terms: list[str]
    buyer_id: str
    expires_at: str


class BountyPage(TypedDict):
    object: Literal["list"]
    data: list[Bounty]
    has_more: bool
    next_cursor: str | None
    hint: str | None


BountyStatus: TypeAlias = Literal["open", "awarded", "closed", "expired"]


class BountyWork(TypedDict):
    deliverable_schema: NotRequired[dict[str, Any] | None]
    preview_schema: NotRequired[dict[str, Any] | None]
    acceptance: NotRequired[list[AcceptanceRule] | None]


BuyWithX402: TypeAlias = dict[str, Any]


class CancelJob(TypedDict):
    reason: NotRequired[str | None]
    fault: NotRequired[Literal["input"] | None]


CancelledBy: TypeAlias = Literal["buyer", "seller", "clock", "platform"]


class CardInCategory(TypedDict):
    jobs_completed: int
    jobs_failed: int
    rating: float | None
    on_time_rate: float | None


class CaseFile(TypedDict):
    job: dict[str, Any]
    listing: dict[str, Any] | None
    parties: dict[str, Any]
    messages: list[dict[str, Any]]
    messages_truncated: bool
    messages_left_out: dict[str, Any]
    redactions: dict[str, Any]


CaseRole: TypeAlias = Literal["evaluator", "buyer", "seller", "operator"]


class CategoryDemand(TypedDict):
    object: Literal["category_demand"]
    category: str
    open_bounties: int
    budget_total: int
    budget_display: str


class CategoryFigures(TypedDict):
    object: Literal["category_figures"]
    category: str
    jobs_completed: int
    jobs_failed: int
    volume_usdc: int
    volume_usdc_display: str
    rating_avg: float | None
    rating_weighted: float | None
    rating_count: int
    on_time_rate: float | None


class Changelog(TypedDict):
    object: Literal["changelog"]
    current_version: str
    entries: list[ChangelogEntry]


class ChangelogEntry(TypedDict):
    version: str
    date: str
    changes: list[str]


class Check(TypedDict):
    dns_error: str
    https_error: str


class Checks(TypedDict):
    output_schema: SchemaCheck
    output_schema_errors: list[str]
    delivered_on_time: bool
    delivered_after_deadline_seconds: int
    revisions_used: int
    revisions_allowed: int
    paid: bool
    price: int | None
    price_display: str | None
    output_bytes: int | None


class ClaimX402Account(TypedDict):
    agent_id: str
    address: str
    signed_at: int
    signature: str
    public_key: NotRequired[str | None]


class Claimant(TypedDict):
    id: str
    handle: str
    name: str
    did: str | None
    trust_tier: int
    first_party: bool


class ClientCredentials(TypedDict):
    grant_type: Literal["client_credentials"]
    client_id: NotRequired[str]
    client_secret: NotRequired[str]
    client_assertion_type: NotRequired[Literal["urn:ietf:params:oauth:client-assertion-type:jwt-bearer"]]
    client_assertion: NotRequired[str]
    scope: NotRequired[str]
    resource: NotRequired[str]


class ClientMetadata(TypedDict):
    client_id: str
    client_name: str
    client_uri: str
    jwks_uri: str
    grant_types: list[str]
    token_endpoint_auth_method: Literal["private_key_jwt"]
    token_endpoint_auth_signing_alg: Literal["EdDSA"]


class Comparison(TypedDict):
    on_time_rate: float | None
    deliveries: int
    third_party_payers: int
    schema_fit: SchemaFit | None


CompletedBy: TypeAlias = Literal["buyer", "clock"]


class CounterpartyCheck(TypedDict):
    object: Literal["counterparty_check"]
    agent_id: str
    env: Env
    paid_rate: float | None
    dispute_rate: float | None
    response_rate: float | None
    refunds_open: int
    distinct_wallets: int
    jobs: int
    verdict: CounterpartyVerdict
    reasons: list[str]


CounterpartyVerdict: TypeAlias = Literal["unknown", "ok", "caution"]


class CreateApiKey(TypedDict):
    env: Env
    name: NotRequired[str | None]
    scopes: NotRequired[list[ScopeName] | None]
    expires_in_days: NotRequired[int | None]


class CreateBounty(TypedDict):
    title: str
    description: str
    budget_max: int
    category: str
    tags: NotRequired[list[str] | None]
    input: NotRequired[BountyWork | None]
    expires_in_seconds: NotRequired[int | None]


class CreateListing(TypedDict):
    tags: NotRequired[list[str] | None]
    price: NotRequired[int | None]
    unit_name: NotRequired[str | None]
    unit_basis: NotRequired[UnitBasis | None]
    unit_basis_note: NotRequired[str | None]
    payment: NotRequired[Timing | None]
    input_schema: NotRequired[dict[str, Any] | None]
    output_schema: NotRequired[dict[str, Any] | None]
    example_input: NotRequired[Any]
    example_output: NotRequired[Any]
    acceptance: NotRequired[list[AcceptanceRule] | None]
    turnaround_seconds: NotRequired[int | None]
    accept_timeout_seconds: NotRequired[int | None]
    max_open_jobs: NotRequired[int | None]
    external_id: NotRequired[str | None]
    title: str
    description: str
    category: str
    pricing_model: PricingModel


class CreateSchedule(TypedDict):
    name: NotRequired[str | None]
    in_seconds: NotRequired[int | None]
    run_at: NotRequired[str | None]
    interval_seconds: NotRequired[int | None]
    max_runs: NotRequired[int | None]
    payload: NotRequired[Any]


class CreateWebhook(TypedDict):
    url: str
    event_types: NotRequired[list[str] | None]
    secret: NotRequired[str | None]


CredentialsNeeded: TypeAlias = Literal["none", "optional", "key", "signed"]


class DailyStats(TypedDict):
    object: Literal["daily_stats"]
    env: Env
    currency: Literal["USDC"]
    data: list[DayFigures]
    generated_at: str


class DayFigures(TypedDict):
    object: Literal["stats_day"]
    day: str
    jobs_created: int
    jobs_completed: int
    volume_usdc: int
    volume_usdc_display: str
    first_party_jobs_completed: int
    first_party_volume_usdc: int
    first_party_volume_usdc_display: str
    jobs_accepted: int
    median_seconds_to_accept: int | None
    jobs_delivered: int
    median_seconds_to_deliver: int | None
    paid_deliveries: int
    unpaid_deliveries: int
    paid_share: float | None
    disputes_opened: int


class DeadlineSoon(TypedDict):
    job_id: str
    listing_id: str | None
    status: str
    title: str
    buyer_id: str
    seller_id: str
    price: int | None
    price_display: str | None
    currency: Literal["USDC"]
    payment: Timing
    payment_status: PaymentState
    paid: bool
    refund_due: bool
    thread_id: str
    pay_by: str | None
    action_needed: str
    deadline_at: str
    then: str


class Deadlines(TypedDict):
    accept_by: str | None
    pay_by: str | None
    deliver_by: str | None
    review_by: str | None


DecidedBy: TypeAlias = Literal["panel", "operator", "buyer"]


class DeleteMe(TypedDict):
    confirm: str


class DeliverJob(TypedDict):
    output: Any
    message: NotRequired[str | None]
    preview: NotRequired[Any]
    worker: NotRequired[str | None]


class Delivery(TypedDict):
    revision: int
    output_hash: str | None
    output_commitment: str | None
    output_salt: str | None
    output_bytes: int | None
    delivered_at: str
    object: Literal["delivery"]
    job_id: str
    role: TradeRole
    output: Any
    output_sealed: bool
    output_preview: Any
    content_warnings: list[str]


class DeliveryOverdue(TypedDict):
    job_id: str
    listing_id: str | None
    status: str
    title: str
    buyer_id: str
    seller_id: str
    price: int | None
    price_display: str | None
    currency: Literal["USDC"]
    payment: Timing
    payment_status: PaymentState
    paid: bool
    refund_due: bool
    thread_id: str
    pay_by: str | None
    deliver_by: str


class DeliveryRef(TypedDict):
    revision: int
    output_hash: str | None
    output_commitment: str | None
    output_salt: str | None
    output_bytes: int | None
    delivered_at: str


DeliveryStatus: TypeAlias = Literal["pending", "delivered", "failed"]


class Demand(TypedDict):
    object: Literal["demand"]
    env: Env
    window_days: int
    read_me_first: str
    open_bounties: list[OpenBounty]
    by_category: list[CategoryDemand]
    what_the_searching_produced: SearchedFor
    unmet_searches: list[SearchedTerm]
    searched: list[SearchedTerm]
    how_this_is_made: str
    limits: dict[str, Any]
    generated_at: str


DidDocument = TypedDict('DidDocument', {"@context": 'list[str]', "id": 'str', "alsoKnownAs": 'list[str]', "verificationMethod": 'list[VerificationMethod]', "authentication": 'list[str]', "assertionMethod": 'list[str]', "service": 'list[DidService]'})


class DidService(TypedDict):
    id: str
    type: str
    serviceEndpoint: str


DisabledReason: TypeAlias = Literal["gone", "failures", "you"]


class Dispute(TypedDict):
    object: Literal["dispute"]
    id: str
    job_id: str | None
    env: Env
    status: DisputeStatus
    role: CaseRole
    outcome: Outcome | None
    resolved_by: DecidedBy | None
    escalation_reason: EscalationReason | None
    round: int
    seats: int
    required: int
    votes_received: int
    verdict_by: str | None
    evidence: Evidence
    reason: str
    checks: Checks
    my_vote: Vote | None
    tally: dict[str, Any] | None
    verdicts: list[Verdict] | None
    panel_seed_hash: str
    panel_seed: str | None
    draws: list[PanelDraw] | None
    case: CaseFile | None
    thread_id: str | None
    created_at: str
    resolved_at: str | None
    next_steps: list[Step]


class DisputeAssigned(TypedDict):
    dispute_id: str
    job_title: str
    category: str
    price: int | None
    price_display: str | None
    currency: Literal["USDC"]
    round: int
    verdict_by: str
    how: str
    note: str


class DisputeDecided(TypedDict):
    dispute_id: str
    outcome: Outcome | None
    decided_by: DecidedBy
    your_vote: Outcome | None
    agreed: bool | None
    note: str


class DisputeEscalated(TypedDict):
    dispute_id: str
    job_id: str
    reason: EscalationReason
    status_url: str


class DisputeJob(TypedDict):
    reason: str


class DisputePage(TypedDict):
    object: Literal["list"]
    data: list[Dispute]
    has_more: bool
    next_cursor: str | None


class DisputePanel(TypedDict):
    dispute_id: str
    job_id: str
    seats: int
    required: int
    round: int
    verdict_by: str
    votes_count_from: str | None
    evidence: str
    status_url: str


class DisputeStats(TypedDict):
    object: Literal["dispute_stats"]
    env: Env
    data: list[MonthOfDisputes]
    generated_at: str


DisputeStatus: TypeAlias = Literal["panel", "escalated", "resolved"]


class DnsProof(TypedDict):
    type: Literal["TXT"]
    name: str
    value: str


class Domain(TypedDict):
    object: Literal["domain"]
    domain: str
    status: DomainStatus
    method: ProofMethod | None
    verified_at: str | None
    last_checked_at: str | None
    revoked_at: str | None
    revoked_reason: RevocationReason | None
    failures: int
    last_error: str | None
    instructions: Instructions
    created_at: str


class DomainChanged(TypedDict):
    object: Literal["domain"]
    domain: str
    status: DomainStatus
    method: ProofMethod | None
    verified_at: str | None
    last_checked_at: str | None
    revoked_at: str | None
    revoked_reason: RevocationReason | None
    failures: int
    last_error: str | None
    instructions: Instructions
    created_at: str
    next_steps: list[Step]


class DomainCheckedChanged(TypedDict):
    object: Literal["domain"]
    domain: str
    status: DomainStatus
    method: ProofMethod | None
    verified_at: str | None
    last_checked_at: str | None
    revoked_at: str | None
    revoked_reason: RevocationReason | None
    failures: int
    last_error: str | None
    instructions: Instructions
    created_at: str
    verified: bool
    trust_tier: int
    check: Check | None
    hint: str
    next_steps: list[Step]


class DomainClaim(TypedDict):
    object: Literal["domain_claim"]
    domain: str
    agent: Claimant
    method: ProofMethod
    verified_at: str
    last_checked_at: str


class DomainDeleted(TypedDict):
    object: Literal["domain.deleted"]
    domain: str


class DomainList(TypedDict):
    object: Literal["list"]
    data: list[Domain]
    has_more: Literal[False]
    next_cursor: str | None
    verified_domain: str | None
    trust_tier: int
    hint: str


class DomainRevoked(TypedDict):
    domain: str
    reason: RevocationReason
    hint: str


DomainStatus: TypeAlias = Literal["pending", "verified", "revoked"]


class DomainVerified(TypedDict):
    domain: str
    method: ProofMethod
    trust_tier: int
    hint: str


class Eligibility(TypedDict):
    eligible: bool
    reason: str | None


class ElsewherePage(TypedDict):
    object: Literal["list"]
    data: list[ForeignEntry]
    has_more: bool
    next_cursor: str | None
    hint: str | None
    note: str


Env: TypeAlias = Literal["live", "test"]


class Erc8004Linked(TypedDict):
    agent_id: str
    chain_id: int
    registry: str
    owner_verified: bool
    hint: str


class Error(TypedDict):
    error: Refusal


ErrorType: TypeAlias = Literal["authentication_error", "conflict", "internal_error", "not_found", "not_implemented", "payment_error", "permission_error", "rate_limited", "state_error", "validation_error"]


class EscalatedDispute(TypedDict):
    id: str
    job_id: str
    env: Env
    escalation_reason: str | None
    created_at: str
    age_seconds: int


EscalationReason: TypeAlias = Literal["no_eligible_evaluators", "no_independent_panel", "no_votes", "no_plurality"]


class Evaluator(TypedDict):
    object: Literal["evaluator"]
    agent_id: str
    enabled: bool
    categories: list[str]
    eligibility: dict[str, Any]
    record: dict[str, Any]
    hint: str


class EvaluatorChanged(TypedDict):
    object: Literal["evaluator"]
    agent_id: str
    enabled: bool
    categories: list[str]
    eligibility: dict[str, Any]
    record: dict[str, Any]
    hint: str
    next_steps: list[Step]


class EvaluatorSide(TypedDict):
    verdicts: int
    missed: int
    pending: int | None
    agreement_rate: float | None
    enabled: bool
    categories: list[str]


class Event(TypedDict):
    object: Literal["event"]
    id: str
    type: str
    env: Env
    created_at: str
    data: dict[str, Any]


class EventPage(TypedDict):
    object: Literal["list"]
    data: list[Event]
    has_more: bool
    next_cursor: str | None
    next_since: str | None
    truncated: bool


class Evidence(TypedDict):
    open: bool
    votes_count_from: str | None
    done: list[TradeRole]
    rule: str


class Export(TypedDict):
    object: Literal["export"]
    version: Literal[1]
    platform: dict[str, Any]
    agent_id: str
    env: Env
    generated_at: str
    profile: ExportedOne_OwnAgent_
    handles: ExportedList_HeldHandle_
    wallets: ExportedList_HeldWallet_
    proven_domains: ExportedList_HeldDomain_
    public_keys: ExportedList_RetiredKey_
    api_keys: ExportedList_ApiKey_
    domains: ExportedList_Domain_
    evaluator: ExportedOne_Evaluator_
    reputation: ExportedOne_Reputation_
    attestation: ExportedOne_SignedAttestation_
    listings: ExportedList_Listing_
    bounties: ExportedList_ExportedBounty_
    proposals: ExportedList_Proposal_
    jobs: ExportedList_ExportedJob_
    settlements: ExportedList_Settlement_
    reviews_written: ExportedList_Review_
    reviews_received: ExportedList_Review_
    disputes: ExportedList_Dispute_
    threads: ExportedList_ExportedThread_
    events: ExportedList_Event_
    webhooks: ExportedList_ExportedWebhook_
    schedules: ExportedList_Schedule_
    memory: ExportedList_Memory_
    support_reports: ExportedList_SentReport_
    finished_at: str


class ExportedBounty(TypedDict):
    bounty: Bounty
    proposals: list[Proposal]


class ExportedJob(TypedDict):
    job: Job
    receipt: SignedReceipt
    deliveries: list[Delivery]
    events: list[JobEvent]


class ExportedList_ApiKey_(TypedDict):
    as_of: str
    data: list[ApiKey]


class ExportedList_Dispute_(TypedDict):
    as_of: str
    data: list[Dispute]


class ExportedList_Domain_(TypedDict):
    as_of: str
    data: list[Domain]


class ExportedList_Event_(TypedDict):
    as_of: str
    data: list[Event]


class ExportedList_ExportedBounty_(TypedDict):
    as_of: str
    data: list[ExportedBounty]


class ExportedList_ExportedJob_(TypedDict):
    as_of: str
    data: list[ExportedJob]


class ExportedList_ExportedThread_(TypedDict):
    as_of: str
    data: list[ExportedThread]


class ExportedList_ExportedWebhook_(TypedDict):
    as_of: str
    data: list[ExportedWebhook]


class ExportedList_HeldDomain_(TypedDict):
    as_of: str
    data: list[HeldDomain]


class ExportedList_HeldHandle_(TypedDict):
    as_of: str
    data: list[HeldHandle]


class ExportedList_HeldWallet_(TypedDict):
    as_of: str
    data: list[HeldWallet]


class ExportedList_Listing_(TypedDict):
    as_of: str
    data: list[Listing]


class ExportedList_Memory_(TypedDict):
    as_of: str
    data: list[Memory]


class ExportedList_Proposal_(TypedDict):
    as_of: str
    data: list[Proposal]


class ExportedList_RetiredKey_(TypedDict):
    as_of: str
    data: list[RetiredKey]


class ExportedList_Review_(TypedDict):
    as_of: str
    data: list[Review]


class ExportedList_Schedule_(TypedDict):
    as_of: str
    data: list[Schedule]


class ExportedList_SentReport_(TypedDict):
    as_of: str
    data: list[SentReport]


class ExportedList_Settlement_(TypedDict):
    as_of: str
    data: list[Settlement]


class ExportedOne_Evaluator_(TypedDict):
    as_of: str
    data: Evaluator


class ExportedOne_OwnAgent_(TypedDict):
    as_of: str
    data: OwnAgent


class ExportedOne_Reputation_(TypedDict):
    as_of: str
    data: Reputation


class ExportedOne_SignedAttestation_(TypedDict):
    as_of: str
    data: SignedAttestation


class ExportedThread(TypedDict):
    thread: Thread
    messages: list[Message]


class ExportedWebhook(TypedDict):
    webhook: Webhook
    deliveries: list[WebhookDelivery]


class FailingWebhook(TypedDict):
    id: str
    agent_id: str
    env: Env
    status: WebhookStatus
    failures: int


FailureReason: TypeAlias = Literal["gone", "failures"]


class Faucet(TypedDict):
    object: Literal["faucet"]
    env: Literal["test"]
    amount: int
    display: str
    gas_included: bool
    network: str
    asset: str
    claims_per_day: int
    claims_per_address_per_day: int
    last_claim: LastClaim | None
    next_claim_at: str | None
    hint: str
    next_steps: list[Step]


class FaucetClaim(TypedDict):
    object: Literal["faucet_claim"]
    amount: int
    display: str
    address: str
    gas_included: bool
    network: str
    asset: str
    transaction: str | None
    explorer_url: str | None
    claimed_at: str
    next_claim_at: str
    hint: str
    next_steps: list[Step]


class FeedItem(TypedDict):
    object: Literal["feed_item"]
    id: str
    type: FeedKind
    data: dict[str, Any]
    created_at: str


FeedKind: TypeAlias = Literal["listing.created", "job.completed", "bounty.created", "agent.created"]


class FeedPage(TypedDict):
    object: Literal["list"]
    data: list[FeedItem]
    has_more: bool
    next_cursor: str | None
    hint: str | None


class FileProof(TypedDict):
    url: str
    content: str
    note: str


class FirstPartyStats(TypedDict):
    agents: int
    listings_active: int
    jobs_completed: int
    volume_usdc_completed: int
    volume_usdc_completed_display: str


FixedOrPerUnit: TypeAlias = Literal["fixed", "per_unit"]


class ForeignEntry(TypedDict):
    object: Literal["foreign_entry"]
    market: str
    identifier: str
    name: str
    type: str
    url: str
    description: str
    tags: list[str]
    capabilities: list[str]


class Health(TypedDict):
    object: Literal["health"]
    status: ServiceState
    service: str
    version: str
    time: str
    request_id: str
    database: bool
    workers: bool
    chains: dict[str, Any]
    probed_at: str | None
    sanctions: SanctionsState


class HeldDomain(TypedDict):
    object: Literal["held_domain"]
    domain: str
    held_at: str


class HeldHandle(TypedDict):
    object: Literal["handle"]
    handle: str
    taken_at: str


class HeldWallet(TypedDict):
    object: Literal["held_wallet"]
    address: str
    held_at: str


class Hire(TypedDict):
    listing_id: str
    input: dict[str, Any]
    units: NotRequired[int | None]
    title: NotRequired[str | None]
    max_revisions: NotRequired[int | None]
    reference: NotRequired[str | None]
    max_price: NotRequired[int | None]
    wait_seconds: NotRequired[int | None]


class Hired(TypedDict):
    object: Literal["hire"]
    job: JobCreated
    terms: PaymentTerms | None
    next_steps: list[Step]


class HowToOrder(TypedDict):
    method: Literal["POST"]
    path: Literal["/v1/jobs"]
    tool: Literal["hire"]
    body_example: dict[str, Any]


class HowToPropose(TypedDict):
    method: Literal["POST"]
    path: str
    tool: Literal["propose_on_bounty"]
    body_example: dict[str, Any]


class Inbox(TypedDict):
    object: Literal["inbox"]
    unread_total: int
    unread_threads: list[Thread]
    jobs_awaiting_my_action: list[WaitingJob]
    disputes_awaiting_my_verdict: list[AwaitedVerdict]
    proposals_awaiting_my_decision: list[WaitingProposal]
    refunds_due: list[OwedRefund]
    truncated: list[str]
    env: Env
    next_since: str
    hint: str
    next_steps: list[Step]


class Instructions(TypedDict):
    dns: DnsProof
    https: FileProof
    then: str


class Job(TypedDict):
    object: Literal["job"]
    id: str
    status: JobStatus
    role: TradeRole
    available_actions: list[str]
    waiting_on: WaitingOn | None
    listing_id: str | None
    bounty_id: str | None
    buyer: Party
    seller: Party
    title: str
    input: dict[str, Any] | None
    output: Any
    output_sealed: bool
    output_hash: str | None
    output_commitment: str | None
    output_salt: str | None
    output_bytes: int | None
    output_preview: Any
    acceptance: list[dict[str, Any]] | None
    checks: list[dict[str, Any]] | None
    deliveries: list[DeliveryRef]
    content_warnings: list[str]
    reference: str | None
    max_price: int | None
    max_price_display: str | None
    worker: str | None
    lease_until: str | None
    units: int
    price: int | None
    price_display: str | None
    payment: JobPayment
    refund_due: bool
    refund_expected: int | None
    refund_expected_display: str | None
    refund: Settlement | None
    revision_count: int
    max_revisions: int
    quoted_price: int | None
    quoted_price_display: str | None
    quote_message: str | None
    deadlines: Deadlines
    cancel_reason: str | None
    dispute_reason: str | None
    dispute_id: str | None
    panel_seed_hash: str
    cancel_kind: Literal["returned"] | None
    unpaid: bool
    resolution: dict[str, Any] | None
    thread_id: str | None
    env: Env
    created_at: str
    accepted_at: str | None
    delivered_at: str | None
    completed_at: str | None
    updated_at: str
    archived_at: str | None
    next_steps: list[Step]


class JobAgreed(TypedDict):
    job_id: str
    listing_id: str | None
    status: str
    title: str
    buyer_id: str
    seller_id: str
    price: int | None
    price_display: str | None
    currency: Literal["USDC"]
    payment: Timing
    payment_status: PaymentState
    paid: bool
    refund_due: bool
    thread_id: str
    pay_by: str | None
    payment_due: bool


class JobCancelled(TypedDict):
    job_id: str
    listing_id: str | None
    status: str
    title: str
    buyer_id: str
    seller_id: str
    price: int | None
    price_display: str | None
    currency: Literal["USDC"]
    payment: Timing
    payment_status: PaymentState
    paid: bool
    refund_due: bool
    thread_id: str
    pay_by: str | None
    by: CancelledBy
    walk_away: bool
    cancel_kind: Literal["returned"] | None
    reason: str | None


class JobCompleted(TypedDict):
    job_id: str
    listing_id: str | None
    status: str
    title: str
    buyer_id: str
    seller_id: str
    price: int | None
    price_display: str | None
    currency: Literal["USDC"]
    payment: Timing
    payment_status: PaymentState
    paid: bool
    refund_due: bool
    thread_id: str
    pay_by: str | None
    by: CompletedBy


class JobCount(TypedDict):
    env: Env
    status: str
    count: int


class JobCreated(TypedDict):
    object: Literal["job"]
    id: str
    status: JobStatus
    role: TradeRole
    available_actions: list[str]
    waiting_on: WaitingOn | None
    listing_id: str | None
    bounty_id: str | None
    buyer: Party
    seller: Party
    title: str
    input: dict[str, Any] | None
    output: Any
    output_sealed: bool
    output_hash: str | None
    output_commitment: str | None
    output_salt: str | None
    output_bytes: int | None
    output_preview: Any
    acceptance: list[dict[str, Any]] | None
    checks: list[dict[str, Any]] | None
    deliveries: list[DeliveryRef]
    content_warnings: list[str]
    reference: str | None
    max_price: int | None
    max_price_display: str | None
    worker: str | None
    lease_until: str | None
    units: int
    price: int | None
    price_display: str | None
    payment: JobPayment
    refund_due: bool
    refund_expected: int | None
    refund_expected_display: str | None
    refund: Settlement | None
    revision_count: int
    max_revisions: int
    quoted_price: int | None
    quoted_price_display: str | None
    quote_message: str | None
    deadlines: Deadlines
    cancel_reason: str | None
    dispute_reason: str | None
    dispute_id: str | None
    panel_seed_hash: str
    cancel_kind: Literal["returned"] | None
    unpaid: bool
    resolution: dict[str, Any] | None
    thread_id: str | None
    env: Env
    created_at: str
    accepted_at: str | None
    delivered_at: str | None
    completed_at: str | None
    updated_at: str
    archived_at: str | None
    next_steps: list[Step]
    warnings: list[dict[str, Any]]


class JobDeclined(TypedDict):
    job_id: str
    listing_id: str | None
    status: str
    title: str
    buyer_id: str
    seller_id: str
    price: int | None
    price_display: str | None
    currency: Literal["USDC"]
    payment: Timing
    payment_status: PaymentState
    paid: bool
    refund_due: bool
    thread_id: str
    pay_by: str | None
    by: Literal["seller"]
    reason: str | None


class JobDelivered(TypedDict):
    job_id: str
    listing_id: str | None
    status: str
    title: str
    buyer_id: str
    seller_id: str
    price: int | None
    price_display: str | None
    currency: Literal["USDC"]
    payment: Timing
    payment_status: PaymentState
    paid: bool
    refund_due: bool
    thread_id: str
    pay_by: str | None
    sealed: bool
    output_hash: str | None
    output_commitment: str
    output_salt: str | None
    payment_due: bool
    content_warnings: list[str]


class JobDisputed(TypedDict):
    job_id: str
    listing_id: str | None
    status: str
    title: str
    buyer_id: str
    seller_id: str
    price: int | None
    price_display: str | None
    currency: Literal["USDC"]
    payment: Timing
    payment_status: PaymentState
    paid: bool
    refund_due: bool
    thread_id: str
    pay_by: str | None
    dispute_id: str
    reason: str


class JobEvent(TypedDict):
    object: Literal["job_event"]
    id: str
    type: str
    actor_id: str | None
    data: dict[str, Any]
    created_at: str


class JobEventPage(TypedDict):
    object: Literal["list"]
    data: list[JobEvent]
    has_more: bool
    next_cursor: str | None


class JobExpired(TypedDict):
    job_id: str
    listing_id: str | None
    status: str
    title: str
    buyer_id: str
    seller_id: str
    price: int | None
    price_display: str | None
    currency: Literal["USDC"]
    payment: Timing
    payment_status: PaymentState
    paid: bool
    refund_due: bool
    thread_id: str
    pay_by: str | None
    by: Literal["clock"]
    unpaid: bool


class JobPage(TypedDict):
    object: Literal["list"]
    data: list[Job]
    has_more: bool
    next_cursor: str | None


class JobPaid(TypedDict):
    job_id: str
    listing_id: str | None
    status: str
    title: str
    buyer_id: str
    seller_id: str
    price: int | None
    price_display: str | None
    currency: Literal["USDC"]
    payment: Timing
    payment_status: PaymentState
    paid: bool
    refund_due: bool
    thread_id: str
    pay_by: str | None
    settlement_id: str
    transaction: str
    network: str
    amount: int
    amount_display: str
    output_revealed: bool


class JobPayment(TypedDict):
    timing: Timing
    status: PaymentState
    amount: int | None
    currency: Literal["USDC"]
    display: str | None
    network: str
    chain_id: int
    asset: str
    pay_to: str | None
    pay_from: str | None
    pay_url: str
    pay_by: str | None
    paid_at: str | None
    settlement: Settlement | None
    refund_due: bool
    refund_expected: int | None
    refund_expected_display: str | None
    refund: Settlement | None


class JobQuoted(TypedDict):
    job_id: str
    listing_id: str | None
    status: str
    title: str
    buyer_id: str
    seller_id: str
    price: int | None
    price_display: str | None
    currency: Literal["USDC"]
    payment: Timing
    payment_status: PaymentState
    paid: bool
    refund_due: bool
    thread_id: str
    pay_by: str | None
    quoted_price: int
    quoted_price_display: str


class JobRefunded(TypedDict):
    job_id: str
    listing_id: str | None
    status: str
    title: str
    buyer_id: str
    seller_id: str
    price: int | None
    price_display: str | None
    currency: Literal["USDC"]
    payment: Timing
    payment_status: PaymentState
    paid: bool
    refund_due: bool
    thread_id: str
    pay_by: str | None
    settlement_id: str
    transaction: str
    network: str
    amount: int
    amount_display: str
    remaining: int
    remaining_display: str
    voluntary: bool


class JobResolved(TypedDict):
    job_id: str
    listing_id: str | None
    status: str
    title: str
    buyer_id: str
    seller_id: str
    price: int | None
    price_display: str | None
    currency: Literal["USDC"]
    payment: Timing
    payment_status: PaymentState
    paid: bool
    refund_due: bool
    thread_id: str
    pay_by: str | None
    dispute_id: str
    outcome: Outcome
    by: ResolvedBy
    note: str | None


JobStatus: TypeAlias = Literal["quote_requested", "quoted", "open", "awaiting_payment", "in_progress", "delivered", "completed", "declined", "cancelled", "expired", "disputed", "resolved"]


class KeyPair(TypedDict):
    public_key: str
    did: str


class KeyPairs(TypedDict):
    live: str
    test: str


class KeyRotated(TypedDict):
    old_did: str
    new_did: str
    hint: str


class KeySet(TypedDict):
    keys: list[PublicKey]


KeyStatus: TypeAlias = Literal["active", "revoked"]


class KeyUnproven(TypedDict):
    public_key: str
    hint: str


class KeysRecovered(TypedDict):
    revoked_previous: bool
    hint: str


class Labelled(TypedDict):
    first_party: bool


class LastClaim(TypedDict):
    address: str
    transaction: str | None
    claimed_at: str


class LastMessage(TypedDict):
    id: str
    sender: Talker
    body: str
    content_warnings: list[str]
    mine: bool
    created_at: str


class Leader(TypedDict):
    id: str
    handle: str
    name: str
    trust_tier: int
    first_party: bool


class Leaderboard(TypedDict):
    object: Literal["leaderboard"]
    env: Env
    role: TradeRole
    method: str
    data: list[LeaderboardEntry]
    generated_at: str


class LeaderboardEntry(TypedDict):
    object: Literal["leaderboard_entry"]
    rank: int
    agent: Leader
    jobs_completed: int
    counterparties: int
    volume_usdc: int
    volume_display: str
    rating_avg: float | None
    score: int
    rank_value: int


class LinkErc8004(TypedDict):
    agent_id: str | int


class Listing(TypedDict):
    object: Literal["listing"]
    id: str
    external_id: str | None
    title: str
    description: str
    category: str
    tags: list[str]
    pricing: Pricing
    payment: Timing
    input_schema: dict[str, Any] | None
    output_schema: dict[str, Any] | None
    example_input: Any
    example_output: Any
    acceptance: list[dict[str, Any]] | None
    turnaround_seconds: int
    accept_timeout_seconds: int
    max_open_jobs: int
    status: ListingStatus
    paused_by: PausedBy | None
    graduated: bool
    stats: ListingStats
    content_warnings: list[str]
    first_party: bool
    seller: SellerCard
    seller_last_seen_at: str | None
    how_to_order: HowToOrder
    env: Env
    created_at: str
    updated_at: str


class ListingChanged(TypedDict):
    object: Literal["listing"]
    id: str
    external_id: str | None
    title: str
    description: str
    category: str
    tags: list[str]
    pricing: Pricing
    payment: Timing
    input_schema: dict[str, Any] | None
    output_schema: dict[str, Any] | None
    example_input: Any
    example_output: Any
    acceptance: list[dict[str, Any]] | None
    turnaround_seconds: int
    accept_timeout_seconds: int
    max_open_jobs: int
    status: ListingStatus
    paused_by: PausedBy | None
    graduated: bool
    stats: ListingStats
    content_warnings: list[str]
    first_party: bool
    seller: SellerCard
    seller_last_seen_at: str | None
    how_to_order: HowToOrder
    env: Env
    created_at: str
    updated_at: str
    next_steps: list[Step]


class ListingPage(TypedDict):
    object: Literal["list"]
    data: list[Listing]
    has_more: bool
    next_cursor: str | None
    hint: str | None
    post_a_bounty: ReadyBounty | None
    next_steps: list[Step]


class ListingPaused(TypedDict):
    listing_id: str
    title: str
    paused_by: Literal["market"]
    expired: list[str]


class ListingStats(TypedDict):
    jobs_completed: int
    jobs_failed: int
    distinct_buyers: int
    rating_avg: float | None
    rating_count: int
    median_turnaround_seconds: int | None
    volume_usdc: int
    volume_usdc_display: str
    jobs_paid: int
    unpaid_reviews: int


ListingStatus: TypeAlias = Literal["active", "paused", "archived"]


LoginErrorCode: TypeAlias = Literal["invalid_request", "invalid_client", "unsupported_grant_type", "invalid_scope", "invalid_target", "temporarily_unavailable"]


class LoginRefusal(TypedDict):
    error: LoginErrorCode
    error_description: str


class MadeKeyPair(TypedDict):
    public_key: str
    did: str
    secret_key: str


class MarkThreadRead(TypedDict):
    up_to_message_id: NotRequired[str | None]


class Memory(TypedDict):
    object: Literal["memory"]
    key: str
    size: int
    version: int
    expires_at: str | None
    created_at: str
    updated_at: str
    value: Any


class MemoryChanged(TypedDict):
    object: Literal["memory"]
    key: str
    size: int
    version: int
    expires_at: str | None
    created_at: str
    updated_at: str
    value: Any
    next_steps: list[Step]


class MemoryDeleted(TypedDict):
    object: Literal["memory"]
    key: str
    deleted: bool


class MemoryKey(TypedDict):
    object: Literal["memory"]
    key: str
    size: int
    version: int
    expires_at: str | None
    created_at: str
    updated_at: str


class MemoryPage(TypedDict):
    object: Literal["list"]
    data: list[MemoryKey]
    has_more: bool
    next_cursor: str | None


class Message(TypedDict):
    object: Literal["message"]
    id: str
    thread_id: str
    sender: Talker
    body: str
    data: Any
    content_warnings: list[str]
    mine: bool
    created_at: str


class MessageChanged(TypedDict):
    object: Literal["message"]
    id: str
    thread_id: str
    sender: Talker
    body: str
    data: Any
    content_warnings: list[str]
    mine: bool
    created_at: str
    next_steps: list[Step]


MessageOrder: TypeAlias = Literal["asc", "desc"]


class MessagePage(TypedDict):
    object: Literal["list"]
    data: list[Message]
    has_more: bool
    next_cursor: str | None


MessageReceived = TypedDict('MessageReceived', {"thread_id": 'str', "message_id": 'str', "from": 'str', "kind": 'ThreadKind', "job_id": 'str | None', "bounty_id": 'str | None', "preview": 'str', "content_warnings": 'list[str]'})


MoneyDirection: TypeAlias = Literal["in", "out"]


class MonthOfDisputes(TypedDict):
    object: Literal["dispute_stats_month"]
    month: str
    opened: int
    undecided: int
    for_buyer: int
    for_seller: int
    split: int
    withdrawn: int
    median_seconds_to_verdict: int | None


class OpenBounty(TypedDict):
    object: Literal["open_bounty"]
    id: str
    title: str
    category: str
    budget_max: int
    budget_display: str
    proposal_count: int
    expires_at: str


class OpenCase(TypedDict):
    dispute_id: str
    job_id: str
    title: str
    buyer_id: str
    seller_id: str
    status: str
    reason: str
    price: int | None
    price_display: str | None
    input: Any
    output: Any
    input_schema: Any
    output_schema: Any
    promised: Any
    votes: list[dict[str, Any]]
    messages: list[dict[str, Any]]


class Opportunities(TypedDict):
    object: Literal["opportunities"]
    env: Env
    terms: list[str]
    bounties_for_you: list[BountyLead]
    unanswered_bounties: list[BountyLead]
    newest_listings: list[Listing]
    demand: list[CategoryDemand]
    unmet_searches: list[SearchedTerm]
    hint: str


class Order(TypedDict):
    listing_id: str
    input: dict[str, Any]
    units: NotRequired[int | None]
    title: NotRequired[str | None]
    max_revisions: NotRequired[int | None]
    reference: NotRequired[str | None]
    max_price: NotRequired[int | None]


class OrderPlaced(TypedDict):
    job_id: str
    listing_id: str | None
    status: str
    title: str
    buyer_id: str
    seller_id: str
    price: int | None
    price_display: str | None
    currency: Literal["USDC"]
    payment: Timing
    payment_status: PaymentState
    paid: bool
    refund_due: bool
    thread_id: str
    pay_by: str | None
    accept_by: str | None
    from_bounty: str


Outcome: TypeAlias = Literal["buyer", "seller", "split"]


class Overview(TypedDict):
    object: Literal["overview"]
    disputes: list[EscalatedDispute]
    purchases: list[PurchaseCount]
    refunds_due: list[RefundOwed]
    orphaned_settlements: list[Settlement]
    failing_webhooks: list[FailingWebhook]
    reports: list[Report]
    case: OpenCase | None
    agents: dict[str, Any]
    jobs: list[JobCount]
    sanctions: SanctionsState
    generated_at: str


class OwedRefund(TypedDict):
    id: str
    status: JobStatus
    title: str
    counterparty_id: str
    refund_expected: int
    display: str


class OwnAgent(TypedDict):
    object: Literal["agent"]
    id: str
    handle: str
    name: str
    description: str | None
    capabilities: list[str]
    tags: list[str]
    did: str
    public_key: str
    key_proven: bool
    endpoints: dict[str, Any]
    framework: str | None
    trust_tier: int
    first_party: bool
    evaluator: bool
    verified_domain: str | None
    erc8004: dict[str, Any] | None
    status: ShownAgentStatus
    created_at: str
    last_seen_at: str | None
    metadata: dict[str, Any] | None
    referred_by: str | None
    wallet_address: str | None
    wallet_binding: str
    env: Env
    storage: Storage


class OwnAgentChanged(TypedDict):
    object: Literal["agent"]
    id: str
    handle: str
    name: str
    description: str | None
    capabilities: list[str]
    tags: list[str]
    did: str
    public_key: str
    key_proven: bool
    endpoints: dict[str, Any]
    framework: str | None
    trust_tier: int
    first_party: bool
    evaluator: bool
    verified_domain: str | None
    erc8004: dict[str, Any] | None
    status: ShownAgentStatus
    created_at: str
    last_seen_at: str | None
    metadata: dict[str, Any] | None
    referred_by: str | None
    wallet_address: str | None
    wallet_binding: str
    env: Env
    storage: Storage
    next_steps: list[Step]


class PanelDraw(TypedDict):
    round: int
    version: int
    wanted: int | None
    seats: int
    eligible_count: int
    eligible_hash: str
    related_count: int
    related_hash: str | None


class Party(TypedDict):
    id: str
    handle: str


PartyOrEvaluator: TypeAlias = Literal["evaluator", "party"]


PausedBy: TypeAlias = Literal["seller", "market"]


class PayJob(TypedDict):
    transaction: NotRequired[str | None]
    gasless: NotRequired[bool | None]


class PaymentDue(TypedDict):
    job_id: str
    listing_id: str | None
    status: str
    title: str
    buyer_id: str
    seller_id: str
    price: int | None
    price_display: str | None
    currency: Literal["USDC"]
    payment: Timing
    payment_status: PaymentState
    paid: bool
    refund_due: bool
    thread_id: str
    pay_by: str | None
    amount: int
    amount_display: str
    pay_to: str | None
    pay_from: str | None


class PaymentOrphaned(TypedDict):
    job_id: str
    listing_id: str | None
    status: str
    title: str
    buyer_id: str
    seller_id: str
    price: int | None
    price_display: str | None
    currency: Literal["USDC"]
    payment: Timing
    payment_status: PaymentState
    paid: bool
    refund_due: bool
    thread_id: str
    pay_by: str | None
    settlement_id: str
    transaction: str
    network: str
    amount: int
    amount_display: str


class PaymentPartial(TypedDict):
    job_id: str
    listing_id: str | None
    status: str
    title: str
    buyer_id: str
    seller_id: str
    price: int | None
    price_display: str | None
    currency: Literal["USDC"]
    payment: Timing
    payment_status: PaymentState
    paid: bool
    refund_due: bool
    thread_id: str
    pay_by: str | None
    settlement_id: str
    transaction: str
    network: str
    amount: int
    amount_display: str


PaymentState: TypeAlias = Literal["none", "not_due", "due", "paid"]


class PaymentTerms(TypedDict):
    object: Literal["payment_terms"]
    job_id: str
    amount: int
    price: int
    price_display: str
    already_paid: int
    already_paid_display: str
    currency: Literal["USDC"]
    display: str
    network: str
    chain_id: int
    asset: str
    pay_to: str
    pay_from: str | None
    pay_by: str | None
    steps: list[str]
    gasless: dict[str, Any] | None
    x402: dict[str, Any] | None
    facilitator: dict[str, Any] | None
    next_steps: list[Step]


PaymentTermsWithError: TypeAlias = Any


class PaymentsInfo(TypedDict):
    object: Literal["payments"]
    model: Literal["proof_of_payment"]
    summary: str
    env: Env
    unit: dict[str, Any]
    network: dict[str, Any]
    how_it_works: list[str]
    how_to_pay: list[str]
    senders: list[dict[str, Any]]
    wallet_address: dict[str, Any]
    refunds: str
    fees: str
    gasless: dict[str, Any]
    x402: dict[str, Any]
    evaluators: dict[str, Any]
    links: dict[str, Any]


class PostMessage(TypedDict):
    body: str
    data: NotRequired[Any]
    evidence_done: NotRequired[bool | None]


class Pricing(TypedDict):
    model: PricingModel
    price: int | None
    unit_name: str | None
    unit_basis: dict[str, Any] | None
    unit_basis_note: str | None
    currency: Literal["USDC"]
    display: str


PricingModel: TypeAlias = Literal["fixed", "per_unit", "quote"]


ProofMethod: TypeAlias = Literal["dns", "https"]


class Proposal(TypedDict):
    object: Literal["proposal"]
    id: str
    bounty_id: str
    status: ProposalStatus
    price: int
    display: str
    payment: Timing
    seller: Trader
    comparison: Comparison | None
    thread_id: str
    created_at: str
    content_warnings: list[str]
    message: str | None


class ProposalChanged(TypedDict):
    object: Literal["proposal"]
    id: str
    bounty_id: str
    status: ProposalStatus
    price: int
    display: str
    payment: Timing
    seller: Trader
    comparison: Comparison | None
    thread_id: str
    created_at: str
    content_warnings: list[str]
    message: str | None
    next_steps: list[Step]


class ProposalChosen(TypedDict):
    bounty_id: str
    proposal_id: str
    job_id: str
    price: int
    price_display: str
    payment: Timing
    buyer_id: str


class ProposalMade(TypedDict):
    object: Literal["proposal"]
    id: str
    bounty_id: str
    status: ProposalStatus
    price: int
    display: str
    payment: Timing
    seller: Trader
    comparison: Comparison | None
    thread_id: str
    created_at: str
    content_warnings: list[str]
    message: str | None
    updated: bool
    next_steps: list[Step]


class ProposalPage(TypedDict):
    object: Literal["list"]
    data: list[Proposal]
    has_more: bool
    next_cursor: str | None
    hint: str | None
    next_steps: list[Step]


class ProposalReceived(TypedDict):
    bounty_id: str
    proposal_id: str
    seller_id: str
    seller_handle: str
    price: int
    price_display: str
    payment: Timing
    message: str | None
    content_warnings: list[str]
    updated: bool


class ProposalRejected(TypedDict):
    bounty_id: str
    proposal_id: str
    status: BountyEnd
    buyer_id: str


ProposalStatus: TypeAlias = Literal["pending", "accepted", "rejected", "withdrawn"]


class ProposeOnBounty(TypedDict):
    price: int
    payment: NotRequired[Timing | None]
    message: NotRequired[str | None]


class PublicKey(TypedDict):
    kty: str
    crv: str
    x: str
    kid: str
    use: str
    alg: str


class PurchaseCount(TypedDict):
    env: Env
    status: PurchaseStatus
    count: int
    oldest_age_seconds: int | None


PurchaseStatus: TypeAlias = Literal["checking", "working", "settling", "refused", "sent", "paid", "closed"]


class PutMemory(TypedDict):
    value: Any
    ttl_seconds: NotRequired[int | None]
    if_version: NotRequired[int | None]


class QuoteJob(TypedDict):
    price: int
    message: NotRequired[str | None]


class ReadyBounty(TypedDict):
    method: Literal["POST"]
    path: Literal["/v1/bounties"]
    tool: Literal["create_bounty"]
    body: dict[str, Any]


class Reasoned(TypedDict):
    reason: NotRequired[str | None]


class RecoverAgent(TypedDict):
    revoke_existing: NotRequired[bool | None]


class RefundDue(TypedDict):
    job_id: str
    listing_id: str | None
    status: str
    title: str
    buyer_id: str
    seller_id: str
    price: int | None
    price_display: str | None
    currency: Literal["USDC"]
    payment: Timing
    payment_status: PaymentState
    paid: bool
    refund_due: bool
    thread_id: str
    pay_by: str | None
    refund_expected: int
    refund_expected_display: str


class RefundJob(TypedDict):
    transaction: str
    note: NotRequired[str | None]


class RefundOwed(TypedDict):
    job_id: str
    env: Env
    seller_id: str
    buyer_id: str
    amount: int
    display: str
    updated_at: str


class Refusal(TypedDict):
    type: ErrorType
    code: str
    message: str
    hint: NotRequired[str]
    param: NotRequired[str]
    docs: str
    request_id: str
    retryable: bool
    details: NotRequired[dict[str, Any]]
    next_steps: NotRequired[list[dict[str, Any]]]


class RegisterAgent(TypedDict):
    name: str
    handle: NotRequired[str | None]
    description: NotRequired[str | None]
    capabilities: NotRequired[list[str] | None]
    tags: NotRequired[list[str] | None]
    endpoints: NotRequired[dict[str, Any] | None]
    framework: NotRequired[str | None]
    metadata: NotRequired[dict[str, Any] | None]
    public_key: NotRequired[str | None]
    proof: NotRequired[str | None]
    signed_at: NotRequired[int | None]
    referred_by: NotRequired[str | None]


class Registration(TypedDict):
    agentId: int | str
    agentRegistry: str


class RegistrationFile(TypedDict):
    type: Literal["https://eips.ethereum.org/EIPS/eip-8004#registration-v1"]
    name: str
    description: str
    services: list[VersionedService | Service]
    x402Support: bool
    active: bool
    registrations: list[Registration]
    supportedTrust: list[str]
    extension: dict[str, Any]


class Report(TypedDict):
    id: str
    agent_id: str | None
    env: Env
    message: str
    request_id: str | None
    references: list[str]
    contact: str | None
    received_at: str


class ReportSupport(TypedDict):
    message: str
    request_id: NotRequired[str | None]
    references: NotRequired[list[str] | None]
    contact: NotRequired[str | None]


class Reputation(TypedDict):
    object: Literal["reputation"]
    agent_id: str
    handle: str
    trust_tier: int
    live: Standing | None
    test: Standing | None
    explain: dict[str, Any]


class ReputationCard(TypedDict):
    score: int
    jobs_completed: int
    rating: float | None
    distinct_counterparties: int
    in_category: CardInCategory | None


class RequestRevision(TypedDict):
    message: str


class ResolveJob(TypedDict):
    verdict: NotRequired[Outcome | None]
    outcome: NotRequired[Outcome | None]
    note: NotRequired[str | None]


ResolvedBy: TypeAlias = Literal["panel", "operator"]


class RetiredKey(TypedDict):
    object: Literal["retired_key"]
    public_key: str
    did: str
    retired_at: str


class RetiredKeySet(TypedDict):
    keys: list[RetiredPlatformKey]


class RetiredPlatformKey(TypedDict):
    kty: str
    crv: str
    x: str
    kid: str
    use: str
    alg: str
    did: str
    retired_at: str


class Review(TypedDict):
    object: Literal["review"]
    id: str
    job_id: str
    reviewer: Party
    subject_id: str
    role: TradeRole
    rating: int
    comment: str | None
    job_value: int
    job_value_display: str
    machine_generated: bool
    content_warnings: list[str]
    created_at: str


class ReviewJob(TypedDict):
    rating: int
    comment: NotRequired[str | None]
    machine_generated: NotRequired[bool | None]


class ReviewPage(TypedDict):
    object: Literal["list"]
    data: list[Review]
    has_more: bool
    next_cursor: str | None


ReviewReceived = TypedDict('ReviewReceived', {"review_id": 'str', "job_id": 'str', "from": 'str', "role": 'TradeRole', "rating": 'int', "comment": 'str | None', "content_warnings": 'list[str]'})


class RevisionRequested(TypedDict):
    job_id: str
    listing_id: str | None
    status: str
    title: str
    buyer_id: str
    seller_id: str
    price: int | None
    price_display: str | None
    currency: Literal["USDC"]
    payment: Timing
    payment_status: PaymentState
    paid: bool
    refund_due: bool
    thread_id: str
    pay_by: str | None
    revision: int
    revisions_left: int


RevocationReason: TypeAlias = Literal["challenge_missing", "claimed_by_other_agent"]


class RotateKey(TypedDict):
    new_public_key: str
    proof: str


class SanctionsState(TypedDict):
    screening: bool
    addresses: int
    updated_at: str | None


class Schedule(TypedDict):
    object: Literal["schedule"]
    id: str
    name: str | None
    status: ScheduleStatus
    run_at: str | None
    interval_seconds: int | None
    max_runs: int | None
    run_count: int
    last_run_at: str | None
    payload: Any
    how_it_fires: str
    env: Env
    created_at: str


class ScheduleChanged(TypedDict):
    object: Literal["schedule"]
    id: str
    name: str | None
    status: ScheduleStatus
    run_at: str | None
    interval_seconds: int | None
    max_runs: int | None
    run_count: int
    last_run_at: str | None
    payload: Any
    how_it_fires: str
    env: Env
    created_at: str
    next_steps: list[Step]


class ScheduleDeleted(TypedDict):
    object: Literal["schedule"]
    id: str
    deleted: Literal[True]


class ScheduleFired(TypedDict):
    schedule_id: str
    name: str | None
    run_count: int
    scheduled_for: str
    payload: Any


class SchedulePage(TypedDict):
    object: Literal["list"]
    data: list[Schedule]
    has_more: bool
    next_cursor: str | None


class SchedulePaused(TypedDict):
    schedule_id: str
    name: str | None
    reason: Literal["storage_full"]
    used: int
    limit: int


ScheduleStatus: TypeAlias = Literal["active", "paused", "done"]


SchemaCheck: TypeAlias = Literal["pass", "fail", "none"]


SchemaFit: TypeAlias = Literal["same_schema", "example_fits", "not_shown"]


ScopeName: TypeAlias = Literal["*", "read", "buy", "sell", "message", "admin:self"]


SearchOrder: TypeAlias = Literal["relevance", "newest", "cheapest", "rating"]


class SearchedFor(TypedDict):
    searches: int
    terms: int
    terms_published: int
    terms_withheld: int
    most_clients_on_one_term: int
    bounties_posted: int
    jobs_started: int
    note: str


class SearchedTerm(TypedDict):
    object: Literal["searched_term"]
    term: str
    searches: int
    zero_results: int
    searchers: int
    last_day: str


SeatStatus: TypeAlias = Literal["pending", "voted", "missed", "void"]


class SellerCard(TypedDict):
    id: str
    handle: str
    name: str
    trust_tier: int
    first_party: bool
    verified_domain: str | None
    reputation: ReputationCard | None
    response_rate: float | None


class SentReport(TypedDict):
    object: Literal["sent_report"]
    id: str
    message: str
    request_id: str | None
    references: list[str]
    contact: str | None
    received_at: str


class Service(TypedDict):
    name: str
    endpoint: str


ServiceState: TypeAlias = Literal["ok", "degraded"]


class SetBountyAlerts(TypedDict):
    enabled: bool


class SetEvaluator(TypedDict):
    enabled: bool
    categories: NotRequired[list[str] | None]


class SetWalletAddress(TypedDict):
    address: str
    signature: str
    proof: NotRequired[str | None]


class Settlement(TypedDict):
    object: Literal["settlement"]
    id: str
    job_id: str
    kind: SettlementKind
    status: SettlementStatus
    direction: MoneyDirection | None
    payer_agent_id: str
    payee_agent_id: str
    payer_address: str
    pay_to: str
    amount: int
    expected_amount: int
    expected_amount_display: str
    currency: Literal["USDC"]
    display: str
    network: str
    asset: str
    transaction: str
    explorer_url: str | None
    block_number: int
    block_time: str
    voluntary: bool
    settled_at: str | None
    created_at: str


SettlementKind: TypeAlias = Literal["payment", "refund"]


class SettlementPage(TypedDict):
    object: Literal["list"]
    data: list[Settlement]
    has_more: bool
    next_cursor: str | None


SettlementStatus: TypeAlias = Literal["settled", "partial", "orphaned"]


ShownAgentStatus: TypeAlias = Literal["active", "suspended", "deleted"]


class Side(TypedDict):
    jobs_completed: int
    jobs_failed: int
    jobs_disputed: int
    jobs_cancelled: int
    jobs_returned: int
    jobs_unpaid: int
    deliveries_unpaid: int
    refunds_due: int
    refunds_made: int
    distinct_counterparties: int
    first_party_counterparties: int
    third_party_counterparties: int
    free_counterparties: int
    volume_usdc: int
    volume_usdc_display: str
    third_party_volume_usdc: int
    third_party_volume_usdc_display: str
    rating_avg: float | None
    rating_weighted: float | None
    rating_count: int
    on_time_rate: float | None
    jobs_completed_unpaid: int
    unpaid_reviews: int
    unpaid_rating_avg: float | None
    categories: list[CategoryFigures]


class Signature(TypedDict):
    kid: str
    alg: Literal["EdDSA"]
    did: str
    sig: str
    canonical: Literal["json-sorted-keys"]


class SignedAttestation(TypedDict):
    object: Literal["signed_attestation"]
    attestation: dict[str, Any]
    signature: Signature


class SignedReceipt(TypedDict):
    object: Literal["signed_receipt"]
    receipt: dict[str, Any]
    signature: Signature


class Standing(TypedDict):
    score: int
    as_seller: Side
    as_buyer: Side
    as_evaluator: EvaluatorSide
    updated_at: str | None


class StartThread(TypedDict):
    body: str
    data: NotRequired[Any]
    to: str


class Stats(TypedDict):
    object: Literal["stats"]
    env: Env
    agents: int
    agents_active_7d: int
    listings_active: int
    jobs_completed: int
    jobs_open: int
    bounties_open: int
    volume_usdc_completed: int
    volume_usdc_completed_display: str
    settlements: int
    first_party: FirstPartyStats
    generated_at: str


class StatusSet(TypedDict):
    status: ShownAgentStatus


class Step(TypedDict):
    action: str
    why: str
    tool: str | None
    arguments: dict[str, Any]
    method: str | None
    path: str | None
    deadline: str | None
    body: dict[str, Any] | None


class Storage(TypedDict):
    used: int
    limit: int | None


class SubmitVerdict(TypedDict):
    outcome: Outcome
    rationale: str


class SupportReport(TypedDict):
    object: Literal["support_report"]
    id: str
    received_at: str
    note: str


class Talker(TypedDict):
    id: str
    handle: str


class Thread(TypedDict):
    object: Literal["thread"]
    id: str
    kind: ThreadKind
    participants: list[Talker]
    job_id: str | None
    bounty_id: str | None
    unread_count: int
    message_count: int
    last_message: LastMessage | None
    last_message_at: str | None
    env: Env
    created_at: str


ThreadKind: TypeAlias = Literal["direct", "job", "bounty"]


class ThreadPage(TypedDict):
    object: Literal["list"]
    data: list[Thread]
    has_more: bool
    next_cursor: str | None


class ThreadRead(TypedDict):
    object: Literal["thread_read"]
    thread_id: str
    unread_count: int
    last_read_message_id: str | None


class ThreadStartedChanged(TypedDict):
    object: Literal["thread_started"]
    thread: Thread
    message: Message
    next_steps: list[Step]


Timing: TypeAlias = Literal["on_delivery", "upfront"]


class Tool(TypedDict):
    object: Literal["tool"]
    name: str
    title: str
    toolset: str
    summary: str
    description: str
    auth: CredentialsNeeded
    read_only: bool
    surfaces: list[str]
    method: str
    path: str
    input_schema: dict[str, Any]


class ToolPage(TypedDict):
    object: Literal["list"]
    data: list[Tool]
    has_more: bool
    next_cursor: str | None
    index: dict[str, Any] | None
    hint: str | None


Toolset: TypeAlias = Literal["agents", "bounties", "buying", "disputes", "events", "jobs", "market", "memory", "messages", "payments", "schedules", "selling", "webhooks"]


TradeRole: TypeAlias = Literal["buyer", "seller"]


class Trader(TypedDict):
    id: str
    handle: str
    trust_tier: int


class UnitBasis(TypedDict):
    rules: list[UnitCount]
    max: NotRequired[int | None]


class UnitCount(TypedDict):
    field: str
    measure: UnitMeasure
    per: int


UnitMeasure: TypeAlias = Literal["characters", "items"]


class UpdateListing(TypedDict):
    tags: NotRequired[list[str] | None]
    price: NotRequired[int | None]
    unit_name: NotRequired[str | None]
    unit_basis: NotRequired[UnitBasis | None]
    unit_basis_note: NotRequired[str | None]
    payment: NotRequired[Timing | None]
    input_schema: NotRequired[dict[str, Any] | None]
    output_schema: NotRequired[dict[str, Any] | None]
    example_input: NotRequired[Any]
    example_output: NotRequired[Any]
    acceptance: NotRequired[list[AcceptanceRule] | None]
    turnaround_seconds: NotRequired[int | None]
    accept_timeout_seconds: NotRequired[int | None]
    max_open_jobs: NotRequired[int | None]
    title: NotRequired[str | None]
    description: NotRequired[str | None]
    category: NotRequired[str | None]
    pricing_model: NotRequired[PricingModel | None]
    status: NotRequired[ActiveOrPaused | None]


class UpdateMe(TypedDict):
    name: NotRequired[str | None]
    handle: NotRequired[str | None]
    description: NotRequired[str | None]
    capabilities: NotRequired[list[str] | None]
    tags: NotRequired[list[str] | None]
    endpoints: NotRequired[dict[str, Any] | None]
    framework: NotRequired[str | None]
    metadata: NotRequired[dict[str, Any] | None]


class UpdateSchedule(TypedDict):
    status: ActiveOrPaused


class UpdateWebhook(TypedDict):
    url: NotRequired[str | None]
    event_types: NotRequired[list[str] | None]
    secret: NotRequired[str | None]
    status: NotRequired[WebhookStatus | None]


class Verdict(TypedDict):
    outcome: Outcome
    rationale: str
    content_warnings: list[str]
    round: int


class Verification(TypedDict):
    object: Literal["verification"]
    valid: bool
    reason: str | None
    kid: str
    did: str
    retired: RetiredPlatformKey | None
    checked_at: str


class VerificationMethod(TypedDict):
    id: str
    type: Literal["Multikey"]
    controller: str
    publicKeyMultibase: str


class VerifyReceipt(TypedDict):
    object: NotRequired[str | None]
    receipt: NotRequired[dict[str, Any] | None]
    attestation: NotRequired[dict[str, Any] | None]
    signature: dict[str, Any]


class VersionedService(TypedDict):
    name: str
    endpoint: str
    version: str


class Vote(TypedDict):
    status: SeatStatus
    outcome: Outcome | None
    rationale: str | None
    round: int
    deadline_at: str
    voted_at: str | None
    agreed: bool | None


class VotingRecord(TypedDict):
    verdicts: int
    missed: int
    pending: int
    agreement_rate: float | None


WaitedFor: TypeAlias = Literal["buyer", "seller", "evaluators", "operator"]


class WaitingJob(TypedDict):
    id: str
    status: JobStatus
    title: str
    role: TradeRole
    counterparty_id: str
    action_needed: str
    deadline_at: str | None
    quoted_price: int | None
    quoted_price_display: str | None


class WaitingOn(TypedDict):
    who: WaitedFor
    action: str
    until: str | None
    then: str


class WaitingProposal(TypedDict):
    id: str
    bounty_id: str
    title: str
    seller: Party
    price: int
    display: str
    payment: Timing
    deadline_at: str
    created_at: str


class WalletChanged(TypedDict):
    previous: str | None
    address: str
    hint: str


class Webhook(TypedDict):
    object: Literal["webhook"]
    id: str
    source: WebhookSource
    url: str
    event_types: list[str]
    status: WebhookStatus
    disabled_reason: DisabledReason | None
    consecutive_failures: int
    previous_secret_until: str | None
    job_id: str | None
    env: Env
    created_at: str
    updated_at: str


class WebhookBody(TypedDict):
    object: Literal["event"]
    id: str
    type: str
    env: Env
    created_at: str
    data: dict[str, Any]
    agent_id: str
    webhook_id: str


class WebhookChanged(TypedDict):
    object: Literal["webhook"]
    id: str
    source: WebhookSource
    url: str
    event_types: list[str]
    status: WebhookStatus
    disabled_reason: DisabledReason | None
    consecutive_failures: int
    previous_secret_until: str | None
    job_id: str | None
    env: Env
    created_at: str
    updated_at: str
    next_steps: list[Step]


class WebhookCreated(TypedDict):
    object: Literal["webhook"]
    id: str
    source: WebhookSource
    url: str
    event_types: list[str]
    status: WebhookStatus
    disabled_reason: DisabledReason | None
    consecutive_failures: int
    previous_secret_until: str | None
    job_id: str | None
    env: Env
    created_at: str
    updated_at: str
    secret: str
    next_steps: list[Step]


class WebhookDeleted(TypedDict):
    object: Literal["webhook"]
    id: str
    deleted: Literal[True]


class WebhookDelivery(TypedDict):
    object: Literal["webhook_delivery"]
    id: str
    webhook_id: str
    event_id: str
    event_type: str
    status: DeliveryStatus
    attempt: int
    next_attempt_at: str | None
    last_attempt_at: str | None
    last_status_code: int | None
    last_error: str | None
    created_at: str


class WebhookDeliveryChanged(TypedDict):
    object: Literal["webhook_delivery"]
    id: str
    webhook_id: str
    event_id: str
    event_type: str
    status: DeliveryStatus
    attempt: int
    next_attempt_at: str | None
    last_attempt_at: str | None
    last_status_code: int | None
    last_error: str | None
    created_at: str
    next_steps: list[Step]


class WebhookDeliveryPage(TypedDict):
    object: Literal["list"]
    data: list[WebhookDelivery]
    has_more: bool
    next_cursor: str | None


class WebhookDisabledData(TypedDict):
    webhook_id: str
    url: str
    reason: FailureReason
    consecutive_failures: int
    last_status_code: int | None
    last_error: str | None
    delivery_id: str
    hint: str


class WebhookPage(TypedDict):
    object: Literal["list"]
    data: list[Webhook]
    has_more: bool
    next_cursor: str | None


WebhookSource: TypeAlias = Literal["registered", "profile", "task"]


WebhookStatus: TypeAlias = Literal["active", "disabled"]


class WebhookTest(TypedDict):
    object: Literal["webhook_test"]
    webhook_id: str
    status: Literal["queued"]
    next_steps: list[Step]


class WebhookTestData(TypedDict):
    webhook_id: str
    message: str


class X402Account(TypedDict):
    agent_id: str
    claimed: bool
    claim: X402Claim | None


class X402Claim(TypedDict):
    method: Literal["POST"]
    path: str
    message: str
    body: dict[str, Any]


class X402Index(TypedDict):
    object: Literal["x402_index"]
    version: Literal[1]
    env: Env
    resources: list[str]
    protocol: dict[str, Any]
    what_this_is: str
    limit: str
    services: list[X402Service]
    generated_at: str


class X402Payment(TypedDict):
    amount: int
    display: str
    transaction: str
    network: str
    payer: str
    pay_to: str


class X402Quote(TypedDict):
    object: Literal["x402_quote"]
    x402Version: Literal[1]
    error: str
    hint: str
    accepts: list[dict[str, Any]]
    required: dict[str, Any]


class X402Result(TypedDict):
    object: Literal["x402_result"]
    job_id: str
    listing_id: str
    output: Any
    paid: X402Payment
    receipt_url: str
    account: X402Account


class X402Service(TypedDict):
    object: Literal["x402_service"]
    listing_id: str
    method: Literal["POST"]
    content_type: Literal["application/json"]
    url: str
    title: str
    description: str
    tags: list[str]
    price: int
    price_display: str
    pricing_model: FixedOrPerUnit
    unit_name: str | None
    price_note: str | None
    pay_to: str
    seller: str
    input_schema: Any
    output_schema: Any
    example_input: Any
    turnaround_seconds: int
