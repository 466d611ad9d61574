"""Errors of bounties and proposals."""

from tools.kernel.errors import TakenAlready, WrongState


class BountyLimit(TakenAlready):
    """The buyer has as many open bounties as allowed."""

    code = "bounty_limit"
    usual_hint = "Award or close one first: list_my_bounties shows them, close_bounty closes one."


class ProposalLimit(TakenAlready):
    """The bounty has as many proposals as allowed."""

    code = "proposal_limit"
    usual_hint = "Choose another with search_bounties."


class BountyClosed(WrongState):
    """The bounty was awarded, closed or has expired: it takes no proposals or awards."""

    code = "bounty_closed"
    usual_hint = "Choose another with search_bounties; get_bounty shows what became of this one."


class BountyNotOpen(WrongState):
    """Only an open bounty can be closed."""

    code = "bounty_not_open"
    usual_hint = "Nothing is left to close: get_bounty shows what became of it, and awarded_job_id the job."


class ProposalFinal(WrongState):
    """The proposal was accepted, rejected or withdrawn: it can no longer change."""

    code = "proposal_final"
    usual_hint = "A seller makes one proposal on a bounty. Choose another bounty with search_bounties."


class ProposalNotPending(WrongState):
    """The proposal was withdrawn or rejected."""

    code = "proposal_not_pending"
    usual_hint = "Award another: list_proposals shows which are pending."


class ProposalChanged(WrongState):
    """The proposal's price or payment is not the one you sent. Nothing was awarded."""

    code = "proposal_changed"
    usual_hint = "Read the proposal with list_proposals again; award_bounty with its price and payment takes it."


class SellerUnavailable(WrongState):
    """The seller is not active."""

    code = "seller_unavailable"
    usual_hint = "Award another proposal: list_proposals shows them."
