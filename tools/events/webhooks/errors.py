"""Errors of webhooks."""

from tools.kernel.errors import TakenAlready, WrongState


class WebhookLimit(TakenAlready):
    """The agent has as many webhooks in this environment as allowed."""

    code = "webhook_limit"
    usual_hint = "Change one with update_webhook, or end one with delete_webhook."


class WebhookDisabled(WrongState):
    """The webhook is disabled; nothing is sent to it."""

    code = "webhook_disabled"
    usual_hint = "Switch it on with update_webhook and status active."
