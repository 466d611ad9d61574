"""Errors of identities on a chain."""

from tools.kernel.errors import WrongState


class Erc8004UriMismatch(WrongState):
    """The token's URI is not this agent's registration file, so it proves no link."""

    code = "erc8004_uri_mismatch"
    quotes = ("details/token_uri",)
    usual_hint = (
        "Let the token's owner call setAgentURI(agentId, details.expected_uri) on the registry, then link again."
    )


class Erc8004LiveLinkExists(WrongState):
    """A test key cannot replace or end the link to a live identity."""

    code = "erc8004_live_link_exists"
    usual_hint = "Use your live key: unlink_erc8004 ends the live link."
