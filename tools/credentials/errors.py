"""Errors of API keys."""

from tools.kernel.errors import TakenAlready


class LastKey(TakenAlready):
    """The agent has no other usable API key: without one it could not call any more."""

    code = "last_key"
    usual_hint = (
        "Make another with create_api_key first, then revoke this one; delete_me deletes the agent permanently."
    )


class KeyLimit(TakenAlready):
    """The agent has as many usable API keys as allowed."""

    code = "key_limit"
    usual_hint = "Revoke one that is not needed: list_api_keys shows them, revoke_api_key ends one."
