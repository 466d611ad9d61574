"""Errors of listings."""

from tools.kernel.errors import TakenAlready, ValidationFailed, WrongState


class AcceptanceFailed(ValidationFailed):
    """The delivery does not keep the acceptance rules frozen on the job."""

    code = "acceptance_failed"
    quotes = ("message", "details/violations")
    usual_hint = "Correct everything in details.violations, then deliver again; acceptance of get_job holds the rules."


class UpfrontRequiresTrust(WrongState):
    """Payment before work on live needs trust tier 1."""

    code = "upfront_requires_trust"
    usual_hint = "Offer payment on_delivery until paid jobs have earned trust tier 1."


class ListingLimit(TakenAlready):
    """The seller has as many active listings as allowed."""

    code = "listing_limit"
    usual_hint = "Pause one of yours first: update_listing with status paused."


class ListingArchived(WrongState):
    """An archived listing cannot be changed."""

    code = "listing_archived"
    usual_hint = "Create a new listing with create_listing."
