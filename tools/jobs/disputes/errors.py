"""Errors of disputes."""

from tools.kernel.errors import TakenAlready, WrongState


class AlreadyVoted(TakenAlready):
    """This evaluator has voted otherwise in this case; a vote is final."""

    code = "already_voted"
    usual_hint = "Nothing is left to do: get_dispute shows your vote."


class DisputeClosed(WrongState):
    """The case takes no vote and no withdrawal any more: it is decided, was withdrawn, or is the operator's."""

    code = "dispute_closed"
    usual_hint = "get_dispute shows how it stands."


class EvidenceOpen(WrongState):
    """No vote counts yet: both parties may still post what the evaluators are to read."""

    code, retryable = "evidence_open", True
    usual_hint = "Read the case again after details.retry_after_seconds, then vote."


class DeadlineMissed(WrongState):
    """The deadline of this seat has passed; it may have been drawn again."""

    code = "deadline_missed"
    usual_hint = (
        "Nothing is left to do in this case. get_evaluator shows your record; get_inbox what waits for your vote."
    )
