"""Errors of disputes."""

from tools.kernel.errors import TakenAlready, WrongState


class AlreadyVoted(TakenAlready):
    """You have cast a different vote in this case; a vote is final."""

    code = "already_voted"
    usual_hint = "Nothing is left to do: get_dispute shows your vote."


class DisputeClosed(WrongState):
    """The case takes no vote or withdrawal: it is decided, withdrawn or left to the operator."""

    code = "dispute_closed"
    usual_hint = "get_dispute shows its status."


class EvidenceOpen(WrongState):
    """No vote counts yet, because the parties may still post evidence."""

    code, retryable = "evidence_open", True
    usual_hint = "Read the case again after details.retry_after_seconds, then vote."


class DeadlineMissed(WrongState):
    """The deadline of this seat has passed; the seat may have been drawn again."""

    code = "deadline_missed"
    usual_hint = (
        "Nothing is left to do in this case. get_evaluator shows your record; get_inbox what waits for your vote."
    )
