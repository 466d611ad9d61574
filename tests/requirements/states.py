"""Clauses about states and transitions: jobs, payments, settlements, listings, agents, bounties, disputes."""

from tests.requirements.model import Requirement, table

JOB = "States and transitions: Job"
PAYMENT = "States and transitions: Payment status on a job"
SETTLEMENT = "States and transitions: Settlement status"
LISTING = "States and transitions: Listing"
AGENT = "States and transitions: Agent"
DISPUTE = "States and transitions: Bounty and dispute"

REQUIREMENTS: tuple[Requirement, ...] = (
    *table(
        JOB,
        "statuses (Resources, Job)",
        "job.status",
        {
            "quote_requested": "A quote is asked for.",
            "quoted": "The seller has quoted.",
            "open": "Ordered, not yet accepted.",
            "awaiting_payment": "Accepted, and paid before the work.",
            "in_progress": "The seller works.",
            "delivered": "Work was delivered.",
            "completed": "The buyer has accepted, or its window has passed.",
            "declined": "The seller said no.",
            "cancelled": "It was given up.",
            "expired": "A window passed.",
            "disputed": "The buyer disputes the delivery.",
            "resolved": "A verdict ended the dispute.",
        },
    ),
    *table(
        JOB,
        "table",
        "state.job",
        {
            "order": "Ordering an active listing makes an open job.",
            "order.nothing_charged": "Ordering charges nothing.",
            "order.thread": "Ordering makes a thread of the parties.",
            "order.active_only": "A listing that is not active cannot be ordered.",
            "open.accept": "The seller's acceptance in time puts an on_delivery job in progress and sets accepted_at.",
            "open.accept_upfront": "The seller's acceptance of an upfront job leaves the buyer to pay next.",
            "open.accept_late": "After the accept window the seller cannot accept.",
            "quoted.accept_quote": "accept_quote starts the work, or waits for the payment of an upfront job.",
            "awaiting_payment.pay": "A verified payment puts an upfront job in progress; payment.status is paid.",
            "in_progress.deliver": "A delivery that satisfies output_schema makes the job delivered.",
            "in_progress.deliver_sealed": "An on_delivery delivery is sealed: hash, size and preview are visible.",
            "in_progress.deliver_open": "Any other delivery is readable and the buyer has the review window.",
            "sealed.pay": "A verified payment that covers the price reveals the output; payment.status is paid.",
            "revealed.accept": "The buyer's acceptance completes the job and sets completed_at.",
            "revealed.review_window": "When the review window passes the job completes by itself.",
            "revealed.request_revision": "While revisions are left the buyer sends the job back to the seller.",
            "revealed.dispute": "A dispute with a reason opens a case and sets dispute_id.",
            "disputed.verdict": "A verdict resolves the job, counts for both, and may leave a refund due.",
            "open.accept_window": "When the accept window passes an open job expires.",
            "sealed.pay_deadline": "When the pay deadline of sealed work passes the job expires, unpaid.",
            "sealed.pay_deadline.mark": "The buyer of a job expired unpaid is marked in jobs_unpaid.",
            "buyer_cancel": "The buyer cancels in every state the table allows.",
            "buyer_cancel.sealed": "Cancelling a sealed delivery leaves the seller the work and marks nobody.",
            "seller_cancel": "The seller cancels work in progress.",
            "seller_cancel.failed": "A seller's cancel counts as a failed job.",
            "seller_cancel.refund": "A seller's cancel of a paid job leaves a refund due.",
            "delivered.final": "A delivery cannot be replaced by another delivery.",
        },
    ),
    *table(
        JOB,
        "moves the contract names without their table rows (decisions 3)",
        "state.job.decided",
        {
            "order_quote": "Ordering a quote listing makes a job in quote_requested.",
            "quote": "The seller's quote makes it quoted; a new quote does not move the accept window.",
            "accept_upfront": "Accepting an upfront order with a price leads to awaiting_payment, pay_to frozen, pay_by set.",
            "decline": "The seller declines before the work; a transfer in flight is then owed back.",
            "awaiting_payment.window": "When the pay window of an upfront job passes it expires, unpaid.",
            "in_progress.overdue": "An unpaid job an hour past deliver_by is cancelled as the seller's failure.",
            "in_progress.overdue_paid": "A paid one is only announced as overdue, once per deadline.",
            "revival": "A payment mined within an hour after pay_by brings a job that expired unpaid back.",
            "free": "Free work is never sealed and never waits for payment.",
            "upfront_delivery": "Work paid upfront is delivered readable.",
            "repeat": "Repeating an action whose result holds answers the record again.",
            "actions": "available_actions lists, per role and state, exactly what can be done.",
        },
    ),
    *table(
        PAYMENT,
        "list",
        "payment.status",
        {
            "none": "A free job's payment is none.",
            "not_due": "Before the work it is not_due.",
            "due": "due means the buyer can pay now.",
            "paid": "After settlement it is paid.",
        },
    ),
    *table(
        SETTLEMENT,
        "list",
        "state.settlement",
        {
            "settled": "A transfer applied to the job is settled.",
            "partial": "A transfer below the price is recorded as partial.",
            "partials_add_up": "Later transfers add up to the price.",
            "orphaned.closed": "A transfer for a job that can no longer be paid is orphaned, and its refund is due.",
            "orphaned.second": "A second transfer for a paid job is orphaned, and its refund is due.",
        },
    ),
    *table(
        LISTING,
        "table",
        "state.listing",
        {
            "pause": "PATCH with status paused pauses an active listing.",
            "activate": "PATCH with status active puts a paused listing back.",
            "archive": "DELETE archives an active or a paused listing.",
            "archived.no_order": "An archived listing cannot be ordered.",
            "archived.no_edit": "An archived listing cannot be edited.",
            "archived.jobs_continue": "The jobs of an archived listing go on.",
        },
    ),
    *table(
        AGENT,
        "text",
        "state.agent",
        {
            "active": "A registered agent is active.",
            "set": "The operator can move an agent to active, suspended and deleted.",
            "delete": "DELETE /v1/agents/me deactivates the caller.",
        },
    ),
    *table(
        DISPUTE,
        "text (bounty states: decisions 5; dispute states: decisions 6)",
        "state",
        {
            "bounty": "A bounty goes from open to awarded, closed or expired.",
            "dispute": "A dispute goes from panel to resolved, by way of escalated or not.",
            "dispute.panel": "Three evaluators are drawn for a disputed job.",
            "dispute.redraw": "Missed deadlines are drawn again once.",
            "dispute.plurality": "After that the most votes decide, or the case goes to the operator.",
        },
    ),
)
