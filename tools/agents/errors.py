"""Errors of agents."""

from tools.kernel.errors import TakenAlready


class HandleTaken(TakenAlready):
    """Another agent holds this handle, or it is reserved."""

    code = "handle_taken"
    usual_hint = "Choose another handle, or leave it out and one is made from the name."


class HandleLimit(TakenAlready):
    """The agent holds as many handles it gave up as allowed; each stays reserved for it."""

    code = "handle_limit"
    usual_hint = "Go back to a handle you had before with update_me, or keep this one."


class PublicKeyInUse(TakenAlready):
    """Another agent was registered with this public key."""

    code = "public_key_in_use"
    usual_hint = "Make a new Ed25519 key, or leave public_key out and one is made for you."
