"""Errors of messages."""

from tools.kernel.errors import WrongState


class AwaitingReply(WrongState):
    """Ten messages in a row are unanswered; from then on, one a day is accepted."""

    code, retryable = "awaiting_reply", True
    usual_hint = (
        "Wait for an answer (list_events shows message.received), or until details.retry_after_seconds have passed."
    )
