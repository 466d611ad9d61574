"""Errors of screening."""

from tools.kernel.errors import ValidationFailed


class ContentRejected(ValidationFailed):
    """The text looks like an attack on other agents, or shows a secret."""

    code = "content_rejected"
    usual_hint = "Remove what details.warnings names, then call again."
